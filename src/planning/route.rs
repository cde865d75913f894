//! From goals and obstacles to the tip's path: around the obstacles in the planning plane, or over them.

use std::sync::Arc;

use nalgebra::Point2;

use super::error::met;
use super::near::Shape;
use super::request::{Observer, Stage};
use super::{ArmCheck, Obstacle, PathError, PathRequest, PathScene, PathSettings, TipPath};
use crate::collision::{CollisionWorld, Contact, Stand};
use crate::ik::{solver, IkError, IkSolver};
use crate::kinematics::{forward_kinematics, Pose};
use crate::model::Chain;
use crate::planar::{self, Join, PlanarWorld, WorldOptions};
use crate::roadmap::{
    build_roadmap_with, check_end, known_roadmap, BuildOptions, End, Roadmap, RouteError, AUTO,
};

/// A start or goal this much \[m\] too close to an obstacle is not refused: messages carry
/// polygons in single precision.
const SNAP: f64 = 1e-6;

/// How often obstacles are added to those that matter before all are taken.
const ROUNDS: usize = 12;

/// The tip's path to all goals, before the joints follow it.
#[derive(Debug, Clone, PartialEq)]
pub struct TipPlan {
    /// The start, clamped to its limits.
    pub start: Vec<f64>,
    /// The tip's path to each goal.
    pub legs: Vec<TipPath>,
    /// The route in the planning plane for each goal.
    pub routes: Vec<Vec<Point2<f64>>>,
    /// Joint values for each goal, as far as they are known to exist.
    pub goals: Vec<Vec<f64>>,
    /// Smallest distance \[m\] of the path from the obstacles at its height; infinity without any.
    pub min_clearance: f64,
    /// What the planner saw.
    pub scene: PathScene,
    /// The obstacles with less clearance of the links near the start, where that is closer to some of them.
    pub eased: Option<Box<CollisionWorld>>,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Default for TipPlan {
    /// Nothing planned, nothing near.
    fn default() -> Self {
        TipPlan {
            start: Vec::new(),
            legs: Vec::new(),
            routes: Vec::new(),
            goals: Vec::new(),
            min_clearance: f64::INFINITY,
            scene: PathScene::default(),
            eased: None,
            notes: Vec::new(),
        }
    }
}

impl TipPlan {
    /// The whole arm and what it must keep from on this path.
    pub fn arm<'a>(&'a self, request: &PathRequest<'a>) -> Option<ArmCheck<'a>> {
        eased_arm(request.collision, self.eased.as_deref())
    }

