use std::collections::HashMap;

use super::*;
use crate::node::declared::{declared, Kind, DECLARED};
use crate::node::parameter_values::{checked, defaults, from_overrides, in_words};

fn given(list: &[(&str, ParameterValue)]) -> HashMap<String, ParameterValue> {
    list.iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect()
}

fn error(name: &str, value: ParameterValue) -> String {
    from_overrides(&given(&[(name, value)]))
        .unwrap_err()
        .to_string()
}

#[test]
fn defaults_pass_their_own_checks_and_reach_their_fields() {
    for known in DECLARED {
        let value = known.kind.default_value();
        assert_eq!(
            checked(known.name, known.kind, &value),
            Ok(value),
            "{}",
            known.name
        );
        assert!(!known.description.is_empty());
        assert_eq!(
            DECLARED
                .iter()
                .filter(|other| other.name == known.name)
                .count(),
            1
        );
    }
    let parameters = Parameters::new(&defaults());
    assert_eq!(parameters.planning.clearance, 0.03);
    assert_eq!(parameters.mock.rate, 100.0);
    assert!(parameters.mock.publish_tf && !parameters.mock.enabled);
    assert_eq!(parameters.ik.max_iterations, 200);
    assert_eq!(parameters.planning.contact, Contact::Blocked);
    assert_eq!(
        parameters.controller.topic,
        "joint_trajectory_controller/joint_trajectory"
    );
}

#[test]
fn every_declared_parameter_changes_what_is_read() {
    for known in DECLARED {
        let mut values = defaults();
        // These count only where something else is switched on.
        let switch = match known.name {
            "planning.safe_height" => Some("planning.over"),
            "collision.ground_height" => Some("collision.ground"),
            _ => None,
        };
        if let Some(switch) = switch {
            let on = ParameterValue::Bool(true);
            values.insert(switch, checked(switch, Kind::Flag(false), &on).unwrap());
        }
        let plain = Parameters::new(&values);
        let other = match known.kind {
            Kind::Text(_) => ParameterValue::String("other".into()),
            Kind::Choice(default, choices) => {
                let mut choices = choices().into_iter();
                let Some(choice) = choices.find(|choice| *choice != default) else {
                    continue;
                };
                ParameterValue::String(choice.into())
            }
            Kind::Flag(flag) => ParameterValue::Bool(!flag),
            Kind::Number(number, _) => ParameterValue::Double(0.5 * number + 0.001),
            Kind::Count(count, _) => ParameterValue::Integer(count + 1),
            Kind::Numbers(_) => ParameterValue::DoubleArray(vec![1.0]),
            Kind::Texts => ParameterValue::StringArray(vec!["other".into()]),
        };
        values.insert(known.name, checked(known.name, known.kind, &other).unwrap());
        assert_ne!(
            Parameters::new(&values),
            plain,
            "{} is never read",
            known.name
        );
    }
}

#[test]
fn the_shipped_file_names_every_parameter_with_its_default() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/config/arm_planner.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    let mut group = String::new();
    let mut seen = Vec::new();
    for line in text
        .lines()
        .skip_while(|line| !line.contains("ros__parameters"))
        .skip(1)
    {
        let commented = line.trim_start().starts_with("# ");
        let line = if commented {
            line.replacen("# ", "", 1)
        } else {
            line.to_owned()
        };
        let Some((key, value)) = line.split_once(": ").or_else(|| line.split_once(':')) else {
            continue;
        };
        let (indent, key) = (key.len() - key.trim_start().len(), key.trim());
        if value.trim().is_empty() && !commented {
            group = format!("{key}.");
            continue;
        }
        let name = if indent > 4 {
            format!("{group}{key}")
        } else {
            key.to_owned()
        };
        let Some(known) = declared(&name) else {
            assert!(commented, "{name} is not declared");
            continue;
        };
        seen.push(known.name);
        if commented {
            assert!(
                matches!(known.kind, Kind::Numbers(_) | Kind::Texts),
                "{name}"
            );
            continue;
        }
        let expected = match known.kind.default_value() {
            ParameterValue::String(text) => format!("\"{text}\""),
            ParameterValue::Double(number) => {
                assert_eq!(value.trim().parse::<f64>().unwrap(), number, "{name}");
                continue;
            }
            other => in_words(&other),
        };
        assert_eq!(value.trim(), expected, "{name}");
    }
    for known in DECLARED {
        assert!(
            seen.contains(&known.name),
            "{} is not in the file",
            known.name
        );
    }
}

