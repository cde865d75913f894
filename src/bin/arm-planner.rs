//! The command line: everything but ROS. See `arm-planner --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    arm_planner::cli::run(std::env::args_os())
}
