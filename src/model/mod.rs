//! URDF to immutable data: the link tree ([`RobotModel`]) and flat base-to-tip
//! arrays ([`Chain`]).
//!
//! The only room that names `urdf_rs` or `k`.

mod chain;
mod error;
mod extract;
mod robot;

pub use chain::{Chain, ChainJoint, ChainLink, Dof, DofKind, Motion};
pub use error::{ChainError, ModelError, ModelWarning};
pub use robot::{Geometry, Joint, JointKind, JointLimits, Link, LinkShape, Mimic, RobotModel};
