//! Timing against a slow oracle, and the limits at every instant, on random and on ugly paths.

use arm_planner::model::Chain;
use arm_planner::planning::JointPath;
use arm_planner::trajectory::{
    check, joint_bounds, EndCondition, GateContext, GatePolicy, MeasuredJoint, MotionLimits,
    OutgoingTrajectory, RetimeError, Spline, TimedPath, SAMPLING_SLACK,
};
use proptest::prelude::*;
use proptest::test_runner::Config;

#[path = "trajectory_support/mod.rs"]
mod trajectory_support;

use trajectory_support::chain;

fn config(cases: u32) -> Config {
    trajectory_support::config(cases, 0x0a51_7e2d)
}

/// Largest shares of the limits used at any of the times 0.1 ms apart.
fn shares(timed: &TimedPath, limits: &MotionLimits) -> (f64, f64) {
    let duration = timed.duration();
    let steps = (duration / 1e-4).ceil() as usize;
    let (mut velocity, mut acceleration) = (0.0_f64, 0.0_f64);
    for k in 0..=steps {
        let state = timed.state((k as f64 * 1e-4).min(duration));
        for j in 0..limits.dof() {
            velocity = velocity.max(state.velocities[j].abs() / limits.velocity()[j]);
            acceleration =
                acceleration.max(state.accelerations[j].abs() / limits.acceleration()[j]);
        }
    }
    (velocity, acceleration)
}

