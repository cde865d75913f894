//! What every solver promises, over random arms, random targets and awkward ones.

mod ik_support;

use arm_planner::ik::{
    solver, solver_names, Goal, IkError, IkRequest, IkSolution, InvalidRequest, Posture,
};
use arm_planner::kinematics::{forward_kinematics, jacobian, pose_error, residual, Pose};
use arm_planner::model::{Chain, DofKind};
use ik_support::{eight_joints, planar, random_chain, seven_joints, six_joints, Random};
use nalgebra::{Isometry3, UnitQuaternion, Vector3};

fn arms() -> Vec<Chain> {
    vec![six_joints(), seven_joints(), eight_joints()]
}

fn pose_of(chain: &Chain, q: &[f64]) -> Pose {
    forward_kinematics(chain, q).unwrap()
}

/// The contract of an answer, checked by forward kinematics.
#[track_caller]
fn check(chain: &Chain, request: &IkRequest<'_>, seed: &[f64], solution: &IkSolution) {
    assert!(chain.within_limits(&solution.q), "{solution:?}");
    let off = residual(&request.target, &pose_of(chain, &solution.q));
    assert!((off.position - solution.position_error).abs() < 1e-12);
    assert!(off.position <= request.tolerances.position);
    if request.goal == Goal::Pose {
        assert!((off.orientation - solution.orientation_error).abs() < 1e-9);
        assert!(off.orientation <= request.tolerances.orientation);
    } else {
        assert_eq!(solution.orientation_error, 0.0);
    }
    for (index, dof) in chain.dofs.iter().enumerate() {
        let turns = chain
            .joints
            .iter()
            .filter(|joint| joint.dof == index)
            .count()
            == 1;
        if dof.kind == DofKind::Continuous && turns {
            let turn = (solution.q[index] - seed[index]).abs();
            assert!(turn <= std::f64::consts::PI + 1e-9, "needless turn: {turn}");
        }
    }
}

/// The same for a failure.
#[track_caller]
fn check_failure(chain: &Chain, request: &IkRequest<'_>, error: &IkError) {
    let best = error.best().unwrap_or_else(|| panic!("{error:?}"));
    assert!(chain.within_limits(&best.q), "{error:?}");
    let off = residual(&request.target, &pose_of(chain, &best.q));
    assert!((off.position - best.position_error).abs() < 1e-12);
}

#[test]
fn jacobian_equals_finite_differences() {
    let mut random = Random(11);
    for round in 0..120 {
        let chain = random_chain(&mut random, 1 + round % 12, true);
        let q = random.configuration(&chain);
        let matrix = jacobian(&chain, &q).unwrap();
        let step = 1e-6;
        for index in 0..chain.dof() {
            let (mut ahead, mut behind) = (q.clone(), q.clone());
            ahead[index] += step;
            behind[index] -= step;
            let slope =
                pose_error(&pose_of(&chain, &ahead), &pose_of(&chain, &behind)) / (2.0 * step);
            let difference = (matrix.column(index) - slope).amax();
            assert!(
                difference < 1e-7,
                "column {index} of {} differs by {difference}",
                chain.dof()
            );
        }
    }
}

#[test]
fn every_solver_keeps_its_contract_on_random_arms() {
    let mut random = Random(12);
    let mut solved = vec![0_u32; solver_names().len()];
    for round in 0..48 {
        let chain = random_chain(&mut random, 1 + round % 12, round % 2 == 1);
        let truth = random.configuration(&chain);
        let seed = random.configuration(&chain);
        let mut request = IkRequest::new(pose_of(&chain, &truth));
        if round % 3 == 2 {
            request.goal = Goal::Position;
        }
        for (name, count) in solver_names().into_iter().zip(&mut solved) {
            match solver(name).unwrap().solve(&chain, &request, &seed) {
                Ok(solution) => {
                    check(&chain, &request, &seed, &solution);
                    *count += 1;
                }
                Err(error @ (IkError::Unreachable { .. } | IkError::OffMotionPlane { .. })) => {
                    panic!("{name}: a reachable target is called unreachable: {error}")
                }
                // Closed forms fit none of these.
                Err(IkError::UnsupportedChain { .. }) => *count = 48,
                Err(error) => check_failure(&chain, &request, &error),
            }
        }
    }
    // The portfolio finds them all; every other method at least some.
    assert_eq!(
        solved[0],
        48,
        "{:?}",
        solver_names().iter().zip(&solved).collect::<Vec<_>>()
    );
    assert!(solved.iter().all(|&count| count >= 4), "{solved:?}");
}