    /// Length of the whole path \[m\].
    pub fn length(&self) -> f64 {
        self.legs.iter().map(TipPath::length).sum()
    }
}

/// Finds the tip's shortest way around (or, with [`PathSettings::safe_height`], over) the obstacles,
/// goal after goal, and joint values for each goal.
///
/// # Errors
/// See [`PathError`].
pub fn plan_tip(
    chain: &Chain,
    obstacles: &[Obstacle],
    settings: &PathSettings,
    request: &PathRequest<'_>,
    observer: &mut Observer<'_>,
) -> Result<TipPlan, PathError> {
    let mut plan = TipPlan::default();
    plan_tip_into(&mut plan, chain, obstacles, settings, request, observer)?;
    Ok(plan)
}

/// As [`plan_tip`]; where there is an error, `plan` holds what was found before it: the ways to the goals before
/// the one that is told, and, with [`PathSettings::scene`], the inflated obstacles among which no way was found.
///
/// # Errors
/// See [`PathError`].
pub fn plan_tip_into(
    plan: &mut TipPlan,
    chain: &Chain,
    obstacles: &[Obstacle],
    settings: &PathSettings,
    request: &PathRequest<'_>,
    observer: &mut Observer<'_>,
) -> Result<(), PathError> {
    *plan = TipPlan::default();
    check_settings(settings)?;
    let chosen = solver(request.solver)?;
    let (start, eased) = checked_start(chain, settings, request, &mut plan.notes)?;
    plan.eased = eased.clone();
    let request = &PathRequest {
        collision: eased_arm(request.collision, eased.as_deref()),
        ..request.clone()
    };
    let size = |_| PathError::WrongSize {
        expected: chain.dof(),
        got: request.start.len(),
    };
    let start_pose = forward_kinematics(chain, &start).map_err(size)?;
    if request.goals.is_empty() {
        return Err(PathError::NoGoal);
    }
    plan.start = start.clone();
    let mut from = start_pose;
    let mut seed = start;
    for (number, goal) in (1..).zip(request.goals) {
        check_finite(goal, number)?;
        let plane = Plane::new(obstacles, settings, request, &from, goal);
        let leg = plane.leg(number, observer).inspect_err(|_| {
            if let Some(outlines) = plane.outlines() {
                plan.scene.outlines = outlines;
            }
        })?;
        plan.min_clearance = plan.min_clearance.min(leg.clearance);
        if plan.scene.outlines.is_empty() || !leg.scene.outlines.is_empty() {
            plan.scene = leg.scene;
        }
        plan.legs.push(leg.path);
        plan.routes.push(leg.route);
        // A goal without joint values is worth a clear word before anything is followed.
        observer(Stage::Goals);
        seed = joint_goal(chain, chosen, request, goal, number, &seed)?;
        plan.goals.push(seed.clone());
        from = *goal;
    }
    Ok(())
}

/// What of a request can be judged in a moment, without searching a way: settings, start, and whether
/// each goal is free and has joint values.
///
/// # Errors
/// What [`super::plan_path`] would say.
pub fn check_goals(
    chain: &Chain,
    obstacles: &[Obstacle],
    settings: &PathSettings,
    request: &PathRequest<'_>,
) -> Result<(), PathError> {
    check_settings(settings)?;
    known_roadmap(&settings.roadmap)?;
    let chosen = solver(request.solver)?;
    let (mut seed, eased) = checked_start(chain, settings, request, &mut Vec::new())?;
    let request = &PathRequest {
        collision: eased_arm(request.collision, eased.as_deref()),
        ..request.clone()
    };
    if request.goals.is_empty() {
        return Err(PathError::NoGoal);
    }
    for (number, goal) in (1..).zip(request.goals) {
        check_finite(goal, number)?;
        // At the goal's own height: whatever blocks there blocks the way to it, too.
        let plane = Plane::new(obstacles, settings, request, goal, goal);
        let shapes = plane.blocking((plane.to.2, plane.to.2));
        let there = plane.world_at(&shapes, &plane.to.1)?;
        check_end(&there, End::Goal, &plane.to.1).map_err(|source| PathError::Route {
            goal: number,
            source,
        })?;
        seed = joint_goal(chain, chosen, request, goal, number, &seed)?;
    }
    Ok(())
}

fn check_finite(goal: &Pose, number: usize) -> Result<(), PathError> {
    if is_finite(goal) {
        Ok(())
    } else {
        Err(PathError::GoalNotFinite { goal: number })
    }
}

fn is_finite(pose: &Pose) -> bool {
    pose.to_homogeneous().iter().all(|value| value.is_finite())
}

/// Joint values for a goal, free of collisions where the whole arm is checked.
fn joint_goal(
    chain: &Chain,
    solver: &dyn IkSolver,
    request: &PathRequest<'_>,
    goal: &Pose,
    number: usize,
    seed: &[f64],
) -> Result<Vec<f64>, PathError> {
    let contact = |q: &[f64]| -> Option<Contact> {
        let arm = request.collision?;
        arm.model.check(q, arm.world).ok().flatten()
    };
    let free = |q: &[f64]| request.ik.accept.is_none_or(|accept| accept(q)) && contact(q).is_none();
    let mut question = request.ik.clone();
    question.target = *goal;
    question.max_solutions = 1;
    if request.collision.is_some() {
        question.accept = Some(&free);
    }
    let solution = solver.solve(chain, &question, seed);
    solution
        .map(|solution| solution.q)
        .map_err(|source| match &source {
            IkError::NotConverged { best, refused, .. } if *refused > 0 => match contact(&best.q) {
                Some(contact) => PathError::GoalCollides {
                    goal: number,
                    link: contact.link,
                    with: contact.with,
                },
                None => PathError::Goal {
                    goal: number,
                    source,
                },
            },
            _ => PathError::Goal {
                goal: number,
                source,
            },
        })
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
    if !is_finite(&settings.plane) {
        return Err(PathError::Plane("plane"));
    }
    if settings
        .safe_height
        .is_some_and(|height| !height.is_finite())
    {
        return Err(PathError::Plane("safe height"));
    }
    Ok(())
}

/// An arm among obstacles that are eased for its start, where they are.
fn eased_arm<'a>(
    arm: Option<ArmCheck<'a>>,
    eased: Option<&'a CollisionWorld>,
) -> Option<ArmCheck<'a>> {
    arm.map(|arm| ArmCheck {
        world: eased.unwrap_or(arm.world),
        ..arm
    })
}

