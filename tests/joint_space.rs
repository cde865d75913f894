//! Motions in joint space: free by dense sampling, found where a slow search says that there is
//! one, the same every time, and a reason where there is none.

use std::cell::Cell;

use arm_planner::collision::{
    CheckScratch, CollisionModel, CollisionOptions, CollisionWorld, MotionChecker, MotionVerdict,
    Obstacle, Prism,
};
use arm_planner::model::{Chain, RobotModel};
use arm_planner::planning::{
    plan_joint_path, End, JointSpaceError, JointSpacePath, JointSpaceSettings,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed};

fn config(cases: u32) -> Config {
    Config {
        cases,
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(0x0101_57ac),
        ..Config::default()
    }
}

struct Arm {
    chain: Chain,
    model: CollisionModel,
}

fn arm(text: &str, base: &str, tip: &str, clearance: f64) -> Arm {
    let robot = RobotModel::from_urdf(text).unwrap();
    let chain = robot.chain(base, tip, false).unwrap();
    let options = CollisionOptions {
        clearance,
        ..CollisionOptions::default()
    };
    let model = CollisionModel::new(&robot, &chain, &|_| None, &options);
    Arm { chain, model }
}

fn shipped(name: &str) -> Arm {
    let path = format!("{}/urdf/{name}.urdf", env!("CARGO_MANIFEST_DIR"));
    arm(&std::fs::read_to_string(path).unwrap(), "", "", 0.0)
}