#[test]
fn wrong_values_are_named_with_what_is_allowed() {
    let text = error("planning.clearance", ParameterValue::Double(-0.1));
    assert_eq!(text, "parameter planning.clearance: -0.1 is not allowed, it must be a finite number of at least 0");
    let text = error("planning.clearance", ParameterValue::Double(f64::NAN));
    assert!(text.contains("NaN"), "{text}");
    let text = error("ik.solver", ParameterValue::String("ikfast".into()));
    assert!(
        text.contains("\"ikfast\"") && text.contains("\"fabrik\""),
        "{text}"
    );
    let text = error("mock_controller", ParameterValue::String("yes".into()));
    assert_eq!(
        text,
        "parameter mock_controller: \"yes\" is not true or false"
    );
    let text = error("trajectory.velocity_scaling", ParameterValue::Double(1.5));
    assert!(text.contains("at most 1"), "{text}");
    let text = error(
        "trajectory.max_acceleration",
        ParameterValue::DoubleArray(vec![1.0, 0.0]),
    );
    assert!(text.contains("[1.0, 0.0]"), "{text}");
    let text = error("ik.max_iterations", ParameterValue::Integer(0));
    assert!(text.contains("from 1 to"), "{text}");
    let text = error("planing.clearance", ParameterValue::Double(0.3));
    assert!(
        text.contains("did you mean \"planning.clearance\""),
        "{text}"
    );
    let text = error("ik.flavour", ParameterValue::Double(0.3));
    assert_eq!(text, "parameter ik.flavour does not exist");
}

#[test]
fn whole_numbers_and_empty_lists_are_understood_and_other_nodes_parameters_let_be() {
    let (values, foreign) = from_overrides(&given(&[
        ("mock_rate", ParameterValue::Integer(50)),
        (
            "ik.preferred_posture",
            ParameterValue::IntegerArray(vec![0, 1]),
        ),
        ("controller_joints", ParameterValue::NotSet),
        (
            "trajectory.max_acceleration",
            ParameterValue::StringArray(vec![]),
        ),
        ("use_sim_time", ParameterValue::Bool(true)),
        (
            "camera_frame_rate_limit_of_someone_else",
            ParameterValue::Integer(3),
        ),
    ]))
    .unwrap();
    let parameters = Parameters::new(&values);
    assert_eq!(parameters.mock.rate, 50.0);
    assert_eq!(parameters.ik.preferred_posture, [0.0, 1.0]);
    assert!(parameters.controller.joints.is_empty());
    assert!(parameters.timing.max_acceleration.is_empty());
    assert_eq!(foreign, ["camera_frame_rate_limit_of_someone_else"]);
}

#[test]
fn lists_over_joints_must_fit_the_arm() {
    let model =
        crate::node::test_data::fault_urdf(&crate::node::test_data::fault("frame_target_other"));
    let chain = model.chain("base", "tip", false).unwrap();
    let mut values = defaults();
    values.insert(
        "ik.preferred_posture",
        ParameterValue::DoubleArray(vec![0.5, 0.25]),
    );
    values.insert(
        "trajectory.max_acceleration",
        ParameterValue::DoubleArray(vec![4.0, 5.0]),
    );
    let mut parameters = Parameters::new(&values);
    assert_eq!(parameters.check_lengths(&chain), Ok(()));
    assert_eq!(parameters.posture(&chain, &chain).values, [0.5, 0.25]);
    assert_eq!(parameters.posture(&chain, &chain).weights, [1.0, 1.0]);
    assert_eq!(
        parameters.motion_limits(&chain).unwrap().acceleration(),
        [4.0, 5.0]
    );
    parameters.ik.posture_weights = vec![1.0];
    let text = parameters.check_lengths(&chain).unwrap_err().to_string();
    assert!(
        text.contains("ik.posture_weights: a list of 1") && text.contains("q1, q2"),
        "{text}"
    );
}
