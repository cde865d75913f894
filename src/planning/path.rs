//! From goals and obstacles to a path of the arm.

use std::sync::Arc;

use nalgebra::Point2;

use super::legs::Legs;
use super::{
    follow_path, ArmPath, FollowSettings, Followed, Guide, JointPath, Obstacle, Partial, PathError,
    PathRequest, PathScene, PathSettings, TipPath,
};
use crate::ik::{solver, IkSolver};
use crate::kinematics::{forward_kinematics, Pose};
use crate::model::Chain;
use crate::planar::{self, Join, PlanarWorld, WorldOptions};
use crate::roadmap::{build_roadmap, check_end, known_roadmap, End};

/// A start or goal this much \[m\] too close to an obstacle is not refused: messages carry
/// polygons in single precision.
const SNAP: f64 = 1e-6;

/// Finds the tip's shortest way around the obstacles, goal after goal, and the joint path that
/// follows it from the start without a leap.
///
/// # Errors
/// See [`PathError`].
pub fn plan_path(
    chain: &Chain,
    obstacles: &[Obstacle],
    settings: &PathSettings,
    request: &PathRequest<'_>,
) -> Result<ArmPath, PathError> {
    check_settings(settings)?;
    let chosen = solver(request.solver)?;
    let mut notes = Vec::new();
    let start = checked_start(chain, settings, request, &mut notes)?;
    let size = |_| PathError::WrongSize {
        expected: chain.dof(),
        got: request.start.len(),
    };
    let start_pose = forward_kinematics(chain, &start).map_err(size)?;

    let mut scene = PathScene::default();
    let mut legs: Vec<(TipPath, Vec<Point2<f64>>)> = Vec::new();
    let mut min_clearance = f64::INFINITY;
    let mut from = start_pose;
    let mut seed = start.clone();
    if request.goals.is_empty() {
        return Err(PathError::NoGoal);
    }
    for (number, goal) in (1..).zip(request.goals) {
        check_finite(goal, number)?;
        let planned = route(obstacles, settings, &from, goal, number)?;
        let leg = TipPath::new(&planned.route, settings.clearance, from, *goal);
        min_clearance = min_clearance.min(planned.world_clearance(&leg));
        if scene.outlines.is_empty() || !planned.scene.outlines.is_empty() {
            scene = planned.scene.clone();
        }
        // A goal without joint values is worth a clear word before anything is followed.
        seed = joint_goal(chain, chosen, request, goal, number, &seed)?;
        legs.push((leg, planned.route));
        from = *goal;
    }

    let mut path = ArmPath {
        tip_path: vec![start_pose],
        routes: Vec::new(),
        left_route: Vec::new(),
        joint_path: JointPath {
            points: vec![start.clone()],
            stops: Vec::new(),
        },
        length: legs.iter().map(|(leg, _)| leg.length()).sum(),
        min_clearance,
        scene,
        notes,
    };
    let request = PathRequest {
        start: &start,
        ..request.clone()
    };
    follow_legs(chain, settings, &request, &legs, &mut path)?;
    path.routes = legs.into_iter().map(|(_, route)| route).collect();
    Ok(path)
}

/// What of a request can be judged in a moment, without searching a way: settings, start, and whether
/// each goal is free and has joint values.
///
/// # Errors
/// What [`plan_path`] would say.
pub fn check_goals(
    chain: &Chain,
    obstacles: &[Obstacle],
    settings: &PathSettings,
    request: &PathRequest<'_>,
) -> Result<(), PathError> {
    check_settings(settings)?;
    known_roadmap(&settings.roadmap)?;
    let chosen = solver(request.solver)?;
    let mut seed = checked_start(chain, settings, request, &mut Vec::new())?;
    if request.goals.is_empty() {
        return Err(PathError::NoGoal);
    }
    for (number, goal) in (1..).zip(request.goals) {
        check_finite(goal, number)?;
        // At the goal's own height: whatever blocks there blocks the way to it, too.
        let there = world(obstacles, settings, goal, goal)?;
        check_end(&there, End::Goal, &goal.translation.vector.xy().into()).map_err(|source| {
            PathError::Route {
                goal: number,
                source,
            }
        })?;
        seed = joint_goal(chain, chosen, request, goal, number, &seed)?;
    }
    Ok(())
}

fn check_finite(goal: &Pose, number: usize) -> Result<(), PathError> {
    if goal.to_homogeneous().iter().all(|value| value.is_finite()) {
        Ok(())
    } else {
        Err(PathError::GoalNotFinite { goal: number })
    }
}

/// Joint values for a goal.
fn joint_goal(
    chain: &Chain,
    solver: &dyn IkSolver,
    request: &PathRequest<'_>,
    goal: &Pose,
    number: usize,
    seed: &[f64],
) -> Result<Vec<f64>, PathError> {
    let mut question = request.ik.clone();
    question.target = *goal;
    question.max_solutions = 1;
    let solution = solver.solve(chain, &question, seed);
    solution
        .map(|solution| solution.q)
        .map_err(|source| PathError::Goal {
            goal: number,
            source,
        })
}

