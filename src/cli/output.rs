//! What commands print: `outln!`, `out!` and `errln!` instead of the standard macros, which panic
//! when whoever reads has gone (`arm-planner path … | head`).

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::sync::{Mutex, PoisonError};

/// The first thing that went wrong with the standard output, apart from a reader that left.
static FAILURE: Mutex<Option<io::Error>> = Mutex::new(None);

fn keep(result: io::Result<()>) {
    if let Err(error) = result {
        // A reader that has seen enough is no error, and the command may have files to write yet.
        if error.kind() != ErrorKind::BrokenPipe {
            let mut failure = FAILURE.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert(error);
        }
    }
}

/// Writes to the standard output.
pub(super) fn write_out(text: Arguments<'_>) {
    keep(io::stdout().lock().write_fmt(text));
}

/// Writes to the standard error output. There is nobody to tell if that fails.
pub(super) fn write_err(text: Arguments<'_>) {
    let _ = io::stderr().lock().write_fmt(text);
}

/// Writes what is left, and says whether anything could not be written (a full disk, say).
pub(super) fn finish() -> io::Result<()> {
    keep(io::stdout().lock().flush());
    let mut failure = FAILURE.lock().unwrap_or_else(PoisonError::into_inner);
    failure.take().map_or(Ok(()), Err)
}

macro_rules! out {
    ($($text:tt)*) => { $crate::cli::output::write_out(format_args!($($text)*)) };
}

macro_rules! outln {
    () => { $crate::cli::output::write_out(format_args!("\n")) };
    ($($text:tt)*) => {
        $crate::cli::output::write_out(format_args!("{}\n", format_args!($($text)*)))
    };
}

macro_rules! errln {
    ($($text:tt)*) => {
        $crate::cli::output::write_err(format_args!("{}\n", format_args!($($text)*)))
    };
}
