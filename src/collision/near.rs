//! Whether two convex sets are within a distance of each other.
//!
//! The iteration of the GJK algorithm \[Gilbert1988\] on the set of differences of their points, which
//! ends as soon as the question is answered: a plane that keeps them apart, or points that are near.
//! `parry3d`'s own answers where this one makes no progress, and is what tests compare it with.

use parry3d_f64::math::Vector;

/// Distances are told apart down to this \[m\].
const RESOLUTION: f64 = 1e-9;
/// Rounds before giving up.
const ROUNDS: usize = 48;

/// Whether the sets come as near as `most` \[m\]. `farthest` gives the point of their difference
/// (first less second) that is farthest along a direction, `towards` is a unit vector roughly from
/// the first to the second. `None` where rounding leaves no progress.
#[inline]
pub(super) fn within(
    farthest: impl Fn(Vector) -> Vector,
    towards: Vector,
    most: f64,
) -> Option<bool> {
    let mut v = farthest(towards);
    if -v.dot(towards) > most {
        return Some(false);
    }
    let near = most.max(RESOLUTION);
    let mut simplex = Simplex::new(v);
    let mut last = f64::INFINITY;
    for _ in 0..ROUNDS {
        let length = v.length_squared();
        if length <= near * near {
            return Some(true);
        }
        if length >= last {
            return None;
        }
        last = length;
        let w = farthest(-v);
        let along = v.dot(w);
        // A plane across `v` lies between the sets, `along / |v|` wide.
        if along > 0.0 && along * along > most * most * length {
            return Some(false);
        }
        // No nearer than the resolution: as near as `most`, for all that can be told.
        let left = length - along;
        if left * left <= RESOLUTION * RESOLUTION * length {
            return Some(true);
        }
        match simplex.nearest_with(w) {
            Some(nearest) => v = nearest,
            None => return Some(true),
        }
    }
    None
}

/// What two sets are to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Apart {
    /// A plane keeps them apart by more than is needed in its direction.
    Enough,
    /// Not that, but they are farther from each other than `least`.
    Near,
    /// As near as `least`.
    Touching,
}

/// Whether the sets are farther from each other than `least` \[m\], and than is `needed` in the
/// direction (a unit vector) across some plane between them; the other terms are those of
/// [`within`]. Without `prove` only the first is of interest.
#[inline]
pub(super) fn apart(
    farthest: impl Fn(Vector) -> Vector,
    towards: Vector,
    least: f64,
    prove: bool,
    needed: impl Fn(Vector) -> f64,
) -> Option<Apart> {
    let mut v = farthest(towards);
    let near = least.max(RESOLUTION);
    let mut simplex = Simplex::new(v);
    let mut last = f64::INFINITY;
    let between = -v.dot(towards);
    let mut clear = between > near;
    if clear {
        if !prove {
            return Some(Apart::Near);
        }
        if between > needed(towards) {
            return Some(Apart::Enough);
        }
    }
    for _ in 0..ROUNDS {
        let square = v.length_squared();
        if square <= near * near {
            return Some(Apart::Touching);
        }
        if square >= last {
            return clear.then_some(Apart::Near);
        }
        last = square;
        let w = farthest(-v);
        let along = v.dot(w);
        let length = square.sqrt();
        // A plane across `v` lies between the sets, `along / length` wide.
        if along > near * length {
            clear = true;
            if !prove {
                return Some(Apart::Near);
            }
            let needed = needed(v / length);
            if along > needed * length {
                return Some(Apart::Enough);
            }
            // The distance is at most `length`, and directions change little from here on.
            if length < 0.9 * needed {
                return Some(Apart::Near);
            }
        }
        if square - along <= RESOLUTION * length {
            return Some(if clear { Apart::Near } else { Apart::Touching });
        }
        match simplex.nearest_with(w) {
            Some(nearest) => v = nearest,
            None => return Some(Apart::Touching),
        }
    }
    clear.then_some(Apart::Near)
}

