//! The whole way from goals to a timed trajectory, and a last look at it.

mod error;

pub use error::{PlanError, PlanErrorKind};

use nalgebra::{Point2, Point3};

use crate::collision::{MotionChecker, MotionVerdict};
use crate::kinematics::{forward_kinematics, Pose};
use crate::model::Chain;
use crate::planar::predicates::Side;
use crate::planning::{
    follow_tip, plan_tip_into, ArmCheck, ArmPath, JointPath, Observer, Obstacle, PathRequest,
    PathSettings, Stage, TipPlan,
};
use crate::trajectory::{
    MotionLimits, RetimeError, TimedPath, TimingOptions, Trajectory, TrajectoryPoint,
};

/// How far \[m\] the timed motion may come closer to an obstacle than the clearance: what smooth
/// interpolation between samples costs. Beyond it the path is sampled more finely.
pub const PATH_TOLERANCE: f64 = 1e-4;

/// How often the sampling is halved before the planner gives up.
const REFINEMENTS: u32 = 4;

/// Spacing in time \[s\] at which the finished motion is compared with the obstacles, and how
/// many samples there are at most.
const CHECK_PERIOD: (f64, usize) = (2e-3, 50_000);

/// Samples that are compared with the same few obstacles.
const GROUP: usize = 16;

/// Motions between points of the trajectory that come so close \[m\] to a contact are not told from it.
const SWEEP: f64 = 2e-5;

/// How to plan, and how fast to move.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanSettings {
    /// How to plan.
    pub path: PathSettings,
    /// How fast the joints may move, the request's factors included.
    pub limits: MotionLimits,
    /// Time \[s\] between two points of the trajectory.
    pub sample_period: f64,
    /// Limits of the tip's speed and acceleration, where there are some.
    pub timing: TimingOptions,
}

/// A path and the trajectory along it, at rest at both ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The path of the arm.
    pub path: ArmPath,
    /// The timed motion; one point at time zero if the arm is already there.
    pub trajectory: Trajectory,
}

/// Plans a path for the arm, see [`crate::planning::plan_path`], times it within the limits, and checks that
/// the motion as it will be executed keeps the clearance.
///
/// # Errors
/// See [`PlanError`].
pub fn plan(
    chain: &Chain,
    obstacles: &[Obstacle],
    settings: &PlanSettings,
    request: &PathRequest<'_>,
) -> Result<Plan, PlanError> {
    plan_observed(chain, obstacles, settings, request, &mut |_| {})
}

/// As [`plan`]; `observer` is told of each stage as it begins.
///
/// # Errors
/// See [`PlanError`].
pub fn plan_observed(
    chain: &Chain,
    obstacles: &[Obstacle],
    settings: &PlanSettings,
    request: &PathRequest<'_>,
    observer: &mut Observer<'_>,
) -> Result<Plan, PlanError> {
    plan_known(
        &mut Known::default(),
        chain,
        obstacles,
        settings,
        request,
        observer,
    )
}

/// How far a plan came, for those who show plans that fail.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Known {
    /// The tip's path as far as it was found.
    pub tip: TipPlan,
    /// The path of the arm, where there is one that cannot be timed or executed.
    pub path: Option<ArmPath>,
    /// The timed motion in which a fault was found.
    pub trajectory: Option<Trajectory>,
}

