use serde_json::Value;

use super::*;
use crate::node::test_data::{fault, fault_urdf, number, numbers, texts};

fn at(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

struct Message {
    id: String,
    stamp: f64,
    names: Vec<String>,
    positions: Vec<f64>,
    velocities: Vec<f64>,
}

impl Message {
    fn reported(&self) -> Reported<'_> {
        Reported {
            names: &self.names,
            positions: &self.positions,
            velocities: &self.velocities,
        }
    }
}

fn messages(case: &Value) -> Vec<Message> {
    let list = case["input"]["messages"].as_array().unwrap().iter();
    list.map(|message| Message {
        id: message["id"].as_str().unwrap().to_owned(),
        stamp: number(&message["stamp"]),
        names: texts(&message["name"]),
        positions: numbers(&message["position"]),
        velocities: numbers(&message["velocity"]),
    })
    .collect()
}

fn assert_state(states: &JointStates, model: &RobotModel, expected: &Value, when: &str) {
    for (name, value) in expected.as_object().unwrap() {
        let joint = model.joint_index(name).unwrap();
        let got = states.fresh_position(model, joint, at(0.0), 1.0).unwrap();
        assert!(
            (got - number(value)).abs() < 1e-12,
            "{when}: {name} is {got}, not {value}"
        );
    }
}

#[test]
fn js_length_mismatch() {
    let case = fault("js_length_mismatch");
    let model = fault_urdf(&case);
    let mut states = JointStates::new("joint_states");
    let before = case["input"]["state_before"].as_object().unwrap();
    for (name, value) in before {
        let message = Reported {
            names: std::slice::from_ref(name),
            positions: &[number(value)],
            velocities: &[],
        };
        assert_eq!(states.update(message, at(1.0)), Ok(vec![]));
    }
    for message in messages(&case) {
        let result = states.update(message.reported(), at(message.stamp));
        match message.id.as_str() {
            "short" | "long" | "no_names" => assert_eq!(
                result,
                Err(Rejected::LengthMismatch {
                    names: message.names.len(),
                    positions: message.positions.len()
                }),
                "{}",
                message.id
            ),
            "twice" => assert_eq!(
                result,
                Err(Rejected::NamedTwice {
                    joint: "sho".into()
                })
            ),
            "velocity_only" | "empty" => assert_eq!(result, Ok(vec![]), "{}", message.id),
            "velocity_short" => {
                assert_eq!(
                    result,
                    Ok(vec![Oddity::Velocities {
                        names: 2,
                        velocities: 1
                    }])
                );
                assert_eq!(states.get("sho").unwrap().velocity, None);
            }
            other => panic!("unknown variant {other}"),
        }
    }
    assert_state(
        &states,
        &model,
        &case["expected"]["state_after_all"],
        "after all",
    );
}

#[test]
fn js_nan_fields() {
    let case = fault("js_nan_fields");
    let model = fault_urdf(&case);
    let mut states = JointStates::new("joint_states");
    for message in messages(&case) {
        let oddities = states
            .update(message.reported(), at(message.stamp))
            .unwrap();
        let warned: Vec<String> = oddities
            .iter()
            .map(|oddity| match oddity {
                Oddity::PositionNotFinite { joint, .. } => joint.clone(),
                other => panic!("{other}"),
            })
            .collect();
        assert_eq!(
            warned,
            texts(&case["expected"]["warn"][&message.id]),
            "{}",
            message.id
        );
        assert_state(
            &states,
            &model,
            &case["expected"]["state_after"][&message.id],
            &message.id,
        );
    }
    let stamp = number(&case["expected"]["elb_stamp_after_nan_position"]);
    assert_eq!(states.get("elb").unwrap().received, at(stamp));
    assert_eq!(states.get("sho").unwrap().velocity, None);
}

#[test]
fn a_chain_state_says_what_is_missing_or_old() {
    let model = fault_urdf(&fault("js_nan_fields"));
    let chain = model.chain("base", "claw_r", false).unwrap();
    let mut states = JointStates::new("/arm/joint_states");
    let nothing = states.chain_state(&chain, at(0.0), 0.5).unwrap_err();
    assert!(
        nothing.to_string().contains("/arm/joint_states"),
        "{nothing}"
    );
    let names = ["sho", "elb", "wri", "gripper_of_someone_else"].map(String::from);
    let message = Reported {
        names: &names,
        positions: &[0.1, 0.2, 0.3, 9.0],
        velocities: &[],
    };
    states.update(message, at(1.0)).unwrap();
    let missing = states.chain_state(&chain, at(1.0), 0.5).unwrap_err();
    assert!(
        missing.to_string().contains("joint(s) claw has"),
        "{missing}"
    );
    assert!(
        missing
            .to_string()
            .contains("elb, gripper_of_someone_else, sho, wri"),
        "{missing}"
    );
    // The driver is not reported, its follower is: claw = -claw_m.
    let message = Reported {
        names: &["claw_m".into()],
        positions: &[-0.02],
        velocities: &[0.5],
    };
    states.update(message, at(1.25)).unwrap();
    let state = states.chain_state(&chain, at(1.5), 0.5).unwrap();
    assert_eq!(state.q(), [0.1, 0.2, 0.3, 0.02]);
    assert_eq!(state.age, at(0.5));
    assert_eq!(state.readings[3].velocity, Some(-0.5));
    let stale = states
        .chain_state(&chain, at(1.75), 0.5)
        .unwrap_err()
        .to_string();
    assert!(
        stale.contains("\"sho\" is 0.750 s old") && !stale.contains("claw"),
        "{stale}"
    );
}

#[test]
fn velocities_come_from_positions_where_none_are_reported() {
    let mut states = JointStates::new("joint_states");
    for (time, position) in [(1.0, 0.0), (1.0625, 0.125)] {
        let message = Reported {
            names: &["j".into()],
            positions: &[position],
            velocities: &[],
        };
        states.update(message, at(time)).unwrap();
    }
    assert_eq!(states.get("j").unwrap().speed(), Some(2.0));
}
