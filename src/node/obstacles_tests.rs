use std::time::Duration;

use serde_json::Value;

use super::*;
use crate::kinematics::validated_pose;
use crate::model::RobotModel;
use crate::node::joint_states::JointStates;
use crate::node::test_data::{fault, number, numbers};
use crate::node::tf_buffer::TfBuffer;

const ROBOT: &str = r#"<robot name="r"><link name="base"/><link name="tip"/>
    <joint name="j" type="continuous"><parent link="base"/><child link="tip"/></joint></robot>"#;

struct World {
    model: RobotModel,
    states: JointStates,
    tf: TfBuffer,
}

impl World {
    fn new() -> World {
        World {
            model: RobotModel::from_urdf(ROBOT).unwrap(),
            states: JointStates::new("joint_states"),
            tf: TfBuffer::default(),
        }
    }

    fn frames(&self) -> Frames<'_> {
        Frames {
            model: &self.model,
            base: "base",
            states: &self.states,
            now: Duration::ZERO,
            max_age: 0.5,
            tf: Some(&self.tf),
        }
    }

    fn change(
        &self,
        set: &ObstacleSet,
        changes: &[Sent],
        replace_all: bool,
    ) -> Result<Applied, Vec<ObstacleError>> {
        set.changed(
            changes,
            replace_all,
            &self.frames(),
            &PolygonOptions::default(),
        )
    }
}

/// Corners as a message carries them, in single precision.
fn corners(value: &Value) -> Vec<Point2<f64>> {
    let point = |value: &Value| {
        let xy = numbers(value);
        Point2::new(f64::from(xy[0] as f32), f64::from(xy[1] as f32))
    };
    value.as_array().unwrap().iter().map(point).collect()
}

fn add(id: &str, frame: &str, corners: Vec<Point2<f64>>) -> Sent {
    Sent {
        id: id.into(),
        frame: frame.into(),
        operation: Operation::Add,
        corners,
        min_height: 0.0,
        max_height: 0.0,
    }
}

fn square(id: &str) -> Sent {
    let corner = |x: f64, y: f64| Point2::new(x, y);
    let corners = vec![
        corner(0.3, -0.1),
        corner(0.5, -0.1),
        corner(0.5, 0.1),
        corner(0.3, 0.1),
    ];
    add(id, "base", corners)
}

#[test]
fn obstacle_degenerate() {
    let case = fault("obstacle_degenerate");
    let world = World::new();
    let set = world
        .change(&ObstacleSet::default(), &[square("kept")], false)
        .unwrap()
        .set;
    for variant in case["input"]["variants"].as_array().unwrap() {
        let id = variant["id"].as_str().unwrap();
        let result = world.change(&set, &[add(id, "base", corners(&variant["points"]))], false);
        // Refused with a word, every one of them: a wall is to be sent with its thickness. The
        // sliver's width is lost in single precision.
        let errors = result.unwrap_err();
        let text = errors[0].to_string();
        assert!(text.contains(id), "{text}");
        assert!(matches!(errors[0], ObstacleError::Polygon { .. }), "{text}");
    }
}

#[test]
fn obstacle_nan() {
    let case = fault("obstacle_nan");
    let world = World::new();
    let previous = add("o", "base", corners(&case["input"]["previous_obstacle"]));
    let set = world
        .change(&ObstacleSet::default(), &[previous], false)
        .unwrap()
        .set;
    for variant in case["input"]["variants"].as_array().unwrap() {
        let id = variant["id"].as_str().unwrap();
        let points = corners(&variant["points"]);
        // The good obstacle of the same message is not applied either, not even in place of all.
        for replace_all in [false, true] {
            let changes = [square("new"), add("o", "base", points.clone())];
            let result = world.change(&set, &changes, replace_all);
            if id == "nan_z" {
                // z is never used.
                assert_eq!(result.unwrap().set.ids(), ["new", "o"]);
                continue;
            }
            let errors = result.unwrap_err();
            assert_eq!(errors.len(), 1, "{id}: {errors:?}");
            let text = errors[0].to_string();
            assert!(
                text.contains("finite") || text.contains("out of range"),
                "{id}: {text}"
            );
        }
    }
    assert_eq!(set.ids(), ["o"]);
}

#[test]
fn obstacle_float32() {
    let case = fault("obstacle_float32");
    let world = World::new();
    let mut points = corners(&case["input"]["sent"]);
    // Closed by its first corner in double precision.
    let closing = numbers(&case["input"]["closing_point_sent_as_double"]);
    points.push(Point2::new(closing[0], closing[1]));
    let applied = world
        .change(&ObstacleSet::default(), &[add("o", "", points)], false)
        .unwrap();
    assert!(
        applied.notes[0].contains("the frame was empty"),
        "{:?}",
        applied.notes
    );
    let polygon = &applied.set.list()[0].polygon;
    assert_eq!(polygon.outer().len(), 4);
    assert!((polygon.area() - number(&case["expected"]["abs_area_received"])).abs() < 1e-9);
    let goal = numbers(&case["input"]["tip_goal"]);
    let clearance = polygon.distance(&Point2::new(goal[0], goal[1]));
    assert!((clearance - number(&case["expected"]["clearance_from_received_m"])).abs() < 1e-12);
}

