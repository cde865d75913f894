//! Motions that begin while the arm still moves: no jump, all limits, the right end.

use arm_planner::planning::JointPath;
use arm_planner::trajectory::{
    blend, stop_configuration, stop_then_go, Blend, BlendError, MotionLimits, RetimeError,
    TimedPath, TimingOptions, Trajectory, TrajectoryPoint, SAMPLING_SLACK,
};
use proptest::prelude::*;
use proptest::test_runner::Config;

#[path = "trajectory_support/mod.rs"]
mod trajectory_support;

use trajectory_support::chain;

fn config(cases: u32) -> Config {
    trajectory_support::config(cases, 0x00b1_e2d5)
}

fn path(points: Vec<Vec<f64>>) -> JointPath {
    JointPath {
        points,
        stops: vec![],
    }
}

/// Continuous, within all limits between samples too, at rest at `goal`.
fn assert_sound(t: &Trajectory, moving: &TrajectoryPoint, goal: &[f64], limits: &MotionLimits) {
    let slack = 1.0 + SAMPLING_SLACK + 1e-6;
    let first = &t.points[0];
    let last = t.points.last().unwrap();
    for (joint, &end) in goal.iter().enumerate() {
        assert!((first.positions[joint] - moving.positions[joint]).abs() < 1e-12);
        assert!((first.velocities[joint] - moving.velocities[joint]).abs() < 1e-9);
        assert!((last.positions[joint] - end).abs() < 2e-6);
        assert_eq!(last.velocities[joint], 0.0);
        for pair in t.points.windows(2) {
            assert!(pair[1].time > pair[0].time);
            let segment = pair[0].segment_to(&pair[1], joint).unwrap();
            assert!(segment.max_speed() <= limits.velocity()[joint] * slack);
            assert!(segment.max_acceleration() <= limits.acceleration()[joint] * slack);
        }
    }
}

fn moving(positions: Vec<f64>, velocities: Vec<f64>) -> TrajectoryPoint {
    TrajectoryPoint {
        time: 0.0,
        positions,
        velocities,
        accelerations: vec![],
    }
}

#[test]
fn a_blend_does_not_come_to_rest_in_between() {
    let (chain, limits) = (
        chain(2, 3.0),
        MotionLimits::new(vec![1.0; 2], vec![2.0; 2]).unwrap(),
    );
    let state = moving(vec![0.0, 0.0], vec![0.8, 0.0]);
    let rest = stop_configuration(&chain, &state, &limits).unwrap();
    // 0.8 rad/s at half of 2 rad/s².
    assert!((rest[0] - 0.32).abs() < 1e-8 && rest[1] == 0.0);
    let next = path(vec![rest.clone(), vec![1.0, 0.6], vec![1.2, 1.2]]);
    let joined = blend(&chain, &state, &next, &limits, 0.01).unwrap();
    assert_sound(&joined.trajectory, &state, &[1.2, 1.2], &limits);
    assert!(!joined.rests_between);
    let slowest = joined
        .trajectory
        .points
        .iter()
        .filter(|p| p.time < joined.joined)
        .map(|p| p.velocities[0].hypot(p.velocities[1]))
        .fold(f64::INFINITY, f64::min);
    assert!(slowest > 0.1, "{slowest}");
    let waiting = stop_then_go(&chain, &state, &next, &limits, 0.01).unwrap();
    assert_sound(&waiting.trajectory, &state, &[1.2, 1.2], &limits);
    assert!(waiting.rests_between);
    assert!(joined.trajectory.duration() < waiting.trajectory.duration() - 0.2);
}