#[test]
fn portfolio_solves_random_targets_of_real_arms() {
    let mut random = Random(13);
    for chain in arms() {
        for _ in 0..60 {
            let target = pose_of(&chain, &random.configuration(&chain));
            let seed = random.configuration(&chain);
            let request = IkRequest::new(target);
            let solution = solver("").unwrap().solve(&chain, &request, &seed).unwrap();
            check(&chain, &request, &seed, &solution);
        }
    }
}

#[test]
fn single_descents_converge_from_near() {
    let mut random = Random(14);
    for chain in arms() {
        for _ in 0..30 {
            let truth = random.configuration(&chain);
            let request = IkRequest::new(pose_of(&chain, &truth));
            let seed: Vec<f64> = chain
                .dofs
                .iter()
                .zip(&truth)
                .map(|(dof, value)| dof.clamp(value + random.between(-0.05, 0.05)))
                .collect();
            for name in ["damped_svd", "levenberg_marquardt"] {
                let solution = solver(name).unwrap().solve(&chain, &request, &seed);
                let solution = solution.unwrap_or_else(|error| panic!("{name}: {error}"));
                check(&chain, &request, &seed, &solution);
            }
        }
    }
}

#[test]
fn transpose_and_coordinate_descent_converge_given_time() {
    let mut random = Random(15);
    for name in ["jacobian_transpose", "ccd"] {
        let mut solved = 0;
        for _ in 0..20 {
            let chain = seven_joints();
            let truth = random.configuration(&chain);
            let mut request = IkRequest::new(pose_of(&chain, &truth));
            request.tolerances.position = 1e-4;
            request.tolerances.orientation = 1e-4;
            request.max_iterations = 400;
            let seed: Vec<f64> = chain
                .dofs
                .iter()
                .zip(&truth)
                .map(|(dof, value)| dof.clamp(value + random.between(-0.1, 0.1)))
                .collect();
            if let Ok(solution) = solver(name).unwrap().solve(&chain, &request, &seed) {
                check(&chain, &request, &seed, &solution);
                solved += 1;
            }
        }
        assert!(solved >= 15, "{name} solved {solved} of 20");
    }
}

#[test]
fn singular_starts_do_not_stall() {
    // The zero pose of a six-joint arm with parallel axes is stretched out and singular.
    let chain = six_joints();
    let mut random = Random(16);
    let seed = vec![0.0; 6];
    let smallest = jacobian(&chain, &seed).unwrap().singular_values().min();
    assert!(smallest < 1e-9);
    let mut solved = [0, 0];
    let names = ["damped_svd", "levenberg_marquardt"];
    for _ in 0..40 {
        let target = pose_of(&chain, &random.configuration(&chain));
        let mut request = IkRequest::new(target);
        request.restarts = false;
        for (name, count) in names.iter().zip(&mut solved) {
            if let Ok(solution) = solver(name).unwrap().solve(&chain, &request, &seed) {
                check(&chain, &request, &seed, &solution);
                *count += 1;
            }
        }
        let solution = solver("")
            .unwrap()
            .solve(&chain, &IkRequest::new(target), &seed)
            .unwrap();
        check(&chain, &request, &seed, &solution);
    }
    // One descent without a restart: most, not all.
    assert!(solved.iter().all(|&count| count >= 24), "{solved:?}");
    // The worst start: straight towards the target, no first-order motion that way.
    let chain = planar(&[0.5, 0.4], -3.0, 3.0);
    let mut request = IkRequest::new(Isometry3::translation(0.5, 0.0, 0.0));
    request.goal = Goal::Position;
    request.restarts = false;
    for name in [
        "",
        "damped_svd",
        "levenberg_marquardt",
        "jacobian_transpose",
        "ccd",
        "fabrik",
    ] {
        request.max_iterations = 5000;
        let solution = solver(name).unwrap().solve(&chain, &request, &[0.0, 0.0]);
        let solution = solution.unwrap_or_else(|error| panic!("{name}: {error}"));
        check(&chain, &request, &[0.0, 0.0], &solution);
    }
}

