//! Results for programs.

use std::path::Path;

use serde::Serialize;

use super::arm::write_text;
use super::CliError;

fn unwritable(error: serde_json::Error) -> CliError {
    CliError::BadInput(format!("the result cannot be written: {error}"))
}

/// Prints a result as one line.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), CliError> {
    outln!("{}", serde_json::to_string(value).map_err(unwritable)?);
    Ok(())
}

/// Prints a result in lines that people can read, too.
pub(super) fn print_pretty(value: &impl Serialize) -> Result<(), CliError> {
    outln!(
        "{}",
        serde_json::to_string_pretty(value).map_err(unwritable)?
    );
    Ok(())
}

/// Writes a result to a file, where one is asked for.
pub(super) fn write_json(file: Option<&Path>, value: &impl Serialize) -> Result<(), CliError> {
    match file {
        Some(file) => write_text(file, &serde_json::to_string(value).map_err(unwritable)?),
        None => Ok(()),
    }
}
