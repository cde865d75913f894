//! Closed forms: every branch that a dense numeric search finds is there, on all kinds of arms.

mod ik_support;

use arm_planner::ik::{closed_form_of, solver, Goal, IkError, IkRequest, IkSolution};
use arm_planner::kinematics::{forward_kinematics, residual};
use arm_planner::model::{Chain, DofKind};
use ik_support::{chain, joint, planar, seven_joints, six_joints, Random};
use nalgebra::{Isometry3, UnitQuaternion, Vector3};
use std::f64::consts::{FRAC_PI_2 as H, PI};

const R: DofKind = DofKind::Revolute;

/// A spherical wrist behind parallel second and third axes, with all offsets of an industrial arm.
fn industrial() -> Chain {
    chain(
        &[
            joint([0.0, 0.0, 0.4], [0.0; 3], R, -PI, PI),
            joint([0.15, 0.03, 0.1], [-H, 0.0, 0.0], R, -PI, PI),
            joint([0.5, 0.0, -0.02], [0.0; 3], R, -PI, PI),
            joint([0.05, 0.45, 0.0], [-H, 0.0, 0.0], R, -PI, PI),
            joint([0.0; 3], [H, 0.0, 0.0], R, -2.0, 2.0),
            joint([0.0; 3], [-H, 0.0, 0.0], R, -PI, PI),
        ],
        Isometry3::translation(0.02, 0.0, 0.1),
    )
}

/// A spherical wrist behind first and second axes that meet at an angle; the third is oblique.
fn meeting() -> Chain {
    chain(
        &[
            joint([0.0, 0.0, 0.3], [0.0; 3], R, -PI, PI),
            joint([0.0; 3], [-1.2, 0.0, 0.0], R, -PI, PI),
            joint([0.4, 0.05, 0.1], [0.4, 0.3, 0.0], R, -PI, PI),
            joint([0.1, 0.3, 0.0], [-H, 0.2, 0.0], R, -PI, PI),
            joint([0.0; 3], [H, 0.0, 0.0], R, -PI, PI),
            joint([0.0; 3], [-1.3, 0.0, 0.0], R, -PI, PI),
        ],
        Isometry3::translation(0.0, 0.03, 0.12),
    )
}

/// Parallel first and second axes, then an oblique third and a spherical wrist.
fn scara_with_wrist() -> Chain {
    chain(
        &[
            joint([0.0, 0.0, 0.3], [0.0; 3], R, -PI, PI),
            // Points down: parallel the other way round.
            joint([0.4, 0.0, 0.1], [PI, 0.0, 0.0], R, -PI, PI),
            joint([0.3, 0.0, 0.05], [H, 0.3, 0.0], R, -PI, PI),
            joint([0.1, 0.25, 0.0], [-H, 0.0, 0.0], R, -PI, PI),
            joint([0.0; 3], [H, 0.0, 0.0], R, -PI, PI),
            joint([0.0; 3], [-H, 0.0, 0.0], R, -PI, PI),
        ],
        Isometry3::translation(0.0, 0.0, 0.1),
    )
}

/// A chain from its tip to its base.
fn reversed(forward: &Chain) -> Chain {
    let mut joints = Vec::new();
    let mut before = forward.tip_offset.inverse();
    for (joint, dof) in forward.joints.iter().zip(&forward.dofs).rev() {
        // Turning about −z is turning backwards; a half turn about x makes −z of z.
        let flip = Isometry3::rotation(Vector3::x() * PI);
        joints.push((before * flip, dof.kind, dof.lower, dof.upper));
        before = flip.inverse() * joint.before.inverse();
    }
    chain(&joints, before)
}

/// The first five joints of an arm.
fn five_of(six: &Chain) -> Chain {
    let joints: Vec<_> = six
        .joints
        .iter()
        .zip(&six.dofs)
        .take(5)
        .map(|(joint, dof)| {
            (
                joint.before,
                dof.kind,
                dof.lower.max(-PI),
                dof.upper.min(PI),
            )
        })
        .collect();
    chain(&joints, Isometry3::translation(0.05, 0.02, 0.1))
}

/// The same arm, its frames a little off as in measured descriptions.
fn measured(exact: &Chain, off: f64) -> Chain {
    let mut random = Random(5);
    let mut rough = exact.clone();
    for joint in &mut rough.joints {
        joint.before.translation.vector += random.vector(off);
        let turn = UnitQuaternion::from_scaled_axis(random.vector(off));
        joint.before.rotation *= turn;
    }
    rough
}

fn limited(mut wide: Chain) -> Chain {
    for dof in &mut wide.dofs {
        dof.lower = dof.lower.max(-PI);
        dof.upper = dof.upper.min(PI);
    }
    wide
}

