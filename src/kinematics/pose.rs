//! Poses as users send them, and the distance between two of them.

use nalgebra::{Isometry3, Quaternion, UnitQuaternion, Vector3, Vector6};

/// Position and orientation of a frame; here always in the chain's base frame.
pub type Pose = Isometry3<f64>;

/// Why seven numbers are not a pose.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum PoseError {
    /// NaN or infinity in the position.
    #[error("the position ({}, {}, {}) is not finite", .0[0], .0[1], .0[2])]
    PositionNotFinite([f64; 3]),
    /// NaN or infinity in the orientation.
    #[error("the quaternion ({}, {}, {}, {}) is not finite", .0[0], .0[1], .0[2], .0[3])]
    QuaternionNotFinite([f64; 4]),
    /// A quaternion without a direction.
    #[error("the quaternion is zero: send x y z w = 0 0 0 1 for no rotation")]
    QuaternionZero,
}

/// A pose from a position \[m\] and a quaternion `x y z w` of any length but zero, which is normalised.
///
/// # Errors
/// See [`PoseError`].
pub fn validated_pose(position: [f64; 3], quaternion: [f64; 4]) -> Result<Pose, PoseError> {
    if position.iter().any(|value| !value.is_finite()) {
        return Err(PoseError::PositionNotFinite(position));
    }
    if quaternion.iter().any(|value| !value.is_finite()) {
        return Err(PoseError::QuaternionNotFinite(quaternion));
    }
    // Scaled by the largest part first, so that neither huge nor tiny quaternions overflow.
    let largest = quaternion
        .iter()
        .fold(0.0_f64, |most, value| most.max(value.abs()));
    if largest == 0.0 {
        return Err(PoseError::QuaternionZero);
    }
    let [x, y, z, w] = quaternion.map(|value| value / largest);
    Ok(Isometry3::from_parts(
        Vector3::from(position).into(),
        UnitQuaternion::from_quaternion(Quaternion::new(w, x, y, z)),
    ))
}

/// The six-vector that leads from `current` to `target`: difference of positions \[m\], then
/// rotation vector \[rad\] of `target * current⁻¹`, both in the base frame. Its angular part has
/// length at most π and is the shortest way.
pub fn pose_error(target: &Pose, current: &Pose) -> Vector6<f64> {
    let linear = target.translation.vector - current.translation.vector;
    let angular = (target.rotation * current.rotation.inverse()).scaled_axis();
    Vector6::new(
        linear.x, linear.y, linear.z, angular.x, angular.y, angular.z,
    )
}

/// Distances between two poses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Residual {
    /// Distance of the origins \[m\].
    pub position: f64,
    /// Angle between the orientations \[rad\], 0 to π.
    pub orientation: f64,
}

/// The distances between `target` and `current`.
pub fn residual(target: &Pose, current: &Pose) -> Residual {
    let error = pose_error(target, current);
    Residual {
        position: error.fixed_rows::<3>(0).norm(),
        orientation: error.fixed_rows::<3>(3).norm(),
    }
}
