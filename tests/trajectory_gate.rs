//! The gate and the controller's own rules on trajectories that users sent, or that planners made,
//! in public reports (named in each file's `source`).

use std::collections::BTreeMap;

use arm_planner::trajectory::{
    check, controller_verdict, nanoseconds, Checked, ControllerParameters, GateContext, GateError,
    GatePolicy, JointBounds, MeasuredJoint, Obstruction, OutgoingPoint, OutgoingTrajectory,
    Rejection,
};
use serde_json::Value;

struct Case {
    joints: Vec<String>,
    now_ns: i64,
    bounds: BTreeMap<String, JointBounds>,
    measured: BTreeMap<String, MeasuredJoint>,
    message: OutgoingTrajectory,
    gate: String,
    controller: String,
}

/// A number, or one of the words that JSON has no number for.
fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .map(|list| list.iter().map(number).collect())
        .unwrap_or_default()
}

fn strings(value: &Value) -> Vec<String> {
    let list = value.as_array().unwrap().iter();
    list.map(|v| v.as_str().unwrap().to_string()).collect()
}

fn case(text: &str, id: &str) -> Case {
    let file: Value = serde_json::from_str(text).unwrap();
    let variant = file["variants"]
        .as_array()
        .unwrap()
        .iter()
        .find(|v| v["id"] == id)
        .unwrap();
    let joints = strings(&file["controller_joints"]);
    let bounds = joints
        .iter()
        .map(|joint| {
            let limits = numbers(&file["limits"][joint]);
            let bounds = JointBounds {
                lower: limits.first().copied().unwrap_or(f64::NEG_INFINITY),
                upper: limits.get(1).copied().unwrap_or(f64::INFINITY),
                velocity: Some(number(&file["velocity_limit"][joint])),
                acceleration: None,
            };
            (joint.clone(), bounds)
        })
        .collect();
    let measured = joints
        .iter()
        .map(|joint| {
            let state = MeasuredJoint {
                position: number(&file["current"][joint]),
                velocity: Some(0.0),
                age: 0.0,
            };
            (joint.clone(), state)
        })
        .collect();
    let points = variant["points"].as_array().unwrap().iter();
    Case {
        now_ns: nanoseconds(number(&file["now"])),
        bounds,
        measured,
        message: OutgoingTrajectory {
            stamp_ns: variant.get("stamp").map(|v| nanoseconds(number(v))),
            joint_names: strings(&variant["joint_names"]),
            points: points
                .map(|p| OutgoingPoint {
                    time_from_start_ns: nanoseconds(number(&p["t"])),
                    positions: numbers(&p["positions"]),
                    velocities: numbers(&p["velocities"]),
                    accelerations: numbers(&p["accelerations"]),
                    effort: numbers(&p["effort"]),
                })
                .collect(),
        },
        gate: variant["gate"].as_str().unwrap().to_string(),
        controller: variant["controller"].as_str().unwrap().to_string(),
        joints,
    }
}

impl Case {
    fn through_gate(&self) -> Result<Checked, GateError> {
        let policy = GatePolicy::default();
        let context = GateContext {
            controller_joints: &self.joints,
            bounds: &self.bounds,
            measured: &self.measured,
            now_ns: self.now_ns,
            policy: &policy,
            collision: None,
        };
        check(self.message.clone(), &context)
    }

    fn verdict(&self) -> Result<(), Rejection> {
        let parameters = ControllerParameters::default();
        controller_verdict(&self.message, &self.joints, self.now_ns, &parameters)
    }
}

/// Runs a variant, holds both verdicts against the file's, and returns the gate's.
fn run(text: &str, id: &str) -> Result<Checked, GateError> {
    let case = case(text, id);
    let verdict = case.verdict();
    let word = if verdict.is_ok() { "accept" } else { "reject" };
    assert_eq!(word, case.controller, "controller on {id}: {verdict:?}");
    let result = case.through_gate();
    match case.gate.as_str() {
        "publish" => {
            let checked = result.as_ref().unwrap_or_else(|e| panic!("{id}: {e}"));
            assert_eq!(checked.message(), &case.message, "{id}");
            assert!(checked.clamped().is_empty(), "{id}");
        }
        "refuse" => assert!(result.is_err(), "{id} was let through"),
        "clamp_or_refuse" => {}
        other => panic!("unknown verdict {other}"),
    }
    result
}

const FIELDS: &str = include_str!("data/faults/traj_fields.json");
const LIMITS: &str = include_str!("data/faults/traj_jump_and_limits.json");
const STAMP: &str = include_str!("data/faults/traj_stamp.json");
const TIMES: &str = include_str!("data/faults/traj_times.json");

macro_rules! refused {
    ($($name:ident: $file:expr, $id:expr => $error:pat,)*) => {$(
        #[test]
        fn $name() {
            let error = run($file, $id).unwrap_err();
            assert!(matches!(error, $error), "{error:?}");
        }
    )*};
}

macro_rules! published {
    ($($name:ident: $file:expr, $id:expr;)*) => {$(
        #[test]
        fn $name() {
            run($file, $id).unwrap();
        }
    )*};
}