#[test]
fn stretched_out_targets_are_reached_or_measured() {
    let chain = planar(&[0.5, 0.4, 0.3], -3.0, 3.0);
    for (distance, reachable) in [(1.2, true), (1.2 - 1e-9, true), (1.19, true), (1.25, false)] {
        let direction = UnitQuaternion::from_axis_angle(&Vector3::z_axis(), 0.7);
        let point = direction * Vector3::new(distance, 0.0, 0.0);
        let mut request = IkRequest::new(Isometry3::translation(point.x, point.y, 0.0));
        request.goal = Goal::Position;
        let result = solver("")
            .unwrap()
            .solve(&chain, &request, &[0.2, 0.4, -0.3]);
        match result {
            Ok(solution) => {
                assert!(reachable);
                check(&chain, &request, &[0.2, 0.4, -0.3], &solution);
            }
            Err(error) => {
                assert!(!reachable, "{distance}: {error}");
                let IkError::Unreachable {
                    distance, reach, ..
                } = &error
                else {
                    panic!("{error:?}");
                };
                assert!((distance - 1.25).abs() < 1e-12 && (reach - 1.2).abs() < 1e-12);
                assert!(error.to_string().contains("0.0500 m too far"), "{error}");
                let best = error.best().unwrap();
                assert!(
                    (best.position_error - 0.05).abs() < 1e-5,
                    "not the nearest: {best:?}"
                );
            }
        }
    }
}

#[test]
fn fabrik_straightens_towards_what_is_too_far() {
    let chain = planar(&[0.5, 0.4, 0.3], -3.0, 3.0);
    let mut request = IkRequest::new(Isometry3::translation(-1.0, 2.0, 0.0));
    request.goal = Goal::Position;
    let error = solver("fabrik")
        .unwrap()
        .solve(&chain, &request, &[0.2, 0.4, -0.3])
        .unwrap_err();
    let best = error.best().unwrap();
    assert!(
        (best.position_error - (5.0_f64.sqrt() - 1.2)).abs() < 1e-6,
        "{best:?}"
    );
}

#[test]
fn targets_with_joints_at_their_limits() {
    let mut random = Random(17);
    for chain in arms() {
        for _ in 0..25 {
            let mut truth = random.configuration(&chain);
            for (value, dof) in truth.iter_mut().zip(&chain.dofs) {
                match (random.unit() * 4.0) as u32 {
                    0 => *value = dof.lower,
                    1 => *value = dof.upper,
                    _ => {}
                }
            }
            let request = IkRequest::new(pose_of(&chain, &truth));
            // Starting there, it is found at once; starting elsewhere, the answer may be
            // the only one, at the edge of what can be reached.
            let solution = solver("").unwrap().solve(&chain, &request, &truth).unwrap();
            for (value, wanted) in solution.q.iter().zip(&truth) {
                assert!(
                    (value - wanted).abs() < 1e-5,
                    "{solution:?} is not {truth:?}"
                );
            }
            let seed = chain.middle();
            match solver("").unwrap().solve(&chain, &request, &seed) {
                Ok(solution) => check(&chain, &request, &seed, &solution),
                Err(error) => check_failure(&chain, &request, &error),
            }
        }
    }
}

#[test]
fn forbidden_restarts_end_soon_and_report_the_best_try() {
    let chain = seven_joints();
    let mut random = Random(18);
    let mut failures = 0;
    for _ in 0..40 {
        let mut request = IkRequest::new(pose_of(&chain, &random.configuration(&chain)));
        request.restarts = false;
        let seed = random.configuration(&chain);
        if let Err(error) = solver("").unwrap().solve(&chain, &request, &seed) {
            failures += 1;
            check_failure(&chain, &request, &error);
            let best = error.best().unwrap();
            assert!(best.iterations <= 5 * request.max_iterations);
            // The best try is better than no try.
            let before = residual(&request.target, &pose_of(&chain, &seed));
            assert!(
                best.position_error + best.orientation_error
                    <= before.position + before.orientation + 1e-12
            );
        }
    }
    assert!(failures > 0, "a single start cannot reach all");
}