#[test]
fn a_blend_with_limited_jerk_does_not_come_to_rest_in_between() {
    let jerk = 20.0;
    let limits = MotionLimits::new(vec![1.0; 2], vec![2.0; 2]).unwrap();
    let (chain, limits) = (chain(2, 3.0), limits.with_jerk(vec![jerk; 2]).unwrap());
    let state = moving(vec![0.0, 0.0], vec![0.6, 0.0]);
    let rest = stop_configuration(&chain, &state, &limits).unwrap();
    let next = path(vec![rest.clone(), vec![1.0, 0.6], vec![1.2, 1.2]]);
    let period = 0.002;
    let joined = blend(&chain, &state, &next, &limits, period).unwrap();
    assert_sound(&joined.trajectory, &state, &[1.2, 1.2], &limits);
    assert!(!joined.rests_between);
    let waiting = stop_then_go(&chain, &state, &next, &limits, period).unwrap();
    assert!(joined.trajectory.duration() < waiting.trajectory.duration() - 0.1);
    let slowest = joined
        .trajectory
        .points
        .iter()
        .filter(|p| p.time < joined.joined)
        .map(|p| p.velocities[0].hypot(p.velocities[1]))
        .fold(f64::INFINITY, f64::min);
    assert!(slowest > 0.02, "{slowest}");
    // The change of acceleration from sample to sample.
    for pair in joined.trajectory.points.windows(2) {
        for joint in 0..2 {
            let change = (pair[1].accelerations[joint] - pair[0].accelerations[joint]).abs();
            let span = pair[1].time - pair[0].time;
            assert!(
                change <= 1.01 * jerk * span + 1e-9,
                "{change} in {span} at {}",
                pair[0].time
            );
        }
    }
}

#[test]
fn after_joining_the_new_path_is_followed() {
    let (chain, limits) = (
        chain(2, 3.0),
        MotionLimits::new(vec![1.0; 2], vec![2.0; 2]).unwrap(),
    );
    let state = moving(vec![0.0, 0.0], vec![0.5, 0.0]);
    let rest = stop_configuration(&chain, &state, &limits).unwrap();
    // Straight on in joint space: joint 1 moves twice as far as joint 0.
    let goal = vec![rest[0] - 1.0, 2.0];
    let next = path(vec![rest.clone(), goal.clone()]);
    let joined = blend(&chain, &state, &next, &limits, 0.01).unwrap();
    assert_sound(&joined.trajectory, &state, &goal, &limits);
    for point in &joined.trajectory.points {
        if point.time >= joined.joined {
            let off = 2.0 * (point.positions[0] - rest[0]) + point.positions[1];
            assert!(off.abs() < 1e-9, "{off} at {}", point.time);
        }
    }
}

#[test]
fn a_path_that_starts_elsewhere_is_refused() {
    let (chain, limits) = (
        chain(1, 3.0),
        MotionLimits::new(vec![1.0], vec![2.0]).unwrap(),
    );
    let state = moving(vec![0.0], vec![0.5]);
    let next = path(vec![vec![0.0], vec![1.0]]);
    let error = blend(&chain, &state, &next, &limits, 0.01).unwrap_err();
    assert!(
        matches!(error, BlendError::Start { joint: 0, .. }),
        "{error}"
    );
}

#[test]
fn an_arm_that_must_overrun_a_limit_is_told_so() {
    let (chain, limits) = (
        chain(1, 1.0),
        MotionLimits::new(vec![1.0], vec![2.0]).unwrap(),
    );
    let state = moving(vec![0.9], vec![0.9]);
    let error = stop_configuration(&chain, &state, &limits).unwrap_err();
    assert!(error.to_string().contains("j0"), "{error}");
}

#[test]
fn an_arm_at_rest_just_goes() {
    let (chain, limits) = (
        chain(1, 3.0),
        MotionLimits::new(vec![1.0], vec![2.0]).unwrap(),
    );
    let state = moving(vec![0.5], vec![0.0]);
    let next = path(vec![vec![0.5], vec![1.5]]);
    let Blend {
        trajectory, joined, ..
    } = blend(&chain, &state, &next, &limits, 0.01).unwrap();
    assert_eq!(joined, 0.0);
    let direct = TimedPath::new(&next, &chain, &limits).unwrap();
    assert_eq!(
        trajectory,
        direct.trajectory(chain.joint_names(), 0.01).unwrap()
    );
    // Nowhere to go: one point.
    let stay = blend(&chain, &state, &path(vec![vec![0.5]]), &limits, 0.01).unwrap();
    assert_eq!(stay.trajectory.points.len(), 1);
}

