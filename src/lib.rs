//! Inverse kinematics and obstacle-avoiding motion for any robot arm.
//!
//! The rooms, in the order in which data flows through them, are drawn in
//! `ARCHITECTURE.md`; `tests/layering.rs` fails on an import that the drawing
//! does not allow. All quantities are SI units and radians, quaternions are
//! written `x y z w`, frames follow REP-103 and REP-105.

#![warn(missing_docs)]
#![cfg_attr(
    not(test),
    warn(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::todo,
        clippy::unimplemented,
        clippy::unreachable
    )
)]

pub mod cli;
pub mod collision;
pub mod ik;
pub mod kinematics;
pub mod model;
pub mod motion;
#[cfg(feature = "ros")]
pub mod node;
pub mod planar;
pub mod planning;
pub mod resource;
pub mod roadmap;
pub mod trajectory;