/// A planar arm of capsules about z, with the joints' kind and limits.
fn planar(lengths: &[f64], kind: &str, limit: f64, clearance: f64) -> Arm {
    let mut text = String::from(r#"<robot name="planar"><link name="l0"/>"#);
    let mut before = 0.0;
    for (index, length) in lengths.iter().enumerate() {
        let number = index + 1;
        text += &format!(
            r#"<link name="l{number}"><collision><origin xyz="{} 0 0" rpy="0 1.5707963267948966 0"/>
            <geometry><capsule radius="0.04" length="{}"/></geometry></collision></link>
            <joint name="j{number}" type="{kind}"><parent link="l{index}"/><child link="l{number}"/>
            <origin xyz="{before} 0 0"/><axis xyz="0 0 1"/>
            <limit lower="-{limit}" upper="{limit}" effort="1" velocity="1"/></joint>"#,
            0.5 * length,
            length - 0.1,
        );
        before = *length;
    }
    text += "</robot>";
    arm(&text, "l0", &format!("l{}", lengths.len()), clearance)
}

fn prism(number: usize, centre: [f64; 2], radius: f64, corners: usize, z: [f64; 2]) -> Prism {
    let polygon = (0..corners).map(|k| {
        let (sin, cos) = (std::f64::consts::TAU * k as f64 / corners as f64).sin_cos();
        [centre[0] + radius * cos, centre[1] + radius * sin]
    });
    Prism {
        id: format!("p{number}"),
        polygon: polygon.collect(),
        min_z: z[0],
        max_z: z[1],
    }
}

fn prisms(most: usize) -> impl Strategy<Value = CollisionWorld> {
    let one = (
        0.25..0.9f64,
        0.0..6.2f64,
        0.02..0.1f64,
        3..8usize,
        -0.2..0.4f64,
        0.1..0.8f64,
    );
    prop::collection::vec(one, 0..most).prop_map(|all| {
        let all: Vec<Prism> = all
            .into_iter()
            .enumerate()
            .map(|(number, (far, angle, radius, corners, z, height))| {
                let centre = [far * angle.cos(), far * angle.sin()];
                prism(number, centre, radius, corners, [z, z + height])
            })
            .collect();
        CollisionWorld::new(&all).unwrap()
    })
}

/// Shares of the limits as a configuration.
fn within(chain: &Chain, shares: &[f64]) -> Vec<f64> {
    let dofs = chain.dofs.iter().zip(shares);
    dofs.map(|(dof, share)| {
        let (low, high) = (dof.lower.max(-3.2), dof.upper.min(3.2));
        low + (high - low) * share
    })
    .collect()
}

/// The first contact on straight lines between configurations, by looking each 0.02 rad.
fn dense(arm: &Arm, world: &CollisionWorld, points: &[Vec<f64>]) -> Option<Vec<f64>> {
    let mut scratch = CheckScratch::default();
    for pair in points.windows(2) {
        let apart = pair[0].iter().zip(&pair[1]).map(|(a, b)| (a - b).abs());
        let steps = (apart.fold(0.0, f64::max) / 0.02).ceil().max(1.0) as usize;
        for step in 0..=steps {
            let share = step as f64 / steps as f64;
            let q: Vec<f64> = pair[0]
                .iter()
                .zip(&pair[1])
                .map(|(a, b)| a + (b - a) * share)
                .collect();
            if arm
                .model
                .check_with(&q, world, &mut scratch)
                .unwrap()
                .is_some()
            {
                return Some(q);
            }
        }
    }
    None
}

fn plan(
    arm: &Arm,
    world: &CollisionWorld,
    start: &[f64],
    goals: &[Vec<f64>],
    settings: &JointSpaceSettings,
) -> Result<JointSpacePath, JointSpaceError> {
    plan_joint_path(
        &arm.chain,
        &arm.model,
        world,
        start,
        goals,
        settings,
        &|| false,
    )
}

fn check_plans(
    arm: &Arm,
    world: &CollisionWorld,
    start: &[f64],
    goal: &[f64],
) -> Result<bool, TestCaseError> {
    let settings = JointSpaceSettings {
        max_samples: 400,
        ..JointSpaceSettings::default()
    };
    let free = |q: &[f64]| arm.model.check(q, world).unwrap().is_none();
    let goals = [goal.to_vec()];
    let path = match plan(arm, world, start, &goals, &settings) {
        Ok(path) => path,
        Err(JointSpaceError::InCollision { end, .. }) => {
            let q = if end == End::Start { start } else { goal };
            // Touching by less than rounding is both.
            prop_assert!(arm.model.distance(q, world).unwrap() < 1e-6);
            return Ok(false);
        }
        Err(JointSpaceError::BudgetSpent { samples, .. }) => {
            prop_assert_eq!(samples, 400);
            return Ok(false);
        }
        Err(error) => return Err(TestCaseError::fail(error.to_string())),
    };
    prop_assert!(free(start) && free(goal));
    prop_assert_eq!(path.points[0].as_slice(), start);
    prop_assert_eq!(path.points.last().unwrap().as_slice(), goal);
    prop_assert!(path.points.iter().all(|q| arm.chain.within_limits(q)));
    prop_assert_eq!(dense(arm, world, &path.points), None);
    // The same bits again.
    prop_assert_eq!(&plan(arm, world, start, &goals, &settings).unwrap(), &path);
    let rounded = path.joint_path(&arm.model, world, &settings).unwrap();
    prop_assert_eq!(rounded.points[0].as_slice(), start);
    prop_assert_eq!(rounded.points.last().unwrap().as_slice(), goal);
    prop_assert!(rounded.points.iter().all(|q| arm.chain.within_limits(q)));
    prop_assert_eq!(dense(arm, world, &rounded.points), None);
    let n = rounded.points.len();
    prop_assert!(rounded.stops.iter().all(|&stop| stop > 0 && stop + 1 < n));
    for (number, three) in rounded.points.windows(3).enumerate() {
        let step = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| b - a).collect::<Vec<f64>>();
        let (u, v) = (step(&three[0], &three[1]), step(&three[1], &three[2]));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (long, longer) = (dot(&u, &u).sqrt(), dot(&v, &v).sqrt());
        prop_assert!(long <= 0.05 + 1e-9 && longer <= 0.05 + 1e-9 && long > 0.0);
        // No sharp corner that is not a stop: a parabola of four pieces turns by at most a
        // right angle a piece where the way turns back on itself.
        let turn = (dot(&u, &v) / (long * longer)).clamp(-1.0, 1.0).acos();
        prop_assert!(
            rounded.stops.contains(&(number + 1)) || turn < 1.6,
            "{}",
            turn
        );
    }
    Ok(path.samples > 0)
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn motions_of_six_joints_are_free(
        world in prisms(14), from in prop::collection::vec(0.0..1.0f64, 6), to in prop::collection::vec(0.0..1.0f64, 6),
    ) {
        let arm = shipped("six_axis");
        check_plans(&arm, &world, &within(&arm.chain, &from), &within(&arm.chain, &to))?;
    }

    #[test]
    fn motions_of_seven_joints_are_free(
        world in prisms(14), from in prop::collection::vec(0.0..1.0f64, 7), to in prop::collection::vec(0.0..1.0f64, 7),
    ) {
        let arm = shipped("seven_axis");
        check_plans(&arm, &world, &within(&arm.chain, &from), &within(&arm.chain, &to))?;
    }

    #[test]
    fn a_motion_that_is_called_free_is_free_and_a_contact_is_one(
        world in prisms(20), from in prop::collection::vec(0.0..1.0f64, 7), to in prop::collection::vec(0.0..1.0f64, 7),
        near in 0.02..1.0f64, ground in prop::option::of(-0.5..0.3f64),
    ) {
        let arm = shipped("seven_axis");
        let world = ground.map_or(world.clone(), |height| world.with_ground(height));
        let from = within(&arm.chain, &from);
        let to: Vec<f64> =
            within(&arm.chain, &to).iter().zip(&from).map(|(to, from)| from + near * (to - from)).collect();
        let at = |share: f64| -> Vec<f64> { from.iter().zip(&to).map(|(a, b)| a + (b - a) * share).collect() };
        let mut checker = MotionChecker::new(&arm.model, &world);
        let verdict = checker.motion(&from, &to, 1e-3).unwrap();
        match &verdict {
            MotionVerdict::Free => prop_assert_eq!(dense(&arm, &world, &[from.clone(), to.clone()]), None),
            // Closer than rounding is as good as touching.
            MotionVerdict::Contact(met) =>
                prop_assert!(arm.model.distance(&at(met.fraction), &world).unwrap() < 1e-6),
            MotionVerdict::TooClose(fraction) =>
                prop_assert!(arm.model.distance(&at(*fraction), &world).unwrap() < 3e-3),
        }
        prop_assert_eq!(checker.motion_is_free(&from, &to, 1e-3).unwrap(), verdict == MotionVerdict::Free);
        for share in [0.0, 0.3, 1.0] {
            let gap = arm.model.distance(&at(share), &world).unwrap();
            let met = checker.configuration(&at(share)).unwrap();
            prop_assert!(gap.abs() < 1e-6 || met.is_none(), "{} {:?}", gap, met);
            prop_assert!(gap > 0.0 || met.is_some());
        }
    }
}

