//! Plans in any plane, over obstacles, and of the whole arm: what is promised is measured anew.

use arm_planner::collision::{CollisionModel, CollisionOptions, CollisionWorld, Prism};
use arm_planner::ik::IkRequest;
use arm_planner::kinematics::{forward_kinematics, joint_frames, residual, Pose};
use arm_planner::model::{Chain, RobotModel};
use arm_planner::motion::{
    self, plan, plan_observed, Plan, PlanError, PlanErrorKind, PlanSettings,
};
use arm_planner::planning::{collision_frame, ArmCheck, Obstacle, PathError, PathRequest, Stage};
use nalgebra::{Point3, UnitQuaternion, Vector3};

#[path = "ik_support/mod.rs"]
mod ik_support;
#[path = "motion_support/mod.rs"]
mod motion_support;

use ik_support::Random;
use motion_support::{block, down, prism, settings, START};

struct Arm {
    chain: Chain,
    shapes: CollisionModel,
}

fn arm(name: &str, tip: &str) -> Arm {
    arm_among(name, tip, Pose::identity())
}

/// With obstacles in a frame of their own.
fn arm_among(name: &str, tip: &str, frame: Pose) -> Arm {
    let path = format!("{}/urdf/{name}.urdf", env!("CARGO_MANIFEST_DIR"));
    let model = RobotModel::from_urdf(&std::fs::read_to_string(path).unwrap()).unwrap();
    let chain = model.chain("", tip, false).unwrap();
    let options = CollisionOptions {
        frame,
        ..CollisionOptions::default()
    };
    let shapes = CollisionModel::new(&model, &chain, &|_| None, &options);
    assert!(shapes.has_shapes());
    Arm { chain, shapes }
}

fn ask(
    chain: &Chain,
    obstacles: &[Obstacle],
    settings: &PlanSettings,
    start: &[f64],
    goal: Pose,
) -> Result<Plan, PlanError> {
    let ik = IkRequest::new(Pose::identity());
    let goals = [goal];
    plan(
        chain,
        obstacles,
        settings,
        &PathRequest::new(start, &goals, &ik),
    )
}

/// Configurations of the motion, a millisecond apart.
fn motion(plan: &Plan) -> Vec<Vec<f64>> {
    let duration = plan.trajectory.duration();
    let count = (duration / 1e-3).ceil().max(1.0) as usize;
    (0..=count)
        .map(|k| {
            let time = duration * k as f64 / count as f64;
            plan.trajectory.sample(time).unwrap().positions
        })
        .collect()
}

/// Distance of a point from a block made by `block`, all three coordinates counted.
fn distance(point: &Point3<f64>, obstacle: &Obstacle) -> f64 {
    let ring = obstacle.polygon.outer();
    let range = |values: Vec<f64>| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (low, high)
    };
    let ranges = [
        range(ring.iter().map(|p| p.x).collect()),
        range(ring.iter().map(|p| p.y).collect()),
        (obstacle.min_height, obstacle.max_height),
    ];
    let outside = |axis: usize| (ranges[axis].0 - point[axis]).max(point[axis] - ranges[axis].1);
    let gaps = [0, 1, 2].map(|axis| outside(axis).max(0.0));
    Vector3::from(gaps).norm()
}

fn assert_clear(chain: &Chain, plane: &Pose, obstacles: &[Obstacle], clearance: f64, plan: &Plan) {
    for q in motion(plan) {
        let tip = forward_kinematics(chain, &q).unwrap();
        let point = plane.inverse_transform_point(&tip.translation.vector.into());
        for obstacle in obstacles {
            let gap = distance(&point, obstacle);
            assert!(gap >= clearance - 2e-4, "{} at {gap}", obstacle.id);
        }
    }
}

