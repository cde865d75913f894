//! Limits of jerk and of the tip, at every instant.

use arm_planner::kinematics::forward_kinematics;
use arm_planner::model::Chain;
use arm_planner::planning::JointPath;
use arm_planner::trajectory::{
    EndCondition, MotionLimits, RetimeError, Spline, TimedPath, TimingOptions, TrajectoryPoint,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed};

#[path = "ik_support/mod.rs"]
mod ik_support;

fn config(cases: u32) -> Config {
    Config {
        cases,
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(0x001e_2c11),
        ..Config::default()
    }
}

/// Largest shares of the limits by the states 0.1 ms apart; jerk by their differences.
fn shares(timed: &TimedPath, limits: &MotionLimits) -> [f64; 3] {
    let step = 1e-4;
    let duration = timed.duration();
    let count = (duration / step).floor() as usize;
    let mut most = [0.0_f64; 3];
    let mut before: Option<TrajectoryPoint> = None;
    for k in 0..=count {
        let state = timed.state((k as f64 * step).min(duration));
        for j in 0..limits.dof() {
            most[0] = most[0].max(state.velocities[j].abs() / limits.velocity()[j]);
            most[1] = most[1].max(state.accelerations[j].abs() / limits.acceleration()[j]);
            if let (Some(before), Some(jerk)) = (&before, limits.jerk()) {
                let change = (state.accelerations[j] - before.accelerations[j]).abs();
                most[2] = most[2].max(change / step / jerk[j]);
            }
        }
        before = Some(state);
    }
    most
}

proptest! {
    #![proptest_config(config(12))]

    #[test]
    fn jerk_limits_hold_and_cost_a_bounded_time(
        (points, v, a, j) in (1..7usize).prop_flat_map(|n| (
            prop::collection::vec(prop::collection::vec(-2.5..2.5f64, n), 2..8),
            prop::collection::vec(0.5..3.0f64, n),
            prop::collection::vec(2.0..15.0f64, n),
            prop::collection::vec(20.0..200.0f64, n),
        )),
    ) {
        let knots: Vec<f64> = (0..points.len()).map(|k| k as f64).collect();
        let spline = Spline::with_knots(&knots, &points, EndCondition::Natural).unwrap();
        let free = MotionLimits::new(v, a).unwrap();
        let limits = free.clone().with_jerk(j).unwrap();
        let fast = TimedPath::along(vec![spline.clone()], &free).unwrap();
        let smooth = TimedPath::along(vec![spline.clone()], &limits).unwrap();
        let [velocity, acceleration, jerk] = shares(&smooth, &limits);
        prop_assert!(velocity <= 1.0 + 1e-6 && acceleration <= 1.0 + 1e-3, "{velocity} {acceleration}");
        prop_assert!(jerk <= 1.0 + 1e-3, "{jerk}");
        prop_assert!(smooth.duration() >= fast.duration() * (1.0 - 1e-3));
        prop_assert!(smooth.duration() <= 3.0 * fast.duration() + 2.0);
        let (first, last) = (smooth.state(0.0), smooth.state(smooth.duration()));
        prop_assert_eq!(&first.positions, &points[0]);
        prop_assert_eq!(&last.positions, &points[points.len() - 1]);
        for state in [first, last] {
            prop_assert!(state.velocities.iter().all(|v| v.abs() < 1e-6));
        }
        // The law itself is exact between its knots.
        for pair in smooth.knots().windows(2) {
            let t = pair[1].time - pair[0].time;
            let third = (pair[1].acceleration - pair[0].acceleration) / t;
            let s = pair[0].s + t * (pair[0].rate + t * (0.5 * pair[0].acceleration + t * third / 6.0));
            prop_assert!((s - pair[1].s).abs() < 1e-6);
        }
    }

    #[test]
    fn the_tip_keeps_its_limits(
        seed in 0..1000u64,
        speed in 0.05..0.6f64,
        acceleration in 0.2..3.0f64,
    ) {
        let chain = ik_support::six_joints();
        let mut random = ik_support::Random(seed);
        let points = (0..4).map(|_| random.configuration(&chain)).collect();
        let path = JointPath { points, stops: vec![] };
        let limits = MotionLimits::new(vec![2.0; 6], vec![8.0; 6]).unwrap();
        let free = TimedPath::new(&path, &chain, &limits).unwrap();
        let options = TimingOptions {
            tip_speed: Some(speed),
            tip_acceleration: Some(acceleration),
            ..TimingOptions::default()
        };
        let timed = TimedPath::with_options(&path, &chain, &limits, &options).unwrap();
        let (fastest, hardest) = tip(&timed, &chain);
        prop_assert!(fastest <= speed * 1.001, "{fastest} of {speed}");
        prop_assert!(hardest <= acceleration * 1.01, "{hardest} of {acceleration}");
        prop_assert!(timed.duration() >= free.duration());
        // Something is used: it is not just slow.
        let [velocity, joint_acceleration, _] = shares(&timed, &limits);
        let used = (fastest / speed).max(hardest / acceleration).max(velocity).max(joint_acceleration);
        prop_assert!(used > 0.9, "{used}");
    }
}

