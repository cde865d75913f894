//! Convex cores and the distance between them.

use parry3d_f64::math::{Pose, Rotation, Vector};
use parry3d_f64::query::gjk::{closest_points, CsoPoint, GJKResult, VoronoiSimplex};
use parry3d_f64::shape::SupportMap;

/// A convex set, given by its farthest point in any direction.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Core {
    /// The hull of points.
    Points(Vec<Vector>),
    /// A solid cylinder along z, centred.
    Cylinder {
        /// Radius \[m\].
        radius: f64,
        /// Half its length \[m\].
        half: f64,
    },
    /// A convex polygon between two heights.
    Prism {
        /// Corners x, y \[m\].
        corners: Vec<[f64; 2]>,
        /// Lower end \[m\].
        min_z: f64,
        /// Upper end \[m\].
        max_z: f64,
    },
}

impl SupportMap for Core {
    fn local_support_point(&self, dir: Vector) -> Vector {
        match self {
            Self::Points(points) => {
                let mut best = points.first().copied().unwrap_or(Vector::ZERO);
                let mut most = best.dot(dir);
                for &point in points.iter().skip(1) {
                    let along = point.dot(dir);
                    if along > most {
                        most = along;
                        best = point;
                    }
                }
                best
            }
            Self::Cylinder { radius, half } => {
                let across = dir.x.hypot(dir.y);
                let scale = if across > 0.0 { radius / across } else { 0.0 };
                Vector::new(dir.x * scale, dir.y * scale, half.copysign(dir.z))
            }
            Self::Prism {
                corners,
                min_z,
                max_z,
            } => {
                let mut best = corners.first().copied().unwrap_or([0.0; 2]);
                let mut most = best[0] * dir.x + best[1] * dir.y;
                for &corner in corners.iter().skip(1) {
                    let along = corner[0] * dir.x + corner[1] * dir.y;
                    if along > most {
                        most = along;
                        best = corner;
                    }
                }
                Vector::new(best[0], best[1], if dir.z > 0.0 { *max_z } else { *min_z })
            }
        }
    }
}

impl Core {
    /// Centre and half extents of the smallest axis-aligned box.
    pub fn aabb(&self) -> (Vector, Vector) {
        let low = Vector::new(
            self.local_support_point(-Vector::X).x,
            self.local_support_point(-Vector::Y).y,
            self.local_support_point(-Vector::Z).z,
        );
        let high = Vector::new(
            self.local_support_point(Vector::X).x,
            self.local_support_point(Vector::Y).y,
            self.local_support_point(Vector::Z).z,
        );
        (0.5 * (low + high), 0.5 * (high - low))
    }

    /// Radius of a sphere around `centre` that contains the core.
    pub fn reach(&self, centre: Vector) -> f64 {
        match self {
            Self::Points(points) => points
                .iter()
                .fold(0.0_f64, |most, &point| most.max((point - centre).length())),
            Self::Cylinder { .. } | Self::Prism { .. } => {
                let (middle, half) = self.aabb();
                (middle - centre).length() + half.length()
            }
        }
    }
}

/// Distance \[m\] between two cores, zero where they meet; `None` if it is more than `most`.
/// `second` is placed by `pose` in the frame of `first`; `towards` points roughly from the first
/// to the second. All must be finite.
pub(super) fn distance(
    first: &Core,
    second: &Core,
    pose: &Pose,
    towards: Vector,
    most: f64,
    simplex: &mut VoronoiSimplex,
) -> Option<f64> {
    let direction = towards.try_normalize().unwrap_or(Vector::X);
    simplex.reset(CsoPoint::from_shapes(pose, first, second, direction));
    match closest_points(pose, first, second, most, true, simplex) {
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
