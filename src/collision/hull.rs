//! Farthest points of a convex hull, found at once.
//!
//! The sphere of directions is cut into cells (a cube's faces, each a grid). A vertex can only be the
//! farthest for some direction of a cell if no other vertex is at least as far for the cell's four
//! corner directions: every direction of the cell is a sum of these with positive weights. What
//! remains, a handful of vertices a cell, is all that is compared; the answer is that of comparing all.

use parry3d_f64::math::Vector;

/// Up to this many vertices, comparing all is as quick.
const FEW: usize = 10;
/// A cube's face is cut into at most `2^DEEPEST` cells a side.
const DEEPEST: u32 = 5;

/// The hull of points.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hull {
    points: Vec<Vector>,
    /// Cells a side of a cube's face; zero where there are few points.
    side: usize,
    /// Where each cell's candidates begin, and the end of the last.
    starts: Vec<u32>,
    /// Indices into `points`.
    candidates: Vec<u32>,
}

impl Hull {
    /// Of any points; those inside cost time, and no more.
    pub fn new(points: Vec<Vector>) -> Self {
        let mut hull = Self {
            points,
            side: 0,
            starts: Vec::new(),
            candidates: Vec::new(),
        };
        let count = hull.points.len();
        if count <= FEW || u32::try_from(count).is_err() {
            return hull;
        }
        // About four cells a vertex: finer ones have hardly fewer candidates.
        let mut depth = 1;
        while depth < DEEPEST && 6 << (2 * depth) < 4 * count {
            depth += 1;
        }
        hull.side = 1 << depth;
        let all: Vec<u32> = (0..count as u32).collect();
        let mut cells: Vec<Vec<u32>> = vec![Vec::new(); 6 * hull.side * hull.side];
        for face in 0..6 {
            hull.cut(face, [0, 0], hull.side, &all, &mut cells);
        }
        hull.starts.push(0);
        for cell in &cells {
            hull.candidates.extend_from_slice(cell);
            hull.starts.push(hull.candidates.len() as u32);
        }
        hull
    }

    pub fn points(&self) -> &[Vector] {
        &self.points
    }

    /// Fills the cells from `low`, `size` a side, whose candidates are among `from`.
    fn cut(&self, face: usize, low: [usize; 2], size: usize, from: &[u32], cells: &mut [Vec<u32>]) {
        let left = self.undominated(face, low, size, from);
        if size == 1 {
            if let Some(cell) = cells.get_mut(self.cell(face, low[0], low[1])) {
                *cell = left;
            }
            return;
        }
        let half = size / 2;
        for corner in [[0, 0], [half, 0], [0, half], [half, half]] {
            let low = [low[0] + corner[0], low[1] + corner[1]];
            self.cut(face, low, half, &left, cells);
        }
    }

    fn cell(&self, face: usize, u: usize, v: usize) -> usize {
        (face * self.side + u) * self.side + v
    }

    /// Those of `from` that no other is at least as far as in all corner directions of a cell.
    fn undominated(&self, face: usize, low: [usize; 2], size: usize, from: &[u32]) -> Vec<u32> {
        let grid = |k: usize| 2.0 * k as f64 / self.side as f64 - 1.0;
        let direction = |u: usize, v: usize| {
            let sign = if face < 3 { 1.0 } else { -1.0 };
            let mut parts = [0.0; 3];
            parts[face % 3] = sign;
            parts[(face + 1) % 3] = grid(u);
            parts[(face + 2) % 3] = grid(v);
            Vector::from_array(parts)
        };
        let corners = [
            direction(low[0], low[1]),
            direction(low[0] + size, low[1]),
            direction(low[0], low[1] + size),
            direction(low[0] + size, low[1] + size),
        ];
        let far = |index: u32| {
            let point = self
                .points
                .get(index as usize)
                .copied()
                .unwrap_or(Vector::ZERO);
            corners.map(|corner| point.dot(corner))
        };
        let mut kept: Vec<(u32, [f64; 4])> = Vec::new();
        // The farthest on the whole first: they rule out most of the others.
        let mut order: Vec<(f64, u32, [f64; 4])> = from
            .iter()
            .map(|&index| {
                let far = far(index);
                (far.iter().sum(), index, far)
            })
            .collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (_, index, far) in order {
            // Who is dominated has a smaller sum, or the same and the same values.
            let dominated = kept
                .iter()
                .any(|(_, other)| other.iter().zip(&far).all(|(other, own)| other >= own));
            if !dominated {
                kept.push((index, far));
            }
        }
        kept.into_iter().map(|(index, _)| index).collect()
    }

