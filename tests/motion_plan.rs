//! From a goal to a trajectory, on our own arms: what a plan promises is checked by other means
//! than those that made it.

use std::sync::atomic::{AtomicBool, Ordering};

use arm_planner::ik::{IkRequest, Posture};
use arm_planner::kinematics::{forward_kinematics, residual, validated_pose, Pose};
use arm_planner::model::{Chain, RobotModel};
use arm_planner::motion::{
    partial_motion, plan, plan_observed, Plan, PlanError, PlanErrorKind, PlanSettings,
};
use arm_planner::planning::{check_goals, Obstacle, PathRequest, Stage};
use nalgebra::Point2;
use proptest::prelude::*;

#[path = "motion_support/mod.rs"]
mod motion_support;

use motion_support::{block, down, prism, settings, START};

fn arm(name: &str, tip: &str) -> Chain {
    let path = format!("{}/urdf/{name}.urdf", env!("CARGO_MANIFEST_DIR"));
    let model = RobotModel::from_urdf(&std::fs::read_to_string(path).unwrap()).unwrap();
    model.chain("", tip, false).unwrap()
}

fn square(id: &str, x: f64, y: f64, half: f64) -> Obstacle {
    let heights = (f64::NEG_INFINITY, f64::INFINITY);
    block(id, (x, y), (half, half), heights)
}

fn ask(
    chain: &Chain,
    obstacles: &[Obstacle],
    settings: &PlanSettings,
    start: &[f64],
    goals: &[Pose],
) -> Result<Plan, PlanError> {
    let ik = IkRequest::new(Pose::identity());
    plan(
        chain,
        obstacles,
        settings,
        &PathRequest::new(start, goals, &ik),
    )
}

/// Distance of a point from a polygon given by its corners, negative inside, without any of the
/// library's geometry.
fn signed_distance(point: (f64, f64), ring: &[Point2<f64>]) -> f64 {
    let mut inside = false;
    let mut best = f64::INFINITY;
    for (a, b) in ring.iter().zip(ring.iter().cycle().skip(1)) {
        let (dx, dy) = (b.x - a.x, b.y - a.y);
        let t = ((point.0 - a.x) * dx + (point.1 - a.y) * dy) / (dx * dx + dy * dy);
        let t = t.clamp(0.0, 1.0);
        best = best.min((point.0 - a.x - t * dx).hypot(point.1 - a.y - t * dy));
        if (a.y > point.1) != (b.y > point.1) && point.0 < a.x + (point.1 - a.y) / dy * dx {
            inside = !inside;
        }
    }
    if inside {
        -best
    } else {
        best
    }
}

/// Everything that a plan promises.
fn check(
    chain: &Chain,
    obstacles: &[Obstacle],
    settings: &PlanSettings,
    start: &[f64],
    goals: &[Pose],
    plan: &Plan,
) {
    let trajectory = &plan.trajectory;
    let first = trajectory.points.first().unwrap();
    let last = trajectory.points.last().unwrap();
    for (joint, value) in start.iter().enumerate() {
        assert!(
            (first.positions[joint] - value).abs() < 1e-9,
            "starts elsewhere"
        );
        assert!(
            first.velocities[joint].abs() < 1e-9 && last.velocities[joint].abs() < 1e-9,
            "not at rest"
        );
    }
    let off = residual(
        goals.last().unwrap(),
        &forward_kinematics(chain, &last.positions).unwrap(),
    );
    assert!(
        off.position < 2e-6 && off.orientation < 2e-6,
        "ends elsewhere: {off:?}"
    );
    assert!(trajectory.points.windows(2).all(|w| w[0].time < w[1].time));
    let duration = trajectory.duration();
    let count = (duration / 1e-3).ceil() as usize;
    let mut before: Option<Vec<f64>> = None;
    let mut reached = vec![f64::INFINITY; goals.len()];
    for k in 0..=count {
        let point = trajectory
            .sample(duration * k as f64 / count as f64)
            .unwrap();
        for (joint, dof) in chain.dofs.iter().enumerate() {
            let (q, v, a) = (
                point.positions[joint],
                point.velocities[joint],
                point.accelerations[joint],
            );
            assert!(
                q >= dof.lower - 1e-9 && q <= dof.upper + 1e-9,
                "{} beyond its limits: {q}",
                dof.name
            );
            let (most_v, most_a) = (
                settings.limits.velocity()[joint],
                settings.limits.acceleration()[joint],
            );
            assert!(v.abs() <= most_v * 1.002, "{} too fast: {v}", dof.name);
            assert!(
                a.abs() <= most_a * 1.02,
                "{} accelerates too much: {a}",
                dof.name
            );
            if let Some(before) = &before {
                let step = (q - before[joint]).abs();
                assert!(step <= most_v * 1.1e-3, "{} leaps by {step}", dof.name);
            }
        }
        let tip = forward_kinematics(chain, &point.positions).unwrap();
        for (goal, reached) in goals.iter().zip(&mut reached) {
            *reached = reached.min((goal.translation.vector - tip.translation.vector).norm());
        }
        let t = tip.translation.vector;
        for obstacle in obstacles {
            let margin = settings.path.clearance - 2e-4;
            if t.z > obstacle.min_height - margin && t.z < obstacle.max_height + margin {
                let distance = signed_distance((t.x, t.y), obstacle.polygon.outer());
                assert!(
                    distance >= margin,
                    "{} is only {distance} away at {:.3} s",
                    obstacle.id,
                    duration * k as f64 / count as f64
                );
            }
        }
        before = Some(point.positions);
    }
    assert!(
        reached.iter().all(|distance| *distance < 2e-3),
        "goals missed: {reached:?}"
    );
    assert!(plan.path.min_clearance >= settings.path.clearance - 1e-6);
}

