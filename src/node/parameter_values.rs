//! Parameter values as ROS hands them over, checked against their declarations.

use std::collections::{BTreeMap, HashMap};

use r2r::ParameterValue;

use super::declared::{declared, Kind, DECLARED};
use crate::model::did_you_mean;

/// A parameter that cannot be used, and why.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ParameterError {
    /// The wrong type.
    #[error("parameter {name}: {found} is not {expected}")]
    WrongType {
        /// The parameter.
        name: String,
        /// What was given, in words.
        found: String,
        /// What it must be.
        expected: &'static str,
    },
    /// A value that is not allowed.
    #[error("parameter {name}: {value} is not allowed, it must be {allowed}")]
    NotAllowed {
        /// The parameter.
        name: String,
        /// The value.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// Not a parameter of this node.
    #[error("parameter {name} does not exist{hint}")]
    Unknown {
        /// The name.
        name: String,
        /// `; did you mean …?` or empty.
        hint: String,
    },
    /// A change that would only take effect at the next start.
    #[error("parameter {name} is read when the node starts: set it there and start the node anew")]
    ReadOnly {
        /// The parameter.
        name: String,
    },
}

/// Raw values of the declared parameters.
pub type Values = BTreeMap<&'static str, ParameterValue>;

/// The defaults of all parameters.
pub fn defaults() -> Values {
    DECLARED
        .iter()
        .map(|declared| (declared.name, declared.kind.default_value()))
        .collect()
}

/// Prefixes and names that belong to every ROS node.
fn belongs_to_ros(name: &str) -> bool {
    matches!(name, "use_sim_time" | "start_type_description_service")
        || name.starts_with("qos_overrides.")
}

/// Checks what was given at the start over the defaults. Names that are not ours are returned,
/// unless they look like a slip of the pen: a parameter file may be shared with other nodes.
///
/// # Errors
/// The first parameter that cannot be used.
pub fn from_overrides(
    given: &HashMap<String, ParameterValue>,
) -> Result<(Values, Vec<String>), ParameterError> {
    let mut values = defaults();
    let mut foreign = Vec::new();
    let mut names: Vec<&String> = given.keys().collect();
    names.sort_unstable();
    for name in names {
        let Some(value) = given.get(name) else {
            continue;
        };
        if belongs_to_ros(name) {
            continue;
        }
        match declared(name) {
            Some(known) => {
                values.insert(known.name, checked(known.name, known.kind, value)?);
            }
            None => match unknown(name) {
                error @ ParameterError::Unknown { .. } if is_slip(name, &error) => {
                    return Err(error)
                }
                _ => foreign.push(name.clone()),
            },
        }
    }
    Ok((values, foreign))
}

fn is_slip(name: &str, error: &ParameterError) -> bool {
    let ours = [
        "ik.",
        "planning.",
        "trajectory.",
        "tracking.",
        "collision.",
        "execution.",
        "mock_",
    ];
    ours.iter().any(|prefix| name.starts_with(prefix))
        || matches!(error, ParameterError::Unknown { hint, .. } if !hint.is_empty())
}

/// The error for a name that is not declared.
pub fn unknown(name: &str) -> ParameterError {
    let hint = did_you_mean(name, DECLARED.iter().map(|declared| declared.name));
    ParameterError::Unknown {
        name: name.to_owned(),
        hint,
    }
}

pub(super) fn in_words(value: &ParameterValue) -> String {
    match value {
        ParameterValue::NotSet => "nothing".into(),
        ParameterValue::Bool(value) => value.to_string(),
        ParameterValue::Integer(value) => value.to_string(),
        ParameterValue::Double(value) => value.to_string(),
        ParameterValue::String(value) => {
            let short: String = value.chars().take(80).collect();
            format!(
                "\"{short}{}\"",
                if value.chars().count() > 80 {
                    "…"
                } else {
                    ""
                }
            )
        }
        ParameterValue::BoolArray(value) => format!("{value:?}"),
        ParameterValue::ByteArray(value) => format!("{value:?}"),
        ParameterValue::IntegerArray(value) => format!("{value:?}"),
        ParameterValue::DoubleArray(value) => format!("{value:?}"),
        ParameterValue::StringArray(value) => format!("{value:?}"),
    }
}

/// Whether the value is a list without elements: YAML gives it no type.
fn is_empty_list(value: &ParameterValue) -> bool {
    match value {
        ParameterValue::NotSet => true,
        ParameterValue::BoolArray(list) => list.is_empty(),
        ParameterValue::ByteArray(list) => list.is_empty(),
        ParameterValue::IntegerArray(list) => list.is_empty(),
        ParameterValue::DoubleArray(list) => list.is_empty(),
        ParameterValue::StringArray(list) => list.is_empty(),
        _ => false,
    }
}

/// The value in the parameter's own type, if it is allowed.
///
/// # Errors
/// [`ParameterError::WrongType`] and [`ParameterError::NotAllowed`].
pub fn checked(
    name: &str,
    kind: Kind,
    value: &ParameterValue,
) -> Result<ParameterValue, ParameterError> {
    use ParameterValue as V;
    let not_allowed = |allowed: String| ParameterError::NotAllowed {
        name: name.to_owned(),
        value: in_words(value),
        allowed,
    };
    let result = match (kind, value) {
        (Kind::Text(_), V::String(_))
        | (Kind::Flag(_), V::Bool(_))
        | (Kind::Texts, V::StringArray(_)) => Some(value.clone()),
        (Kind::Choice(_, choices), V::String(text)) => {
            let choices = choices();
            if !choices.contains(&text.as_str()) {
                let quoted: Vec<String> = choices
                    .iter()
                    .map(|choice| format!("\"{choice}\""))
                    .collect();
                return Err(not_allowed(format!("one of {}", quoted.join(", "))));
            }
            Some(value.clone())
        }
        // YAML and the command line write whole numbers for doubles.
        (Kind::Number(..), V::Integer(number)) => Some(V::Double(*number as f64)),
        (Kind::Number(..), V::Double(_)) | (Kind::Count(..), V::Integer(_)) => Some(value.clone()),
        (Kind::Numbers(_), V::DoubleArray(_)) => Some(value.clone()),
        (Kind::Numbers(_), V::IntegerArray(list)) => Some(V::DoubleArray(
            list.iter().map(|&number| number as f64).collect(),
        )),
        (Kind::Numbers(_), empty) if is_empty_list(empty) => Some(V::DoubleArray(Vec::new())),
        (Kind::Texts, empty) if is_empty_list(empty) => Some(V::StringArray(Vec::new())),
        _ => None,
    };
    let result = result.ok_or_else(|| ParameterError::WrongType {
        name: name.to_owned(),
        found: in_words(value),
        expected: kind.type_name(),
    })?;
    match (kind, &result) {
        (Kind::Number(_, range), V::Double(number)) if !range.contains(*number) => {
            Err(not_allowed(range.words().to_owned()))
        }
        (Kind::Count(_, most), V::Integer(count)) if *count < 1 || *count > most => {
            Err(not_allowed(format!("a whole number from 1 to {most}")))
        }
        (Kind::Numbers(range), V::DoubleArray(list))
            if !list.iter().all(|value| range.contains(*value)) =>
        {
            Err(not_allowed(format!(
                "a list in which each is {}",
                range.words()
            )))
        }
        (Kind::Texts, V::StringArray(list)) if list.iter().any(String::is_empty) => {
            Err(not_allowed("a list of names that are not empty".to_owned()))
        }
        _ => Ok(result),
    }
}