#[test]
fn a_level_plane_elsewhere_gives_the_same_plan() {
    let Arm { chain, .. } = arm("six_axis", "tool0");
    let around = [
        block("a", (0.44, -0.1), (0.08, 0.06), (0.0, 0.4)),
        block("b", (0.47, 0.12), (0.05, 0.05), (0.0, 0.4)),
    ];
    let goal = down(0.42, 0.28, 0.30);
    let plain = ask(&chain, &around, &settings(&chain), &START, goal).unwrap();
    let plane = Pose::from_parts(
        Vector3::new(0.3, -0.2, 0.15).into(),
        UnitQuaternion::from_euler_angles(0.0, 0.0, 0.7),
    );
    let moved: Vec<Obstacle> = around
        .iter()
        .map(|obstacle| {
            let corners: Vec<[f64; 2]> = obstacle
                .polygon
                .outer()
                .iter()
                .map(|p| {
                    let q = plane.inverse_transform_point(&Point3::new(p.x, p.y, 0.0));
                    [q.x, q.y]
                })
                .collect();
            prism(
                &obstacle.id,
                &corners,
                obstacle.min_height - 0.15,
                obstacle.max_height - 0.15,
            )
        })
        .collect();
    let mut elsewhere = settings(&chain);
    elsewhere.path.plane = plane;
    let other = ask(&chain, &moved, &elsewhere, &START, goal).unwrap();
    assert!(plain.path.length > 0.6, "nothing is in the way");
    assert!((plain.path.length - other.path.length).abs() < 1e-6);
    assert!((plain.path.min_clearance - other.path.min_clearance).abs() < 1e-6);
    assert_clear(&chain, &Pose::identity(), &around, 0.03, &other);
    // The same obstacles as prisms of the base frame, for checks of the whole arm.
    for (obstacle, expected) in moved.iter().zip(&around) {
        let prisms = obstacle.prisms(&plane);
        for (corner, point) in prisms[0].polygon.iter().zip(expected.polygon.outer()) {
            assert!((corner[0] - point.x).hypot(corner[1] - point.y) < 1e-9);
        }
        assert!((prisms[0].min_z - expected.min_height).abs() < 1e-12);
    }
}

#[test]
fn an_upright_plane_leads_around_what_stands_out_of_a_wall() {
    let Arm { chain, .. } = arm("six_axis", "tool0");
    // The plane's x is the base's y, its y the base's z, its height the base's x.
    let turned = UnitQuaternion::from_basis_unchecked(&[Vector3::y(), Vector3::z(), Vector3::x()]);
    let plane = Pose::from_parts(Vector3::zeros().into(), turned);
    let peg = block("peg", (0.0, 0.30), (0.05, 0.05), (0.3, 0.6));
    let mut settings = settings(&chain);
    settings.path.plane = plane;
    let goal = down(0.40, 0.25, 0.30);
    let plan = ask(&chain, std::slice::from_ref(&peg), &settings, &START, goal).unwrap();
    assert_clear(&chain, &plane, std::slice::from_ref(&peg), 0.03, &plan);
    let heights: Vec<f64> = plan.path.tip_path.iter().map(|p| p.translation.z).collect();
    let least = heights.iter().copied().fold(f64::INFINITY, f64::min);
    let most = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    assert!(
        most > 0.36 || least < 0.24,
        "it does not go around the peg: {least} {most}"
    );
    // All links in that plane: what stands out of the wall where the forearm is meets it there.
    assert_eq!(collision_frame(&plane), plane);
    let arm = arm_among("six_axis", "tool0", plane);
    let pegs = world(&peg.prisms(&plane));
    let ik = IkRequest::new(Pose::identity());
    let goals = [goal];
    let mut request = PathRequest {
        collision: Some(whole_arm(&arm, &pegs)),
        leave_route: true,
        ..PathRequest::new(&START, &goals, &ik)
    };
    let found = motion::plan(&chain, &[], &settings, &request).unwrap();
    assert_free(&arm, &pegs, &found);
    // Somewhere on the line from the elbow to the wrist, in the base frame.
    let mut frames = Vec::new();
    joint_frames(&chain, &START, &mut frames).unwrap();
    let inside = frames[2].pose.translation.vector + frames[3].pose.translation.vector;
    let there = plane.inverse_transform_point(&Point3::from(0.5 * inside));
    let heights = (there.z - 0.02, there.z + 0.02);
    let skewer = block("skewer", (there.x, there.y), (0.02, 0.02), heights);
    let skewers = world(&skewer.prisms(&plane));
    request.collision = Some(whole_arm(&arm, &skewers));
    let error = motion::plan(&chain, &[], &settings, &request).unwrap_err();
    assert_eq!(error.kind(), PlanErrorKind::StartCollides, "{error}");
}

