//! Curves that the tip is to follow.

use nalgebra::{UnitQuaternion, Vector3};

use crate::kinematics::Pose;

/// A turn of so many metres per radian counts like a way of that length where fractions of a path
/// are told, so that turning on the spot takes part of it, too \[m/rad\].
pub(super) const METRES_PER_RADIAN: f64 = 0.1;

/// Changes of direction \[rad\] that the arm cannot pass without coming to rest.
const SHARP: f64 = 0.1;

/// A curve of tip poses in the base frame over the fraction `u` of the way, 0 to 1.
pub trait Guide {
    /// The tip's pose at the fraction `u`; the ends beyond them.
    fn pose(&self, u: f64) -> Pose;

    /// Fractions, strictly rising from 0 to 1, at most `step` \[m\] and `angle_step` \[rad\] apart, with
    /// all places where the curve is not smooth, and the positions of those samples at which the
    /// arm must come to rest.
    fn samples(&self, step: f64, angle_step: f64) -> (Vec<f64>, Vec<usize>);
}

/// Why poses are no path.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PosePathError {
    /// No pose at all.
    #[error("a path needs at least one pose")]
    Empty,
    /// NaN or infinity.
    #[error("pose {index} of the path is not finite")]
    NotFinite {
        /// Which, from 0.
        index: usize,
    },
}

/// Poses joined by straight lines, along which the orientation turns evenly the shortest way.
#[derive(Debug, Clone, PartialEq)]
pub struct PosePath {
    poses: Vec<Pose>,
    /// Rotation vector from each pose to the next, in the pose's frame \[rad\].
    turns: Vec<Vector3<f64>>,
    /// Fraction of the way at each pose.
    fractions: Vec<f64>,
    length: f64,
}

impl PosePath {
    /// The path through `poses` (base frame).
    ///
    /// # Errors
    /// [`PosePathError`].
    pub fn new(poses: Vec<Pose>) -> Result<PosePath, PosePathError> {
        if poses.is_empty() {
            return Err(PosePathError::Empty);
        }
        let unusable = |pose: &Pose| !pose.to_homogeneous().iter().all(|v| v.is_finite());
        if let Some(index) = poses.iter().position(unusable) {
            return Err(PosePathError::NotFinite { index });
        }
        let pairs = || poses.iter().zip(poses.iter().skip(1));
        let turns: Vec<Vector3<f64>> = pairs()
            .map(|(a, b)| (a.rotation.inverse() * b.rotation).scaled_axis())
            .collect();
        let mut length = 0.0;
        let mut way = 0.0;
        let mut fractions = vec![0.0];
        for ((a, b), turn) in pairs().zip(&turns) {
            let step = (b.translation.vector - a.translation.vector).norm();
            length += step;
            way += step + METRES_PER_RADIAN * turn.norm();
            fractions.push(way);
        }
        if way > 0.0 {
            fractions.iter_mut().for_each(|fraction| *fraction /= way);
        }
        if let (true, Some(last)) = (way > 0.0, fractions.last_mut()) {
            *last = 1.0;
        }
        Ok(PosePath {
            poses,
            turns,
            fractions,
            length,
        })
    }

    /// Length of the tip's way \[m\].
    pub fn length(&self) -> f64 {
        self.length
    }

    /// The poses.
    pub fn poses(&self) -> &[Pose] {
        &self.poses
    }

    /// Whether the way turns sharply at the pose `index`.
    fn is_corner(&self, index: usize) -> bool {
        let way = |index: usize| {
            let (a, b) = (self.poses.get(index)?, self.poses.get(index + 1)?);
            (b.translation.vector - a.translation.vector).try_normalize(1e-9)
        };
        let (Some(before), Some(after)) = (index.checked_sub(1).and_then(way), way(index)) else {
            return false;
        };
        before.angle(&after) > SHARP
    }
}

impl Guide for PosePath {
    fn pose(&self, u: f64) -> Pose {
        let after = self.fractions.partition_point(|fraction| *fraction <= u);
        let index = after.saturating_sub(1);
        let (Some(a), Some(begin)) = (self.poses.get(index), self.fractions.get(index)) else {
            return Pose::identity();
        };
        let (Some(b), Some(end), Some(turn)) = (
            self.poses.get(index + 1),
            self.fractions.get(index + 1),
            self.turns.get(index),
        ) else {
            return *a;
        };
        let part = ((u - begin) / (end - begin)).clamp(0.0, 1.0);
        let point = a.translation.vector.lerp(&b.translation.vector, part);
        let rotation = a.rotation * UnitQuaternion::from_scaled_axis(turn * part);
        Pose::from_parts(point.into(), rotation)
    }

    fn samples(&self, step: f64, angle_step: f64) -> (Vec<f64>, Vec<usize>) {
        let mut samples = vec![0.0];
        let mut stops = Vec::new();
        let pairs = self.poses.iter().zip(self.poses.iter().skip(1));
        for (index, (pair, turn)) in pairs.zip(&self.turns).enumerate() {
            let (Some(&begin), Some(&end)) =
                (self.fractions.get(index), self.fractions.get(index + 1))
            else {
                continue;
            };
            let way = (pair.1.translation.vector - pair.0.translation.vector).norm();
            let count = super::tip_path::pieces_of(way, step)
                .max(super::tip_path::pieces_of(turn.norm(), angle_step));
            for part in 1..=count {
                let fraction = if part == count {
                    end
                } else {
                    begin + (end - begin) * part as f64 / count as f64
                };
                if samples.last().is_some_and(|last| fraction > *last) {
                    samples.push(fraction);
                }
            }
            if self.is_corner(index + 1) {
                stops.push(samples.len() - 1);
            }
        }
        stops.dedup();
        (samples, stops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinematics::{residual, validated_pose};

    fn at(x: f64, y: f64) -> Pose {
        validated_pose([x, y, 0.3], [0.0, 0.0, 0.0, 1.0]).unwrap()
    }

    #[test]
    fn passes_through_its_poses_and_samples_them() {
        let turned = validated_pose([0.2, 0.1, 0.3], [0.0, 0.0, 0.3, 1.0]).unwrap();
        let path = PosePath::new(vec![at(0.0, 0.0), at(0.2, 0.0), at(0.2, 0.1), turned]).unwrap();
        assert!((path.length() - 0.3).abs() < 1e-12);
        let (samples, stops) = path.samples(0.06, 0.1);
        assert_eq!((samples[0], *samples.last().unwrap()), (0.0, 1.0));
        assert_eq!(samples[4], path.fractions[1]);
        assert_eq!(stops, [4], "the right angle alone");
        for pair in samples.windows(2) {
            let off = residual(&path.pose(pair[0]), &path.pose(pair[1]));
            assert!(pair[1] > pair[0] && off.position < 0.0601 && off.orientation < 0.1001);
        }
        for (pose, &u) in path.poses().iter().zip(&path.fractions) {
            let off = residual(pose, &path.pose(u));
            assert!(off.position < 1e-12 && off.orientation < 1e-9);
        }
    }

    #[test]
    fn a_single_pose_and_repeated_poses_are_paths() {
        let still = PosePath::new(vec![at(0.1, 0.0); 3]).unwrap();
        assert_eq!(still.samples(0.01, 0.1).0, [0.0]);
        assert_eq!(still.pose(0.7), at(0.1, 0.0));
        assert!(PosePath::new(Vec::new()).is_err());
    }
}
