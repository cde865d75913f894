//! From a goal to the arm's path: route, tip path, joint path. Time comes later, in
//! the room `trajectory`.

mod error;
mod follow;
mod guide;
mod joint_follow;
mod joint_path;
mod legs;
mod null_search;
mod path;
mod request;
mod tip_path;

pub use error::{BreakCause, Partial, PathError};
pub use follow::FollowSettings;
pub use guide::{Guide, PosePath, PosePathError};
pub use joint_follow::{follow_path, FollowError, Followed};
pub use joint_path::JointPath;
pub use path::{check_goals, plan_path};
pub use request::{ArmCheck, ArmPath, Obstacle, PathRequest, PathScene, PathSettings};
pub use tip_path::TipPath;
