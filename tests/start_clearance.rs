//! Motions that begin closer to something than links are to keep, as after a stop: less clearance near the
//! start, never contact, and the whole clearance again with the way that the arm goes.

use arm_planner::collision::{
    CollisionModel, CollisionOptions, CollisionWorld, MotionChecker, MotionVerdict, Obstacle,
    Prism, Stand, TOUCHING,
};
use arm_planner::ik::IkRequest;
use arm_planner::kinematics::{forward_kinematics, residual, Pose};
use arm_planner::model::{Chain, RobotModel};
use arm_planner::motion::{plan, PlanErrorKind, PlanSettings};
use arm_planner::planning::{check_goals, ArmCheck, PathError, PathRequest, PathSettings};
use arm_planner::trajectory::{LimitDefaults, MotionLimits, TimingOptions};

#[path = "ik_support/mod.rs"]
mod ik_support;

use ik_support::Random;

const CLEARANCE: f64 = 0.05;
/// What is promised: this share of the distance at the start, and so much more with each metre.
const KEPT: f64 = 0.9;
const REGAINED: f64 = 0.1;
const RADIUS: f64 = 0.1;

/// A ball that three sliding joints carry anywhere.
fn ball() -> (RobotModel, Chain) {
    let joint = |name: &str, parent: &str, child: &str, axis: &str| {
        format!(
            r#"<joint name="{name}" type="prismatic"><parent link="{parent}"/><child link="{child}"/>
            <axis xyz="{axis}"/><limit lower="-9" upper="9" effort="1" velocity="1"/></joint>"#
        )
    };
    let text = format!(
        r#"<robot name="slider"><link name="base"/><link name="a"/><link name="b"/><link name="body">
        <collision><geometry><sphere radius="{RADIUS}"/></geometry></collision></link>{}{}{}</robot>"#,
        joint("x", "base", "a", "1 0 0"),
        joint("y", "a", "b", "0 1 0"),
        joint("z", "b", "body", "0 0 1"),
    );
    let model = RobotModel::from_urdf(&text).unwrap();
    let chain = model.chain("base", "body", false).unwrap();
    (model, chain)
}

fn shapes(model: &RobotModel, chain: &Chain, clearance: f64) -> CollisionModel {
    let options = CollisionOptions {
        clearance,
        ..CollisionOptions::default()
    };
    CollisionModel::new(model, chain, &|_| None, &options)
}

fn pillar(id: &str, x: f64, y: f64, half: f64, heights: (f64, f64)) -> Prism {
    let corner = |[a, b]: [f64; 2]| [x + half * a, y + half * b];
    Prism {
        id: id.into(),
        polygon: [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]
            .map(corner)
            .to_vec(),
        min_z: heights.0,
        max_z: heights.1,
    }
}

/// Distance of the ball at `q` from a pillar of `pillar`, by hand.
fn gap(q: &[f64], pillar: &Prism) -> f64 {
    let (low, high) = (pillar.polygon[0], pillar.polygon[2]);
    let out = |value: f64, low: f64, high: f64| (low - value).max(value - high).max(0.0);
    let away = [
        out(q[0], low[0], high[0]),
        out(q[1], low[1], high[1]),
        out(q[2], pillar.min_z, pillar.max_z),
    ];
    away.iter().map(|a| a * a).sum::<f64>().sqrt() - RADIUS
}

fn between(a: &[f64], b: &[f64], share: f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + (b - a) * share).collect()
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b));
    squares.sum::<f64>().sqrt()
}

