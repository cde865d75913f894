//! The geometric Jacobian and what is read off it.

use nalgebra::{Isometry3, Matrix6xX, Vector3};

use super::forward::{joint_frames, JointFrame, WrongSize};
use crate::model::{Chain, Motion};

/// 6×n: rows linear \[m per rad or m\] then angular \[rad per rad or m\], base frame,
/// one column a degree of freedom.
pub type Jacobian = Matrix6xX<f64>;

/// The geometric Jacobian of the tip at `q`: the tip's twist in the base frame is `J q̇`.
/// Followers add to the column of the joint that drives them.
///
/// # Errors
/// [`WrongSize`] if `q` has not one value a degree of freedom.
pub fn jacobian(chain: &Chain, q: &[f64]) -> Result<Jacobian, WrongSize> {
    let mut frames = Vec::with_capacity(chain.joints.len());
    let tip = joint_frames(chain, q, &mut frames)?;
    let mut matrix = Jacobian::zeros(chain.dof());
    jacobian_from_frames(chain, &frames, &tip, &mut matrix);
    Ok(matrix)
}

/// As [`jacobian`], from what [`joint_frames`] returned, into `matrix` (one column a degree
/// of freedom), without allocating.
pub fn jacobian_from_frames(
    chain: &Chain,
    frames: &[JointFrame],
    tip: &Isometry3<f64>,
    matrix: &mut Jacobian,
) {
    matrix.fill(0.0);
    for (joint, frame) in chain.joints.iter().zip(frames) {
        if joint.dof >= matrix.ncols() {
            continue;
        }
        let axis = frame.axis.into_inner();
        let (linear, angular) = match joint.motion {
            Motion::Rotation => (
                axis.cross(&(tip.translation.vector - frame.origin.coords)),
                axis,
            ),
            Motion::Translation => (axis, Vector3::zeros()),
        };
        let mut column = matrix.column_mut(joint.dof);
        for row in 0..3 {
            column[row] += joint.multiplier * linear[row];
            column[row + 3] += joint.multiplier * angular[row];
        }
    }
}

/// Yoshikawa's manipulability √det(J Jᵀ) for six or more joints, √det(Jᵀ J) for fewer
/// \[Yoshikawa1985\]: zero at singular configurations.
pub fn manipulability(jacobian: &Jacobian) -> f64 {
    jacobian.singular_values().iter().product()
}
