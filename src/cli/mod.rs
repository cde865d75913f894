//! The `arm-planner` commands: tables for people, `--json` for programs.
//!
//! Exit codes: 0 done, 1 no solution, 2 bad input. Each command is one file
//! that parses its own arguments and returns a [`CliError`] or what it printed.

#[macro_use]
mod output;

mod arm;
mod chart;
mod collide_batch;
mod collision;
mod fk;
mod follow_batch;
mod ik;
mod ik_batch;
mod ik_tree;
mod inflate;
mod info;
mod json;
mod labels;
mod panel;
mod path;
mod path_batch;
mod path_updates;
mod plan;
mod plan_batch;
mod plan_passages;
mod plan_picture;
mod plan_random;
mod plan_reason;
mod plan_report;
mod plan_story;
pub mod random_scene;
mod scene;
mod stages;
mod svg;
mod table;
mod topp_batch;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Inverse kinematics and obstacle-avoiding motion for any robot arm.
#[derive(Debug, Parser)]
#[command(name = "arm-planner", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    CollideBatch(collide_batch::CollideBatch),
    Fk(fk::Fk),
    FollowBatch(follow_batch::FollowBatch),
    Ik(ik::Ik),
    IkBatch(ik_batch::IkBatch),
    IkTree(ik_tree::IkTree),
    Info(info::Info),
    Plan(Box<plan::PlanOptions>),
    PlanBatch(plan_batch::PlanBatch),
    PlanRandom(plan_random::PlanRandom),
    Path(path::Path),
    PathBatch(path_batch::PathBatch),
    Inflate(inflate::Inflate),
    ToppBatch(topp_batch::ToppBatch),
}

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The input was understood, there is no solution (exit code 1).
    #[error("{0}")]
    NoSolution(String),
    /// The input cannot be used (exit code 2).
    #[error("{0}")]
    BadInput(String),
    /// A file cannot be read or written (exit code 2).
    #[error("{path}: {source}")]
    File {
        /// The file as the user named it.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl CliError {
    fn exit_code(&self) -> u8 {
        match self {
            CliError::NoSolution(_) => 1,
            CliError::BadInput(_) | CliError::File { .. } => 2,
        }
    }
}

/// Runs the command that `arguments` (program name first) ask for and returns
/// the process's exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // clap uses the streams and the exit codes that shells expect: 0 for --help, 2 for misuse.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let outcome: Result<(), CliError> = match &arguments.command {
        Command::CollideBatch(options) => collide_batch::run(options),
        Command::Fk(options) => fk::run(options),
        Command::FollowBatch(command) => command.run(),
        Command::Ik(options) => ik::run(options),
        Command::IkBatch(options) => ik_batch::run(options),
        Command::IkTree(options) => ik_tree::run(options),
        Command::Info(options) => info::run(options),
        Command::Plan(options) => plan::run(options),
        Command::PlanBatch(command) => command.run(),
        Command::PlanRandom(command) => command.run(),
        Command::Path(command) => command.run(),
        Command::PathBatch(command) => command.run(),
        Command::Inflate(command) => command.run(),
        Command::ToppBatch(command) => command.run(),
    };
    let outcome = outcome.and_then(|()| {
        output::finish().map_err(|source| CliError::File {
            path: "standard output".to_owned(),
            source,
        })
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            errln!("arm-planner: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn no_help_shows_the_marks_of_its_source() {
        let mut all = Arguments::command();
        let commands: Vec<_> = all.get_subcommands_mut().collect();
        assert!(commands.len() > 10);
        for command in commands {
            let help = command.render_long_help().to_string();
            for mark in ["\\", "[`", "`]", "](", "###"] {
                let line = help.lines().find(|line| line.contains(mark));
                assert_eq!(line, None, "{} of {}", mark, command.get_name());
            }
        }
    }
}
