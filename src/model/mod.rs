//! URDF to immutable data: the link tree ([`RobotModel`]) and flat base-to-tip
//! arrays ([`Chain`]); several of these joined ([`TreeChain`]).
//!
//! The only room that names `urdf_rs` or `k`.

mod chain;
mod clean;
mod error;
mod extract;
mod hint;
mod numbers;
mod oracle;
mod read;
mod robot;
mod srdf;
mod tree;
mod xml;

pub use chain::{Chain, ChainJoint, ChainLink, Dof, DofKind, Motion};
pub use error::{ChainError, ModelError, ModelWarning};
pub use hint::did_you_mean;
pub use oracle::{forward_kinematics_by_k, OracleError};
pub use robot::{Geometry, Joint, JointKind, JointLimits, Link, LinkShape, Mimic, RobotModel};
pub use srdf::{Srdf, SrdfError, SrdfWarning};
pub use tree::{TreeChain, TreeJoint, TreeTip};