#[test]
fn obstacle_frames() {
    let case = fault("obstacle_frames");
    let mut world = World::new();
    let tf = &case["input"]["static_tf"];
    let pose = validated_pose(
        numbers(&tf["xyz"]).try_into().unwrap(),
        numbers(&tf["quat_xyzw"]).try_into().unwrap(),
    )
    .unwrap();
    world.tf.insert("base", "table", pose).unwrap();
    for variant in case["input"]["variants"].as_array().unwrap() {
        let id = variant["id"].as_str().unwrap();
        let frame = variant["frame_id"].as_str().unwrap();
        let mut sent = add("o", frame, corners(&case["input"]["points"]));
        sent.min_height = 0.5;
        sent.max_height = 1.0;
        let result = world.change(&ObstacleSet::default(), &[sent], false);
        if id == "unknown" {
            let text = result.unwrap_err()[0].to_string();
            assert!(
                text.contains("\"tabel\"") && text.contains("did you mean \"table\""),
                "{text}"
            );
            continue;
        }
        let applied = result.unwrap();
        assert_eq!(
            applied.notes.len(),
            usize::from(id == "empty" || id == "slash"),
            "{id}"
        );
        let expected = match id {
            "empty" | "slash" => &case["expected"]["base"],
            _ => &case["expected"][id],
        };
        let obstacle = &applied.set.list()[0];
        let expected = expected["points_in_base"].as_array().unwrap();
        let z = numbers(&expected[0])[2];
        assert!((obstacle.min_height - (z + 0.5)).abs() < 1e-12, "{id}");
        assert!((obstacle.max_height - (z + 1.0)).abs() < 1e-12, "{id}");
        for point in expected {
            let [x, y, _]: [f64; 3] = numbers(point).try_into().unwrap();
            let near = |corner: &Point2<f64>| (corner - Point2::new(x, y)).norm() < 1e-7;
            assert!(
                obstacle.polygon.outer().iter().any(near),
                "{id}: ({x}, {y})"
            );
        }
    }
}

#[test]
fn tilted_frames_are_refused_and_those_upside_down_understood() {
    let mut world = World::new();
    let tilted = validated_pose([0.0, 0.0, 1.0], [0.1, 0.0, 0.0, 1.0]).unwrap();
    let upside_down = validated_pose([0.0, 0.0, 2.0], [1.0, 0.0, 0.0, 0.0]).unwrap();
    world.tf.insert("base", "ramp", tilted).unwrap();
    world.tf.insert("base", "ceiling", upside_down).unwrap();
    let mut sent = square("o");
    sent.frame = "ramp".into();
    let text = world
        .change(&ObstacleSet::default(), &[sent.clone()], false)
        .unwrap_err()[0]
        .to_string();
    assert!(text.contains("\"ramp\" is tilted by 0.1993 rad"), "{text}");
    sent.frame = "ceiling".into();
    (sent.min_height, sent.max_height) = (0.5, 1.5);
    let set = world
        .change(&ObstacleSet::default(), &[sent], false)
        .unwrap()
        .set;
    assert_eq!(
        (set.list()[0].min_height, set.list()[0].max_height),
        (0.5, 1.5)
    );
    assert!(set.list()[0]
        .polygon
        .outer()
        .iter()
        .any(|c| (c - Point2::new(0.3, 0.1)).norm() < 1e-12));
}

#[test]
fn messages_are_applied_in_order_and_as_a_whole() {
    let world = World::new();
    let set = world
        .change(&ObstacleSet::default(), &[square("a"), square("b")], false)
        .unwrap()
        .set;
    assert_eq!((set.len(), set.is_empty()), (2, false));
    let remove = |id: &str| Sent {
        operation: Operation::Remove,
        ..add(id, "", vec![])
    };
    let errors = world
        .change(&set, &[remove("a"), remove("c")], false)
        .unwrap_err();
    assert!(
        errors[0].to_string().contains("\"c\" cannot be removed"),
        "{errors:?}"
    );
    assert_eq!(
        world.change(&set, &[remove("a")], false).unwrap().set.ids(),
        ["b"]
    );
    assert_eq!(
        world.change(&set, &[square("c")], true).unwrap().set.ids(),
        ["c"]
    );
    let mut odd = square("d");
    odd.operation = Operation::Unknown(7);
    let mut flat = square("e");
    (flat.min_height, flat.max_height) = (1.0, 0.5);
    let mut nan = square("f");
    nan.max_height = f64::NAN;
    let errors = world
        .change(&set, &[square(""), odd, flat, nan], false)
        .unwrap_err();
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert!(texts[0].contains("number 1"), "{texts:?}");
    assert!(texts[1].contains("operation 7"), "{texts:?}");
    assert!(
        texts[2].contains("from 1 to 0.5") && texts[3].contains("NaN"),
        "{texts:?}"
    );
    let frames = world.frames();
    let again = set.same_shape(&square("x"), &frames, &PolygonOptions::default());
    assert_eq!(again, Some("a"));
    assert_eq!(set.free_id("polygon"), "polygon_3");
}