/// Against distances by hand: what a checker calls free keeps what is promised everywhere, what it calls
/// a contact breaks it there; and all ways to ask say the same.
#[test]
fn near_the_start_less_is_kept_and_with_the_way_the_whole() {
    let (model, chain) = ball();
    let arm = shapes(&model, &chain, CLEARANCE);
    let mut random = Random(5);
    let (mut free, mut met, mut came_back, mut touched) = (0, 0, 0, 0);
    for case in 0..600 {
        // Two pillars, the ball beside the first one, over the ground in some cases.
        let one = pillar("one", 0.0, 0.0, 0.2, (-0.5, 0.5));
        let (x, y) = (random.between(0.3, 0.6), random.between(-0.5, 0.5));
        let two = pillar("two", x + 0.1, y, 0.1, (-0.5, 0.5));
        let distance = random.between(-0.2, 1.2) * CLEARANCE;
        let start = vec![
            -0.2 - RADIUS - distance,
            random.between(-0.2, 0.2),
            random.between(-0.3, 0.3),
        ];
        let mut world = CollisionWorld::new(&[one.clone(), two.clone()]).unwrap();
        let mut floor = f64::NEG_INFINITY;
        if case % 3 == 0 {
            floor = start[2] - RADIUS - random.between(0.2, 1.5) * CLEARANCE;
            world = world.with_ground(floor);
        }
        let gaps = |q: &[f64]| [gap(q, &one), gap(q, &two), q[2] - RADIUS - floor];
        let here = gaps(&start);
        let least = here.iter().copied().fold(f64::INFINITY, f64::min);
        if (least - TOUCHING).abs() < 1e-6 || here.iter().any(|g| (g - CLEARANCE).abs() < 1e-5) {
            continue;
        }
        let world = match arm.stand(&start, &world).unwrap() {
            Stand::Clear => {
                assert!(least > CLEARANCE);
                world
            }
            Stand::Contact(contact) => {
                touched += 1;
                assert!(least < TOUCHING, "{contact:?} at {least}");
                continue;
            }
            Stand::Near { eased, near } => {
                assert!((TOUCHING..CLEARANCE).contains(&least));
                assert!((near[0].distance - least).abs() < 1e-6);
                assert_eq!(near[0].contact.link, "body");
                let close = here.iter().filter(|gap| **gap < CLEARANCE).count();
                assert_eq!(near.len(), close);
                // The same question of where less is demanded has the same answer.
                assert_eq!(arm.check(&start, &eased), Ok(None));
                *eased
            }
        };
        let demanded = |q: &[f64]| {
            here.map(|gap| {
                if gap < CLEARANCE {
                    CLEARANCE.min(KEPT * gap + REGAINED * apart(q, &start))
                } else {
                    CLEARANCE
                }
            })
        };
        // How much more than demanded there is.
        let spare = |q: &[f64]| {
            let pairs = gaps(q).into_iter().zip(demanded(q));
            pairs
                .map(|(gap, demanded)| gap - demanded)
                .fold(f64::INFINITY, f64::min)
        };
        let mut checker = MotionChecker::new(&arm, &world);
        let mut scratch = Default::default();
        for _ in 0..10 {
            let size = random.between(0.0, 0.8);
            let way = random.vector(size);
            let from = if random.unit() < 0.7 {
                start.clone()
            } else {
                let off = random.vector(0.05);
                (0..3).map(|k| start[k] + off[k]).collect()
            };
            let to: Vec<f64> = (0..3).map(|k| from[k] + way[k]).collect();
            for q in [&from, &to] {
                if spare(q).abs() > 1e-6 {
                    assert_eq!(arm.check(q, &world).unwrap().is_none(), spare(q) > 0.0);
                    assert_eq!(checker.is_free(q).unwrap(), spare(q) > 0.0);
                }
            }
            let samples = (0..=500).map(|k| between(&from, &to, f64::from(k) / 500.0));
            let worst = samples.map(|q| spare(&q)).fold(f64::INFINITY, f64::min);
            match checker.motion(&from, &to, 1e-5).unwrap() {
                MotionVerdict::Free => {
                    free += 1;
                    assert!(worst > -1e-7, "{worst} called free");
                    let end = demanded(&to)[0];
                    came_back += usize::from(here[0] < CLEARANCE && end == CLEARANCE);
                }
                MotionVerdict::Contact(found) => {
                    met += 1;
                    let q = between(&from, &to, found.fraction);
                    assert!(spare(&q) < 1e-6, "{} called a contact", spare(&q));
                }
                MotionVerdict::TooClose(fraction) => {
                    assert!(spare(&between(&from, &to, fraction)) < 1e-4);
                }
            }
            // The other engine, within its tolerance.
            let tolerance = 1e-5;
            match arm
                .check_motion(&from, &to, &world, tolerance, &mut scratch)
                .unwrap()
            {
                None => assert!(worst > -2.0 * tolerance, "{worst}"),
                Some(found) => assert!(spare(&between(&from, &to, found.fraction)) < 1e-6),
            }
        }
    }
    println!("free {free}, met {met}, came back {came_back}, touched {touched}");
    assert!(free > 500 && met > 500 && came_back > 20 && touched > 20);
}

/// Two links that touch are no matter of obstacles, and obstacles of one name count as one.
#[test]
fn pieces_of_one_obstacle_count_as_one_and_nearness_is_told_once() {
    let (model, chain) = ball();
    let arm = shapes(&model, &chain, CLEARANCE);
    // A wall of two prisms of the same name, the ball before the first, 1 cm away.
    let mut upper = pillar("wall", 0.0, 0.2, 0.2, (-0.5, 0.5));
    let lower = pillar("wall", 0.0, -0.2, 0.2, (-0.5, 0.5));
    let start = vec![-0.2 - RADIUS - 0.01, -0.2, 0.0];
    let along = vec![start[0], 0.05, 0.0];
    let world = CollisionWorld::new(&[lower.clone(), upper.clone()]).unwrap();
    let Stand::Near { eased, near } = arm.stand(&start, &world).unwrap() else {
        panic!("it is near");
    };
    assert_eq!(near.len(), 1);
    assert_eq!(near[0].contact.with, Obstacle::Obstacle("wall".into()));
    // It may go along the wall for as long as a tenth of the way is no more than what it has to spare.
    let mut checker = MotionChecker::new(&arm, &eased);
    assert!(checker
        .motion_is_free(&start, &between(&start, &along, 0.03), 1e-5)
        .unwrap());
    assert!(!checker.motion_is_free(&start, &along, 1e-5).unwrap());
    let away = vec![start[0] - 0.06, 0.05, 0.0];
    assert!(checker.motion_is_free(&start, &away, 1e-5).unwrap());
    // Of another name, the whole clearance is demanded from it.
    upper.id = "other".into();
    let there = vec![start[0], -0.04, 0.0];
    let world = CollisionWorld::new(&[lower, upper]).unwrap();
    let Stand::Near { eased, .. } = arm.stand(&start, &world).unwrap() else {
        panic!("it is near");
    };
    assert!(arm.check(&there, &eased).unwrap().is_some());
}