/// Up to four points whose hull is searched for the point nearest to the origin.
struct Simplex {
    points: [Vector; 4],
    count: usize,
}

impl Simplex {
    fn new(first: Vector) -> Self {
        Self {
            points: [first; 4],
            count: 1,
        }
    }

    /// The point nearest to the origin after `w` has joined; points that it does not need are dropped.
    /// `None` if the origin is inside.
    #[inline]
    fn nearest_with(&mut self, w: Vector) -> Option<Vector> {
        let [a, b, c, _] = self.points;
        match self.count {
            1 => {
                let found = on_segment(a, w);
                self.keep(&found, [a, w, w]);
                Some(found.point)
            }
            2 => {
                let found = on_triangle(a, b, w);
                self.keep(&found, [a, b, w]);
                Some(found.point)
            }
            _ => {
                // Faces that the origin lies beyond, or in whose plane everything lies.
                let mut best: Option<(Nearest, [Vector; 3])> = None;
                for (face, opposite) in [
                    ([a, b, w], c),
                    ([b, c, w], a),
                    ([c, a, w], b),
                    ([a, b, c], w),
                ] {
                    let normal = (face[1] - face[0]).cross(face[2] - face[0]);
                    let (origin, inner) = (-face[0].dot(normal), (opposite - face[0]).dot(normal));
                    if origin * inner > 0.0 {
                        continue;
                    }
                    let found = on_triangle(face[0], face[1], face[2]);
                    let nearer = best.as_ref().is_none_or(|(other, _)| {
                        found.point.length_squared() < other.point.length_squared()
                    });
                    if nearer {
                        best = Some((found, face));
                    }
                }
                let (found, face) = best?;
                self.keep(&found, face);
                Some(found.point)
            }
        }
    }

    fn keep(&mut self, found: &Nearest, from: [Vector; 3]) {
        self.count = 0;
        for (point, needed) in from.into_iter().zip(found.needed) {
            if needed {
                self.points[self.count] = point;
                self.count += 1;
            }
        }
    }
}

/// The nearest point, and which of the corners it needs.
struct Nearest {
    point: Vector,
    needed: [bool; 3],
}

fn on_segment(a: Vector, b: Vector) -> Nearest {
    let along = b - a;
    let (down, whole) = (-a.dot(along), along.length_squared());
    if down <= 0.0 {
        Nearest {
            point: a,
            needed: [true, false, false],
        }
    } else if down >= whole {
        Nearest {
            point: b,
            needed: [false, true, false],
        }
    } else {
        Nearest {
            point: a + along * (down / whole),
            needed: [true, true, false],
        }
    }
}