fn follow_legs(
    chain: &Chain,
    settings: &PathSettings,
    request: &PathRequest<'_>,
    legs: &[(TipPath, Vec<Point2<f64>>)],
    path: &mut ArmPath,
) -> Result<(), PathError> {
    let follow_settings = FollowSettings {
        tip_step: settings.tip_step,
        angle_step: settings.angle_step,
        max_joint_step: settings.max_joint_step,
        deviation: settings.deviation,
        angle_deviation: settings.angle_deviation,
    };
    // A redundant arm that is already there must not start to look for a better posture.
    let ways: Vec<(usize, &TipPath)> = (1..)
        .zip(legs.iter().map(|(leg, _)| leg))
        .filter(|(_, leg)| !leg.is_done(&request.ik.tolerances, request.ik.goal))
        .collect();
    if ways.is_empty() {
        return Ok(());
    }
    let guide = Legs::new(ways.iter().map(|(_, leg)| (*leg).clone()).collect());
    let poses = |followed: &Followed| followed.fractions.iter().map(|u| guide.pose(*u)).collect();
    let followed = follow_path(
        chain,
        &guide,
        Some(request.start),
        request.ik,
        &follow_settings,
        request.collision,
    );
    match followed {
        Ok(followed) => {
            path.tip_path = poses(&followed);
            path.joint_path = JointPath {
                points: followed.points,
                stops: followed.stops,
            };
            Ok(())
        }
        Err(error) => {
            let (leg, part) = guide.place(error.fraction);
            let before: f64 = ways.iter().take(leg).map(|(_, leg)| leg.length()).sum();
            let reached = ways
                .get(leg)
                .map_or(0.0, |(_, leg)| before + part * leg.length());
            Err(PathError::PathBroken {
                goal: ways.get(leg).map_or(1, |(goal, _)| *goal),
                fraction: if path.length > 0.0 {
                    reached / path.length
                } else {
                    error.fraction
                },
                cause: error.cause,
                partial: Box::new(if request.partial {
                    Partial {
                        tip_path: poses(&error.partial),
                        joint_path: JointPath {
                            points: error.partial.points,
                            stops: error.partial.stops,
                        },
                    }
                } else {
                    Partial::default()
                }),
            })
        }
    }
}

fn check_settings(settings: &PathSettings) -> Result<(), PathError> {
    for (what, value) in [
        ("tip_step", settings.tip_step),
        ("angle_step", settings.angle_step),
        ("max_joint_step", settings.max_joint_step),
        ("deviation", settings.deviation),
        ("angle_deviation", settings.angle_deviation),
        ("arc_tolerance", settings.arc_tolerance),
    ] {
        if !(value > 0.0 && value.is_finite()) {
            return Err(PathError::NotPositive { what, value });
        }
    }
    Ok(())
}

/// The start inside its limits: a hair outside is clamped and said.
fn checked_start(
    chain: &Chain,
    settings: &PathSettings,
    request: &PathRequest<'_>,
    notes: &mut Vec<String>,
) -> Result<Vec<f64>, PathError> {
    if request.start.len() != chain.dof() {
        return Err(PathError::WrongSize {
            expected: chain.dof(),
            got: request.start.len(),
        });
    }
    let mut start = request.start.to_vec();
    for (dof, value) in chain.dofs.iter().zip(&mut start) {
        if !value.is_finite() {
            return Err(PathError::StartNotFinite {
                joint: dof.name.clone(),
                value: *value,
            });
        }
        let inside = dof.clamp(*value);
        let outside = (*value - inside).abs();
        if outside > settings.limit_tolerance {
            return Err(PathError::StartOutsideLimits {
                joint: dof.name.clone(),
                value: *value,
                lower: dof.lower,
                upper: dof.upper,
                tolerance: settings.limit_tolerance,
            });
        }
        if outside > 0.0 {
            notes.push(format!(
                "start: joint \"{}\" is {outside:.2e} outside of its limits, clamped to {inside}",
                dof.name
            ));
            *value = inside;
        }
    }
    Ok(start)
}

/// A planned leg in the plane.
struct Planned {
    route: Vec<Point2<f64>>,
    world: Arc<PlanarWorld>,
    scene: PathScene,
}

impl Planned {
    /// Smallest distance of the leg's shadow from the obstacles that block at its height.
    fn world_clearance(&self, leg: &TipPath) -> f64 {
        self.world
            .clearance_of_path(&leg.shadow())
            .map_or(f64::INFINITY, |clearance| clearance.distance)
    }
}

/// The world of the obstacles between two heights.
fn world(
    obstacles: &[Obstacle],
    settings: &PathSettings,
    from: &Pose,
    goal: &Pose,
) -> Result<PlanarWorld, PathError> {
    let (a, b) = (from.translation.z, goal.translation.z);
    let heights = (a.min(b), a.max(b));
    let blocking: Vec<planar::Obstacle> = obstacles
        .iter()
        .filter(|obstacle| obstacle.blocks(heights, settings.clearance))
        .map(|obstacle| planar::Obstacle {
            id: obstacle.id.clone(),
            polygon: obstacle.polygon.clone(),
        })
        .collect();
    let options = WorldOptions {
        clearance: settings.clearance,
        join: Join::Round {
            arc_tolerance: Some(settings.arc_tolerance),
        },
        contact: settings.contact,
        snap_tolerance: SNAP,
    };
    Ok(PlanarWorld::build(blocking, None, &options)?)
}

fn route(
    obstacles: &[Obstacle],
    settings: &PathSettings,
    from: &Pose,
    goal: &Pose,
    number: usize,
) -> Result<Planned, PathError> {
    let world = Arc::new(world(obstacles, settings, from, goal)?);
    let roadmap = build_roadmap(&settings.roadmap, Arc::clone(&world))?;
    let found = roadmap
        .shortest_path(
            &from.translation.vector.xy().into(),
            &goal.translation.vector.xy().into(),
        )
        .map_err(|source| PathError::Route {
            goal: number,
            source,
        })?;
    let scene = PathScene {
        outlines: world
            .outlines()
            .into_iter()
            .map(|outline| outline.ring)
            .collect(),
        edges: roadmap.edge_list(),
    };
    Ok(Planned {
        route: found.points,
        world,
        scene,
    })
}
