//! From a goal to the arm's path: route, tip path, joint path. Time comes later, in
//! the room `trajectory`.

mod error;
mod follow;
mod guide;
mod joint_follow;
mod joint_path;
mod joint_space;
mod legs;
mod near;
mod null_search;
mod off_route;
mod path;
mod request;
mod route;
mod tip_path;

pub use error::{BreakCause, Partial, PathError};
pub use follow::FollowSettings;
pub use guide::{Guide, PosePath, PosePathError};
pub use joint_follow::{follow_path, FollowError, Followed};
pub use joint_path::JointPath;
pub use joint_space::{plan_joint_path, End, JointSpaceError, JointSpacePath, JointSpaceSettings};
pub use path::{check_goals, follow_tip, plan_path};
pub use request::{
    collision_frame, ArmCheck, ArmPath, Observer, Obstacle, PathRequest, PathScene, PathSettings,
    Stage,
};
pub use route::{plan_tip, plan_tip_into, TipPlan};
pub use tip_path::TipPath;