/// Plans of a real arm that stands too close to a post with some link: found, told, never closer than what
/// was there, free for a gate that looks for contacts; and refused where a link touches.
#[test]
fn an_arm_that_stands_too_close_is_planned_for() {
    const LINKS: f64 = 0.01;
    let path = format!("{}/urdf/six_axis.urdf", env!("CARGO_MANIFEST_DIR"));
    let model = RobotModel::from_urdf(&std::fs::read_to_string(path).unwrap()).unwrap();
    let chain = model.chain("", "tool0", false).unwrap();
    let (arm, bare) = (shapes(&model, &chain, LINKS), shapes(&model, &chain, 0.0));
    let settings = PlanSettings {
        path: PathSettings::default(),
        limits: MotionLimits::from_chain(&chain, &LimitDefaults::default()).unwrap(),
        sample_period: 0.02,
        timing: TimingOptions::default(),
    };
    let ik = IkRequest::new(Pose::identity());
    let mut random = Random(77);
    let (mut planned, mut refused, mut touching) = (0, 0, 0);
    while planned + refused < 30 {
        let start = random.configuration(&chain);
        let mut goal = forward_kinematics(&chain, &start).unwrap();
        goal.translation.vector += random.vector(0.2);
        let (x, y) = (random.between(-0.5, 0.5), random.between(-0.5, 0.5));
        let post = pillar("post", x, y, 0.03, (0.05, 1.0));
        let world = CollisionWorld::new(&[post]).unwrap();
        if bare
            .check(&start, &CollisionWorld::default())
            .unwrap()
            .is_some()
        {
            continue;
        }
        let gap = bare.distance(&start, &world).unwrap();
        let goals = [goal];
        let mut request = PathRequest::new(&start, &goals, &ik);
        if plan(&chain, &[], &settings, &request).is_err() {
            continue;
        }
        request.collision = Some(ArmCheck {
            model: &arm,
            world: &world,
        });
        request.leave_route = true;
        let own = bare.distance(&start, &CollisionWorld::default()).unwrap();
        if bare.check(&start, &world).unwrap().is_some() && touching < 20 {
            touching += 1;
            let error = plan(&chain, &[], &settings, &request).unwrap_err();
            assert_eq!(error.kind(), PlanErrorKind::StartCollides, "{error}");
            assert!(error.to_string().contains("post"), "{error}");
            let error = check_goals(&chain, &[], &settings.path, &request).unwrap_err();
            assert!(matches!(error, PathError::StartCollides { .. }), "{error}");
        }
        // The distance from the post alone is known where links are farther from each other.
        if !(TOUCHING + 1e-5..LINKS - 1e-5).contains(&gap) || own <= gap {
            continue;
        }
        match plan(&chain, &[], &settings, &request) {
            Ok(found) => {
                planned += 1;
                let notes = &found.path.notes;
                assert!(
                    notes
                        .iter()
                        .any(|note| note.contains("post") && note.contains("less is kept")),
                    "{notes:?}"
                );
                let duration = found.trajectory.duration();
                let end = found.trajectory.points.last().unwrap().positions.clone();
                let count = (duration / 2e-3).ceil().max(1.0) as usize;
                for k in 0..=count {
                    let time = duration * k as f64 / count as f64;
                    let q = found.trajectory.sample(time).unwrap().positions;
                    assert_eq!(bare.check(&q, &world), Ok(None), "contact at {time} s");
                    let Ok(Stand::Clear | Stand::Near { .. }) = arm.stand(&q, &world) else {
                        panic!("it touches at {time} s");
                    };
                }
                let tip = forward_kinematics(&chain, &end).unwrap();
                assert!(residual(&goal, &tip).position < 1e-5);
                assert!(check_goals(&chain, &[], &settings.path, &request).is_ok());
            }
            Err(error) => {
                refused += 1;
                // For what is on the way or at the goal, never for the start.
                assert!(
                    matches!(
                        error.kind(),
                        PlanErrorKind::WayCollides
                            | PlanErrorKind::GoalCollides
                            | PlanErrorKind::PathBroken
                    ),
                    "{error}"
                );
            }
        }
    }
    println!("planned {planned}, refused {refused}, touching {touching}");
    assert!(planned >= 15, "{planned} of {}", planned + refused);
    assert!(touching > 0);
}
