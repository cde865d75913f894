//! Reads the inputs of `tests/data/faults` for the tests of this room.

use serde_json::Value;

use crate::model::RobotModel;

fn read(file: &str) -> String {
    let path = format!("{}/tests/data/faults/{file}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The case called `name`.
pub fn fault(name: &str) -> Value {
    serde_json::from_str(&read(&format!("{name}.json"))).unwrap()
}

/// The robot of a case.
pub fn fault_urdf(case: &Value) -> RobotModel {
    RobotModel::from_urdf(&read(case["input"]["urdf_file"].as_str().unwrap())).unwrap()
}

/// A number; NaN and infinity are written as strings.
pub fn number(value: &Value) -> f64 {
    match value {
        Value::String(text) => match text.as_str() {
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            "NaN" => f64::NAN,
            other => panic!("{other} is not a number"),
        },
        other => other.as_f64().unwrap(),
    }
}

/// A list of numbers, empty where there is none.
pub fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .map_or(Vec::new(), |list| list.iter().map(number).collect())
}

/// A list of texts, empty where there is none.
pub fn texts(value: &Value) -> Vec<String> {
    let list = value.as_array().into_iter().flatten();
    list.map(|text| text.as_str().unwrap().to_owned()).collect()
}