#[test]
fn goes_around_two_obstacles() {
    let chain = arm("six_axis", "tool0");
    let obstacles = [
        prism(
            "crate",
            &[[0.36, -0.16], [0.52, -0.16], [0.52, -0.04], [0.36, -0.04]],
            0.0,
            0.28,
        ),
        square("post", 0.47, 0.12, 0.05),
    ];
    let settings = settings(&chain);
    let goals = [down(0.42, 0.28, 0.26)];
    let plan = ask(&chain, &obstacles, &settings, &START, &goals).unwrap();
    check(&chain, &obstacles, &settings, &START, &goals, &plan);
    assert!(
        plan.path.length > 0.59,
        "a straight line of 0.58 m is blocked"
    );
    assert!(plan.path.routes[0].len() > 2);
    assert_eq!(plan.path.joint_path.stops, Vec::<usize>::new());
    assert!(plan.path.notes.is_empty());
}

#[test]
fn the_same_question_gets_the_same_bits() {
    let chain = arm("seven_axis", "panda_hand_tcp");
    let start = [0.0, -0.5, 0.0, -2.2, 0.0, 1.8, 0.7];
    let tip = forward_kinematics(&chain, &start).unwrap();
    let mut goal = tip;
    goal.translation.y += 0.25;
    goal.translation.x -= 0.1;
    let between = tip.translation.vector.lerp(&goal.translation.vector, 0.5);
    let obstacles = [square("box", between.x, between.y, 0.04)];
    let settings = settings(&chain);
    let answers: Vec<Plan> = (0..2)
        .map(|_| ask(&chain, &obstacles, &settings, &start, &[goal]).unwrap())
        .collect();
    assert_eq!(answers[0], answers[1]);
    check(&chain, &obstacles, &settings, &start, &[goal], &answers[0]);
}

#[test]
fn an_obstacle_below_the_tip_does_not_matter() {
    let chain = arm("six_axis", "tool0");
    let low = [prism(
        "low",
        &[[0.3, -0.1], [0.6, -0.1], [0.6, 0.1], [0.3, 0.1]],
        -1.0,
        0.2,
    )];
    let settings = settings(&chain);
    let plan = ask(&chain, &low, &settings, &START, &[down(0.4, 0.28, 0.26)]).unwrap();
    assert_eq!(plan.path.routes[0].len(), 2);
    assert_eq!(plan.path.min_clearance, f64::INFINITY);
    // Five centimetres higher it comes closer than the clearance.
    let high = [prism(
        "high",
        &[[0.3, -0.1], [0.6, -0.1], [0.6, 0.1], [0.3, 0.1]],
        -1.0,
        0.25,
    )];
    assert!(
        ask(&chain, &high, &settings, &START, &[down(0.4, 0.28, 0.26)])
            .unwrap()
            .path
            .routes[0]
            .len()
            > 2
    );
}

#[test]
fn several_goals_are_visited_in_order() {
    let chain = arm("six_axis", "tool0");
    let obstacles = [square("post", 0.45, 0.0, 0.05)];
    let settings = settings(&chain);
    let goals = [
        down(0.42, 0.25, 0.30),
        down(0.50, -0.2, 0.20),
        down(0.35, -0.2, 0.35),
    ];
    let plan = ask(&chain, &obstacles, &settings, &START, &goals).unwrap();
    check(&chain, &obstacles, &settings, &START, &goals, &plan);
    assert_eq!(plan.path.routes.len(), 3);
    assert_eq!(plan.path.joint_path.stops.len(), 2);
}

