//! Goals that ask for some axes of a pose, over arms with fewer joints than a pose has parts.

mod ik_support;

use arm_planner::ik::{
    solver, solver_names, Goal, IkError, IkRequest, IkSolution, InvalidRequest, TaskAxes,
};
use arm_planner::kinematics::{forward_kinematics, Pose};
use arm_planner::model::{Chain, DofKind};
use ik_support::{chain, joint, planar, seven_joints, Random};
use nalgebra::{Isometry3, UnitQuaternion, Vector3};

const H: f64 = std::f64::consts::FRAC_PI_2;

fn axes(words: &str) -> Goal {
    Goal::Axes(words.parse().unwrap())
}

/// Five joints with the published proportions of a small hobby arm: no yaw of its own at the wrist.
fn five_joints() -> Chain {
    let r = DofKind::Revolute;
    chain(
        &[
            joint([0.0, 0.0, 0.05], [0.0; 3], r, -1.9, 1.9),
            joint([0.03, 0.0, 0.06], [-H, 0.0, 0.0], r, -1.7, 1.7),
            joint([0.116, 0.0, 0.0], [0.0; 3], r, -1.7, 1.7),
            joint([0.135, 0.0, 0.0], [0.0; 3], r, -1.6, 1.6),
            joint([0.06, 0.0, 0.0], [0.0, H, 0.0], r, -2.7, 2.8),
        ],
        Isometry3::translation(0.0, 0.0, 0.1),
    )
}

/// Three joints that reach any point of space.
fn spatial_three() -> Chain {
    let r = DofKind::Revolute;
    chain(
        &[
            joint([0.0, 0.0, 0.3], [0.0; 3], r, -3.1, 3.1),
            joint([0.0; 3], [-H, 0.0, 0.0], r, -2.0, 2.0),
            joint([0.4, 0.0, 0.0], [0.0; 3], r, -2.5, 2.5),
        ],
        Isometry3::translation(0.35, 0.0, 0.0),
    )
}

/// Two hinges, a slide and a turn, all about the vertical.
fn scara() -> Chain {
    let (r, p) = (DofKind::Revolute, DofKind::Prismatic);
    chain(
        &[
            joint([0.0, 0.0, 0.4], [0.0; 3], r, -2.3, 2.3),
            joint([0.325, 0.0, 0.0], [0.0; 3], r, -2.5, 2.5),
            joint([0.275, 0.0, 0.0], [0.0; 3], p, -0.2, 0.0),
            joint([0.0; 3], [0.0; 3], r, -3.1, 3.1),
        ],
        Isometry3::translation(0.0, 0.0, -0.05),
    )
}

/// The errors by their definition, written out anew: components in the base frame, angles of
/// axes, and the twist by projecting the tip's turned axis.
fn errors(axes: &TaskAxes, target: &Pose, tip: &Pose) -> (f64, f64) {
    let way = target.translation.vector - tip.translation.vector;
    let position = (0..3)
        .filter(|row| axes.position[*row])
        .map(|row| way[row] * way[row])
        .sum::<f64>()
        .sqrt();
    let unit = [Vector3::x(), Vector3::y(), Vector3::z()];
    let asked: Vec<usize> = (0..3).filter(|row| axes.rotation[*row]).collect();
    let orientation = match asked.as_slice() {
        [] => 0.0,
        [axis] => {
            // Undo the swing that takes the axis away; what is left turns about the axis.
            let local = target.rotation.inverse() * tip.rotation;
            let swing = UnitQuaternion::rotation_between(&unit[*axis], &(local * unit[*axis]));
            (swing.unwrap().inverse() * local).angle()
        }
        [_, _] => {
            let free = unit[(0..3).find(|row| !axes.rotation[*row]).unwrap()];
            (target.rotation * free).angle(&(tip.rotation * free))
        }
        _ => target.rotation.angle_to(&tip.rotation),
    };
    (position, orientation)
}

#[track_caller]
fn check(chain: &Chain, request: &IkRequest<'_>, solution: &IkSolution) {
    let Goal::Axes(axes) = request.goal else {
        panic!("a mask is asked for")
    };
    assert!(chain.within_limits(&solution.q));
    let tip = forward_kinematics(chain, &solution.q).unwrap();
    let (position, orientation) = errors(&axes, &request.target, &tip);
    assert!((position - solution.position_error).abs() < 1e-12);
    assert!(
        (orientation - solution.orientation_error).abs() < 1e-7,
        "{orientation} {}",
        solution.orientation_error
    );
    assert!(position <= request.tolerances.position);
    assert!(orientation <= request.tolerances.orientation + 1e-7);
}

