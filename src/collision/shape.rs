//! Convex cores and the distance between them.

use parry3d_f64::math::{Pose, Rotation, Vector};
use parry3d_f64::query::gjk::{closest_points, CsoPoint, GJKResult, VoronoiSimplex};
use parry3d_f64::shape::SupportMap;

use super::hull::Hull;

/// A convex set, given by its farthest point in any direction.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Core {
    /// The hull of points.
    Hull(Hull),
    /// A solid cylinder along its frame's z, centred.
    Cylinder {
        /// The cylinder's frame.
        frame: Pose,
        /// Radius \[m\].
        radius: f64,
        /// Half its length \[m\].
        half: f64,
    },
}

impl Core {
    /// The farthest point along `direction`, which need not be of unit length.
    #[inline]
    pub fn support(&self, direction: Vector) -> Vector {
        match self {
            Self::Hull(hull) => hull.support(direction),
            Self::Cylinder {
                frame,
                radius,
                half,
            } => {
                let d = frame.inverse_transform_vector(direction);
                let across = d.x.hypot(d.y);
                let scale = if across > 0.0 { radius / across } else { 0.0 };
                frame.transform_point(Vector::new(d.x * scale, d.y * scale, half.copysign(d.z)))
            }
        }
    }

    /// Lowest and highest corner of the smallest axis-aligned box.
    pub fn aabb(&self) -> (Vector, Vector) {
        let low = Vector::new(
            self.support(-Vector::X).x,
            self.support(-Vector::Y).y,
            self.support(-Vector::Z).z,
        );
        let high = Vector::new(
            self.support(Vector::X).x,
            self.support(Vector::Y).y,
            self.support(Vector::Z).z,
        );
        (low, high)
    }

    /// Radius of a sphere around `centre` that contains the core \[m\].
    pub fn reach(&self, centre: Vector) -> f64 {
        match self {
            Self::Hull(hull) => hull
                .points()
                .iter()
                .fold(0.0_f64, |most, &point| most.max((point - centre).length())),
            Self::Cylinder {
                frame,
                radius,
                half,
            } => (frame.translation - centre).length() + radius.hypot(*half),
        }
    }

    /// The ends of a line and the radius of a capsule around it that contains the core, as thin as a
    /// few directions for the line can make it.
    pub fn capsule(&self) -> ([Vector; 2], f64) {
        match self {
            Self::Cylinder {
                frame,
                radius,
                half,
            } => {
                let end = frame.transform_vector(Vector::new(0.0, 0.0, *half));
                let middle = frame.translation;
                ([middle - end, middle + end], *radius)
            }
            Self::Hull(hull) => {
                let (low, high) = self.aabb();
                let centre = 0.5 * low + 0.5 * high;
                let points = hull.points();
                let far = points
                    .iter()
                    .map(|&point| point - centre)
                    .max_by(|a, b| a.length_squared().total_cmp(&b.length_squared()))
                    .unwrap_or(Vector::ZERO);
                let mut best = ([centre; 2], self.reach(centre));
                let mut least = best.1.powi(3) * 4.0 / 3.0;
                for axis in [Vector::X, Vector::Y, Vector::Z, far] {
                    let Some(axis) = axis.try_normalize() else {
                        continue;
                    };
                    let found = around_line(points, centre, axis);
                    let [a, b] = found.0;
                    let volume = found.1 * found.1 * ((b - a).length() + found.1 * 4.0 / 3.0);
                    if volume < least {
                        (best, least) = (found, volume);
                    }
                }
                best
            }
        }
    }
}

/// The smallest capsule on a line that contains `points`.
fn around_line(points: &[Vector], centre: Vector, axis: Vector) -> ([Vector; 2], f64) {
    let place = |point: &Vector| {
        let off = *point - centre;
        let along = off.dot(axis);
        (along, (off - axis * along).length())
    };
    let radius = points.iter().map(|p| place(p).1).fold(0.0, f64::max);
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for (along, across) in points.iter().map(place) {
        // How far the cap reaches beyond its centre at that distance from the line.
        let cap = (radius * radius - across * across).max(0.0).sqrt();
        low = low.min(along + cap);
        high = high.max(along - cap);
    }
    if low > high {
        // One sphere around the middle does for both ends.
        (low, high) = (0.5 * (low + high), 0.5 * (low + high));
    }
    let ends = [centre + axis * low, centre + axis * high];
    // Where the caps overlap, a point beside both ends may stick out.
    let sticks_out = points
        .iter()
        .map(|&p| to_segment(p, ends[0], ends[1]))
        .fold(0.0, f64::max);
    (ends, radius.max(sticks_out))
}