/// Reported: goals along one straight line made the arm stop at each of them.
#[test]
fn goals_on_the_way_cost_no_time() {
    let chain = arm("six_axis", "tool0");
    let settings = settings(&chain);
    let direct = [down(0.40, 0.28, 0.26)];
    let start = forward_kinematics(&chain, &START).unwrap();
    let mut between: Vec<Pose> = (1..40)
        .map(|k| start.lerp_slerp(&direct[0], f64::from(k) / 40.0))
        .collect();
    between.push(direct[0]);
    let plans = [&direct[..], &between[..]].map(|goals| {
        let plan = ask(&chain, &[], &settings, &START, goals).unwrap();
        check(&chain, &[], &settings, &START, goals, &plan);
        plan
    });
    assert_eq!(plans[1].path.joint_path.stops, Vec::<usize>::new());
    let durations = plans.map(|plan| plan.trajectory.duration());
    assert!(durations[1] < 1.05 * durations[0], "{durations:?}");
}

#[test]
fn without_clearance_the_arm_stops_at_corners() {
    let chain = arm("six_axis", "tool0");
    let obstacles = [square("post", 0.45, 0.0, 0.05)];
    let mut settings = settings(&chain);
    settings.path.clearance = 0.0;
    let goals = [down(0.42, 0.28, 0.26)];
    let plan = ask(&chain, &obstacles, &settings, &START, &goals).unwrap();
    check(&chain, &obstacles, &settings, &START, &goals, &plan);
    assert_eq!(
        plan.path.joint_path.stops.len(),
        plan.path.routes[0].len() - 2
    );
    assert!(!plan.path.joint_path.stops.is_empty());
}

#[test]
fn a_planar_arm_moves_in_its_plane() {
    let chain = arm("planar_3r", "");
    let start = [0.3, 0.6, 0.4];
    let tip = forward_kinematics(&chain, &start).unwrap();
    let goal = forward_kinematics(&chain, &[0.9, 0.5, 0.3]).unwrap();
    let middle = tip.translation.vector.lerp(&goal.translation.vector, 0.5);
    let obstacles = [square("peg", middle.x, middle.y, 0.01)];
    let mut settings = settings(&chain);
    settings.path.clearance = 0.01;
    let plan = ask(&chain, &obstacles, &settings, &start, &[goal]).unwrap();
    check(&chain, &obstacles, &settings, &start, &[goal], &plan);
}

#[test]
fn already_there_is_no_motion() {
    let chain = arm("six_axis", "tool0");
    let goal = forward_kinematics(&chain, &START).unwrap();
    let plan = ask(&chain, &[], &settings(&chain), &START, &[goal]).unwrap();
    assert_eq!(plan.trajectory.duration(), 0.0);
    assert_eq!(plan.trajectory.points.len(), 1);

    // Reported: a redundant arm started to move towards its preferred posture.
    let chain = arm("seven_axis", "panda_hand_tcp");
    let start = [-0.6, 0.2, 0.0, -2.3, 0.0, 2.5, 0.3];
    let goal = forward_kinematics(&chain, &start).unwrap();
    let mut ik = IkRequest::new(Pose::identity());
    ik.posture = Some(Posture {
        values: chain.middle(),
        weights: vec![1.0; 7],
    });
    let goals = [goal, goal];
    let request = PathRequest::new(&start, &goals, &ik);
    let plan = arm_planner::motion::plan(&chain, &[], &settings(&chain), &request).unwrap();
    assert_eq!(plan.trajectory.points.len(), 1);
}

#[test]
fn turning_on_the_spot_needs_no_route() {
    let chain = arm("six_axis", "tool0");
    let mut goal = forward_kinematics(&chain, &START).unwrap();
    goal.rotation *= nalgebra::UnitQuaternion::from_euler_angles(0.0, 0.0, 0.8);
    let settings = settings(&chain);
    let plan = ask(&chain, &[], &settings, &START, &[goal]).unwrap();
    check(&chain, &[], &settings, &START, &[goal], &plan);
    assert_eq!(plan.path.length, 0.0);
}