/// At most this many links that are too close to something at the start are told.
const TOLD: usize = 3;

/// The start inside its limits: a hair outside is clamped and said; and free. Where it is closer to
/// something than links are to keep without touching it, the obstacles that are eased for it.
fn checked_start(
    chain: &Chain,
    settings: &PathSettings,
    request: &PathRequest<'_>,
    notes: &mut Vec<String>,
) -> Result<(Vec<f64>, Option<Box<CollisionWorld>>), PathError> {
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
    let Some(arm) = request.collision else {
        return Ok((start, None));
    };
    match arm.model.stand(&start, arm.world)? {
        Stand::Clear => Ok((start, None)),
        Stand::Contact(contact) => Err(PathError::StartCollides {
            link: contact.link,
            with: contact.with,
        }),
        Stand::Near { eased, near } => {
            notes.extend(near.iter().take(TOLD).map(|near| {
                format!(
                    "start: link \"{}\" is {:.4} m from {}, closer than the clearance of links of {} m: near the start less is kept",
                    near.contact.link,
                    near.distance,
                    met(&near.contact.with),
                    near.clearance
                )
            }));
            Ok((start, Some(eased)))
        }
    }
}

fn rings(world: &PlanarWorld) -> Vec<Vec<Point2<f64>>> {
    let outlines = world.outlines().into_iter();
    outlines.map(|outline| outline.ring).collect()
}

/// A planned leg.
struct Leg {
    path: TipPath,
    route: Vec<Point2<f64>>,
    scene: PathScene,
    clearance: f64,
}

/// A route at some heights, and the world that it was found in.
struct Way<'a> {
    points: Vec<Point2<f64>>,
    length: f64,
    world: Arc<PlanarWorld>,
    roadmap: Box<dyn Roadmap>,
    /// All obstacles at these heights.
    shapes: Vec<Shape<'a>>,
}

