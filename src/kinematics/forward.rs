//! Poses of the tip, of the joints and of the links from joint values.

use nalgebra::{Isometry3, Point3, Unit, Vector3};

use crate::model::{Chain, Motion};

/// A vector of joint values of the wrong length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{got} joint values were given, the chain has {expected} degrees of freedom")]
pub struct WrongSize {
    /// The chain's degrees of freedom.
    pub expected: usize,
    /// How many were given.
    pub got: usize,
}

/// A moving joint's axis at some configuration, in the base frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointFrame {
    /// The joint's origin \[m\].
    pub origin: Point3<f64>,
    /// Direction of its axis.
    pub axis: Unit<Vector3<f64>>,
    /// Pose of the frame that moves with the joint (after its motion).
    pub pose: Isometry3<f64>,
}

fn check(chain: &Chain, q: &[f64]) -> Result<(), WrongSize> {
    if q.len() == chain.dof() {
        Ok(())
    } else {
        Err(WrongSize {
            expected: chain.dof(),
            got: q.len(),
        })
    }
}

/// Pose of the tip in the base frame for the joint values `q` \[rad, m\].
///
/// # Errors
/// [`WrongSize`] if `q` has not one value a degree of freedom.
pub fn forward_kinematics(chain: &Chain, q: &[f64]) -> Result<Isometry3<f64>, WrongSize> {
    check(chain, q)?;
    let mut pose = Isometry3::identity();
    for joint in &chain.joints {
        pose = pose * joint.before * joint.motion(joint.value(q));
        // A long product of unit quaternions drifts off unit length.
        pose.rotation.renormalize_fast();
    }
    Ok(pose * chain.tip_offset)
}

/// Writes one [`JointFrame`] for each moving joint to `frames` (cleared first) and
/// returns the tip's pose in the base frame.
///
/// # Errors
/// [`WrongSize`] if `q` has not one value a degree of freedom.
pub fn joint_frames(
    chain: &Chain,
    q: &[f64],
    frames: &mut Vec<JointFrame>,
) -> Result<Isometry3<f64>, WrongSize> {
    check(chain, q)?;
    frames.clear();
    let mut pose = Isometry3::identity();
    for joint in &chain.joints {
        let before = pose * joint.before;
        let axis = before.rotation * joint.axis;
        pose = before * joint.motion(joint.value(q));
        pose.rotation.renormalize_fast();
        frames.push(JointFrame {
            origin: match joint.motion {
                Motion::Rotation => before.translation.vector.into(),
                Motion::Translation => pose.translation.vector.into(),
            },
            axis,
            pose,
        });
    }
    Ok(pose * chain.tip_offset)
}

/// Poses in the base frame of all links of [`Chain::links`], in their order.
///
/// # Errors
/// [`WrongSize`] if `q` has not one value a degree of freedom.
pub fn link_poses(chain: &Chain, q: &[f64]) -> Result<Vec<Isometry3<f64>>, WrongSize> {
    let mut frames = Vec::with_capacity(chain.joints.len());
    joint_frames(chain, q, &mut frames)?;
    Ok(chain
        .links
        .iter()
        .map(|link| {
            let carrier = link
                .after_joints
                .checked_sub(1)
                .and_then(|last| frames.get(last))
                .map_or(Isometry3::identity(), |frame| frame.pose);
            carrier * link.offset
        })
        .collect())
}
