//! The ROS 2 node. Its parameters are described in `config/arm_planner.yaml`.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use arm_planner::node::{run, Shutdown};
use clap::Parser;

/// Inverse kinematics and obstacle-avoiding motion for a robot arm, as a ROS 2 node.
///
/// Everything is set by ROS parameters: `--ros-args --params-file FILE -p NAME:=VALUE`.
#[derive(Parser)]
#[command(name = "arm_planner_node", version)]
struct Arguments {}

/// The arguments that are not between `--ros-args` and `--`.
fn without_ros(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut for_ros = false;
    let mut own = Vec::new();
    for argument in all {
        match argument.as_str() {
            "--ros-args" => for_ros = true,
            "--" if for_ros => for_ros = false,
            _ if !for_ros => own.push(argument),
            _ => {}
        }
    }
    own
}

/// The level of `--log-level LEVEL` or `--log-level arm_planner:=LEVEL`, as ROS names it.
fn log_level(all: impl Iterator<Item = String>) -> &'static str {
    let all: Vec<String> = all.collect();
    let given = all
        .windows(2)
        .filter(|pair| matches!(pair, [flag, _] if flag == "--log-level"));
    let mut levels = given.filter_map(|pair| match pair.last()?.split_once(":=") {
        Some(("arm_planner", level)) => Some(level.to_lowercase()),
        Some(_) => None,
        None => pair.last().map(|level| level.to_lowercase()),
    });
    match levels.next_back().as_deref() {
        Some("debug") => "debug",
        Some("warn") => "warn",
        Some("error" | "fatal") => "error",
        _ => "info",
    }
}

fn main() -> ExitCode {
    Arguments::parse_from(without_ros(std::env::args()));
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(log_level(std::env::args())));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("arm_planner_node: {error}");
            return ExitCode::FAILURE;
        }
    };
    let result = runtime.block_on(async {
        let shutdown = Shutdown::default();
        shutdown.on_signals()?;
        run(shutdown).await
    });
    // Computations that are still under way are told to give up, but not waited for.
    runtime.shutdown_timeout(Duration::from_millis(100));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("arm_planner_node: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