/// All answers that descents from many starts find: the oracle.
fn numeric(chain: &Chain, request: &IkRequest<'_>, random: &mut Random) -> Vec<Vec<f64>> {
    let descent = solver("levenberg_marquardt").unwrap();
    let mut found: Vec<Vec<f64>> = Vec::new();
    for _ in 0..250 {
        let start = random.configuration(chain);
        if let Ok(solution) = descent.solve(chain, request, &start) {
            if !found.iter().any(|other| same(other, &solution.q, 1e-3)) {
                found.push(solution.q);
            }
        }
    }
    found
}

/// Equal up to full turns.
fn same(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    a.iter().zip(b).all(|(x, y)| {
        let turns = ((x - y) / std::f64::consts::TAU).round();
        (x - y - turns * std::f64::consts::TAU).abs() <= tolerance
    })
}

fn check(chain: &Chain, request: &IkRequest<'_>, solution: &IkSolution) {
    assert!(chain.within_limits(&solution.q));
    let tip = forward_kinematics(chain, &solution.q).unwrap();
    let off = residual(&request.target, &tip);
    assert!(off.position <= request.tolerances.position);
    assert!(request.goal == Goal::Position || off.orientation <= request.tolerances.orientation);
}

#[track_caller]
fn every_branch(chain: &Chain, goal: Goal, targets: usize, most: usize) {
    let closed = solver("closed_form").unwrap();
    let mut random = Random(6);
    let mut branches = 0;
    for _ in 0..targets {
        let truth = random.configuration(chain);
        let mut request = IkRequest::new(forward_kinematics(chain, &truth).unwrap());
        request.goal = goal;
        request.max_solutions = 1000;
        let found = closed.solve_all(chain, &request, &chain.middle()).unwrap();
        assert!(found.len() <= most, "{} answers", found.len());
        for (index, solution) in found.iter().enumerate() {
            check(chain, &request, solution);
            let earlier = &found[..index];
            assert!(
                !earlier
                    .iter()
                    .any(|other| same(&other.q, &solution.q, 1e-5)),
                "twice"
            );
        }
        let has = |q: &[f64]| found.iter().any(|solution| same(&solution.q, q, 2e-3));
        assert!(has(&truth), "the truth {truth:?} is missing in {found:?}");
        for q in numeric(chain, &request, &mut random) {
            assert!(has(&q), "{q:?} is missing");
        }
        branches += found.len();
    }
    // Five joints can take most poses in one way only.
    assert!(
        branches > targets || chain.dof() == 5,
        "more than one branch somewhere"
    );
}

#[test]
fn three_parallel_axes() {
    assert_eq!(
        closed_form_of(&six_joints()).unwrap(),
        "6R: three parallel axes"
    );
    every_branch(&limited(six_joints()), Goal::Pose, 25, 8);
    every_branch(&reversed(&limited(six_joints())), Goal::Pose, 12, 8);
}

#[test]
fn spherical_wrists() {
    for (arm, words) in [
        (industrial(), "parallel second and third"),
        (meeting(), "first and second axes that meet"),
        (scara_with_wrist(), "parallel first and second"),
    ] {
        assert!(closed_form_of(&arm).unwrap().contains(words));
        every_branch(&arm, Goal::Pose, 15, 8);
        assert!(closed_form_of(&reversed(&arm))
            .unwrap()
            .contains("spherical shoulder"));
        every_branch(&reversed(&arm), Goal::Pose, 8, 8);
    }
}

#[test]
fn five_joints() {
    for arm in [five_of(&six_joints()), five_of(&industrial())] {
        assert!(closed_form_of(&arm).unwrap().starts_with("5R"));
        every_branch(&arm, Goal::Pose, 20, 8);
    }
}

#[test]
fn planar_arms() {
    assert_eq!(
        closed_form_of(&planar(&[0.5, 0.4], -PI, PI)).unwrap(),
        "planar 2R"
    );
    every_branch(&planar(&[0.5, 0.4], -PI, PI), Goal::Position, 20, 2);
    every_branch(&planar(&[0.5, 0.4, 0.2], -PI, PI), Goal::Pose, 20, 2);
}

#[test]
fn planar_three_joints_sweep_the_heading() {
    let arm = planar(&[0.5, 0.4, 0.2], -2.5, 2.5);
    let mut random = Random(8);
    for _ in 0..20 {
        let truth = random.configuration(&arm);
        let mut request = IkRequest::new(forward_kinematics(&arm, &truth).unwrap());
        request.goal = Goal::Position;
        request.max_solutions = 40;
        let closed = solver("closed_form").unwrap();
        let nearest = closed.solve(&arm, &request, &truth).unwrap();
        assert!(
            same(&nearest.q, &truth, 1e-6),
            "the seed's own heading comes first"
        );
        let found = closed.solve_all(&arm, &request, &arm.middle()).unwrap();
        assert!(found.len() > 4, "{}", found.len());
        found
            .iter()
            .for_each(|solution| check(&arm, &request, solution));
    }
}