fn weighted(posture: &Posture, q: &[f64]) -> f64 {
    q.iter()
        .zip(posture.values.iter().zip(&posture.weights))
        .map(|(q, (value, weight))| weight * (q - value) * (q - value))
        .sum()
}

#[test]
fn posture_pulls_towards_itself_without_moving_the_tip() {
    let mut random = Random(19);
    let mut nearer = 0;
    for chain in [seven_joints(), eight_joints()] {
        for round in 0..15 {
            let truth = random.configuration(&chain);
            let mut request = IkRequest::new(pose_of(&chain, &truth));
            if round % 3 == 0 {
                request.goal = Goal::Position;
            }
            let posture = Posture {
                values: random.configuration(&chain),
                weights: chain
                    .dofs
                    .iter()
                    .map(|_| random.between(0.1, 1.0))
                    .collect(),
            };
            for name in ["", "damped_svd", "levenberg_marquardt", "ccd", "fabrik"] {
                // From an answer, so that without posture nothing would move.
                request.posture = None;
                let Ok(plain) = solver(name).unwrap().solve(&chain, &request, &truth) else {
                    panic!("{name} does not stay at an answer");
                };
                request.posture = Some(posture.clone());
                let pulled = solver(name)
                    .unwrap()
                    .solve(&chain, &request, &truth)
                    .unwrap();
                check(&chain, &request, &truth, &pulled);
                let (before, after) = (weighted(&posture, &plain.q), weighted(&posture, &pulled.q));
                assert!(
                    after <= before + 1e-12,
                    "{name}: pushed away, {before} to {after}"
                );
                nearer += u32::from(after < 0.99 * before);
            }
        }
    }
    assert!(nearer > 100, "the posture hardly pulls: {nearer} of 150");
}

#[test]
fn posture_ends_where_no_null_motion_is_left() {
    // A planar 3R arm with a position goal has one free direction: the best posture on its
    // self-motion, found by a dense search, is what the solver comes to.
    let chain = planar(&[0.5, 0.4, 0.3], -3.0, 3.0);
    let mut request = IkRequest::new(Isometry3::translation(0.6, 0.4, 0.0));
    request.goal = Goal::Position;
    let posture = Posture {
        values: vec![0.1, 1.0, 0.2],
        weights: vec![1.0, 1.0, 1.0],
    };
    request.posture = Some(posture.clone());
    let solution = solver("damped_svd")
        .unwrap()
        .solve(&chain, &request, &[0.1, 1.0, 0.2])
        .unwrap();
    let mut least = f64::INFINITY;
    for step in 0..60_000 {
        // The last link's direction is the free parameter; the rest is a 2R arm.
        let yaw = f64::from(step) * std::f64::consts::TAU / 60_000.0;
        let (x, y) = (0.6 - 0.3 * yaw.cos(), 0.4 - 0.3 * yaw.sin());
        let cosine = (x * x + y * y - 0.25 - 0.16) / 0.4;
        if cosine.abs() > 1.0 {
            continue;
        }
        for elbow in [cosine.acos(), -cosine.acos()] {
            let first = y.atan2(x) - (0.4 * elbow.sin()).atan2(0.5 + 0.4 * elbow.cos());
            let last = (yaw - first - elbow + std::f64::consts::PI)
                .rem_euclid(std::f64::consts::TAU)
                - std::f64::consts::PI;
            least = least.min(weighted(&posture, &[first, elbow, last]));
        }
    }
    let reached = weighted(&posture, &solution.q);
    assert!(reached <= least + 1e-4, "{reached} is not {least}");
}