refused! {
    fields_empty: FIELDS, "empty" => GateError::Empty,
    fields_short_positions: FIELDS, "short_positions" => GateError::Length { point: 0, got: 2, expected: 3, .. },
    fields_short_velocities: FIELDS, "short_velocities" => GateError::Length { point: 0, got: 1, .. },
    fields_velocity_only: FIELDS, "velocity_only" => GateError::Length { got: 0, .. },
    fields_effort: FIELDS, "effort" => GateError::Effort { point: 0 },
    fields_nan_position: FIELDS, "nan_position" => GateError::NotFinite { point: 0, .. },
    fields_nan_end_velocity: FIELDS, "nan_end_velocity" => GateError::NotFinite { point: 0, .. },
    fields_mixed_velocities: FIELDS, "mixed_velocities" => GateError::MixedFields { point: 1, .. },
    limits_jump_start: LIMITS, "jump_start" => GateError::Velocity { point: 0, .. },
    limits_over_limit: LIMITS, "over_limit" => GateError::Position { point: 0, .. },
    stamp_ends_in_past: STAMP, "ends_in_past" => GateError::StampInPast { .. },
    stamp_started_in_past: STAMP, "started_in_past" => GateError::StampInPast { .. },
    stamp_wall_clock_in_sim: STAMP, "wall_clock_in_sim" => GateError::StampTooFar { .. },
    times_equal: TIMES, "equal" => GateError::TimeNotRising { point: 2, .. },
    times_falling: TIMES, "falling" => GateError::TimeNotRising { point: 2, .. },
    times_equal_after_ns_rounding: TIMES, "equal_after_ns_rounding" => GateError::TimeNotRising { point: 2, .. },
    times_negative_first: TIMES, "negative_first" => GateError::NegativeTime { point: 0, .. },
    times_first_at_0_elsewhere: TIMES, "first_at_0_elsewhere" => GateError::StartElsewhere { .. },
    times_single_at_0: TIMES, "single_at_0" => GateError::StartElsewhere { .. },
}

published! {
    limits_exactly_at_the_limit: LIMITS, "limit_exact";
    limits_continuous_many_turns: LIMITS, "continuous_many_turns";
    stamp_zero: STAMP, "zero_stamp";
    stamp_future: STAMP, "future";
    times_good: TIMES, "good";
    times_single_ok: TIMES, "single_ok";
}

#[test]
fn limits_over_by_a_hair_is_clamped_never_passed_on() {
    let checked = run(LIMITS, "over_by_1e-9").unwrap();
    assert_eq!(checked.message().points[0].positions[1], 2.0);
    let clamp = &checked.clamped()[0];
    assert_eq!(
        (clamp.joint.as_str(), clamp.point, clamp.to),
        ("elb", 0, 2.0)
    );
}

#[test]
fn every_variant_of_the_files_is_run() {
    // 8 + 5 + 5 + 8; the named tests above are as many.
    let count = |text: &str| {
        let file: Value = serde_json::from_str(text).unwrap();
        file["variants"].as_array().unwrap().len()
    };
    let all: usize = [FIELDS, LIMITS, STAMP, TIMES].map(count).iter().sum();
    assert_eq!(all, 19 + 6 + 1);
}

fn good() -> Case {
    case(TIMES, "good")
}

/// One joint `sho` moved as a rest-to-rest quintic, everything else at rest.
fn smooth(distance: f64, duration: f64) -> Case {
    let mut case = good();
    let at = |time: f64, q: f64| OutgoingPoint {
        time_from_start_ns: nanoseconds(time),
        positions: vec![q, 0.0, 0.0],
        velocities: vec![0.0; 3],
        accelerations: vec![0.0; 3],
        effort: vec![],
    };
    case.message.points = vec![at(0.0, 0.0), at(duration, distance)];
    for bounds in case.bounds.values_mut() {
        bounds.acceleration = Some(2.0);
    }
    case
}

#[test]
fn missing_stale_and_future_states_are_refused() {
    let mut case = good();
    case.measured.remove("elb");
    assert!(matches!(case.through_gate(), Err(GateError::NoState { joint }) if joint == "elb"));
    for age in [0.6, -0.6, f64::NAN] {
        let mut case = good();
        case.measured.get_mut("wri").unwrap().age = age;
        let error = case.through_gate().unwrap_err();
        assert!(matches!(&error, GateError::StaleState { joint, .. } if joint == "wri"));
        assert!(error.to_string().contains("wri"));
    }
    let mut case = good();
    case.measured.get_mut("wri").unwrap().position = f64::NAN;
    assert!(matches!(
        case.through_gate(),
        Err(GateError::NoState { .. })
    ));
}