#[test]
fn over_the_fence_where_there_is_no_way_around() {
    let Arm { chain, .. } = arm("six_axis", "tool0");
    let (x, y) = (0.42, 0.2);
    let fence = [
        block("left", (x - 0.09, y), (0.01, 0.1), (0.0, 0.3)),
        block("right", (x + 0.09, y), (0.01, 0.1), (0.0, 0.3)),
        block("front", (x, y - 0.09), (0.1, 0.01), (0.0, 0.3)),
        block("back", (x, y + 0.09), (0.1, 0.01), (0.0, 0.3)),
    ];
    let goal = down(x, y, 0.26);
    let mut settings = settings(&chain);
    let error = ask(&chain, &fence, &settings, &START, goal).unwrap_err();
    assert_eq!(error.kind(), PlanErrorKind::NoRoute);
    settings.path.safe_height = Some(0.36);
    let plan = ask(&chain, &fence, &settings, &START, goal).unwrap();
    assert_clear(&chain, &Pose::identity(), &fence, 0.03, &plan);
    let heights = plan.path.tip_path.iter().map(|p| p.translation.z);
    let most = heights.fold(f64::NEG_INFINITY, f64::max);
    assert!((most - 0.36).abs() < 1e-9);
    assert!(
        plan.path.joint_path.stops.is_empty(),
        "its corners are rounded"
    );
    assert!(plan.path.min_clearance >= 0.03 - 1e-6);
    // A roof over it all: then the message tells of both.
    let mut roofed = fence.to_vec();
    roofed.push(block("roof", (x, y), (0.1, 0.1), (0.33, 0.5)));
    match ask(&chain, &roofed, &settings, &START, goal).unwrap_err() {
        PlanError::Path(error @ PathError::RouteOver { .. }) => {
            let words = error.to_string();
            assert!(words.contains("0.36") && words.contains("roof"), "{words}");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn over_a_long_wall_where_that_is_shorter() {
    let Arm { chain, .. } = arm("six_axis", "tool0");
    let wall = block("wall", (0.45, 0.0), (0.25, 0.01), (0.0, 0.28));
    let walls = std::slice::from_ref(&wall);
    let goal = down(0.42, 0.28, 0.26);
    let mut settings = settings(&chain);
    settings.path.safe_height = Some(0.32);
    let over = ask(&chain, walls, &settings, &START, goal).unwrap();
    assert_clear(&chain, &Pose::identity(), walls, 0.03, &over);
    assert!(over.path.length < 0.75, "{}", over.path.length);
    // Where the way around is no longer, the tip stays at its height.
    let stub = block("stub", (0.41, 0.0), (0.02, 0.01), (0.0, 0.28));
    let around = ask(&chain, std::slice::from_ref(&stub), &settings, &START, goal).unwrap();
    assert!(around
        .path
        .tip_path
        .iter()
        .all(|p| p.translation.z < 0.2601));
}

fn whole_arm<'a>(arm: &'a Arm, world: &'a CollisionWorld) -> ArmCheck<'a> {
    ArmCheck {
        model: &arm.shapes,
        world,
    }
}

fn world(prisms: &[Prism]) -> CollisionWorld {
    CollisionWorld::new(prisms).unwrap()
}

fn pillar(id: &str, x: f64, y: f64, half: f64, heights: (f64, f64)) -> Prism {
    Prism {
        id: id.into(),
        polygon: vec![
            [x - half, y - half],
            [x + half, y - half],
            [x + half, y + half],
            [x - half, y + half],
        ],
        min_z: heights.0,
        max_z: heights.1,
    }
}

/// Asked one configuration at a time, and never closer than a slip of rounding.
fn assert_free(arm: &Arm, world: &CollisionWorld, plan: &Plan) {
    for q in motion(plan) {
        assert_eq!(arm.shapes.check(&q, world), Ok(None));
    }
}

#[test]
fn the_start_and_the_goal_of_the_whole_arm_are_judged() {
    let arm = arm("six_axis", "tool0");
    let ik = IkRequest::new(Pose::identity());
    let settings = settings(&arm.chain);
    let goals = [down(0.42, 0.28, 0.30)];
    let at = |q: &[f64]| forward_kinematics(&arm.chain, q).unwrap().translation;
    let here = at(&START);
    let on_it = world(&[pillar("pillar", here.x, here.y, 0.02, (0.0, 1.0))]);
    let request = PathRequest {
        collision: Some(whole_arm(&arm, &on_it)),
        ..PathRequest::new(&START, &goals, &ik)
    };
    let error = plan(&arm.chain, &[], &settings, &request).unwrap_err();
    assert_eq!(error.kind(), PlanErrorKind::StartCollides);
    assert!(error.to_string().contains("pillar"), "{error}");
    let there = world(&[pillar("pillar", 0.42, 0.28, 0.05, (0.0, 1.0))]);
    let request = PathRequest {
        collision: Some(whole_arm(&arm, &there)),
        ..PathRequest::new(&START, &goals, &ik)
    };
    let error = plan(&arm.chain, &[], &settings, &request).unwrap_err();
    assert_eq!(error.kind(), PlanErrorKind::GoalCollides);
    assert!(error.to_string().contains("pillar"), "{error}");
}

/// Among pillars that the tip does not know of: what is planned is free, what is refused is named, and
/// an arm that may leave its route gets farther.
#[test]
fn the_whole_arm_goes_free_or_says_what_is_in_the_way() {
    let mut random = Random(31);
    let mut counts = [[0; 3]; 2];
    for (number, name) in ["six_axis", "seven_axis"].into_iter().enumerate() {
        let arm = arm(name, if number == 0 { "tool0" } else { "" });
        let settings = settings(&arm.chain);
        let mut cases = 0;
        while cases < 25 {
            let start = random.configuration(&arm.chain);
            let mut goal = forward_kinematics(&arm.chain, &start).unwrap();
            goal.translation.vector += random.vector(0.3);
            let ik = IkRequest::new(Pose::identity());
            let goals = [goal];
            let mut request = PathRequest::new(&start, &goals, &ik);
            // A motion of the tip alone that the arm can make.
            let Ok(blind) = plan(&arm.chain, &[], &settings, &request) else {
                continue;
            };
            let prisms: Vec<Prism> = (0..3)
                .map(|k| {
                    let (x, y) = (random.between(-0.5, 0.5), random.between(-0.5, 0.5));
                    pillar(&k.to_string(), x, y, 0.04, (0.0, 1.2))
                })
                .collect();
            let world = world(&prisms);
            let ends = motion(&blind);
            let free = |q: &Vec<f64>| arm.shapes.check(q, &world) == Ok(None);
            if !free(&ends[0]) || ends.iter().all(free) {
                continue;
            }
            cases += 1;
            request.collision = Some(whole_arm(&arm, &world));
            match plan(&arm.chain, &[], &settings, &request) {
                Ok(plan) => {
                    counts[number][0] += 1;
                    assert!(plan.path.left_route.is_empty());
                    assert_free(&arm, &world, &plan);
                }
                Err(error) => assert!(
                    matches!(
                        error.kind(),
                        PlanErrorKind::WayCollides
                            | PlanErrorKind::GoalCollides
                            | PlanErrorKind::PathBroken
                    ),
                    "{error}"
                ),
            }
            request.leave_route = true;
            match plan(&arm.chain, &[], &settings, &request) {
                Ok(plan) => {
                    counts[number][1] += 1;
                    assert_free(&arm, &world, &plan);
                    let end = plan.trajectory.points.last().unwrap();
                    let tip = forward_kinematics(&arm.chain, &end.positions).unwrap();
                    let off = residual(&goal, &tip);
                    assert!(off.position < 1e-5 && off.orientation < 1e-5, "{off:?}");
                    counts[number][2] += usize::from(!plan.path.left_route.is_empty());
                }
                Err(error) => assert!(
                    matches!(
                        error.kind(),
                        PlanErrorKind::WayCollides
                            | PlanErrorKind::GoalCollides
                            | PlanErrorKind::PathBroken
                    ),
                    "{error}"
                ),
            }
        }
    }
    println!("{counts:?}");
    let [six, seven] = counts;
    assert!(seven[0] >= 3, "redundancy is not used: {counts:?}");
    assert!(
        six[1] > six[0] && seven[1] > seven[0] && six[2] > 0,
        "{counts:?}"
    );
}

#[test]
fn stages_are_told_in_their_order() {
    let Arm { chain, .. } = arm("six_axis", "tool0");
    let ik = IkRequest::new(Pose::identity());
    let goals = [down(0.42, 0.28, 0.30)];
    let mut stages = Vec::new();
    plan_observed(
        &chain,
        &[],
        &settings(&chain),
        &PathRequest::new(&START, &goals, &ik),
        &mut |stage| stages.push(stage),
    )
    .unwrap();
    let expected = [
        Stage::World,
        Stage::Roadmap,
        Stage::Route,
        Stage::Goals,
        Stage::Follow,
        Stage::Timing,
        Stage::Check,
    ];
    assert_eq!(stages, expected);
}

#[test]
fn the_picture_of_all_obstacles_costs_no_different_route() {
    let Arm { chain, .. } = arm("six_axis", "tool0");
    let mut random = Random(8);
    let mut compared = 0;
    for _ in 0..30 {
        let obstacles: Vec<Obstacle> = (0..12)
            .map(|k| {
                let place = (random.between(0.3, 0.6), random.between(-0.25, 0.25));
                let half = (random.between(0.01, 0.03), random.between(0.01, 0.03));
                block(&k.to_string(), place, half, (0.0, 1.0))
            })
            .collect();
        let goal = down(0.42, 0.28, 0.26);
        let mut settings = settings(&chain);
        settings.path.clearance = 0.01;
        let all = ask(&chain, &obstacles, &settings, &START, goal);
        settings.path.scene = false;
        let few = ask(&chain, &obstacles, &settings, &START, goal);
        match (all, few) {
            (Ok(all), Ok(few)) => {
                compared += 1;
                assert!((all.path.length - few.path.length).abs() < 1e-9);
                assert!((all.path.min_clearance - few.path.min_clearance).abs() < 1e-9);
            }
            (Err(all), Err(few)) => assert_eq!(all.kind(), few.kind()),
            (all, few) => panic!("{:?} {:?}", all.err(), few.err()),
        }
    }
    assert!(compared >= 5, "{compared}");
}