    /// A point of the hull that is farthest along `direction`.
    #[inline]
    pub fn support(&self, direction: Vector) -> Vector {
        if self.side == 0 {
            let mut best = self.points.first().copied().unwrap_or(Vector::ZERO);
            let mut most = best.dot(direction);
            for &point in self.points.iter().skip(1) {
                let along = point.dot(direction);
                if along > most {
                    most = along;
                    best = point;
                }
            }
            return best;
        }
        let size = direction.abs();
        let (face, along, u, v) = if size.x >= size.y && size.x >= size.z {
            (0, direction.x, direction.y, direction.z)
        } else if size.y >= size.z {
            (1, direction.y, direction.z, direction.x)
        } else {
            (2, direction.z, direction.x, direction.y)
        };
        let face = if along < 0.0 { face + 3 } else { face };
        let scale = 0.5 * self.side as f64 / along.abs();
        let middle = 0.5 * self.side as f64;
        // A conversion of a float to an integer saturates, and NaN becomes zero.
        let place = |value: f64| ((value * scale + middle) as usize).min(self.side - 1);
        let cell = self.cell(face, place(u), place(v));
        let range = match self.starts.get(cell..cell + 2) {
            Some(&[start, end]) => start as usize..end as usize,
            _ => 0..0,
        };
        let mut best = Vector::ZERO;
        let mut most = f64::NEG_INFINITY;
        for &index in self.candidates.get(range).unwrap_or(&[]) {
            if let Some(&point) = self.points.get(index as usize) {
                let along = point.dot(direction);
                if along > most {
                    most = along;
                    best = point;
                }
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point() -> impl Strategy<Value = Vector> {
        prop::array::uniform3(-1.0..1.0f64).prop_map(Vector::from_array)
    }

    proptest! {
        #[test]
        fn the_farthest_point_is_that_of_comparing_all(
            points in prop::collection::vec(point(), 1..300),
            directions in prop::collection::vec(point(), 40),
        ) {
            let hull = Hull::new(points.clone());
            let axes = [Vector::X, Vector::Y, Vector::Z, Vector::new(1.0, -1.0, 1.0), Vector::ZERO];
            for direction in directions.into_iter().chain(axes) {
                for direction in [direction, -direction] {
                    let most = points.iter().map(|p| p.dot(direction)).fold(f64::NEG_INFINITY, f64::max);
                    let found = hull.support(direction);
                    prop_assert!(points.contains(&found));
                    prop_assert!(found.dot(direction) >= most - 1e-15, "{direction}");
                }
            }
        }
    }

    #[test]
    fn a_round_hull_has_few_candidates_a_cell() {
        let points: Vec<Vector> = (0..600)
            .map(|k| {
                let z = 1.0 - (2.0 * f64::from(k) + 1.0) / 600.0;
                let turn = f64::from(k) * 2.399_963_229_728_653;
                let across = (1.0 - z * z).sqrt();
                Vector::new(across * turn.cos(), across * turn.sin(), z)
            })
            .collect();
        let hull = Hull::new(points);
        let mean = hull.candidates.len() as f64 / (hull.starts.len() - 1) as f64;
        assert!(mean < 8.0, "{mean}");
        assert!(hull.support(Vector::new(f64::NAN, 0.0, 0.0)).is_finite());
    }
}