/// Whether a grid over the configurations of a planar arm of two links joins start and goal, when
/// cells next to each other are both free with a margin.
fn grid_joins(wide: &Arm, world: &CollisionWorld, limit: f64, start: &[f64], goal: &[f64]) -> bool {
    const CELLS: usize = 90;
    let value = |k: usize| -limit + 2.0 * limit * k as f64 / (CELLS - 1) as f64;
    let cell = |v: f64| ((v + limit) / (2.0 * limit) * (CELLS - 1) as f64).round() as usize;
    let mut scratch = CheckScratch::default();
    let mut free = |i: usize, j: usize| {
        wide.model
            .check_with(&[value(i), value(j)], world, &mut scratch)
            .unwrap()
            .is_none()
    };
    let (from, to) = (
        (cell(start[0]), cell(start[1])),
        (cell(goal[0]), cell(goal[1])),
    );
    if !free(from.0, from.1) || !free(to.0, to.1) {
        return false;
    }
    let mut seen = vec![false; CELLS * CELLS];
    let mut open = vec![from];
    seen[from.0 * CELLS + from.1] = true;
    while let Some((i, j)) = open.pop() {
        if (i, j) == to {
            return true;
        }
        for (a, b) in [
            (i + 1, j),
            (i.wrapping_sub(1), j),
            (i, j + 1),
            (i, j.wrapping_sub(1)),
        ] {
            if a < CELLS && b < CELLS && !seen[a * CELLS + b] && free(a, b) {
                seen[a * CELLS + b] = true;
                open.push((a, b));
            }
        }
    }
    false
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn what_a_grid_finds_is_found(
        posts in prop::collection::vec((0.15..1.1f64, 0.0..6.2f64, 0.02..0.06f64), 1..9),
        from in prop::array::uniform2(0.02..0.98f64), to in prop::array::uniform2(0.02..0.98f64),
    ) {
        let limit = 3.0;
        let thin = planar(&[0.6, 0.5], "revolute", limit, 0.0);
        // Half a cell moves the tip by 0.034 * (1.1 + 0.5) at most.
        let wide = planar(&[0.6, 0.5], "revolute", limit, 0.06);
        let posts: Vec<Prism> = posts.iter().enumerate()
            .map(|(k, (far, angle, radius))| prism(k, [far * angle.cos(), far * angle.sin()], *radius, 6, [-1.0, 1.0]))
            .collect();
        let world = CollisionWorld::new(&posts).unwrap();
        let (start, goal) = (within(&thin.chain, &from), within(&thin.chain, &to));
        let start: Vec<f64> = start.iter().map(|v| v.clamp(-limit, limit)).collect();
        let goal: Vec<f64> = goal.iter().map(|v| v.clamp(-limit, limit)).collect();
        prop_assume!(grid_joins(&wide, &world, limit, &start, &goal));
        let found = plan(&thin, &world, &start, &[goal], &JointSpaceSettings::default());
        prop_assert!(found.is_ok(), "{:?}", found);
        prop_assert_eq!(dense(&thin, &world, &found.unwrap().points), None);
    }
}