#[test]
fn masks_are_met_by_every_method_and_the_portfolio_finds_all() {
    let cases = [
        (five_joints(), "xyz,rxy"),
        (five_joints(), "xyz,rx"),
        (spatial_three(), "xyz"),
        (spatial_three(), "xz"),
        (scara(), "xyz,rz"),
        (planar(&[0.4, 0.3, 0.2], -2.5, 2.5), "x,y,rz"),
        (planar(&[0.4, 0.3], -2.5, 2.5), "y,rz"),
        (seven_joints(), "xyz,rxy"),
        (seven_joints(), "z,rx"),
        (seven_joints(), "rxyz"),
    ];
    let mut random = Random(91);
    for (chain, words) in cases {
        let goal = axes(words);
        for _ in 0..12 {
            let truth = random.configuration(&chain);
            let mut target = forward_kinematics(&chain, &truth).unwrap();
            let Goal::Axes(mask) = goal else { continue };
            // What is free may say anything.
            for row in 0..3 {
                if !mask.position[row] {
                    target.translation.vector[row] = random.between(-9.0, 9.0);
                }
            }
            if mask.rotation == [true, true, false] {
                let turn = Vector3::z() * random.between(-3.0, 3.0);
                target.rotation *= UnitQuaternion::from_scaled_axis(turn);
            } else if mask.rotation == [false; 3] {
                target.rotation = UnitQuaternion::from_scaled_axis(random.vector(2.0));
            }
            let seed = random.configuration(&chain);
            let mut request = IkRequest::new(target);
            request.goal = goal;
            for name in solver_names() {
                let result = solver(name).unwrap().solve(&chain, &request, &seed);
                match result {
                    Ok(solution) => check(&chain, &request, &solution),
                    Err(IkError::UnsupportedChain { .. }) if name == "closed_form" => {}
                    Err(error) => {
                        assert_ne!(name, "portfolio", "{words}: {error}");
                        assert!(!error.is_unreachable(), "{words} {name}: {error}");
                        assert!(chain.within_limits(&error.best().unwrap().q));
                    }
                }
            }
        }
    }
}

#[test]
fn each_method_converges_from_near() {
    let mut random = Random(92);
    for name in [
        "levenberg_marquardt",
        "damped_svd",
        "jacobian_transpose",
        "ccd",
        "fabrik",
    ] {
        let mut solved = 0;
        for round in 0..24 {
            let (chain, words) = match round % 3 {
                0 => (five_joints(), "xyz,rxy"),
                1 => (scara(), "xyz,rz"),
                _ => (seven_joints(), "xyz,rz"),
            };
            let truth = random.configuration(&chain);
            let mut request = IkRequest::new(forward_kinematics(&chain, &truth).unwrap());
            request.goal = axes(words);
            request.tolerances.position = 1e-4;
            request.tolerances.orientation = 1e-4;
            let seed: Vec<f64> = chain
                .dofs
                .iter()
                .zip(&truth)
                .map(|(dof, value)| dof.clamp(value + random.between(-0.05, 0.05)))
                .collect();
            if let Ok(solution) = solver(name).unwrap().solve(&chain, &request, &seed) {
                check(&chain, &request, &solution);
                solved += 1;
            }
        }
        assert!(solved >= 18, "{name} solved {solved} of 24");
    }
}

#[test]
fn free_axes_prove_nothing_and_asked_ones_do() {
    let arm = scara();
    let seed = arm.middle();
    let portfolio = solver("").unwrap();
    // Far along a free axis: no matter.
    let mut request = IkRequest::new(Pose::translation(0.3, 0.2, 50.0));
    request.goal = axes("x,y");
    check(
        &arm,
        &request,
        &portfolio.solve(&arm, &request, &seed).unwrap(),
    );
    // Far along an asked one: out of reach by distance.
    request.goal = axes("z");
    let error = portfolio.solve(&arm, &request, &seed).unwrap_err();
    assert!(matches!(error, IkError::Unreachable { .. }), "{error}");
    // Tilted against the axis that all motion keeps.
    let tilt = UnitQuaternion::from_scaled_axis(Vector3::x() * 0.3);
    request.target = Pose::from_parts(Vector3::new(0.3, 0.2, 0.25).into(), tilt);
    request.goal = axes("xyz,rxy");
    let error = portfolio.solve(&arm, &request, &seed).unwrap_err();
    assert!(matches!(error, IkError::OffMotionPlane { .. }), "{error}");
    request.goal = axes("xyz,rz");
    check(
        &arm,
        &request,
        &portfolio.solve(&arm, &request, &seed).unwrap(),
    );
}

#[test]
fn an_empty_mask_is_refused() {
    let arm = scara();
    let mut request = IkRequest::new(Pose::identity());
    request.goal = Goal::Axes(TaskAxes {
        position: [false; 3],
        rotation: [false; 3],
    });
    for name in solver_names() {
        let result = solver(name).unwrap().solve(&arm, &request, &arm.middle());
        assert_eq!(
            result,
            Err(IkError::Invalid(InvalidRequest::NoTaskAxes)),
            "{name}"
        );
    }
}