/// As [`plan_observed`]; where there is an error, `known` holds what was found before it.
///
/// # Errors
/// See [`PlanError`].
pub fn plan_known(
    known: &mut Known,
    chain: &Chain,
    obstacles: &[Obstacle],
    settings: &PlanSettings,
    request: &PathRequest<'_>,
    observer: &mut Observer<'_>,
) -> Result<Plan, PlanError> {
    *known = Known::default();
    settings.timing.check()?;
    let tip = &mut known.tip;
    plan_tip_into(tip, chain, obstacles, &settings.path, request, observer)?;
    let arm = tip.arm(request);
    let off = |path: &ArmPath, trajectory: &Trajectory| {
        off_between_points(chain, obstacles, settings, arm, path, trajectory)
    };
    let too_few = |trajectory: &Trajectory, off: f64| PlanError::TooFewPoints {
        period: settings.sample_period,
        duration: trajectory.duration(),
        off,
    };
    let mut path_settings = settings.path.clone();
    let mut refinements = 0;
    // What is wrong with the motion through coarser samples.
    let mut last_fault = None;
    loop {
        let path = follow_tip(chain, tip, &path_settings, request, observer).map_err(|error| {
            let late = PlanError::from(error);
            match last_fault.take() {
                Some(fault) if late.kind() == PlanErrorKind::TimedOut => PlanError::Late {
                    fault: Box::new(fault),
                },
                _ => late,
            }
        })?;
        observer(Stage::Timing);
        let trajectory = match timed(chain, &path.joint_path, settings) {
            Ok(trajectory) => trajectory,
            Err(error) => {
                known.path = Some(path);
                return Err(error.into());
            }
        };
        observer(Stage::Check);
        let on_route = path.left_route.is_empty();
        let fault = fault(chain, obstacles, settings, arm, on_route, &trajectory);
        match fault {
            None => {
                let coarse = settings.sample_period > FINE.2;
                let off = coarse.then(|| off(&path, &trajectory)).flatten();
                match off.filter(|off| *off > settings.path.deviation) {
                    None => return Ok(Plan { path, trajectory }),
                    Some(off) => {
                        let error = too_few(&trajectory, off);
                        (known.path, known.trajectory) = (Some(path), Some(trajectory));
                        return Err(error);
                    }
                }
            }
            Some(fault) if refinements == REFINEMENTS => {
                let off = off(&path, &trajectory);
                let error = off.map_or(fault, |off| too_few(&trajectory, off));
                (known.path, known.trajectory) = (Some(path), Some(trajectory));
                return Err(error);
            }
            Some(fault) => {
                last_fault = Some(fault);
                refinements += 1;
                path_settings.tip_step *= 0.5;
                path_settings.angle_step *= 0.5;
                path_settings.max_joint_step *= 0.5;
            }
        }
    }
}

/// Points this far apart \[s\] show a motion as it is, as long as there are not more than the second number of them; those
/// farther apart than the third are compared with them.
const FINE: (f64, f64, f64) = (5e-3, 2e3, 5e-2);

/// How far \[m\] the tip, moving smoothly through the points of a trajectory, leaves the way that it takes with points closer
/// together, if that one is free: what is wrong is then that there are too few of them.
fn off_between_points(
    chain: &Chain,
    obstacles: &[Obstacle],
    settings: &PlanSettings,
    arm: Option<ArmCheck<'_>>,
    path: &ArmPath,
    coarse: &Trajectory,
) -> Option<f64> {
    let duration = coarse.duration();
    let finer = PlanSettings {
        sample_period: FINE.0.max(duration / FINE.1),
        ..settings.clone()
    };
    if settings.sample_period <= finer.sample_period {
        return None;
    }
    let fine = timed(chain, &path.joint_path, &finer).ok()?;
    let place = |q: &[f64]| {
        let tip = forward_kinematics(chain, q).ok()?;
        Some(Point3::from(tip.translation.vector))
    };
    let planned: Vec<Point3<f64>> = fine
        .points
        .iter()
        .filter_map(|point| place(&point.positions))
        .collect();
    let off = (0..=fine.points.len())
        .filter_map(|k| coarse.sample(duration * k as f64 / fine.points.len() as f64))
        .filter_map(|point| place(&point.positions))
        .map(|tip| distance(&planned, &tip))
        .fold(0.0, f64::max);
    let on_route = path.left_route.is_empty();
    let free = fault(chain, obstacles, &finer, arm, on_route, &fine).is_none();
    free.then_some(off)
}