#[test]
fn max_solutions_are_distinct_and_sorted() {
    let mut random = Random(20);
    for chain in arms() {
        let seed = chain.middle();
        let mut request = IkRequest::new(pose_of(&chain, &random.configuration(&chain)));
        request.max_solutions = 6;
        let solutions = solver("")
            .unwrap()
            .solve_all(&chain, &request, &seed)
            .unwrap();
        assert!(solutions.len() > 1 && solutions.len() <= 6);
        let distance = |solution: &IkSolution| -> f64 {
            solution
                .q
                .iter()
                .zip(&seed)
                .map(|(a, b)| (a - b) * (a - b))
                .sum::<f64>()
                .sqrt()
        };
        for (index, solution) in solutions.iter().enumerate() {
            check(&chain, &request, &seed, solution);
            for other in &solutions[..index] {
                assert!(distance(other) <= distance(solution));
                let apart = solution.q.iter().zip(&other.q).map(|(a, b)| (a - b).abs());
                assert!(apart.fold(0.0, f64::max) > 1e-3);
            }
        }
    }
}

#[test]
fn accept_has_the_last_word() {
    let chain = six_joints();
    let mut request = IkRequest::new(pose_of(&chain, &[0.3, -1.2, 1.1, -0.5, 0.9, 0.4]));
    let elbow_down = |q: &[f64]| q[2] < 0.0;
    request.accept = Some(&elbow_down);
    let seed = [0.3, -1.2, 1.1, -0.5, 0.9, 0.4];
    let solution = solver("").unwrap().solve(&chain, &request, &seed).unwrap();
    check(&chain, &request, &seed, &solution);
    assert!(solution.q[2] < 0.0);
    let never = |_: &[f64]| false;
    request.accept = Some(&never);
    let error = solver("")
        .unwrap()
        .solve(&chain, &request, &seed)
        .unwrap_err();
    assert!(
        matches!(error, IkError::NotConverged { refused, .. } if refused >= 2),
        "{error:?}"
    );
    assert!(error.to_string().contains("refused"));
}

#[test]
fn giving_up_is_reported() {
    let chain = seven_joints();
    let mut request = IkRequest::new(Isometry3::translation(0.0, 0.0, 0.05));
    let always = || true;
    request.give_up = Some(&always);
    for name in solver_names() {
        let error = solver(name)
            .unwrap()
            .solve(&chain, &request, &chain.middle())
            .unwrap_err();
        match &error {
            IkError::NotConverged { timed_out, .. } => assert!(*timed_out, "{name}: {error:?}"),
            _ => panic!("{name}: {error:?}"),
        }
    }
}

#[test]
fn same_input_same_bits() {
    let mut random = Random(21);
    for round in 0..24 {
        let chain = random_chain(&mut random, 1 + round % 12, round % 2 == 0);
        let mut request = IkRequest::new(pose_of(&chain, &random.configuration(&chain)));
        request.max_solutions = 3;
        request.posture = (round % 3 == 0).then(|| Posture {
            values: random.configuration(&chain),
            weights: vec![1.0; chain.dof()],
        });
        let seed = random.configuration(&chain);
        for name in solver_names() {
            let solver = solver(name).unwrap();
            let bits = |result: Result<Vec<IkSolution>, IkError>| format!("{result:?}");
            let first = bits(solver.solve_all(&chain, &request, &seed));
            let second = bits(solver.solve_all(&chain.clone(), &request.clone(), &seed.clone()));
            assert_eq!(first, second, "{name}");
        }
    }
}

