//! Simple polygons as convex pieces.

use std::collections::HashMap;

use spade::{ConstrainedDelaunayTriangulation, Point2, Triangulation};

/// Why a polygon has no pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Fewer than three corners, or all on one line.
    NoArea,
    /// Two edges cross.
    SelfCrossing,
    /// A coordinate that cannot be triangulated (not finite, or extreme).
    Coordinate,
}

/// Twice the area of a triangle. Not exact: a wrong sign can only leave a piece out of true by
/// the last digit of its corners, which no distance of interest depends on.
fn cross(a: [f64; 2], b: [f64; 2], c: [f64; 2]) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

fn is_convex(corners: &[[f64; 2]]) -> bool {
    let n = corners.len();
    let turns_left =
        (0..n).all(|i| cross(corners[i], corners[(i + 1) % n], corners[(i + 2) % n]) >= 0.0);
    // Turning left all the time, but once around only.
    let turns: f64 = (0..n)
        .map(|i| {
            let (a, b, c) = (corners[i], corners[(i + 1) % n], corners[(i + 2) % n]);
            let (u, v) = ([b[0] - a[0], b[1] - a[1]], [c[0] - b[0], c[1] - b[1]]);
            (u[0] * v[1] - u[1] * v[0]).atan2(u[0] * v[0] + u[1] * v[1])
        })
        .sum();
    turns_left && turns < 1.5 * std::f64::consts::TAU
}

/// Convex polygons, counter-clockwise, that together are `polygon` (closed implicitly, either
/// direction): a constrained Delaunay triangulation, from which diagonals are dropped as long as
/// the pieces stay convex \[Hertel1983\].
pub(super) fn convex_pieces(polygon: &[[f64; 2]]) -> Result<Vec<Vec<[f64; 2]>>, Fault> {
    if polygon.iter().flatten().any(|v| !v.is_finite()) {
        return Err(Fault::Coordinate);
    }
    let mut corners: Vec<[f64; 2]> = polygon.to_vec();
    corners.dedup();
    while corners.len() > 1 && corners.first() == corners.last() {
        corners.pop();
    }
    let n = corners.len();
    let area: f64 = (0..n)
        .map(|i| {
            let (a, b) = (corners[i], corners[(i + 1) % n]);
            a[0] * b[1] - a[1] * b[0]
        })
        .sum();
    if n < 3 {
        return Err(Fault::NoArea);
    }
    if area < 0.0 {
        corners.reverse();
    }
    let flat = (0..n).all(|i| cross(corners[0], corners[1], corners[i]) == 0.0);
    if flat {
        return Err(Fault::NoArea);
    }
    if is_convex(&corners) {
        return Ok(vec![corners]);
    }
    merge(&corners, triangles(&corners)?)
}

/// Triangles inside, counter-clockwise, as indices into `corners`.
fn triangles(corners: &[[f64; 2]]) -> Result<Vec<[usize; 3]>, Fault> {
    let mut cdt = ConstrainedDelaunayTriangulation::<Point2<f64>>::new();
    let mut handles = Vec::with_capacity(corners.len());
    let mut index = HashMap::new();
    for (i, corner) in corners.iter().enumerate() {
        let handle = cdt
            .insert(Point2::new(corner[0], corner[1]))
            .map_err(|_| Fault::Coordinate)?;
        handles.push(handle);
        index.entry(handle).or_insert(i);
    }
    for (i, &from) in handles.iter().enumerate() {
        let to = handles[(i + 1) % handles.len()];
        if from == to {
            continue;
        }
        if !cdt.can_add_constraint(from, to) {
            return Err(Fault::SelfCrossing);
        }
        cdt.add_constraint(from, to);
    }
    let mut inside = Vec::new();
    for face in cdt.inner_faces() {
        let corner = face
            .vertices()
            .map(|vertex| index.get(&vertex.fix()).copied());
        let [Some(a), Some(b), Some(c)] = corner else {
            continue;
        };
        let centre = [0, 1].map(|k| (corners[a][k] + corners[b][k] + corners[c][k]) / 3.0);
        if contains(corners, centre) {
            inside.push([a, b, c]);
        }
    }
    if inside.is_empty() {
        return Err(Fault::NoArea);
    }
    Ok(inside)
}

/// Even-odd rule.
fn contains(corners: &[[f64; 2]], p: [f64; 2]) -> bool {
    let n = corners.len();
    let mut inside = false;
    for i in 0..n {
        let (a, b) = (corners[i], corners[(i + 1) % n]);
        if (a[1] > p[1]) != (b[1] > p[1]) {
            let upward = b[1] > a[1];
            let side = cross(a, b, p);
            if (side > 0.0) == upward && side != 0.0 {
                inside = !inside;
            }
        }
    }
    inside
}