/// The textbook way: limits at grid points alone, the largest controllable ṡ² by bisection.
fn oracle(spline: &Spline, limits: &MotionLimits, n: usize) -> f64 {
    let (from, to) = (spline.knots()[0], *spline.knots().last().unwrap());
    let h = (to - from) / n as f64;
    let derivatives: Vec<Vec<[f64; 2]>> = (0..=n)
        .map(|i| {
            let s = (from + h * i as f64).min(to);
            let piece = spline.piece_at(s);
            (0..spline.dof())
                .map(|j| {
                    let [_, d, dd] = spline.evaluate(piece, j, s);
                    [d, dd]
                })
                .collect()
        })
        .collect();
    // The range of s̈ at a grid point for x = ṡ²; `None` if x is too large.
    let range = |i: usize, x: f64| -> Option<(f64, f64)> {
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        for (j, &[d, dd]) in derivatives[i].iter().enumerate() {
            let (v, a) = (limits.velocity()[j], limits.acceleration()[j]);
            if d * d * x > v * v || (d == 0.0 && (dd * x).abs() > a) {
                return None;
            }
            if d != 0.0 {
                let (one, two) = ((-a - dd * x) / d, (a - dd * x) / d);
                low = low.max(one.min(two));
                high = high.min(one.max(two));
            }
        }
        (low <= high).then_some((low, high))
    };
    let mut controllable = vec![0.0; n + 1];
    for i in (0..n).rev() {
        let ends_inside = |x: f64| {
            range(i, x).is_some_and(|(low, high)| {
                x + 2.0 * h * low <= controllable[i + 1] && x + 2.0 * h * high >= 0.0
            })
        };
        let (mut good, mut bad) = (0.0, 1e4);
        for _ in 0..80 {
            let middle = 0.5 * (good + bad);
            if ends_inside(middle) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        controllable[i] = good;
    }
    let (mut x, mut time) = (0.0_f64, 0.0);
    for i in 0..n {
        let high = range(i, x).map_or(0.0, |(_, high)| high);
        let next = (x + 2.0 * h * high).min(controllable[i + 1]).max(0.0);
        time += 2.0 * h / (x.sqrt() + next.sqrt());
        x = next;
    }
    time
}

fn waypoints(dof: usize, n: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Vec<f64>>> {
    prop::collection::vec(prop::collection::vec(-2.5..2.5f64, dof), n)
}

fn limits(dof: usize) -> impl Strategy<Value = MotionLimits> {
    (
        prop::collection::vec(0.5..3.0f64, dof),
        prop::collection::vec(1.0..20.0f64, dof),
    )
        .prop_map(|(v, a)| MotionLimits::new(v, a).unwrap())
}

/// The gate lets the sampled trajectory through, with the limits it was made for.
fn passes_the_gate(path: &JointPath, chain: &Chain, limits: &MotionLimits, period: f64) {
    let timed = TimedPath::new(path, chain, limits).unwrap();
    let trajectory = timed.trajectory(chain.joint_names(), period).unwrap();
    let names = chain.joint_names();
    let measured = names
        .iter()
        .zip(&path.points[0])
        .map(|(name, &position)| {
            let velocity = Some(0.0);
            let age = 0.1;
            (
                name.clone(),
                MeasuredJoint {
                    position,
                    velocity,
                    age,
                },
            )
        })
        .collect();
    let policy = GatePolicy::default();
    let context = GateContext {
        controller_joints: &names,
        bounds: &joint_bounds(chain, limits),
        measured: &measured,
        now_ns: 1,
        policy: &policy,
        collision: None,
    };
    check(OutgoingTrajectory::from(&trajectory), &context).unwrap_or_else(|e| panic!("{e}"));
    // Sampling costs little time.
    let (sampled, own) = (trajectory.duration(), timed.duration());
    assert!(sampled <= 1.1 * own + 0.05, "{sampled} for {own}");
    let slack = 1.0 + SAMPLING_SLACK + 1e-6;
    let steps = (trajectory.duration() / 1e-4).ceil() as usize;
    for k in 0..=steps {
        let point = trajectory
            .sample((k as f64 * 1e-4).min(trajectory.duration()))
            .unwrap();
        for j in 0..limits.dof() {
            assert!(point.velocities[j].abs() <= limits.velocity()[j] * slack);
            assert!(point.accelerations[j].abs() <= limits.acceleration()[j] * slack);
        }
    }
}

#[test]
fn a_straight_move_is_a_trapezoid() {
    // 2 rad at 1 rad/s and 2 rad/s²: 0.5 s up, 1.5 s along, 0.5 s down.
    let path = JointPath {
        points: vec![vec![0.0], vec![2.0]],
        stops: vec![],
    };
    let limits = MotionLimits::new(vec![1.0], vec![2.0]).unwrap();
    let timed = TimedPath::new(&path, &chain(1, 3.0), &limits).unwrap();
    assert!(
        (timed.duration() - 2.5).abs() < 2.5e-3,
        "{}",
        timed.duration()
    );
    assert!(timed.duration() >= 2.5 - 1e-9);
    // A short one never reaches its speed: 2 √(d/a).
    let short = JointPath {
        points: vec![vec![0.0], vec![0.02]],
        stops: vec![],
    };
    let timed = TimedPath::new(&short, &chain(1, 3.0), &limits).unwrap();
    assert!((timed.duration() - 0.2).abs() < 2e-4);
}

#[test]
fn degenerate_limits_and_lengths_are_timed() {
    let points = |scale: f64| -> Vec<Vec<f64>> {
        let rows = [
            [0.0, 0.0, 0.3],
            [1.0, 0.5, 0.3],
            [1.5, -0.5, 0.3],
            [0.2, 0.1, 0.3],
        ];
        rows.iter()
            .map(|r| r.iter().map(|v| v * scale).collect())
            .collect()
    };
    // A joint that never moves, very short and very long paths, tiny and huge limits.
    for scale in [1e-7, 1e-3, 1.0, 1e3] {
        for (v, a) in [
            (1.0, 2.0),
            (1e-4, 1e-4),
            (1e4, 1e-3),
            (1e-3, 1e5),
            (1e5, 1e6),
        ] {
            let limits = MotionLimits::new(vec![v; 3], vec![a; 3]).unwrap();
            let spline = Spline::through(&points(scale), &[(-1e9, 1e9); 3]).unwrap();
            let timed = TimedPath::along(vec![spline], &limits).unwrap();
            let end = timed.duration();
            let mut most = [0.0_f64; 2];
            for k in 0..=20_000 {
                let state = timed.state(end * f64::from(k) / 20_000.0);
                for j in 0..3 {
                    most[0] = most[0].max(state.velocities[j].abs() / v);
                    most[1] = most[1].max(state.accelerations[j].abs() / a);
                }
            }
            let [velocity, acceleration] = most;
            assert!(velocity <= 1.0 + 1e-6, "{scale} {v} {a}: {velocity}");
            assert!(
                acceleration <= 1.0 + 1e-6,
                "{scale} {v} {a}: {acceleration}"
            );
            // One of them is used well: it is not just slow.
            assert!(velocity.max(acceleration) > 0.99, "{scale} {v} {a}");
        }
    }
}

#[test]
fn knots_are_a_motion_with_constant_acceleration_of_the_parameter() {
    let points = vec![
        vec![0.0, 0.0],
        vec![1.0, 0.4],
        vec![0.3, 1.5],
        vec![-0.5, 0.2],
    ];
    for ends in [EndCondition::Natural, EndCondition::Clamped] {
        let spline = Spline::with_knots(&[0.0, 1.0, 2.0, 3.0], &points, ends).unwrap();
        let limits = MotionLimits::new(vec![1.5; 2], vec![6.0; 2]).unwrap();
        let timed = TimedPath::along(vec![spline.clone()], &limits).unwrap();
        let knots = timed.knots();
        assert!((knots.last().unwrap().time / timed.duration() - 1.0).abs() < 1e-5);
        // At rest at both ends, also where all derivatives are zero and ṡ would not matter.
        assert_eq!((knots[0].rate, knots[knots.len() - 1].rate), (0.0, 0.0));
        for pair in knots.windows(2) {
            let t = pair[1].time - pair[0].time;
            assert!(t > 0.0);
            let way = 0.5 * t * (pair[0].rate + pair[1].rate);
            assert!((pair[0].s + way - pair[1].s).abs() < 1e-12);
            let u = (pair[1].rate - pair[0].rate) / t;
            assert!((u - pair[0].acceleration).abs() <= 1e-6 * (1.0 + u.abs()));
            let piece = spline.piece_at(0.5 * (pair[0].s + pair[1].s));
            for (knot, j) in pair.iter().flat_map(|knot| [(knot, 0), (knot, 1)]) {
                let [_, d, dd] = spline.evaluate(piece, j, knot.s);
                let acceleration = d * u + dd * knot.rate * knot.rate;
                assert!(acceleration.abs() <= 6.0 * 1.001, "{acceleration}");
                assert!((d * knot.rate).abs() <= 1.5 * (1.0 + 1e-4));
            }
        }
    }
}

#[test]
fn waypoints_that_are_all_the_same_are_no_motion() {
    let limits = MotionLimits::new(vec![1.5; 2], vec![6.0; 2]).unwrap();
    for ends in [EndCondition::Natural, EndCondition::Clamped] {
        let spline = Spline::with_knots(&[0.0, 1.0, 2.0], &vec![vec![0.3, -1.0]; 3], ends).unwrap();
        let timed = TimedPath::along(vec![spline], &limits);
        assert_eq!(timed.unwrap_err(), RetimeError::NoMotion);
    }
}

#[test]
fn a_stop_is_a_stop() {
    let path = JointPath {
        points: vec![
            vec![0.0, 0.0],
            vec![0.5, 0.0],
            vec![1.0, 0.0],
            vec![1.0, 0.5],
            vec![1.0, 1.0],
        ],
        stops: vec![2],
    };
    let limits = MotionLimits::new(vec![1.0; 2], vec![4.0; 2]).unwrap();
    let chain = chain(2, 3.0);
    let timed = TimedPath::new(&path, &chain, &limits).unwrap();
    // 1 rad at 1 rad/s and 4 rad/s²: 1.25 s, twice.
    assert!((timed.duration() - 2.5).abs() < 5e-3);
    let corner = timed.state(0.5 * timed.duration());
    assert!((corner.positions[0] - 1.0).abs() < 1e-6 && corner.positions[1].abs() < 1e-6);
    assert!(corner.velocities.iter().all(|v| v.abs() < 1e-3));
    passes_the_gate(&path, &chain, &limits, 0.01);
}

#[test]
fn the_path_is_met_at_its_points() {
    let points: Vec<Vec<f64>> = (0..40)
        .map(|i| {
            let t = f64::from(i) * 0.1;
            vec![t.sin(), (1.3 * t).cos()]
        })
        .collect();
    let limits = MotionLimits::new(vec![1.0; 2], vec![4.0; 2]).unwrap();
    let path = JointPath {
        points: points.clone(),
        stops: vec![],
    };
    let timed = TimedPath::new(&path, &chain(2, 3.0), &limits).unwrap();
    let end = timed.duration();
    assert_eq!(timed.state(0.0).positions, points[0]);
    assert_eq!(timed.state(end).positions, points[39]);
    for point in &points {
        let nearest = (0..=20_000)
            .map(|k| timed.state(end * f64::from(k) / 20_000.0))
            .map(|s| (s.positions[0] - point[0]).hypot(s.positions[1] - point[1]))
            .fold(f64::INFINITY, f64::min);
        assert!(nearest < 2e-4);
    }
}

#[test]
fn dense_polylines_keep_their_limits() {
    // 200 samples of a zigzag: corners everywhere, as planners hand them over.
    let points: Vec<Vec<f64>> = (0..200)
        .map(|i| {
            let t = f64::from(i) * 0.02;
            let saw = |f: f64| 0.4 * ((t * f).fract() - 0.5).abs();
            vec![t, saw(1.0), saw(2.7) - t, 0.5 * saw(0.6)]
        })
        .collect();
    let limits = MotionLimits::new(vec![2.0; 4], vec![10.0; 4]).unwrap();
    let chain = chain(4, 10.0);
    let path = JointPath {
        points,
        stops: vec![],
    };
    let timed = TimedPath::new(&path, &chain, &limits).unwrap();
    let (velocity, acceleration) = shares(&timed, &limits);
    assert!(velocity <= 1.0 + 1e-6 && acceleration <= 1.0 + 1e-6);
    for period in [0.02, 0.005] {
        passes_the_gate(&path, &chain, &limits, period);
    }
}

#[test]
fn points_that_repeat_or_nearly_do_are_one() {
    let near = |d: f64| vec![0.5 + d, 0.2];
    let points = vec![
        vec![0.0, 0.0],
        vec![0.0, 0.0],
        near(0.0),
        near(1e-13),
        near(2e-12),
        vec![1.0, 0.0],
        vec![1.0, 1e-14],
    ];
    let limits = MotionLimits::new(vec![1.0; 2], vec![4.0; 2]).unwrap();
    let path = JointPath {
        points,
        stops: vec![],
    };
    let timed = TimedPath::new(&path, &chain(2, 3.0), &limits).unwrap();
    assert!(timed.duration() < 3.0);
    assert_eq!(timed.state(timed.duration()).positions, [1.0, 1e-14]);
    passes_the_gate(&path, &chain(2, 3.0), &limits, 0.01);
}

#[test]
fn the_last_digits_of_a_solver_cost_no_time() {
    // A circle in joint space, sampled densely, with and without noise of 1e-9.
    let limits = MotionLimits::new(vec![1.0; 3], vec![4.0; 3]).unwrap();
    let mut state = 1_u64;
    let mut noise = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1_u32 << 31) * 2e-9 - 1e-9
    };
    let mut durations = [0.0; 2];
    for (slot, size) in durations.iter_mut().zip([0.0, 1.0]) {
        let points = (0..600)
            .map(|i| {
                let t = f64::from(i) * 0.005;
                [t.sin(), t.cos(), 0.3 * t]
                    .map(|v| v + size * noise())
                    .to_vec()
            })
            .collect();
        let path = JointPath {
            points,
            stops: vec![],
        };
        *slot = TimedPath::new(&path, &chain(3, 3.0), &limits)
            .unwrap()
            .duration();
    }
    assert!(
        (durations[1] / durations[0] - 1.0).abs() < 2e-3,
        "{durations:?}"
    );
}

