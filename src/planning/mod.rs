//! From a goal to the arm's path: route, tip path, joint path. Time comes later, in
//! the room `trajectory`.

mod error;
mod follow;
mod joint_path;
mod joint_space;
mod path;
mod request;
mod tip_path;

pub use error::{BreakCause, Partial, PathError};
pub use follow::FollowSettings;
pub use joint_path::JointPath;
pub use joint_space::{plan_joint_path, End, JointSpaceError, JointSpacePath, JointSpaceSettings};
pub use path::{check_goals, plan_path};
pub use request::{ArmPath, Obstacle, PathRequest, PathScene, PathSettings};
pub use tip_path::TipPath;
