//! Several tips at once: the two-armed torso and random trees.

use arm_planner::ik::{
    solve_tree, tip_poses, Goal, InvalidRequest, TipGoal, TreeBase, TreeError, TreeRequest,
    TreeSolution,
};
use arm_planner::kinematics::{forward_kinematics, residual, Pose};
use arm_planner::model::{RobotModel, TreeChain};
use nalgebra::{UnitQuaternion, Vector3};

mod ik_support;
use ik_support::Random;

const TORSO: &str = include_str!("../urdf/two_arm_torso.urdf");

fn model() -> RobotModel {
    RobotModel::from_urdf(TORSO).unwrap()
}

fn torso() -> TreeChain {
    model()
        .tree("", &["left_hand", "right_hand"], false)
        .unwrap()
}

fn configuration(random: &mut Random, tree: &TreeChain) -> Vec<f64> {
    let dofs = tree.dofs.iter();
    dofs.map(|dof| random.between(dof.lower.max(-3.0), dof.upper.min(3.0)))
        .collect()
}

fn request(poses: &[Pose], goal: Goal) -> TreeRequest<'static> {
    let tips = poses.iter();
    TreeRequest::new(
        tips.map(|&target| TipGoal {
            target,
            goal,
            weight: 1.0,
        })
        .collect(),
    )
}

/// Limits and residuals, checked chain by chain by the kinematics of single arms.
#[track_caller]
fn check(model: &RobotModel, tree: &TreeChain, request: &TreeRequest<'_>, solution: &TreeSolution) {
    assert!(tree.within_limits(&solution.q));
    for (asked, found) in request.tips.iter().zip(&solution.tips) {
        let chain = model.chain(&tree.base, &found.tip, false).unwrap();
        let q: Vec<f64> = chain
            .dofs
            .iter()
            .map(|dof| solution.q[tree.dof_index(&dof.name).unwrap()])
            .collect();
        let tip = solution.base * forward_kinematics(&chain, &q).unwrap();
        let off = residual(&asked.target, &tip);
        assert!((off.position - found.position_error).abs() < 1e-9);
        if asked.goal == Goal::Pose {
            assert!((off.orientation - found.orientation_error).abs() < 1e-9);
        }
    }
}

#[track_caller]
fn check_arrived(request: &TreeRequest<'_>, solution: &TreeSolution) {
    for tip in &solution.tips {
        assert!(tip.position_error <= request.tolerances.position);
        assert!(tip.orientation_error <= request.tolerances.orientation);
    }
}

#[test]
fn random_pairs_of_poses_and_positions_are_reached() {
    let (model, tree) = (model(), torso());
    let mut random = Random(201);
    for round in 0..40 {
        let truth = configuration(&mut random, &tree);
        let poses = tip_poses(&tree, &Pose::identity(), &truth);
        let goal = if round % 2 == 0 {
            Goal::Pose
        } else {
            Goal::Position
        };
        let request = request(&poses, goal);
        let seed = configuration(&mut random, &tree);
        let solution = solve_tree(&tree, &request, &seed)
            .unwrap_or_else(|error| panic!("round {round}: {error}"));
        check(&model, &tree, &request, &solution);
        check_arrived(&request, &solution);
        // The same again, bit for bit.
        assert_eq!(solve_tree(&tree, &request, &seed).unwrap(), solution);
    }
}

#[test]
fn bases_that_stand_elsewhere_or_move() {
    let (model, tree) = (model(), torso());
    let mut random = Random(202);
    for _ in 0..10 {
        let base = Pose::from_parts(
            random.vector(2.0).into(),
            UnitQuaternion::from_scaled_axis(random.vector(2.0)),
        );
        let poses = tip_poses(&tree, &base, &configuration(&mut random, &tree));
        let mut request = request(&poses, Goal::Pose);
        request.base = TreeBase::Fixed(base);
        let seed = tree.middle();
        let solution = solve_tree(&tree, &request, &seed).unwrap();
        assert_eq!(solution.base, base);
        check(&model, &tree, &request, &solution);
        check_arrived(&request, &solution);
        // From the origin the hands reach all this only if the base moves.
        request.base = TreeBase::Free(Pose::identity());
        let solution = solve_tree(&tree, &request, &seed).unwrap();
        check(&model, &tree, &request, &solution);
        check_arrived(&request, &solution);
    }
    let far = Pose::translation(7.0, 0.0, 1.0);
    let mut asked = request(
        &[far, far * Pose::translation(0.0, 0.4, 0.0)],
        Goal::Position,
    );
    assert!(solve_tree(&tree, &asked, &tree.middle()).is_err());
    asked.base = TreeBase::Free(Pose::identity());
    let solution = solve_tree(&tree, &asked, &tree.middle()).unwrap();
    assert!(solution.base.translation.vector.x > 5.0);
}

#[test]
fn one_tip_out_of_reach_takes_from_the_other_no_more_than_weights_say() {
    let (model, tree) = (model(), torso());
    let reachable = tip_poses(&tree, &Pose::identity(), &tree.middle())[0];
    let far = Pose::translation(0.0, -6.0, 1.0);
    let mut last = f64::INFINITY;
    for weight in [1.0, 100.0, 1e4] {
        let mut request = request(&[reachable, far], Goal::Position);
        request.tips[0].weight = weight;
        let Err(TreeError::NotConverged { best, timed_out }) =
            solve_tree(&tree, &request, &tree.middle())
        else {
            panic!("six metres are out of reach")
        };
        assert!(!timed_out);
        check(&model, &tree, &request, &best);
        // The far hand is stretched out towards its target all the same.
        assert!(best.tips[1].position_error < 5.1, "{best:?}");
        let near = best.tips[0].position_error;
        assert!(near <= last + 1e-9, "{near} after {last}");
        last = near;
    }
    assert!(last < 2e-3, "{last}");
}

