//! The ROS 2 node: converts, calls the core, and converts back.

mod clocks;
mod codes;
mod collisions;
mod context;
mod controller;
mod convert;
mod declared;
mod description;
mod diagnostics;
mod drawing;
mod execution;
#[cfg(has_control_msgs)]
mod follow_action;
mod frames;
mod goals;
mod ik_request;
mod inputs;
mod joining;
mod joint_states;
mod markers;
mod mock;
#[cfg(has_control_msgs)]
mod mock_action;
mod model_source;
mod mover;
mod moves;
mod obstacle_changes;
mod obstacles;
mod outputs;
mod parameter_server;
mod parameter_values;
mod parameters;
mod plan_path;
mod planning_job;
mod progress;
mod pursuit;
mod rest;
mod run;
mod shutdown;
mod solve_ik;
mod status;
mod tasks;
#[cfg(test)]
mod test_data;
mod tf_buffer;
mod tracking;
mod watching;
mod whereabouts;

pub use run::{run, NodeError};
pub use shutdown::Shutdown;
