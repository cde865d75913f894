//! Numbers as a URDF may write them.

use super::xml::{Attribute, Element};
use super::ModelError;

/// Numbers with blanks in between, each so that it is read back bit for bit.
pub(super) fn words(values: &[f64]) -> String {
    values
        .iter()
        .map(|value| format!("{value:?}"))
        .collect::<Vec<_>>()
        .join(" ")
}

fn comma_hint(text: &str) -> String {
    if text.contains(',') {
        "; write a decimal point, not a comma".to_owned()
    } else {
        String::new()
    }
}

/// A number as XML schema's `double` writes it; `inf`, `nan` and hexadecimal are refused.
fn parse(word: &str) -> Option<f64> {
    let plain = word
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    if !plain {
        return None;
    }
    word.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// The number that an attribute holds.
pub(super) fn number(attribute: &Attribute, element: &str) -> Result<f64, ModelError> {
    parse(attribute.value.trim()).ok_or_else(|| ModelError::InvalidNumber {
        line: attribute.line,
        element: element.to_owned(),
        attribute: attribute.name.clone(),
        text: attribute.value.clone(),
        hint: comma_hint(&attribute.value),
    })
}

/// The number that an attribute holds, if it is there.
pub(super) fn optional_number(
    element: &Element,
    name: &str,
    place: &str,
) -> Result<Option<f64>, ModelError> {
    element
        .attribute(name)
        .map(|found| number(found, place))
        .transpose()
}

/// The `N` numbers that an attribute holds, neither fewer nor more.
pub(super) fn vector<const N: usize>(
    attribute: &Attribute,
    element: &str,
) -> Result<[f64; N], ModelError> {
    let invalid = || ModelError::InvalidVector {
        line: attribute.line,
        element: element.to_owned(),
        attribute: attribute.name.clone(),
        text: attribute.value.clone(),
        expected: N,
        hint: comma_hint(&attribute.value),
    };
    let mut values = [0.0; N];
    let mut count = 0;
    for word in attribute.value.split_whitespace() {
        *values.get_mut(count).ok_or_else(invalid)? = parse(word).ok_or_else(invalid)?;
        count += 1;
    }
    if count == N {
        Ok(values)
    } else {
        Err(invalid())
    }
}