/// Largest speed and acceleration of the tip by differences of its positions.
fn tip(timed: &TimedPath, chain: &Chain) -> (f64, f64) {
    let step = 1e-3;
    let at = |t: f64| {
        forward_kinematics(chain, &timed.state(t).positions)
            .unwrap()
            .translation
            .vector
    };
    let (mut speed, mut acceleration) = (0.0_f64, 0.0_f64);
    let count = (timed.duration() / step).floor() as usize;
    for k in 1..count {
        let t = k as f64 * step;
        let (before, here, after) = (at(t - step), at(t), at(t + step));
        speed = speed.max((after - before).norm() / (2.0 * step));
        acceleration = acceleration.max((after - 2.0 * here + before).norm() / (step * step));
    }
    (speed, acceleration)
}

/// Shortest time from rest to rest over a distance \[s\]: seven phases or fewer.
fn seven_phases(distance: f64, v: f64, a: f64, j: f64) -> f64 {
    let speed_up = |v: f64| {
        if v * j < a * a {
            2.0 * (v / j).sqrt()
        } else {
            v / a + a / j
        }
    };
    if distance >= v * speed_up(v) {
        speed_up(v) + distance / v
    } else if distance >= 2.0 * a * a * a / (j * j) {
        let ramp = a / j;
        2.0 * speed_up(0.5 * a * ((ramp * ramp + 4.0 * distance / a).sqrt() - ramp))
    } else {
        4.0 * (0.5 * distance / j).cbrt()
    }
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn straight_moves_take_as_long_as_the_closed_form_says(
        (step, v, a, j) in (1..7usize).prop_flat_map(|n| (
            prop::collection::vec(-2.5..2.5f64, n),
            prop::collection::vec(0.2..3.0f64, n),
            prop::collection::vec(0.5..15.0f64, n),
            prop::collection::vec(2.0..200.0f64, n),
        )),
    ) {
        let length = step.iter().map(|d| d * d).sum::<f64>().sqrt();
        prop_assume!(length > 0.1);
        let points = [vec![0.0; step.len()], step.clone()];
        let spline = Spline::with_knots(&[0.0, length], &points, EndCondition::Natural).unwrap();
        let limits = MotionLimits::new(v.clone(), a.clone()).unwrap();
        let limits = limits.with_jerk(j.clone()).unwrap();
        let timed = TimedPath::along(vec![spline], &limits).unwrap();
        // What the slowest joint leaves to the parameter.
        let along = |limits: &[f64]| {
            let each = limits.iter().zip(&step).map(|(limit, d)| limit * length / d.abs());
            each.fold(f64::INFINITY, f64::min)
        };
        let least = seven_phases(length, along(&v), along(&a), along(&j));
        let ratio = timed.duration() / least;
        prop_assert!((1.0 - 5e-4..1.0 + 3e-3).contains(&ratio), "{ratio}");
    }
}