#[test]
fn the_straight_way_is_taken_where_it_is_free() {
    let arm = planar(&[0.6, 0.5], "revolute", 3.0, 0.0);
    let world = CollisionWorld::default();
    let path = plan(
        &arm,
        &world,
        &[0.0, 0.5],
        &[vec![2.0, -0.5]],
        &JointSpaceSettings::default(),
    )
    .unwrap();
    assert_eq!(path.points, [vec![0.0, 0.5], vec![2.0, -0.5]]);
    assert_eq!((path.samples, path.goal), (0, 0));
    assert!((path.length - 5.0_f64.sqrt()).abs() < 1e-12);
    let rounded = path
        .joint_path(&arm.model, &world, &JointSpaceSettings::default())
        .unwrap();
    assert!(rounded.stops.is_empty() && rounded.points.len() == 46);
}

/// A post beside the arm that the outer link must be folded to pass.
fn post() -> CollisionWorld {
    CollisionWorld::new(&[prism(0, [0.0, 0.8], 0.05, 8, [-1.0, 1.0])]).unwrap()
}

#[test]
fn an_obstacle_is_gone_around_and_the_corners_are_rounded_or_stops() {
    let arm = planar(&[0.6, 0.5], "revolute", 3.0, 0.0);
    let world = post();
    let (start, goal) = (vec![0.8, 0.0], vec![2.4, 0.0]);
    let settings = JointSpaceSettings::default();
    let path = plan(&arm, &world, &start, std::slice::from_ref(&goal), &settings).unwrap();
    assert!(path.samples > 0 && path.points.len() > 2);
    assert_eq!(dense(&arm, &world, &path.points), None);
    let rounded = path.joint_path(&arm.model, &world, &settings).unwrap();
    assert_eq!(dense(&arm, &world, &rounded.points), None);
    let sharp = JointSpaceSettings {
        blend: 0.0,
        ..settings.clone()
    };
    let cornered = path.joint_path(&arm.model, &world, &sharp).unwrap();
    let corners: Vec<&Vec<f64>> = cornered
        .stops
        .iter()
        .map(|&k| &cornered.points[k])
        .collect();
    assert_eq!(
        corners,
        path.points[1..path.points.len() - 1]
            .iter()
            .collect::<Vec<_>>()
    );
    assert!(rounded.stops.len() < cornered.stops.len());
    // Cutting short does not make it longer.
    let raw = JointSpaceSettings {
        shortcuts: 0,
        ..settings
    };
    let long = plan(&arm, &world, &start, &[goal], &raw).unwrap();
    assert!(path.length <= long.length);
}

#[test]
fn of_several_goals_one_that_can_be_reached_is_taken() {
    let arm = planar(&[0.6, 0.5], "revolute", 3.0, 0.0);
    let world = post();
    // In the post; beyond a limit; free.
    let goals = [vec![1.57, 0.0], vec![3.5, 0.0], vec![2.4, 0.0]];
    let path = plan(
        &arm,
        &world,
        &[0.8, 0.0],
        &goals,
        &JointSpaceSettings::default(),
    )
    .unwrap();
    assert_eq!(path.goal, 2);
    assert_eq!(path.points.last(), Some(&goals[2]));
}

#[test]
fn joints_without_limits_take_the_nearer_way_round() {
    let arm = planar(&[0.6, 0.5], "continuous", 3.0, 0.0);
    let world = CollisionWorld::default();
    let turn = std::f64::consts::TAU;
    let path = plan(
        &arm,
        &world,
        &[3.0, 0.0],
        &[vec![-3.0, 4.0 * turn]],
        &JointSpaceSettings::default(),
    )
    .unwrap();
    let end = path.points.last().unwrap();
    assert!((end[0] - (turn - 3.0)).abs() < 1e-9 && end[1].abs() < 1e-9);
    // With something in the way as well.
    let path = plan(
        &arm,
        &post(),
        &[0.8, 0.0],
        &[vec![2.4 - turn, 0.0]],
        &JointSpaceSettings::default(),
    )
    .unwrap();
    assert_eq!(dense(&arm, &post(), &path.points), None);
    assert!((path.points.last().unwrap()[0] - 2.4).abs() < 1e-9);
}