#[test]
fn joints_must_be_the_controllers_exactly_once_in_any_order() {
    let mut case = good();
    case.message.joint_names = ["wri", "sho", "elb"].map(String::from).to_vec();
    for point in &mut case.message.points {
        point.positions.rotate_right(1);
    }
    case.through_gate().unwrap();
    case.message.joint_names[0] = "sho".into();
    assert!(
        matches!(case.through_gate(), Err(GateError::DuplicateJoint { joint }) if joint == "sho")
    );
    case.message.joint_names[0] = "hip".into();
    assert!(
        matches!(case.through_gate(), Err(GateError::UnknownJoint { joint, .. }) if joint == "hip")
    );
    case.message.joint_names.remove(0);
    assert!(
        matches!(case.through_gate(), Err(GateError::MissingJoints { joints }) if joints == ["wri"])
    );
    let mut case = good();
    case.bounds.remove("sho");
    assert!(matches!(case.through_gate(), Err(GateError::NoBounds { joint }) if joint == "sho"));
}

#[test]
fn motion_between_points_is_held_to_the_limits() {
    // Peak speed 1.875 d/T, peak acceleration 5.7735 d/T² of a rest-to-rest quintic.
    smooth(1.0, 1.88).through_gate().unwrap();
    let error = smooth(1.0, 1.86).through_gate().unwrap_err();
    assert!(
        matches!(error, GateError::Velocity { point: 1, value, .. } if (value - 1.875 / 1.86).abs() < 1e-3)
    );
    smooth(0.2, 0.761).through_gate().unwrap();
    let error = smooth(0.2, 0.75).through_gate().unwrap_err();
    assert!(
        matches!(error, GateError::Acceleration { point: 1, .. }),
        "{error:?}"
    );
}

#[test]
fn overshoot_between_points_is_seen() {
    let mut case = smooth(2.95, 8.0);
    case.through_gate().unwrap();
    // Arrives at 2.95 with speed, so it swings beyond the limit of 3 and comes back.
    case.message.points[1].velocities[0] = 0.9;
    let mut back = case.message.points[1].clone();
    back.time_from_start_ns = nanoseconds(9.0);
    back.velocities[0] = 0.0;
    case.message.points.push(back);
    let error = case.through_gate().unwrap_err();
    assert!(matches!(error, GateError::PositionBetween { point: 2, value, .. } if value > 3.0));
}

#[test]
fn positions_alone_are_refused_where_accelerations_are_limited() {
    let mut case = good();
    for bounds in case.bounds.values_mut() {
        bounds.acceleration = Some(2.0);
    }
    assert!(matches!(
        case.through_gate(),
        Err(GateError::VelocityJump { point: 1, .. })
    ));
    for point in &mut case.message.points {
        point.positions = vec![0.0; 3];
    }
    case.through_gate().unwrap();
}

#[test]
fn a_motion_that_does_not_end_at_rest_is_refused() {
    let mut case = smooth(1.0, 3.0);
    case.message.points[1].velocities[2] = 2e-7;
    assert!(
        matches!(case.through_gate(), Err(GateError::EndsMoving { joint, .. }) if joint == "wri")
    );
}

#[test]
fn a_start_that_ignores_the_arms_motion_is_refused() {
    let mut case = smooth(1.0, 3.0);
    case.measured.get_mut("sho").unwrap().velocity = Some(0.5);
    assert!(
        matches!(case.through_gate(), Err(GateError::StartVelocity { joint, .. }) if joint == "sho")
    );
}

#[test]
fn the_collision_check_sees_what_lies_between_points() {
    let case = smooth(1.0, 3.0);
    let policy = GatePolicy::default();
    let wall = |q: &[f64]| {
        if (0.49..0.51).contains(&q[0]) {
            let (link, obstacle) = ("forearm".into(), "wall".into());
            return Err(Obstruction::Obstacle { link, obstacle });
        }
        Ok(())
    };
    let mut context = GateContext {
        controller_joints: &case.joints,
        bounds: &case.bounds,
        measured: &case.measured,
        now_ns: case.now_ns,
        policy: &policy,
        collision: Some(&wall),
    };
    let error = check(case.message.clone(), &context).unwrap_err();
    assert!(
        matches!(error, GateError::Collision { point: 1, time, .. } if (time - 1.5).abs() < 0.1)
    );
    assert!(error.to_string().contains("forearm") && error.to_string().contains("wall"));
    let free = |_: &[f64]| Ok(());
    context.collision = Some(&free);
    check(case.message.clone(), &context).unwrap();
}

#[test]
fn the_controller_takes_what_it_takes() {
    let parameters = ControllerParameters::default();
    let mut case = good();
    case.message.joint_names[0] = "elb".into();
    assert_eq!(
        case.verdict(),
        Ok(()),
        "names given twice pass the controller"
    );
    case.message.joint_names[0] = "hip".into();
    assert!(matches!(
        case.verdict(),
        Err(Rejection::UnknownJoint { .. })
    ));
    case.message.joint_names.clear();
    assert!(matches!(
        case.verdict(),
        Err(Rejection::JointCount { got: 0, .. })
    ));
    let partial = ControllerParameters {
        allow_partial_joints_goal: true,
        ..parameters
    };
    let verdict = controller_verdict(&case.message, &case.joints, case.now_ns, &partial);
    assert_eq!(verdict, Err(Rejection::NoJointNames));
    let mut case = smooth(1.0, 3.0);
    case.message.points[1].velocities[0] = 0.1;
    assert!(matches!(case.verdict(), Err(Rejection::EndVelocity { .. })));
}
