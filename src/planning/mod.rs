//! From a goal to the arm's path: route, tip path, joint path.

mod joint_path;
mod tip_path;

pub use joint_path::JointPath;
pub use tip_path::TipPath;