/// One leg's ends in the planning plane.
struct Plane<'a> {
    obstacles: &'a [Obstacle],
    settings: &'a PathSettings,
    /// Pose in the base frame; point and height \[m\] in the plane's coordinates.
    from: (&'a Pose, Point2<f64>, f64),
    to: (&'a Pose, Point2<f64>, f64),
    give_up: Option<&'a (dyn Fn() -> bool + Sync)>,
}

impl<'a> Plane<'a> {
    fn new(
        obstacles: &'a [Obstacle],
        settings: &'a PathSettings,
        request: &'a PathRequest<'_>,
        from: &'a Pose,
        to: &'a Pose,
    ) -> Self {
        let place = |pose: &'a Pose| {
            let point = settings
                .plane
                .inverse_transform_point(&pose.translation.vector.into());
            (pose, point.xy(), point.z)
        };
        Plane {
            obstacles,
            settings,
            from: place(from),
            to: place(to),
            give_up: request.ik.give_up,
        }
    }

    /// The obstacles that block between two heights, the lower one first.
    fn blocking(&self, heights: (f64, f64)) -> Vec<Shape<'a>> {
        let blocking = self
            .obstacles
            .iter()
            .filter(|obstacle| obstacle.blocks(heights, self.settings.clearance));
        blocking.map(Shape::new).collect()
    }

    fn world<'s>(
        &self,
        shapes: impl Iterator<Item = &'s Shape<'a>>,
    ) -> Result<PlanarWorld, PathError>
    where
        'a: 's,
    {
        let settings = self.settings;
        let obstacles = shapes
            .map(|shape| planar::Obstacle {
                id: shape.obstacle.id.clone(),
                polygon: shape.obstacle.polygon.clone(),
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
        Ok(PlanarWorld::build(obstacles, None, &options)?)
    }

    /// Farther off \[m\], nothing of an obstacle's inflated outline can touch a way.
    fn near(&self) -> f64 {
        self.settings.clearance + 2.0 * self.settings.arc_tolerance + 10.0 * SNAP
    }

    /// The inflated obstacles at the heights between both ends, where a picture is wanted.
    fn outlines(&self) -> Option<Vec<Vec<Point2<f64>>>> {
        if !self.settings.scene {
            return None;
        }
        let (low, high) = (self.from.2.min(self.to.2), self.from.2.max(self.to.2));
        let shapes = self.blocking((low, high));
        let world = self.world(shapes.iter()).ok()?;
        Some(rings(&world))
    }

    /// The world as far as it matters at a point.
    fn world_at(
        &self,
        shapes: &[Shape<'a>],
        point: &Point2<f64>,
    ) -> Result<PlanarWorld, PathError> {
        let near = self.near();
        let close = |shape: &&Shape<'a>| shape.distance(&[*point], near) < near;
        self.world(shapes.iter().filter(close))
    }

    /// The shortest way in the plan view among the obstacles between two heights.
    ///
    /// Where no picture of all is wanted, only those obstacles are looked at that matter: first those
    /// on the straight line; as long as the shortest way found comes near others, these, too. A way that is
    /// shortest among some of the obstacles and free of all is shortest among all, and where there is no way
    /// among some there is none among all.
    fn way(
        &self,
        heights: (f64, f64),
        observer: &mut Observer<'_>,
    ) -> Result<Result<Way<'a>, RouteError>, PathError> {
        let shapes = self.blocking(heights);
        let mut known: Vec<bool> = vec![self.settings.scene; shapes.len()];
        let near = self.near();
        let mut line = vec![self.from.1, self.to.1];
        let mut round = 0;
        loop {
            observer(Stage::World);
            if round == ROUNDS {
                known.fill(true);
            }
            for (shape, known) in shapes.iter().zip(&mut known) {
                *known = *known || shape.distance(&line, near) < near;
            }
            let chosen = shapes.iter().zip(&known).filter(|(_, known)| **known);
            let world = Arc::new(self.world(chosen.map(|(shape, _)| shape))?);
            observer(Stage::Roadmap);
            // One question: all of a visibility graph is built for a picture only.
            let name = match self.settings.roadmap.as_str() {
                "" | AUTO | "visibility_graph" if !self.settings.scene => "lazy",
                other => other,
            };
            let options = BuildOptions {
                queries: 1,
                give_up: &|| self.give_up.is_some_and(|give_up| give_up()),
            };
            let roadmap = build_roadmap_with(name, Arc::clone(&world), &options)?;
            observer(Stage::Route);
            let found = match roadmap.shortest_path(&self.from.1, &self.to.1) {
                Ok(found) => found,
                Err(error) => return Ok(Err(error)),
            };
            let met = shapes
                .iter()
                .zip(&known)
                .any(|(shape, known)| !known && shape.distance(&found.points, near) < near);
            if !met {
                return Ok(Ok(Way {
                    points: found.points,
                    length: found.length,
                    world,
                    roadmap,
                    shapes,
                }));
            }
            line = found.points;
            round += 1;
        }
    }

    fn leg(&self, number: usize, observer: &mut Observer<'_>) -> Result<Leg, PathError> {
        let (low, high) = (self.from.2.min(self.to.2), self.from.2.max(self.to.2));
        let direct = self.way((low, high), observer)?;
        let goal = number;
        let Some(safe) = self.settings.safe_height else {
            let way = direct.map_err(|source| PathError::Route { goal, source })?;
            return Ok(self.direct(way));
        };
        // Never down on the way: an end above the safe height is safe already.
        let height = safe.max(high);
        let climb = 2.0 * height - self.from.2 - self.to.2;
        let straight = (self.to.1 - self.from.1).norm();
        let direct = match direct {
            Ok(way) if way.length.hypot(high - low) <= straight + climb => {
                return Ok(self.direct(way))
            }
            other => other,
        };
        match (direct, self.over(height, observer)?) {
            (Ok(direct), Ok((over, _)))
                if direct.length.hypot(high - low) <= over.length + climb =>
            {
                Ok(self.direct(direct))
            }
            (_, Ok((over, nearest))) => Ok(self.raised(over, height, nearest)),
            (Ok(direct), Err(_)) => Ok(self.direct(direct)),
            (Err(source), Err(over)) => Err(PathError::RouteOver {
                goal,
                source,
                height,
                over: Box::new(over),
            }),
        }
    }

    /// The way at a height above all ends, with the distance of the legs up and down from what is
    /// beside them.
    #[allow(clippy::type_complexity)]
    fn over(
        &self,
        height: f64,
        observer: &mut Observer<'_>,
    ) -> Result<Result<(Way<'a>, f64), RouteError>, PathError> {
        observer(Stage::World);
        let mut nearest = f64::INFINITY;
        for (end, place) in [(End::Start, &self.from), (End::Goal, &self.to)] {
            let shapes = self.blocking((place.2, height));
            if let Err(error) = check_end(&self.world_at(&shapes, &place.1)?, end, &place.1) {
                return Ok(Err(error));
            }
            nearest = shapes
                .iter()
                .fold(nearest, |least, shape| shape.distance(&[place.1], least));
        }
        let way = self.way((height, height), observer)?;
        Ok(way.map(|way| (way, nearest)))
    }

    fn direct(&self, way: Way<'_>) -> Leg {
        let settings = self.settings;
        let path = TipPath::new(
            &settings.plane,
            &way.points,
            settings.clearance,
            *self.from.0,
            *self.to.0,
        );
        self.finished(path, way, f64::INFINITY)
    }

    fn raised(&self, way: Way<'_>, height: f64, nearest: f64) -> Leg {
        let settings = self.settings;
        let path = TipPath::over(
            &settings.plane,
            &way.points,
            height,
            settings.clearance,
            *self.from.0,
            *self.to.0,
        );
        self.finished(path, way, nearest)
    }

    fn finished(&self, path: TipPath, way: Way<'_>, nearest: f64) -> Leg {
        let shadow = path.shadow();
        let clearance = way
            .shapes
            .iter()
            .fold(nearest, |least, shape| shape.distance(&shadow, least));
        let scene = if self.settings.scene {
            PathScene {
                outlines: rings(&way.world),
                edges: way.roadmap.edge_list(),
                roadmap: way.roadmap.name(),
            }
        } else {
            PathScene {
                roadmap: way.roadmap.name(),
                ..PathScene::default()
            }
        };
        Leg {
            path,
            route: way.points,
            scene,
            clearance,
        }
    }
}