#[test]
fn bad_requests_get_their_own_errors() {
    let chain = seven_joints();
    let good = IkRequest::new(pose_of(&chain, &chain.middle()));
    let seed = chain.middle();
    for name in solver_names() {
        let solver = solver(name).unwrap();
        let error = |request: &IkRequest<'_>, seed: &[f64]| {
            solver.solve(&chain, request, seed).unwrap_err()
        };
        for wrong in [&seed[..6], &[]] {
            let expected = IkError::WrongSize {
                what: "seed",
                expected: 7,
                got: wrong.len(),
            };
            assert_eq!(error(&good, wrong), expected);
        }
        for bad in [f64::NAN, f64::INFINITY] {
            let mut seed = seed.clone();
            seed[3] = bad;
            let found = error(&good, &seed);
            assert!(found.to_string().contains("joint3"), "{found}");
        }
        let mut request = good.clone();
        request.target.translation.vector.y = f64::NAN;
        assert_eq!(
            error(&request, &seed),
            InvalidRequest::TargetNotFinite.into()
        );
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut request = good.clone();
            request.tolerances.position = bad;
            assert!(error(&request, &seed)
                .to_string()
                .contains("position tolerance"));
            let mut request = good.clone();
            request.tolerances.orientation = bad;
            assert!(error(&request, &seed)
                .to_string()
                .contains("orientation tolerance"));
        }
        let mut request = good.clone();
        request.max_step = 0.0;
        assert!(error(&request, &seed).to_string().contains("max_step"));
        let mut request = good.clone();
        request.max_iterations = 0;
        assert!(error(&request, &seed)
            .to_string()
            .contains("max_iterations"));
        let mut request = good.clone();
        request.max_solutions = 0;
        assert!(error(&request, &seed).to_string().contains("max_solutions"));
        for (values, weights, what) in [
            (vec![0.0; 6], vec![1.0; 7], "posture"),
            (vec![0.0; 7], vec![1.0; 8], "weights"),
        ] {
            let mut request = good.clone();
            request.posture = Some(Posture { values, weights });
            assert!(
                matches!(error(&request, &seed), IkError::WrongSize { what: w, .. } if w == what)
            );
        }
        let mut request = good.clone();
        request.posture = Some(Posture {
            values: vec![0.0; 7],
            weights: vec![-1.0; 7],
        });
        assert!(error(&request, &seed).to_string().contains("weight"));
    }
    assert!(solver("newton")
        .unwrap_err()
        .to_string()
        .contains("damped_svd"));
}

#[test]
fn seeds_outside_the_limits_are_clamped() {
    let chain = seven_joints();
    let request = IkRequest::new(pose_of(&chain, &chain.middle()));
    let seed = [9.0, -9.0, 9.0, 9.0, -9.0, 9.0, 1e6];
    for name in solver_names() {
        match solver(name).unwrap().solve(&chain, &request, &seed) {
            Ok(solution) => assert!(chain.within_limits(&solution.q)),
            Err(error) => check_failure(&chain, &request, &error),
        }
    }
}

#[test]
fn long_chains_are_solved_without_the_fixed_size_loop() {
    let mut random = Random(22);
    let lengths = vec![0.05; 70];
    let chain = planar(&lengths, -1.0, 1.0);
    let truth: Vec<f64> = (0..70).map(|_| random.between(-0.1, 0.1)).collect();
    let request = IkRequest::new(pose_of(&chain, &truth));
    let seed = vec![0.02; 70];
    let solution = solver("").unwrap().solve(&chain, &request, &seed).unwrap();
    check(&chain, &request, &seed, &solution);
    assert!(matches!(
        solver("levenberg_marquardt")
            .unwrap()
            .solve(&chain, &request, &seed),
        Err(IkError::UnsupportedChain { .. })
    ));
}

#[test]
fn sliding_joints_alone_and_parallel_axes_off_their_plane() {
    // Three sliding axes: any position in the box, no other orientation.
    use std::f64::consts::FRAC_PI_2;
    let p = DofKind::Prismatic;
    let gantry = ik_support::chain(
        &[
            ik_support::joint([0.0; 3], [0.0, FRAC_PI_2, 0.0], p, 0.0, 1.0),
            ik_support::joint([0.0; 3], [0.0, -FRAC_PI_2, 0.0], p, 0.0, 1.0),
            ik_support::joint([0.0; 3], [-FRAC_PI_2, 0.0, 0.0], p, 0.0, 1.0),
        ],
        Isometry3::identity(),
    );
    let mut random = Random(23);
    for _ in 0..10 {
        let truth = random.configuration(&gantry);
        let request = IkRequest::new(pose_of(&gantry, &truth));
        for name in solver_names()
            .into_iter()
            .filter(|name| *name != "closed_form")
        {
            let solution = solver(name).unwrap().solve(&gantry, &request, &[0.5; 3]);
            let solution = solution.unwrap_or_else(|error| panic!("{name}: {error}"));
            for (value, wanted) in solution.q.iter().zip(&truth) {
                assert!((value - wanted).abs() < 1e-5, "{name}");
            }
        }
    }
    let scara_off = {
        let chain = planar(&[0.5, 0.4], -3.0, 3.0);
        let mut target = pose_of(&chain, &[0.3, 0.5]);
        target.rotation *= UnitQuaternion::from_axis_angle(&Vector3::x_axis(), 0.2);
        solver("")
            .unwrap()
            .solve(&chain, &IkRequest::new(target), &[0.0, 0.1])
            .unwrap_err()
    };
    assert!(
        matches!(scara_off, IkError::OffMotionPlane { position, orientation, .. }
            if position < 1e-9 && (orientation - 0.2).abs() < 1e-9),
        "{scara_off:?}"
    );
}