/// By the regions around a triangle \[Ericson2005\].
fn on_triangle(a: Vector, b: Vector, c: Vector) -> Nearest {
    let (ab, ac) = (b - a, c - a);
    let (d1, d2) = (-ab.dot(a), -ac.dot(a));
    let one = |point, k: usize| {
        let mut needed = [false; 3];
        needed[k] = true;
        Nearest { point, needed }
    };
    if d1 <= 0.0 && d2 <= 0.0 {
        return one(a, 0);
    }
    let (d3, d4) = (-ab.dot(b), -ac.dot(b));
    if d3 >= 0.0 && d4 <= d3 {
        return one(b, 1);
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return Nearest {
            point: a + ab * (d1 / (d1 - d3)),
            needed: [true, true, false],
        };
    }
    let (d5, d6) = (-ab.dot(c), -ac.dot(c));
    if d6 >= 0.0 && d5 <= d6 {
        return one(c, 2);
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return Nearest {
            point: a + ac * (d2 / (d2 - d6)),
            needed: [true, false, true],
        };
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0 {
        return Nearest {
            point: b + (c - b) * ((d4 - d3) / ((d4 - d3) + (d5 - d6))),
            needed: [false, true, true],
        };
    }
    let normal = ab.cross(ac);
    let square = normal.length_squared();
    let point = if square > 0.0 {
        normal * (a.dot(normal) / square)
    } else {
        a
    };
    Nearest {
        point,
        needed: [true; 3],
    }
}

#[cfg(test)]
mod tests {
    use super::super::hull::Hull;
    use super::super::shape::distance;
    use super::*;
    use parry3d_f64::query::gjk::VoronoiSimplex;
    use parry3d_f64::shape::SupportMap;
    use proptest::prelude::*;

    struct Set(Hull);

    impl SupportMap for Set {
        fn local_support_point(&self, dir: Vector) -> Vector {
            self.0.support(dir)
        }
    }

    fn points(most: usize) -> impl Strategy<Value = Vec<Vector>> {
        let point = prop::array::uniform3(-1.0..1.0f64).prop_map(Vector::from_array);
        prop::collection::vec(point, 1..most)
    }

    fn compare(first: Vec<Vector>, second: Vec<Vector>, most: f64) -> Result<(), TestCaseError> {
        let (first, second) = (Set(Hull::new(first)), Set(Hull::new(second)));
        let mut simplex = VoronoiSimplex::new();
        let exact = distance(&first, &second, Vector::X, 1e6, &mut simplex).unwrap();
        let found = within(
            |d| first.0.support(d) - second.0.support(-d),
            Vector::X,
            most,
        );
        prop_assume!((exact - most).abs() > 1e-7);
        prop_assert_eq!(found, Some(exact <= most), "{} {}", exact, most);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn a_plane_keeps_apart_what_is_far_enough(
            first in points(40), second in points(12), shift in prop::array::uniform3(-2.0..2.0f64),
            least in 0.0..0.3f64, needed in 0.0..1.5f64, along in 0.0..1.0f64, prove in any::<bool>(),
        ) {
            let shift = Vector::from_array(shift);
            let second: Vec<Vector> = second.into_iter().map(|p| p + shift).collect();
            let (first, second) = (Set(Hull::new(first)), Set(Hull::new(second)));
            let mut simplex = VoronoiSimplex::new();
            let exact = distance(&first, &second, Vector::X, 1e6, &mut simplex).unwrap();
            let farthest = |d: Vector| first.0.support(d) - second.0.support(-d);
            prop_assume!((exact - least).abs() > 1e-7);
            // More along x than across.
            let most = |normal: Vector| least + needed * (along + (1.0 - along) * normal.x.abs());
            let found = apart(farthest, shift.try_normalize().unwrap_or(Vector::X), least, prove, most);
            prop_assert!(found.is_some());
            prop_assert_eq!(found == Some(Apart::Touching), exact <= least, "{} {}", exact, least);
            if found == Some(Apart::Enough) {
                prop_assert!(prove && exact > least + needed * along);
            }
            if prove && exact > least + needed + 1e-7 {
                prop_assert_eq!(found, Some(Apart::Enough));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_answer_is_that_of_the_distance(
            first in points(40), second in points(12),
            shift in prop::array::uniform3(-2.0..2.0f64), most in 0.0..0.5f64, touch in any::<bool>(),
        ) {
            let shift = Vector::from_array(shift);
            let second: Vec<Vector> = second.into_iter().map(|p| p + shift).collect();
            compare(first, second, if touch { 0.0 } else { most })?;
        }

        #[test]
        fn boxes_on_a_grid_are_told_apart_too(
            low in prop::array::uniform3(-3..3i32), size in prop::array::uniform3(0..3i32), most in 0..3i32,
        ) {
            let cube = |low: [i32; 3], size: [i32; 3]| (0..8).map(|k| {
                Vector::from_array([0, 1, 2].map(|d| f64::from(low[d] + if k >> d & 1 == 0 { 0 } else { size[d] })))
            }).collect::<Vec<_>>();
            compare(cube([0; 3], [1; 3]), cube(low, size), f64::from(most) + 0.25)?;
        }
    }
}