/// The error, its kind checked and its words searched.
fn refused(
    kind: PlanErrorKind,
    words: &[&str],
    obstacles: &[Obstacle],
    change: impl Fn(&mut PlanSettings),
    start: &[f64],
    goals: &[Pose],
) -> PlanError {
    let chain = arm("six_axis", "tool0");
    let mut settings = settings(&chain);
    change(&mut settings);
    let error = ask(&chain, obstacles, &settings, start, goals).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    // The quick look beforehand must say the same, or leave it to the planner.
    let ik = IkRequest::new(Pose::identity());
    let request = PathRequest::new(start, goals, &ik);
    match check_goals(&chain, obstacles, &settings.path, &request) {
        Err(early) => assert_eq!(early.to_string(), error.to_string()),
        Ok(()) => assert!(matches!(
            kind,
            PlanErrorKind::StartInObstacle | PlanErrorKind::NoRoute | PlanErrorKind::InvalidRequest
        )),
    }
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "{message:?} does not say {word:?}");
    }
    error
}

#[test]
fn ends_inside_obstacles_are_named() {
    use PlanErrorKind::*;
    let far = [down(0.42, 0.28, 0.26)];
    let on_start = [square("lamp", 0.40, -0.30, 0.05)];
    refused(
        StartInObstacle,
        &["start", "lamp"],
        &on_start,
        |_| {},
        &START,
        &far,
    );
    let near_start = [square("lamp", 0.40, -0.23, 0.05)];
    refused(
        StartInObstacle,
        &["start", "lamp", "clearance"],
        &near_start,
        |_| {},
        &START,
        &far,
    );
    let on_goal = [square("cup", 0.42, 0.28, 0.05)];
    refused(
        GoalInObstacle,
        &["goal", "cup"],
        &on_goal,
        |_| {},
        &START,
        &far,
    );
}

#[test]
fn a_fence_around_the_goal_is_named() {
    let fence = [
        prism(
            "north",
            &[[0.3, 0.4], [0.6, 0.4], [0.6, 0.42], [0.3, 0.42]],
            0.0,
            1.0,
        ),
        prism(
            "south",
            &[[0.3, 0.1], [0.6, 0.1], [0.6, 0.12], [0.3, 0.12]],
            0.0,
            1.0,
        ),
        prism(
            "west",
            &[[0.3, 0.1], [0.32, 0.1], [0.32, 0.42], [0.3, 0.42]],
            0.0,
            1.0,
        ),
        prism(
            "east",
            &[[0.58, 0.1], [0.6, 0.1], [0.6, 0.42], [0.58, 0.42]],
            0.0,
            1.0,
        ),
    ];
    let names = ["north", "south", "west", "east", "goal"];
    refused(
        PlanErrorKind::NoRoute,
        &names,
        &fence,
        |_| {},
        &START,
        &[down(0.45, 0.26, 0.26)],
    );
}

#[test]
fn what_cannot_be_reached_is_said_with_by_how_much() {
    use PlanErrorKind::*;
    refused(
        GoalUnreachable,
        &["out of reach", "too far"],
        &[],
        |_| {},
        &START,
        &[down(2.0, 0.0, 0.3)],
    );
    // Within the sphere of reach, but not with this orientation.
    let sideways = validated_pose([0.0, 0.0, 1.05], [0.7, 0.0, 0.7, 0.0]).unwrap();
    refused(
        GoalNoIk,
        &["goal 1", "best try"],
        &[],
        |_| {},
        &START,
        &[sideways],
    );
}

