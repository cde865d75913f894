//! Inverse kinematics: one trait, one file a solver, and the portfolio that orders them.

mod request;

pub use request::{
    Attempt, Goal, IkError, IkRequest, IkSolution, IkSolver, InvalidRequest, Posture, Tolerances,
};
