//! Reads the inputs of `tests/data/faults` for the tests of this room.

use std::sync::Arc;
use std::time::Duration;

use r2r::ParameterValue;
use serde_json::Value;

use super::context::View;
use super::joint_states::{JointStates, Reported};
use super::model_source::Robot;
use super::obstacles::ObstacleSet;
use super::parameter_values::defaults;
use super::parameters::Parameters;
use super::tf_buffer::TfBuffer;
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

/// The robot of `urdf/NAME.urdf` at the configuration `q`, with the default parameters but for
/// those given.
pub fn view(name: &str, q: &[f64], parameters: &[(&'static str, ParameterValue)]) -> View {
    let path = format!("{}/urdf/{name}.urdf", env!("CARGO_MANIFEST_DIR"));
    let mut values = defaults();
    values.extend(parameters.iter().cloned());
    let parameters = Parameters::new(&values);
    let robot = Robot::new(&std::fs::read_to_string(&path).unwrap(), &path, &parameters).unwrap();
    let mut states = JointStates::new("joint_states");
    let names = robot.chain.joint_names();
    let reported = Reported {
        names: &names,
        positions: q,
        velocities: &[],
    };
    states.update(reported, Duration::ZERO).unwrap();
    View {
        parameters: Arc::new(parameters),
        robot: Arc::new(robot),
        states: Arc::new(states),
        tf: Some(Arc::new(TfBuffer::default())),
        obstacles: Arc::new(ObstacleSet::default()),
        srdf: Arc::default(),
        collisions: Arc::default(),
        now: Duration::ZERO,
        stamp: r2r::builtin_interfaces::msg::Time { sec: 7, nanosec: 0 },
    }
}

/// A square obstacle of half width `half` around a point, in the base frame, of any height.
pub fn square(id: &str, x: f64, y: f64, half: f64) -> super::obstacles::Sent {
    let corner = |dx: f64, dy: f64| nalgebra::Point2::new(x + dx * half, y + dy * half);
    super::obstacles::Sent {
        id: id.into(),
        frame: String::new(),
        operation: super::obstacles::Operation::Add,
        corners: vec![
            corner(-1.0, -1.0),
            corner(1.0, -1.0),
            corner(1.0, 1.0),
            corner(-1.0, 1.0),
        ],
        min_height: 0.0,
        max_height: 0.0,
    }
}

/// `view` with obstacles.
pub fn with_obstacles(mut view: View, obstacles: &[super::obstacles::Sent]) -> View {
    let options = view.parameters.planning.polygon.clone();
    let applied = view
        .obstacles
        .changed(obstacles, false, &view.frames(), &options)
        .unwrap();
    view.obstacles = Arc::new(applied.set);
    view
}