#[test]
fn joint_moves_can_be_bounded() {
    let mut random = Random(24);
    let chain = seven_joints();
    let mut refused = 0;
    for _ in 0..20 {
        let seed = random.configuration(&chain);
        let near: Vec<f64> = chain
            .dofs
            .iter()
            .zip(&seed)
            .map(|(dof, value)| dof.clamp(value + random.between(-0.1, 0.1)))
            .collect();
        let mut request = IkRequest::new(pose_of(&chain, &near));
        request.max_move = Some(vec![0.1; 7]);
        let solution = solver("").unwrap().solve(&chain, &request, &seed).unwrap();
        check(&chain, &request, &seed, &solution);
        let far = random.configuration(&chain);
        request.target = pose_of(&chain, &far);
        for name in solver_names() {
            match solver(name).unwrap().solve(&chain, &request, &seed) {
                Ok(solution) => {
                    let moves = solution
                        .q
                        .iter()
                        .zip(&seed)
                        .map(|(to, from)| (to - from).abs());
                    assert!(moves.fold(0.0, f64::max) <= 0.1 + 1e-12);
                }
                Err(error) => {
                    check_failure(&chain, &request, &error);
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 100);
    let mut request = IkRequest::new(pose_of(&chain, &chain.middle()));
    request.max_move = Some(vec![0.1; 6]);
    let seed = chain.middle();
    assert!(matches!(
        solver("").unwrap().solve(&chain, &request, &seed),
        Err(IkError::WrongSize {
            what: "max_move",
            ..
        })
    ));
    request.max_move = Some(vec![-0.1; 7]);
    assert!(solver("").unwrap().solve(&chain, &request, &seed).is_err());
}

#[test]
fn arms_with_parallel_axes_and_a_slide_know_their_heights() {
    // Two joints about z and a slide along z, down to −0.2 and up to 0.1.
    let r = DofKind::Revolute;
    let scara = ik_support::chain(
        &[
            ik_support::joint([0.0, 0.0, 0.5], [0.0; 3], r, -3.0, 3.0),
            ik_support::joint([0.4, 0.0, 0.0], [0.0; 3], r, -3.0, 3.0),
            ik_support::joint([0.3, 0.0, 0.0], [0.0; 3], DofKind::Prismatic, -0.2, 0.1),
        ],
        Isometry3::identity(),
    );
    let seed = [0.1, 0.5, 0.0];
    for (height, off) in [
        (0.3, 0.0),
        (0.6, 0.0),
        (0.45, 0.0),
        (0.25, 0.05),
        (0.7, 0.1),
    ] {
        let mut request = IkRequest::new(Isometry3::translation(0.4, 0.3, height));
        request.goal = Goal::Position;
        match solver("").unwrap().solve(&scara, &request, &seed) {
            Ok(solution) => {
                assert_eq!(off, 0.0);
                check(&scara, &request, &seed, &solution);
            }
            Err(IkError::OffMotionPlane { position, .. }) => {
                assert!(
                    off > 0.0 && (position - off).abs() < 1e-9,
                    "{height}: {position}"
                );
            }
            Err(error) => panic!("{height}: {error}"),
        }
    }
}
