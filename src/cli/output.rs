//! What commands print: `outln!`, `out!` and `errln!` instead of the standard macros, which panic
//! when whoever reads has gone (`arm-planner path … | head`).

use std::borrow::Cow;
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

/// A number of more digits than this is written with an exponent.
const DIGITS: usize = 25;

/// The text with its endless numbers written with exponents: Rust writes 1e300 with three hundred digits.
pub(super) fn tidy(text: &str) -> Cow<'_, str> {
    let mut tidied = String::new();
    // Up to where `text` is in `tidied`.
    let mut copied = 0;
    let mut begin = 0;
    let bytes = text.as_bytes();
    while let Some(found) = bytes[begin..].iter().position(u8::is_ascii_digit) {
        let start = begin + found;
        let count = |from: usize| {
            let digits = bytes[from..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit());
            digits.count()
        };
        let mut end = start + count(start);
        if bytes.get(end) == Some(&b'.') && count(end + 1) > 0 {
            end += 1 + count(end + 1);
        }
        begin = end;
        // Digits of a name, of a version or of something longer are no number.
        let part_of_word =
            |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/');
        let alone = !bytes[..start].last().is_some_and(part_of_word)
            && !bytes.get(end).is_some_and(|byte| {
                part_of_word(byte)
                    && (*byte != b'.' || bytes.get(end + 1).is_some_and(part_of_word))
            });
        if end - start <= DIGITS || !alone {
            continue;
        }
        if let Some(value) = text
            .get(start..end)
            .and_then(|word| word.parse::<f64>().ok())
        {
            tidied.push_str(text.get(copied..start).unwrap_or_default());
            tidied.push_str(&format!("{value:e}"));
            copied = end;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    tidied.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(tidied)
}

/// Writes to the standard output.
pub(super) fn write_out(text: Arguments<'_>) {
    let text = text.to_string();
    keep(io::stdout().lock().write_all(tidy(&text).as_bytes()));
}

/// Writes to the standard error output. There is nobody to tell if that fails.
pub(super) fn write_err(text: Arguments<'_>) {
    let text = text.to_string();
    let _ = io::stderr().lock().write_all(tidy(&text).as_bytes());
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

#[cfg(test)]
mod tests {
    use super::tidy;

    #[test]
    fn endless_numbers_are_written_with_exponents() {
        let text = format!(
            "not {}, {} or [{}]: {:.6}.",
            1e300, -2.5e-300, 1.25e40, 3e200
        );
        assert_eq!(tidy(&text), "not 1e300, -2.5e-300 or [1.25e40]: 3e200.");
        let numbers = "at 0.00001234567890123456, 12345678901234567890 and 1.5";
        assert_eq!(tidy(numbers), numbers);
        let name = format!("scene_{0}.json, /tmp/{0}/x, {0}mm", "7".repeat(30));
        assert_eq!(tidy(&name), name);
        assert_eq!(tidy("ü 1"), "ü 1");
        assert_eq!(tidy(""), "");
    }
}