/// Waypoints close together on straight lines with corners, as a planner gives them.
fn polyline(seed: u64) -> (Vec<f64>, Vec<Vec<f64>>) {
    let mut random = ik_support::Random(seed);
    let chain = ik_support::six_joints();
    let corners: Vec<Vec<f64>> = (0..5).map(|_| random.configuration(&chain)).collect();
    let (mut knots, mut points) = (vec![0.0], vec![corners[0].clone()]);
    for pair in corners.windows(2) {
        for part in 1..=20 {
            let share = f64::from(part) / 20.0;
            let point: Vec<f64> = pair[0]
                .iter()
                .zip(&pair[1])
                .map(|(from, to)| 0.3 * (from + share * (to - from)))
                .collect();
            let last = points.last().unwrap();
            let step = point
                .iter()
                .zip(last)
                .map(|(a, b)| (a - b) * (a - b))
                .sum::<f64>();
            knots.push(knots.last().unwrap() + step.sqrt());
            points.push(point);
        }
    }
    (knots, points)
}

#[test]
fn dense_polylines_lose_little_by_limited_jerk() {
    for seed in 0..4 {
        let (knots, points) = polyline(seed);
        let spline = Spline::with_knots(&knots, &points, EndCondition::Natural).unwrap();
        let free = MotionLimits::new(vec![3.0; 6], vec![10.0; 6]).unwrap();
        let limits = free.clone().with_jerk(vec![100.0; 6]).unwrap();
        let fast = TimedPath::along(vec![spline.clone()], &free).unwrap();
        let smooth = TimedPath::along(vec![spline], &limits).unwrap();
        let [velocity, acceleration, jerk] = shares(&smooth, &limits);
        assert!(velocity <= 1.0 + 1e-4 && acceleration <= 1.0 + 1e-3 && jerk <= 1.0 + 1e-3);
        // The moving average took 1.7 times as long, and more.
        let ratio = smooth.duration() / fast.duration();
        assert!(ratio < 1.5, "{ratio}");
        // Few knots: the law is not chopped up.
        assert!(smooth.knots().len() < 10 * knots.len());
    }
}

#[test]
fn a_straight_move_with_limited_jerk_takes_as_long_as_it_must() {
    // Full speed is reached: d/v + v/a + a/j is the optimum.
    let spline =
        Spline::with_knots(&[0.0, 1.0], &[vec![0.0], vec![2.0]], EndCondition::Natural).unwrap();
    let limits = MotionLimits::new(vec![1.0], vec![2.0]).unwrap();
    let limits = limits.with_jerk(vec![10.0]).unwrap();
    let timed = TimedPath::along(vec![spline], &limits).unwrap();
    assert!(
        (timed.duration() - 2.7).abs() < 0.01,
        "{}",
        timed.duration()
    );
}

#[test]
fn jerk_limits_and_a_start_in_motion_do_not_go_together() {
    let chain = ik_support::planar(&[0.5, 0.5], -3.0, 3.0);
    let path = JointPath {
        points: vec![vec![0.0, 0.0], vec![1.0, 1.0]],
        stops: vec![],
    };
    let limits = MotionLimits::new(vec![1.0; 2], vec![2.0; 2]).unwrap();
    let limits = limits.with_jerk(vec![10.0; 2]).unwrap();
    let options = TimingOptions {
        start_velocity: Some(vec![0.5, 0.5]),
        ..TimingOptions::default()
    };
    assert_eq!(
        TimedPath::with_options(&path, &chain, &limits, &options),
        Err(RetimeError::JerkFromMotion)
    );
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let options = TimingOptions {
            tip_speed: Some(bad),
            ..TimingOptions::default()
        };
        assert!(matches!(
            TimedPath::with_options(&path, &chain, &limits, &options),
            Err(RetimeError::TipLimit { .. })
        ));
    }
}
