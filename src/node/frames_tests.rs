use serde_json::Value;

use super::super::tf_buffer::TfFault;
use super::*;
use crate::kinematics::{residual, validated_pose, Pose};
use crate::node::joint_states::Reported;
use crate::node::test_data::{fault, fault_urdf, number, numbers};

fn pose(value: &Value) -> Pose {
    let position: [f64; 3] = numbers(&value["xyz"]).try_into().unwrap();
    let quaternion: [f64; 4] = numbers(&value["quat_xyzw"]).try_into().unwrap();
    validated_pose(position, quaternion).unwrap()
}

fn tf_of(case: &Value) -> TfBuffer {
    let mut tf = TfBuffer::default();
    let edge = &case["input"]["static_tf"];
    let name = |key: &str| edge[key].as_str().unwrap().to_owned();
    tf.insert(&name("parent"), &name("child"), pose(edge))
        .unwrap();
    tf
}

#[test]
fn frame_target_other() {
    let case = fault("frame_target_other");
    let model = fault_urdf(&case);
    let tf = tf_of(&case);
    let mut states = JointStates::new("joint_states");
    for (name, value) in case["input"]["joint_state"].as_object().unwrap() {
        let message = Reported {
            names: std::slice::from_ref(name),
            positions: &[number(value)],
            velocities: &[],
        };
        states.update(message, Duration::ZERO).unwrap();
    }
    let frames = Frames {
        model: &model,
        base: "base",
        states: &states,
        now: Duration::ZERO,
        max_age: 0.5,
        tf: Some(&tf),
    };
    for variant in case["input"]["variants"].as_array().unwrap() {
        let id = variant["id"].as_str().unwrap();
        let frame = variant["frame_id"].as_str().unwrap();
        let result = frames.resolve(frame);
        let expected = match id {
            "unknown" => {
                let error = result.unwrap_err().to_string();
                assert!(error.contains("\"wrold\""), "{error}");
                assert!(
                    error.contains("did you mean") && error.contains("world"),
                    "{error}"
                );
                continue;
            }
            // Read as the base and as "world", and said so.
            "empty" => &case["expected"]["base"],
            "leading_slash" => &case["expected"]["world"],
            _ => &case["expected"][id],
        };
        let found = result.unwrap();
        assert_eq!(
            found.note.is_some(),
            id == "empty" || id == "leading_slash",
            "{id}"
        );
        let off = residual(
            &pose(&expected["pose_in_base"]),
            &(found.pose * pose(&variant["pose"])),
        );
        assert!(
            off.position < 1e-9 && off.orientation < 1e-9,
            "{id}: {off:?}"
        );
    }
    // A goal relative to the tip needs the joint states.
    let late = Frames {
        now: Duration::from_secs(2),
        ..frames
    };
    let error = late.resolve("tip").unwrap_err().to_string();
    assert!(error.contains("\"q2\" is 2.000 s old"), "{error}");
    assert!(late.resolve("world").is_ok());
    let none = Frames { tf: None, ..frames };
    let error = none.resolve("world").unwrap_err().to_string();
    assert!(
        error.contains("\"world\"") && error.contains("without tf2_msgs"),
        "{error}"
    );
}

#[test]
fn circles_and_islands_end_in_an_error() {
    let model = fault_urdf(&fault("frame_target_other"));
    let states = JointStates::new("joint_states");
    let mut tf = TfBuffer::default();
    for (parent, child) in [("a", "b"), ("b", "c"), ("c", "a"), ("island", "hut")] {
        tf.insert(parent, child, Isometry3::identity()).unwrap();
    }
    assert_eq!(
        tf.insert("x", "/x", Isometry3::identity()),
        Err(TfFault::OwnParent { frame: "x".into() })
    );
    let frames = Frames {
        model: &model,
        base: "base",
        states: &states,
        now: Duration::ZERO,
        max_age: 0.5,
        tf: Some(&tf),
    };
    assert!(matches!(
        frames.resolve("b"),
        Err(FrameError::Circle { .. })
    ));
    assert!(matches!(
        frames.resolve("hut"),
        Err(FrameError::NotConnected { .. })
    ));
    // A frame above the base.
    let mut tf = tf.clone();
    tf.insert("island", "base", Isometry3::translation(0.0, 0.0, 1.0))
        .unwrap();
    let frames = Frames {
        tf: Some(&tf),
        ..frames
    };
    assert_eq!(
        frames.resolve("hut").unwrap().pose,
        Isometry3::translation(0.0, 0.0, -1.0)
    );
}