#[test]
fn bad_paths_get_a_clear_error() {
    let limits = MotionLimits::new(vec![1.0; 2], vec![4.0; 2]).unwrap();
    let time = |points: Vec<Vec<f64>>, stops: Vec<usize>| {
        TimedPath::new(&JointPath { points, stops }, &chain(2, 3.0), &limits)
    };
    let (a, b) = (vec![0.0, 0.0], vec![1.0, 1.0]);
    assert!(matches!(time(vec![], vec![]), Err(RetimeError::Path(_))));
    assert_eq!(time(vec![a.clone()], vec![]), Err(RetimeError::NoMotion));
    assert_eq!(
        time(vec![a.clone(); 3], vec![1]),
        Err(RetimeError::NoMotion)
    );
    assert!(matches!(
        time(vec![a.clone(), vec![1.0]], vec![]),
        Err(RetimeError::Path(_))
    ));
    assert!(matches!(
        time(vec![a.clone(), vec![f64::NAN, 0.0]], vec![]),
        Err(RetimeError::Path(_))
    ));
    for stops in [vec![0], vec![1], vec![5]] {
        assert!(matches!(
            time(vec![a.clone(), b.clone()], stops),
            Err(RetimeError::Stop { .. })
        ));
    }
    let one = MotionLimits::new(vec![1.0], vec![4.0]).unwrap();
    let path = JointPath {
        points: vec![a, b],
        stops: vec![],
    };
    let error = TimedPath::new(&path, &chain(2, 3.0), &one).unwrap_err();
    assert_eq!(
        error,
        RetimeError::Limits {
            got: 1,
            expected: 2
        }
    );
    let timed = TimedPath::new(&path, &chain(2, 3.0), &limits).unwrap();
    for period in [0.0, -1.0, f64::NAN, 1e-9] {
        assert!(timed.trajectory(vec![], period).is_err(), "{period}");
    }
}