#[test]
fn an_arm_that_cannot_get_out_is_told_so_within_the_budget() {
    // A cage of posts that the outer link cannot leave.
    let arm = planar(&[0.3, 0.8], "revolute", 3.0, 0.0);
    let posts: Vec<Prism> = [0.9_f64, -0.9]
        .iter()
        .enumerate()
        .map(|(k, angle)| {
            prism(
                k,
                [0.75 * angle.cos(), 0.75 * angle.sin()],
                0.3,
                8,
                [-1.0, 1.0],
            )
        })
        .collect();
    let world = CollisionWorld::new(&posts).unwrap();
    let settings = JointSpaceSettings {
        max_samples: 300,
        ..JointSpaceSettings::default()
    };
    let error = plan(&arm, &world, &[0.0, 0.0], &[vec![3.0, 0.0]], &settings).unwrap_err();
    let JointSpaceError::BudgetSpent {
        samples,
        start_nodes,
        goal_nodes,
    } = error.clone()
    else {
        panic!("{error}");
    };
    assert!(samples == 300 && start_nodes > 0 && goal_nodes > 0);
    assert!(error.to_string().contains("300 samples"));
}

#[test]
fn the_caller_may_give_up() {
    let arm = planar(&[0.3, 0.8], "revolute", 3.0, 0.0);
    let world = CollisionWorld::new(&[
        prism(0, [0.47, 0.59], 0.3, 8, [-1.0, 1.0]),
        prism(1, [0.47, -0.59], 0.3, 8, [-1.0, 1.0]),
    ])
    .unwrap();
    let asked = Cell::new(0);
    let error = plan_joint_path(
        &arm.chain,
        &arm.model,
        &world,
        &[0.0, 0.0],
        &[vec![3.0, 0.0]],
        &JointSpaceSettings::default(),
        &|| {
            asked.set(asked.get() + 1);
            asked.get() > 5
        },
    );
    assert_eq!(error, Err(JointSpaceError::GaveUp { samples: 5 }));
}

#[test]
fn bad_input_is_named() {
    let arm = planar(&[0.6, 0.5], "revolute", 3.0, 0.0);
    let world = post();
    let settings = JointSpaceSettings::default();
    let start = [0.8, 0.0];
    let goal = vec![2.4, 0.0];
    let error = |start: &[f64], goals: &[Vec<f64>]| {
        plan(&arm, &world, start, goals, &settings).unwrap_err()
    };
    assert_eq!(error(&start, &[]), JointSpaceError::NoGoal);
    assert_eq!(
        error(&[0.8], std::slice::from_ref(&goal)),
        JointSpaceError::Size {
            end: End::Start,
            expected: 2,
            got: 1
        }
    );
    assert_eq!(
        error(&start, &[vec![0.0; 3]]),
        JointSpaceError::Size {
            end: End::Goal(0),
            expected: 2,
            got: 3
        }
    );
    assert!(matches!(
        error(&[0.8, f64::NAN], std::slice::from_ref(&goal)),
        JointSpaceError::NotFinite { end: End::Start, joint, .. } if joint == "j2"
    ));
    assert!(matches!(
        error(&start, &[vec![0.0, f64::INFINITY]]),
        JointSpaceError::NotFinite {
            end: End::Goal(0),
            ..
        }
    ));
    assert!(matches!(
        error(&start, &[vec![0.0, 3.1]]),
        JointSpaceError::BeyondLimits { end: End::Goal(0), upper, .. } if upper == 3.0
    ));
    let in_post = vec![std::f64::consts::FRAC_PI_2, 0.0];
    let hit = error(&in_post, &[goal]);
    assert!(matches!(
        &hit,
        JointSpaceError::InCollision { end: End::Start, contact }
            if contact.with == Obstacle::Obstacle("p0".into())
    ));
    assert_eq!(
        hit.to_string(),
        "the start is in collision: link 'l2' meets obstacle 'p0'"
    );
    assert!(matches!(
        error(&start, &[in_post]),
        JointSpaceError::InCollision {
            end: End::Goal(0),
            ..
        }
    ));
    // The outer link folded back through the inner one's neighbour.
    let three = planar(&[0.4, 0.4, 0.4], "revolute", 3.1, 0.0);
    let folded = plan(&three, &world, &[0.0, 2.2, 2.2], &[vec![0.0; 3]], &settings).unwrap_err();
    assert!(matches!(
        folded,
        JointSpaceError::InCollision { end: End::Start, contact }
            if contact.with == Obstacle::Link("l3".into())
    ));
    let other = plan_joint_path(
        &three.chain,
        &arm.model,
        &world,
        &[0.0; 3],
        &[vec![0.0; 3]],
        &settings,
        &|| false,
    );
    assert_eq!(
        other,
        Err(JointSpaceError::OtherChain {
            expected: 3,
            got: 2
        })
    );
}