#[test]
fn starts_are_checked_and_forgiven_a_hair() {
    use PlanErrorKind::*;
    let goal = [down(0.42, 0.28, 0.26)];
    refused(InvalidRequest, &["5", "6"], &[], |_| {}, &START[..5], &goal);
    let mut start = START;
    start[2] = f64::NAN;
    refused(
        InvalidRequest,
        &["elbow_joint", "finite"],
        &[],
        |_| {},
        &start,
        &goal,
    );
    start[2] = 4.0;
    refused(
        StartOutsideLimits,
        &["elbow_joint", "4", "limits"],
        &[],
        |_| {},
        &start,
        &goal,
    );

    let chain = arm("planar_3r", "");
    let upper: Vec<f64> = chain.dofs.iter().map(|dof| dof.upper).collect();
    let mut start = vec![0.3, 0.6, upper[2] + 0.005];
    let goal = forward_kinematics(&chain, &[0.5, 0.6, upper[2] - 0.3]).unwrap();
    let settings = settings(&chain);
    let plan = ask(&chain, &[], &settings, &start, &[goal]).unwrap();
    assert!(
        plan.path.notes[0].contains(&chain.dofs[2].name),
        "{:?}",
        plan.path.notes
    );
    start[2] = upper[2];
    check(&chain, &[], &settings, &start, &[goal], &plan);
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    use PlanErrorKind::*;
    let goal = [down(0.42, 0.28, 0.26)];
    refused(InvalidRequest, &["no goal"], &[], |_| {}, &START, &[]);
    let nan = Pose::from_parts(
        nalgebra::Vector3::new(0.4, f64::NAN, 0.3).into(),
        goal[0].rotation,
    );
    refused(
        InvalidRequest,
        &["goal 2", "finite"],
        &[],
        |_| {},
        &START,
        &[goal[0], nan],
    );
    refused(
        UnknownRoadmap,
        &["visibilty", "visibility_graph"],
        &[],
        |s| s.path.roadmap = "visibilty".into(),
        &START,
        &goal,
    );
    refused(
        InvalidRequest,
        &["tip_step"],
        &[],
        |s| s.path.tip_step = 0.0,
        &START,
        &goal,
    );
    refused(
        InvalidRequest,
        &["clearance"],
        &[],
        |s| s.path.clearance = f64::NAN,
        &START,
        &goal,
    );
    refused(
        InvalidRequest,
        &["period"],
        &[],
        |s| s.sample_period = -1.0,
        &START,
        &goal,
    );
}

#[test]
fn an_unknown_solver_lists_the_choices() {
    let chain = arm("six_axis", "tool0");
    let ik = IkRequest::new(Pose::identity());
    let goals = [down(0.42, 0.28, 0.26)];
    let request = PathRequest {
        solver: "magic",
        ..PathRequest::new(&START, &goals, &ik)
    };
    let error = plan(&chain, &[], &settings(&chain), &request).unwrap_err();
    assert_eq!(error.kind(), PlanErrorKind::UnknownSolver);
    assert!(error.to_string().contains("damped_svd"), "{error}");
}

#[test]
fn a_path_that_breaks_says_where_and_why() {
    // The first joint would have to pass through its limit behind the base.
    let chain = arm("planar_3r", "");
    let start = [2.4, 0.4, 0.2];
    let goal = forward_kinematics(&chain, &[-2.4, -0.4, -0.2]).unwrap();
    let error = ask(&chain, &[], &settings(&chain), &start, &[goal]).unwrap_err();
    assert_eq!(error.kind(), PlanErrorKind::PathBroken, "{error}");
    let fraction = error.fraction();
    assert!(fraction > 0.0 && fraction < 1.0, "{fraction}");
    let partial = error.partial().unwrap();
    assert_eq!(partial.joint_path.points.len(), partial.tip_path.len());
    for (q, pose) in partial.joint_path.points.iter().zip(&partial.tip_path) {
        assert!(residual(pose, &forward_kinematics(&chain, q).unwrap()).position < 2e-6);
    }
}

#[test]
fn giving_up_is_told() {
    let chain = arm("six_axis", "tool0");
    let mut ik = IkRequest::new(Pose::identity());
    let enough = || true;
    ik.give_up = Some(&enough);
    let goals = [down(0.42, 0.28, 0.26)];
    let request = PathRequest::new(&START, &goals, &ik);
    let error = plan(&chain, &[], &settings(&chain), &request).unwrap_err();
    assert_eq!(error.kind(), PlanErrorKind::TimedOut, "{error}");
}

/// Reported: with a posture far from the start, a redundant arm ran towards it at the first sample
/// and the plan was refused as a leap.
/// Out of time before the path is sampled more finely, what is wrong with the first sampling is told. (Here it is that the
/// points lie ten seconds apart, which a plan with time finds out.)
#[test]
fn out_of_time_between_two_samplings_tells_what_was_wrong_with_the_first() {
    let chain = arm("six_axis", "tool0");
    let mut settings = settings(&chain);
    settings.path.clearance = 0.05;
    settings.sample_period = 10.0;
    let heights = (f64::NEG_INFINITY, f64::INFINITY);
    let obstacles = [block("crate", (0.44, -0.1), (0.08, 0.06), heights)];
    let goals = [down(0.42, 0.28, 0.26)];
    let checked = AtomicBool::new(false);
    let late = || checked.load(Ordering::Relaxed);
    let mut ik = IkRequest::new(Pose::identity());
    ik.give_up = Some(&late);
    let request = PathRequest::new(&START, &goals, &ik);
    let mut observer = |stage| {
        checked.fetch_or(stage == Stage::Check, Ordering::Relaxed);
    };
    let error = plan_observed(&chain, &obstacles, &settings, &request, &mut observer).unwrap_err();
    assert!(
        matches!(&error, PlanError::Late { fault } if matches!(**fault, PlanError::TooClose { .. })),
        "{error}"
    );
    assert_eq!(error.kind(), PlanErrorKind::TimedOut);
    assert!(error.to_string().contains("crate"), "{error}");
    let error = ask(&chain, &obstacles, &settings, &START, &goals).unwrap_err();
    assert!(matches!(error, PlanError::TooFewPoints { .. }), "{error}");
    // Without an obstacle the way is left in the same manner.
    let error = ask(&chain, &[], &settings, &START, &goals).unwrap_err();
    assert_eq!(error.kind(), PlanErrorKind::InvalidRequest, "{error}");
}