/// Distance of a point from a polyline \[m\].
fn distance(line: &[Point3<f64>], point: &Point3<f64>) -> f64 {
    line.windows(2)
        .map(|pair| {
            let (leg, to) = (pair[1] - pair[0], point - pair[0]);
            let along = (to.dot(&leg) / leg.norm_squared().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
            (to - leg * along).norm()
        })
        .fold(f64::INFINITY, f64::min)
}

/// The motion along the part of a path that can be followed, from rest to rest, checked as a whole plan is; some
/// less of it where its very end comes too close to something. `None` where nothing of it can be moved along.
pub fn partial_motion(
    chain: &Chain,
    obstacles: &[Obstacle],
    settings: &PlanSettings,
    arm: Option<ArmCheck<'_>>,
    part: &JointPath,
) -> Option<Trajectory> {
    let mut part = part.clone();
    while part.points.len() > 1 {
        let motion = timed(chain, &part, settings).ok()?;
        if fault(chain, obstacles, settings, arm, true, &motion).is_none() {
            return Some(motion);
        }
        let count = part.points.len();
        let keep = count - (count / 8).max(1);
        part.points.truncate(keep);
        part.stops.retain(|stop| stop + 1 < keep);
    }
    None
}

/// What is wrong with a finished motion, if anything is.
fn fault(
    chain: &Chain,
    obstacles: &[Obstacle],
    settings: &PlanSettings,
    arm: Option<ArmCheck<'_>>,
    on_route: bool,
    trajectory: &Trajectory,
) -> Option<PlanError> {
    // Off its route the tip keeps no clearance of its own; the arm keeps the links'.
    if on_route {
        let PathSettings {
            clearance, plane, ..
        } = &settings.path;
        match violation_in(plane, chain, obstacles, *clearance, trajectory) {
            Some((missing, obstacle)) if missing > PATH_TOLERANCE => {
                return Some(PlanError::TooClose { obstacle, missing })
            }
            _ => {}
        }
    }
    collision(arm?, trajectory).map(|(time, contact)| PlanError::Collides { time, contact })
}

/// When \[s\] and what the arm meets first along a trajectory, checked between its points, too (as if
/// the joints moved in straight lines between samples at most 10 ms apart).
pub fn collision(
    arm: ArmCheck<'_>,
    trajectory: &Trajectory,
) -> Option<(f64, crate::collision::Contact)> {
    const LOOK: f64 = 1e-2;
    let mut checker = MotionChecker::new(arm.model, arm.world);
    let mut last: Option<(f64, Vec<f64>)> = None;
    for (point, next) in trajectory
        .points
        .iter()
        .zip(trajectory.points.iter().skip(1).map(Some).chain([None]))
    {
        let inner = match next {
            Some(next) => ((next.time - point.time) / LOOK).ceil().clamp(1.0, 1e4) as usize,
            None => 1,
        };
        for part in 0..inner {
            let time = match next {
                Some(next) => point.time + (next.time - point.time) * part as f64 / inner as f64,
                None => point.time,
            };
            let q = if part == 0 {
                point.positions.clone()
            } else {
                trajectory.sample(time)?.positions
            };
            let (before, from) = last.take().unwrap_or_else(|| (time, q.clone()));
            match checker.motion(&from, &q, SWEEP).ok()? {
                MotionVerdict::Free | MotionVerdict::TooClose(_) => {}
                MotionVerdict::Contact(met) => {
                    return Some((before + (time - before) * met.fraction, met.contact));
                }
            }
            last = Some((time, q));
        }
    }
    None
}

/// The motion along a path of the joints, from rest to rest; a single point at time zero where nothing moves.
///
/// # Errors
/// See [`RetimeError`].
pub fn timed(
    chain: &Chain,
    path: &JointPath,
    settings: &PlanSettings,
) -> Result<Trajectory, RetimeError> {
    match TimedPath::with_options(path, chain, &settings.limits, &settings.timing) {
        Ok(timed) => timed.trajectory(chain.joint_names(), settings.sample_period),
        Err(RetimeError::NoMotion) => Ok(Trajectory {
            joint_names: chain.joint_names(),
            points: vec![TrajectoryPoint {
                time: 0.0,
                positions: path.points.first().cloned().unwrap_or_default(),
                velocities: vec![0.0; chain.dof()],
                accelerations: vec![0.0; chain.dof()],
            }],
        }),
        Err(error) => Err(error),
    }
}

/// By how much \[m\] the tip comes closer than `clearance` \[m\] to an obstacle (in the base frame), along the
/// whole trajectory, and to which one it does so most; `None` if it does not.
pub fn violation(
    chain: &Chain,
    obstacles: &[Obstacle],
    clearance: f64,
    trajectory: &Trajectory,
) -> Option<(f64, String)> {
    violation_in(&Pose::identity(), chain, obstacles, clearance, trajectory)
}

/// As [`violation`], for obstacles in the planning plane at `plane` (base frame).
pub fn violation_in(
    plane: &Pose,
    chain: &Chain,
    obstacles: &[Obstacle],
    clearance: f64,
    trajectory: &Trajectory,
) -> Option<(f64, String)> {
    if obstacles.is_empty() {
        return None;
    }
    let boxes: Vec<Bounds> = obstacles.iter().map(Bounds::of).collect();
    let duration = trajectory.duration();
    let count = ((duration / CHECK_PERIOD.0).ceil() as usize).clamp(1, CHECK_PERIOD.1);
    let mut worst: Option<(f64, &Obstacle)> = None;
    let mut group: Vec<(Point2<f64>, f64)> = Vec::with_capacity(GROUP);
    for sample in 0..=count {
        let point = trajectory.sample(duration * sample as f64 / count as f64)?;
        let tip = forward_kinematics(chain, &point.positions).ok()?;
        let tip = plane.inverse_transform_point(&tip.translation.vector.into());
        group.push((tip.xy(), tip.z));
        if group.len() < GROUP && sample < count {
            continue;
        }
        let around = Bounds::around(&group);
        for (obstacle, bounds) in obstacles.iter().zip(&boxes) {
            if !bounds.is_within(clearance, &around) {
                continue;
            }
            for (shadow, height) in &group {
                let missing = clearance - gap(obstacle, shadow, *height);
                if missing > 0.0 && worst.is_none_or(|(most, _)| missing > most) {
                    worst = Some((missing, obstacle));
                }
            }
        }
        group.clear();
    }
    worst.map(|(missing, obstacle)| (missing, obstacle.id.clone()))
}

/// Distance \[m\] of a point from a prism; inside, minus the least way out.
fn gap(obstacle: &Obstacle, shadow: &Point2<f64>, height: f64) -> f64 {
    let aside = match obstacle.polygon.locate(shadow) {
        Side::Inside => -obstacle.polygon.boundary_distance(shadow),
        _ => obstacle.polygon.distance(shadow),
    };
    let above = (obstacle.min_height - height).max(height - obstacle.max_height);
    if aside > 0.0 && above > 0.0 {
        aside.hypot(above)
    } else {
        aside.max(above)
    }
}

/// A box with sides along the plane's axes.
struct Bounds {
    low: [f64; 3],
    high: [f64; 3],
}

impl Bounds {
    fn around(points: &[(Point2<f64>, f64)]) -> Bounds {
        let mut bounds = Bounds {
            low: [f64::INFINITY; 3],
            high: [f64::NEG_INFINITY; 3],
        };
        for (shadow, height) in points {
            for (axis, value) in [shadow.x, shadow.y, *height].into_iter().enumerate() {
                bounds.low[axis] = bounds.low[axis].min(value);
                bounds.high[axis] = bounds.high[axis].max(value);
            }
        }
        bounds
    }

    fn of(obstacle: &Obstacle) -> Bounds {
        let corners: Vec<(Point2<f64>, f64)> = obstacle
            .polygon
            .edges()
            .flat_map(|(a, b)| [(a, obstacle.min_height), (b, obstacle.max_height)])
            .collect();
        Bounds::around(&corners)
    }

    /// Whether `other` comes closer than `distance` along every axis.
    fn is_within(&self, distance: f64, other: &Bounds) -> bool {
        (0..3).all(|axis| {
            other.low[axis] < self.high[axis] + distance
                && self.low[axis] < other.high[axis] + distance
        })
    }
}