/// Distance of a point from a segment.
fn to_segment(p: Vector, a: Vector, b: Vector) -> f64 {
    let along = b - a;
    let square = along.length_squared();
    let t = if square > 0.0 {
        ((p - a).dot(along) / square).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (p - (a + along * t)).length()
}

/// From a point of the first segment to a point of the second, as near as any \[Ericson2005\].
#[inline]
pub(super) fn between_segments(first: [Vector; 2], second: [Vector; 2]) -> Vector {
    let (u, v, r) = (
        first[1] - first[0],
        second[1] - second[0],
        first[0] - second[0],
    );
    let (a, e, b) = (u.length_squared(), v.length_squared(), u.dot(v));
    let (c, f) = (u.dot(r), v.dot(r));
    let share = |numerator: f64, denominator: f64| {
        if denominator > 0.0 {
            (numerator / denominator).clamp(0.0, 1.0)
        } else {
            0.0
        }
    };
    let mut s = share(b * f - c * e, a * e - b * b);
    let mut t = share(b * s + f, e);
    if e > 0.0 {
        let free = (b * s + f) / e;
        if free != t {
            s = share(t * b - c, a);
        }
    } else {
        t = 0.0;
        s = share(-c, a);
    }
    second[0] + v * t - first[0] - u * s
}

/// Distance \[m\] between two sets in one frame, zero where they meet; `None` if it is more than
/// `most`. `towards` points roughly from the first to the second. All must be finite.
pub(super) fn distance(
    first: &impl SupportMap,
    second: &impl SupportMap,
    towards: Vector,
    most: f64,
    simplex: &mut VoronoiSimplex,
) -> Option<f64> {
    let direction = towards.try_normalize().unwrap_or(Vector::X);
    let pose = Pose::IDENTITY;
    simplex.reset(CsoPoint::from_shapes(&pose, first, second, direction));
    match closest_points(&pose, first, second, most, true, simplex) {
        GJKResult::Intersection => Some(0.0),
        GJKResult::ClosestPoints(one, two, _) => Some((one - two).length()),
        // Asked for exact distances, it gives this only where it stalls: as good as touching.
        GJKResult::Proximity(_) => Some(0.0),
        GJKResult::NoIntersection(_) => None,
    }
}

/// Our transform as parry's.
pub(super) fn pose(isometry: &nalgebra::Isometry3<f64>) -> Pose {
    let t = &isometry.translation.vector;
    let r = isometry.rotation.coords;
    Pose::from_parts(
        Vector::new(t.x, t.y, t.z),
        Rotation::from_xyzw(r.x, r.y, r.z, r.w),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vector() -> impl Strategy<Value = Vector> {
        prop::array::uniform3(-1.0..1.0f64).prop_map(Vector::from_array)
    }

    proptest! {
        #[test]
        fn a_capsule_contains_its_core(points in prop::collection::vec(vector(), 1..40)) {
            let (ends, radius) = Core::Hull(Hull::new(points.clone())).capsule();
            for point in points {
                prop_assert!(to_segment(point, ends[0], ends[1]) <= radius + 1e-12);
            }
        }

        #[test]
        fn segments_are_as_far_apart_as_any_of_their_points(
            a in vector(), b in vector(), c in vector(), d in vector(), flat in 0..4usize,
        ) {
            let (b, d) = (if flat & 1 == 1 { a } else { b }, if flat & 2 == 2 { c } else { d });
            let found = between_segments([a, b], [c, d]).length();
            let mut least = f64::INFINITY;
            for k in 0..=200 {
                least = least.min(to_segment(a + (b - a) * (f64::from(k) / 200.0), c, d));
            }
            prop_assert!(found <= least + 1e-12 && found >= least - 0.01, "{} {}", found, least);
        }
    }
}