#[test]
fn a_spline_beside_a_limit_does_not_swing_over_it() {
    let limits = MotionLimits::new(vec![1.0; 2], vec![4.0; 2]).unwrap();
    let upper = 1.0;
    // Runs into the limit and along it: the C² spline alone overshoots.
    let points: Vec<Vec<f64>> = (0..12)
        .map(|i| vec![(0.25 * f64::from(i)).min(upper), -0.1 * f64::from(i)])
        .collect();
    let knots: Vec<f64> = (0..12).map(f64::from).collect();
    let raw = Spline::with_knots(&knots, &points, EndCondition::Natural).unwrap();
    let over = (0..1100).map(|k| f64::from(k) * 0.01).any(|s| {
        let [q, _, _] = raw.evaluate(raw.piece_at(s), 0, s);
        q > upper + 1e-3
    });
    assert!(over, "the case must be one where a plain spline fails");
    let chain = chain(2, upper);
    let path = JointPath {
        points: points.into_iter().take(11).collect(),
        stops: vec![],
    };
    let timed = TimedPath::new(&path, &chain, &limits).unwrap();
    for k in 0..=10_000 {
        let state = timed.state(timed.duration() * f64::from(k) / 10_000.0);
        assert!(state.positions[0] <= upper + 1e-9);
    }
    passes_the_gate(&path, &chain, &limits, 0.01);
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn limits_hold_at_every_instant_and_little_time_is_lost(
        (points, limits) in (1..7usize).prop_flat_map(|dof| (waypoints(dof, 2..12), limits(dof)))
    ) {
        let bounds = vec![(-1e9, 1e9); limits.dof()];
        let spline = Spline::through(&points, &bounds).unwrap();
        let timed = TimedPath::along(vec![spline.clone()], &limits).unwrap();
        let (velocity, acceleration) = shares(&timed, &limits);
        prop_assert!(velocity <= 1.0 + 1e-6, "velocity {velocity}");
        prop_assert!(acceleration <= 1.0 + 1e-6, "acceleration {acceleration}");
        let slow = oracle(&spline, &limits, 4000);
        prop_assert!(timed.duration() <= 1.003 * slow, "{} against {slow}", timed.duration());
        prop_assert!(timed.duration() >= 0.99 * slow, "{} against {slow}", timed.duration());
        prop_assert_eq!(&timed, &TimedPath::along(vec![spline], &limits).unwrap());
        let rests = |t: f64| timed.state(t).velocities.iter().all(|v| v.abs() < 1e-9);
        prop_assert!(rests(0.0) && rests(timed.duration()));
    }

    /// One joint at a time, back and forth, in a box that the points touch: curves whose
    /// derivative vanishes at points, where the usual pictures of a profile break down.
    #[test]
    fn moves_of_single_joints_keep_their_limits_and_never_stall(
        steps in prop::collection::vec((0..3usize, any::<bool>()), 2..30),
        scale in prop::sample::select(vec![1e-4, 0.1, 2.0]),
        limits in limits(3),
    ) {
        let mut q = vec![0.0; 3];
        let mut points = vec![q.clone()];
        for (joint, up) in steps {
            q[joint] += if up { scale } else { -scale };
            points.push(q.clone());
        }
        let bounds: Vec<(f64, f64)> = (0..3)
            .map(|j| {
                let values = || points.iter().map(|p| p[j]);
                (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
            })
            .collect();
        let spline = Spline::through(&points, &bounds).unwrap();
        let timed = TimedPath::along(vec![spline.clone()], &limits).unwrap();
        let (velocity, acceleration) = shares(&timed, &limits);
        prop_assert!(velocity <= 1.0 + 1e-6, "velocity {velocity}");
        prop_assert!(acceleration <= 1.0 + 1e-6, "acceleration {acceleration}");
        // Once it moves, it does not stop before the end.
        let knots = timed.knots();
        prop_assert!(knots[1..knots.len() - 1].iter().all(|knot| knot.rate > 0.0));
        for k in 0..=2000 {
            let state = timed.state(timed.duration() * f64::from(k) / 2000.0);
            for (value, (low, high)) in state.positions.iter().zip(&bounds) {
                prop_assert!(*value >= low - 1e-9 && *value <= high + 1e-9);
            }
        }
    }

    #[test]
    fn sampled_trajectories_pass_the_gate(
        (points, limits) in (1..7usize).prop_flat_map(|dof| (waypoints(dof, 2..12), limits(dof))),
        period in prop::sample::select(vec![0.002, 0.01, 0.025]),
        stop in any::<bool>(),
    ) {
        let stops = if stop && points.len() > 2 { vec![points.len() / 2] } else { vec![] };
        let path = JointPath { points, stops };
        passes_the_gate(&path, &chain(limits.dof(), 2.5), &limits, period);
    }
}