/// Drops diagonals between pieces where the union is convex.
fn merge(corners: &[[f64; 2]], triangles: Vec<[usize; 3]>) -> Result<Vec<Vec<[f64; 2]>>, Fault> {
    let mut pieces: Vec<Vec<usize>> = triangles.iter().map(|t| t.to_vec()).collect();
    let mut owner: HashMap<(usize, usize), usize> = HashMap::new();
    for (piece, corner) in triangles.iter().enumerate() {
        for k in 0..3 {
            owner.insert((corner[k], corner[(k + 1) % 3]), piece);
        }
    }
    let mut diagonals: Vec<(usize, usize)> = owner
        .keys()
        .copied()
        .filter(|&(a, b)| a < b && owner.contains_key(&(b, a)))
        .collect();
    // A hash map has no order of its own, and the result must be the same every time.
    diagonals.sort_unstable();
    for (a, b) in diagonals {
        let (Some(&left), Some(&right)) = (owner.get(&(a, b)), owner.get(&(b, a))) else {
            continue;
        };
        if left == right {
            continue;
        }
        let (Some(i), Some(j)) = (
            pieces[left].iter().position(|&corner| corner == b),
            pieces[right].iter().position(|&corner| corner == a),
        ) else {
            continue;
        };
        // From b around to a on the left, then from a around to b on the right.
        let mut union: Vec<usize> = Vec::with_capacity(pieces[left].len() + pieces[right].len());
        union.extend(pieces[left].iter().cycle().skip(i).take(pieces[left].len()));
        union.extend(
            pieces[right]
                .iter()
                .cycle()
                .skip(j + 1)
                .take(pieces[right].len() - 2),
        );
        let points: Vec<[f64; 2]> = union.iter().map(|&corner| corners[corner]).collect();
        if !is_convex(&points) {
            continue;
        }
        let moved = std::mem::take(&mut pieces[right]);
        for k in 0..moved.len() {
            owner.insert((moved[k], moved[(k + 1) % moved.len()]), left);
        }
        pieces[left] = union;
    }
    Ok(pieces
        .into_iter()
        .filter(|piece| !piece.is_empty())
        .map(|piece| piece.into_iter().map(|corner| corners[corner]).collect())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn area(corners: &[[f64; 2]]) -> f64 {
        let n = corners.len();
        (0..n)
            .map(|i| {
                let (a, b) = (corners[i], corners[(i + 1) % n]);
                0.5 * (a[0] * b[1] - a[1] * b[0])
            })
            .sum()
    }

    #[test]
    fn an_l_becomes_few_pieces() {
        let l = [
            [0.0, 0.0],
            [2.0, 0.0],
            [2.0, 1.0],
            [1.0, 1.0],
            [1.0, 2.0],
            [0.0, 2.0],
        ];
        let pieces = convex_pieces(&l).unwrap();
        assert!(pieces.len() <= 3);
        assert!((pieces.iter().map(|p| area(p)).sum::<f64>() - 3.0).abs() < 1e-12);
    }

    #[test]
    fn a_convex_polygon_is_one_piece_in_either_direction() {
        let mut square = vec![[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]];
        assert_eq!(convex_pieces(&square).unwrap().len(), 1);
        square.reverse();
        let pieces = convex_pieces(&square).unwrap();
        assert!(area(&pieces[0]) > 0.0);
    }

    #[test]
    fn what_is_no_polygon_is_refused() {
        let bowtie = [[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]];
        assert_eq!(convex_pieces(&bowtie), Err(Fault::SelfCrossing));
        let star: Vec<[f64; 2]> = (0..5)
            .map(|i| f64::from(i) * 2.0 * std::f64::consts::TAU / 5.0)
            .map(|t| [t.cos(), t.sin()])
            .collect();
        assert_eq!(convex_pieces(&star), Err(Fault::SelfCrossing));
        let line = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]];
        assert_eq!(convex_pieces(&line), Err(Fault::NoArea));
        assert_eq!(convex_pieces(&line[..2]), Err(Fault::NoArea));
        assert_eq!(convex_pieces(&[]), Err(Fault::NoArea));
        let nan = [[0.0, 0.0], [1.0, f64::NAN], [2.0, 2.0]];
        assert_eq!(convex_pieces(&nan), Err(Fault::Coordinate));
    }

    proptest! {
        #[test]
        fn pieces_are_convex_and_cover_the_polygon(radii in prop::collection::vec(0.2..2.0f64, 3..30)) {
            let n = radii.len() as f64;
            let star: Vec<[f64; 2]> = radii
                .iter()
                .enumerate()
                .map(|(i, r)| {
                    let angle = i as f64 / n * std::f64::consts::TAU;
                    [r * angle.cos(), r * angle.sin()]
                })
                .collect();
            let pieces = convex_pieces(&star).unwrap();
            let sum: f64 = pieces.iter().map(|p| area(p)).sum();
            prop_assert!((sum - area(&star)).abs() < 1e-9);
            prop_assert!(pieces.iter().all(|p| is_convex(p)));
            prop_assert!(pieces.len() <= radii.len() - 2);
        }
    }
}
