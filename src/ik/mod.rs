//! Inverse kinematics: one trait, one file a solver, and the portfolio that orders them.
//!
//! | file | what it holds |
//! |---|---|
//! | `request` | what is asked and answered: requests, solutions, errors, the trait |
//! | `registry` | solvers by name |
//! | `portfolio` | the default order: seed, descents, restarts, FABRIK |
//! | `closed_form` | all branches where the geometry allows it |
//! | `lm`, `kernel` | Levenberg–Marquardt on arrays of fixed size, the fast inner loop |
//! | `damped_svd`, `pseudo_inverse` | damped pseudo-inverse with column rule and null-space posture |
//! | `jacobian_transpose` | steepest descent with the optimal step length |
//! | `ccd`, `fabrik`, `one_joint` | one joint at a time by its analytic minimum |
//! | `fabrik_tree` | several tips at once |
//! | `ball_joint` | three hinges as one ball joint with a cone of limits |
//! | `posture` | the pull towards a preferred posture in the null space |
//! | `reach`, `beyond_limits` | proofs that a target is out of reach, and which limits are in the way |
//! | `nearest` | the nearest configuration to a target out of reach |
//! | `task` | goals that ask for some axes of a pose |
//! | `tracker` | one arm, many targets close together |
//! | `restart` | where to start again |
//! | `seed` | seeds by joint names |
//! | `winding` | full turns |
//! | `verify` | the check that every request and every answer passes |

mod ball_joint;
mod beyond_limits;
mod ccd;
mod closed_form;
mod damped_svd;
mod fabrik;
mod fabrik_tree;
mod jacobian_transpose;
mod kernel;
mod lm;
mod nearest;
mod one_joint;
mod portfolio;
mod posture;
mod pseudo_inverse;
mod reach;
mod registry;
mod request;
mod restart;
mod seed;
mod task;
#[cfg(test)]
mod test_arms;
mod tracker;
mod verify;
mod winding;

pub use ccd::CyclicCoordinateDescent;
pub use closed_form::{closed_form_of, ClosedForm};
pub use damped_svd::DampedSvd;
pub use fabrik::Fabrik;
pub use fabrik_tree::{
    solve_tree, tip_poses, TipGoal, TipResidual, TreeBase, TreeError, TreeRequest, TreeSolution,
};
pub use jacobian_transpose::JacobianTranspose;
pub use lm::LevenbergMarquardt;
pub use nearest::{solve_nearest, Nearest};
pub use portfolio::Portfolio;
pub use registry::{solver, solver_names, UnknownSolver};
pub use request::{
    Accept, Attempt, BeyondLimit, Goal, IkError, IkRequest, IkSolution, IkSolver, InvalidRequest,
    Posture, Tolerances,
};
pub use seed::{seed_from_names, SeedError, SeedWarning};
pub use task::{TaskAxes, TaskAxesError};
pub use tracker::Tracker;