#[test]
fn a_motion_goes_on_along_its_path_without_slowing_down() {
    let (chain, limits) = (
        chain(2, 3.0),
        MotionLimits::new(vec![1.0; 2], vec![4.0; 2]).unwrap(),
    );
    let points = vec![vec![0.0, 0.0], vec![0.5, 0.5], vec![1.0, 1.0]];
    let options = |v: f64| TimingOptions {
        start_velocity: Some(vec![v, v]),
        ..TimingOptions::default()
    };
    let start = |v: f64, points: &Vec<Vec<f64>>| {
        TimedPath::with_options(&path(points.clone()), &chain, &limits, &options(v))
    };
    let timed = start(1.0, &points).unwrap();
    // 1 rad at 1 rad/s but for the stop at 4 rad/s².
    assert!(
        (timed.duration() - 1.125).abs() < 2e-3,
        "{}",
        timed.duration()
    );
    let trajectory = timed.trajectory(chain.joint_names(), 0.01).unwrap();
    assert_sound(
        &trajectory,
        &moving(vec![0.0, 0.0], vec![1.0, 1.0]),
        &[1.0, 1.0],
        &limits,
    );
    // 0.1 rad are not enough to stop from 1 rad/s.
    let short = vec![vec![0.0, 0.0], vec![0.1, 0.1]];
    let error = start(1.0, &short).unwrap_err();
    match error {
        // √(2 · 4 · 0.1)
        RetimeError::StartTooFast { factor } => assert!((factor - 0.894).abs() < 5e-3),
        other => panic!("{other}"),
    }
    // Neither backwards nor sideways.
    assert!(matches!(
        start(-1.0, &points),
        Err(RetimeError::StartDirection { .. })
    ));
    assert!(start(f64::NAN, &points).is_err());
}

proptest! {
    #![proptest_config(config(48))]

    #[test]
    fn blends_are_sound_on_random_input(
        (q, qd, way, v, a) in (1..7usize).prop_flat_map(|n| (
            prop::collection::vec(-1.0..1.0f64, n),
            prop::collection::vec(-1.0..1.0f64, n),
            prop::collection::vec(prop::collection::vec(-1.5..1.5f64, n), 1..5),
            prop::collection::vec(0.5..3.0f64, n),
            prop::collection::vec(2.0..20.0f64, n),
        )),
        period in prop::sample::select(vec![0.004, 0.01, 0.025]),
    ) {
        let chain = chain(q.len(), 4.0);
        let limits = MotionLimits::new(v.clone(), a).unwrap();
        let qd: Vec<f64> = qd.iter().zip(&v).map(|(share, v)| share * v).collect();
        let state = moving(q, qd);
        let rest = stop_configuration(&chain, &state, &limits).unwrap();
        let mut points = vec![rest];
        points.extend(way);
        let goal = points.last().unwrap().clone();
        let next = path(points);
        let joined = blend(&chain, &state, &next, &limits, period).unwrap();
        assert_sound(&joined.trajectory, &state, &goal, &limits);
        let waiting = stop_then_go(&chain, &state, &next, &limits, period).unwrap();
        assert_sound(&waiting.trajectory, &state, &goal, &limits);
        prop_assert!(!joined.rests_between);
        prop_assert!(joined.trajectory.duration() <= 1.02 * waiting.trajectory.duration() + 0.02);
    }
}

proptest! {
    #![proptest_config(config(12))]

    #[test]
    fn blends_with_limited_jerk_are_sound_on_random_input(
        (q, qd, way, v, a) in (1..7usize).prop_flat_map(|n| (
            prop::collection::vec(-1.0..1.0f64, n),
            prop::collection::vec(-1.0..1.0f64, n),
            prop::collection::vec(prop::collection::vec(-1.5..1.5f64, n), 1..4),
            prop::collection::vec(0.5..3.0f64, n),
            prop::collection::vec(2.0..20.0f64, n),
        )),
    ) {
        let chain = chain(q.len(), 4.0);
        let jerk = a.iter().map(|a| 10.0 * a).collect();
        let limits = MotionLimits::new(v.clone(), a).unwrap().with_jerk(jerk).unwrap();
        let qd: Vec<f64> = qd.iter().zip(&v).map(|(share, v)| share * v).collect();
        let state = moving(q, qd);
        let rest = stop_configuration(&chain, &state, &limits).unwrap();
        let mut points = vec![rest];
        points.extend(way);
        let goal = points.last().unwrap().clone();
        let next = path(points);
        let joined = blend(&chain, &state, &next, &limits, 0.01).unwrap();
        assert_sound(&joined.trajectory, &state, &goal, &limits);
        let waiting = stop_then_go(&chain, &state, &next, &limits, 0.01).unwrap();
        prop_assert!(joined.trajectory.duration() <= waiting.trajectory.duration());
    }
}
