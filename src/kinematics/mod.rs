//! Forward kinematics, the geometric Jacobian and pose errors of a chain.
//!
//! Everything is expressed in the base frame; six-vectors and the Jacobian's
//! rows are linear first, then angular.

mod forward;
mod jacobian;
mod pose;

pub use forward::{forward_kinematics, joint_frames, link_poses, JointFrame, WrongSize};
pub use jacobian::{jacobian, jacobian_from_frames, manipulability, Jacobian};
pub use pose::{pose_error, residual, validated_pose, Pose, PoseError, Residual};