#[test]
fn measured_arms_are_polished() {
    for exact in [limited(six_joints()), industrial()] {
        let arm = measured(&exact, 2e-4);
        assert!(closed_form_of(&arm).is_some());
        let closed = solver("closed_form").unwrap();
        let mut random = Random(9);
        let mut missing = 0;
        for _ in 0..40 {
            let truth = random.configuration(&arm);
            let mut request = IkRequest::new(forward_kinematics(&arm, &truth).unwrap());
            request.max_solutions = 16;
            match closed.solve_all(&arm, &request, &arm.middle()) {
                Ok(found) => {
                    found
                        .iter()
                        .for_each(|solution| check(&arm, &request, solution));
                    missing += u32::from(!found.iter().any(|s| same(&s.q, &truth, 1e-3)));
                }
                Err(_) => missing += 1,
            }
        }
        // Next to singular poses branches of the exact and of the measured arm differ.
        assert!(missing <= 4, "{missing} of 40");
    }
}

#[test]
fn seven_joints_are_swept() {
    let arm = seven_joints();
    assert!(closed_form_of(&arm).unwrap().contains("7R"));
    let closed = solver("closed_form").unwrap();
    let mut random = Random(10);
    for _ in 0..30 {
        let truth = random.configuration(&arm);
        let mut request = IkRequest::new(forward_kinematics(&arm, &truth).unwrap());
        let solution = closed.solve(&arm, &request, &truth).unwrap();
        assert!(
            same(&solution.q, &truth, 1e-5),
            "the seed's own sweep value comes first"
        );
        request.max_solutions = 50;
        // From elsewhere: the sweep may step over a narrow range, rarely.
        if let Ok(found) = closed.solve_all(&arm, &request, &arm.middle()) {
            found
                .iter()
                .for_each(|solution| check(&arm, &request, solution));
        }
    }
}

#[test]
fn windings_and_order() {
    let arm = six_joints();
    let truth = [0.4, -1.3, 1.2, -0.7, 0.9, 2.0];
    let mut request = IkRequest::new(forward_kinematics(&arm, &truth).unwrap());
    let closed = solver("closed_form").unwrap();
    let seed = [-5.8, -1.3, 1.2, -0.7, 0.9, -4.0];
    let nearest = closed.solve(&arm, &request, &seed).unwrap();
    // ±2π limits: the turn nearest to the seed.
    assert!(
        (nearest.q[5] - (2.0 - std::f64::consts::TAU)).abs() < 1e-6,
        "{:?}",
        nearest.q
    );
    request.max_solutions = 2000;
    let all = closed.solve_all(&arm, &request, &seed).unwrap();
    // Five joints with two turns each in ±2π, the elbow with one: 32 for each branch.
    assert_eq!(all.len() % 32, 0, "{}", all.len());
    let distance = |q: &[f64]| -> f64 { q.iter().zip(&seed).map(|(a, b)| (a - b) * (a - b)).sum() };
    for pair in all.windows(2) {
        assert!(distance(&pair[0].q) <= distance(&pair[1].q) + 1e-12);
    }
}

#[test]
fn singular_targets_keep_the_seed_where_it_makes_no_difference() {
    // Stretched wrist: the sum of two angles is fixed, the seed decides between them.
    let arm = industrial();
    let truth = [0.3, -0.6, 0.9, 0.7, 0.0, 0.4];
    let request = IkRequest::new(forward_kinematics(&arm, &truth).unwrap());
    let closed = solver("closed_form").unwrap();
    let solution = closed.solve(&arm, &request, &truth).unwrap();
    check(&arm, &request, &solution);
    assert!(same(&solution.q, &truth, 1e-5), "{:?}", solution.q);
    // The zero pose of the arm with three parallel axes.
    let arm = six_joints();
    let request = IkRequest::new(forward_kinematics(&arm, &[0.0; 6]).unwrap());
    let solution = closed.solve(&arm, &request, &[0.05; 6]).unwrap();
    check(&arm, &request, &solution);
}

#[test]
fn chains_without_a_closed_form_are_unsupported() {
    let mut random = Random(11);
    let arm = ik_support::random_chain(&mut random, 6, false);
    assert_eq!(closed_form_of(&arm), None);
    let request = IkRequest::new(forward_kinematics(&arm, &arm.middle()).unwrap());
    let error = solver("closed_form")
        .unwrap()
        .solve(&arm, &request, &arm.middle())
        .unwrap_err();
    assert!(matches!(error, IkError::UnsupportedChain { .. }));
    // A six-joint arm asked for a position alone has a continuum of answers.
    let mut request = IkRequest::new(Isometry3::translation(0.3, 0.2, 0.4));
    request.goal = Goal::Position;
    let error = solver("closed_form")
        .unwrap()
        .solve(&six_joints(), &request, &[0.0; 6]);
    assert!(matches!(error, Err(IkError::UnsupportedChain { .. })));
}