/// The part of a path that is no longer free at its end is shortened until it is, and checked as a whole plan is.
#[test]
fn the_motion_of_a_part_ends_before_what_is_in_the_way() {
    let chain = arm("six_axis", "tool0");
    let mut settings = settings(&chain);
    let goals = [down(0.42, 0.28, 0.26)];
    let whole = ask(&chain, &[], &settings, &START, &goals).unwrap();
    let post = [square("post", 0.41, 0.0, 0.04)];
    let ik = IkRequest::new(Pose::identity());
    let request = PathRequest::new(&START, &goals, &ik);
    settings.path.clearance = 0.03;
    let part = &whole.path.joint_path;
    let motion = partial_motion(&chain, &post, &settings, request.collision, part).unwrap();
    let last = motion.points.last().unwrap();
    let tip = forward_kinematics(&chain, &last.positions).unwrap();
    let y = tip.translation.y;
    assert!((-0.25..=-0.0699).contains(&y), "{y}");
    assert!(last.velocities.iter().all(|velocity| velocity.abs() < 1e-9));
    // Nothing is left of a part that begins in the way.
    let around = [square("around", 0.4, -0.3, 0.1)];
    assert_eq!(
        partial_motion(&chain, &around, &settings, request.collision, part),
        None
    );
}

#[test]
fn a_distant_preferred_posture_is_approached_gently() {
    let chain = arm("seven_axis", "panda_hand_tcp");
    for start in [
        [0.0, -0.5, 0.0, -2.2, 0.0, 1.8, 0.7],
        [-0.6, 0.2, 0.0, -2.3, 0.0, 2.5, 0.3],
    ] {
        let mut goal = forward_kinematics(&chain, &start).unwrap();
        goal.translation.z += 0.05;
        goal.translation.y += 0.15;
        let settings = settings(&chain);
        let middle = chain.middle();
        let far =
            |q: &[f64]| -> f64 { q.iter().zip(&middle).map(|(a, b)| (a - b) * (a - b)).sum() };
        let end = |posture: Option<Posture>| {
            let mut ik = IkRequest::new(Pose::identity());
            ik.posture = posture;
            let goals = [goal];
            let request = PathRequest::new(&start, &goals, &ik);
            let plan = plan(&chain, &[], &settings, &request).unwrap();
            check(&chain, &[], &settings, &start, &[goal], &plan);
            far(&plan.path.joint_path.points.last().unwrap().clone())
        };
        let pulled = end(Some(Posture {
            values: middle.clone(),
            weights: vec![1.0; 7],
        }));
        assert!(pulled < end(None), "the posture does not pull");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever stands on the table: a plan keeps its promises, or an error says why there is none.
    #[test]
    fn random_tables(
        squares in prop::collection::vec((0.25..0.65_f64, -0.4..0.4_f64, 0.01..0.07_f64), 0..6),
        goal in (0.3..0.6_f64, -0.35..0.35_f64, 0.15..0.4_f64),
        clearance in prop_oneof![Just(0.0), 0.005..0.05_f64],
    ) {
        let chain = arm("six_axis", "tool0");
        let obstacles: Vec<Obstacle> = squares
            .iter()
            .enumerate()
            .map(|(index, (x, y, half))| square(&index.to_string(), *x, *y, *half))
            .collect();
        let mut settings = settings(&chain);
        settings.path.clearance = clearance;
        let goals = [down(goal.0, goal.1, goal.2)];
        match ask(&chain, &obstacles, &settings, &START, &goals) {
            Ok(plan) => check(&chain, &obstacles, &settings, &START, &goals, &plan),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}