#[test]
fn sub_bases_at_any_depth_and_tips_on_the_way() {
    // A hand with two fingers on an arm, and the palm itself as a third tip.
    let mut urdf = String::from("<robot name=\"hand\"><link name=\"l0\"/>");
    let mut joint = |parent: &str, child: &str, xyz: &str, axis: &str| {
        urdf.push_str(&format!(
            "<link name=\"{child}\"/><joint name=\"j_{child}\" type=\"revolute\">\
             <parent link=\"{parent}\"/><child link=\"{child}\"/><origin xyz=\"{xyz}\"/>\
             <axis xyz=\"{axis}\"/><limit lower=\"-2.2\" upper=\"2.2\" velocity=\"1\" effort=\"1\"/></joint>"
        ));
    };
    joint("l0", "l1", "0 0 0.2", "0 0 1");
    joint("l1", "l2", "0 0 0.1", "0 1 0");
    joint("l2", "l3", "0.4 0 0", "0 1 0");
    joint("l3", "palm", "0.3 0 0", "1 0 0");
    for side in ["a", "b"] {
        let y = if side == "a" { "0.05" } else { "-0.05" };
        joint("palm", &format!("{side}1"), &format!("0.1 {y} 0"), "0 0 1");
        joint(
            &format!("{side}1"),
            &format!("{side}2"),
            "0.08 0 0",
            "0 0 1",
        );
        joint(
            &format!("{side}2"),
            &format!("{side}3"),
            "0.08 0 0",
            "0 1 0",
        );
        joint(
            &format!("{side}3"),
            &format!("{side}4"),
            "0.05 0 0",
            "0 0 1",
        );
    }
    joint("l1", "c1", "0 0.2 0", "1 0 0");
    joint("c1", "c2", "0 0.2 0", "0 0 1");
    joint("c2", "c3", "0 0.2 0", "0 0 1");
    urdf.push_str("</robot>");
    let model = RobotModel::from_urdf(&urdf).unwrap();
    let tree = model
        .tree("l0", &["a4", "palm", "b4", "c3"], false)
        .unwrap();
    assert_eq!(tree.dof(), 15);
    let mut random = Random(203);
    for _ in 0..12 {
        let truth = configuration(&mut random, &tree);
        let poses = tip_poses(&tree, &Pose::identity(), &truth);
        let request = request(&poses, Goal::Position);
        let seed = configuration(&mut random, &tree);
        let solution = solve_tree(&tree, &request, &seed).unwrap();
        check(&model, &tree, &request, &solution);
        check_arrived(&request, &solution);
    }
}

#[test]
fn a_tree_of_one_tip_is_a_chain() {
    let model = model();
    let tree = model.tree("", &["left_hand"], false).unwrap();
    let chain = model.chain("", "left_hand", false).unwrap();
    assert_eq!(tree.dofs, chain.dofs);
    let mut random = Random(204);
    let q = configuration(&mut random, &tree);
    let one = tip_poses(&tree, &Pose::identity(), &q)[0];
    let other = forward_kinematics(&chain, &q).unwrap();
    assert!(residual(&one, &other).position < 1e-12);
    let mut request = request(&[one], Goal::Axes("xyz,rxy".parse().unwrap()));
    request.tips[0].target.rotation *= UnitQuaternion::from_scaled_axis(Vector3::z());
    let solution = solve_tree(&tree, &request, &tree.middle()).unwrap();
    check_arrived(&request, &solution);
}

#[test]
fn bad_requests_are_named() {
    let tree = torso();
    let good = request(&[Pose::identity(), Pose::identity()], Goal::Pose);
    let seed = tree.middle();
    let size = solve_tree(&tree, &good, &seed[1..]);
    assert!(matches!(size, Err(TreeError::WrongSize { got: 13, .. })));
    let few = request(&[Pose::identity()], Goal::Pose);
    let few = solve_tree(&tree, &few, &seed);
    assert!(matches!(
        few,
        Err(TreeError::WrongSize { what: "goals", .. })
    ));
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut bad = good.clone();
        bad.tips[1].weight = weight;
        let error = solve_tree(&tree, &bad, &seed).unwrap_err();
        assert!(error.to_string().contains("right_hand"), "{error}");
    }
    let mut bad = good.clone();
    bad.tips[0].target.translation.vector.x = f64::NAN;
    assert!(matches!(
        solve_tree(&tree, &bad, &seed),
        Err(TreeError::Tip {
            reason: InvalidRequest::TargetNotFinite,
            ..
        })
    ));
    let mut bad = good.clone();
    bad.base = TreeBase::Fixed(Pose::translation(f64::INFINITY, 0.0, 0.0));
    assert_eq!(
        solve_tree(&tree, &bad, &seed),
        Err(TreeError::BaseNotFinite)
    );
    let mut late = good.clone();
    late.give_up = Some(&|| true);
    assert!(matches!(
        solve_tree(&tree, &late, &seed),
        Err(TreeError::NotConverged {
            timed_out: true,
            ..
        })
    ));
}
