//! The whole way from goals to a timed trajectory, and a last look at it.

mod error;

pub use error::{PlanError, PlanErrorKind};

use nalgebra::Point2;

use crate::kinematics::forward_kinematics;
use crate::model::Chain;
use crate::planar::predicates::Side;
use crate::planning::{plan_path, ArmPath, Obstacle, PathRequest, PathSettings};
use crate::trajectory::{MotionLimits, RetimeError, TimedPath, Trajectory, TrajectoryPoint};

/// How far \[m\] the timed motion may come closer to an obstacle than the clearance: what smooth
/// interpolation between samples costs. Beyond it the path is sampled more finely.
pub const PATH_TOLERANCE: f64 = 1e-4;

/// How often the sampling is halved before the planner gives up.
const REFINEMENTS: u32 = 4;

/// Spacing in time \[s\] at which the finished motion is compared with the obstacles, and how
/// many samples there are at most.
const CHECK_PERIOD: (f64, usize) = (2e-3, 50_000);

/// How to plan, and how fast to move.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanSettings {
    /// How to plan.
    pub path: PathSettings,
    /// How fast the joints may move, the request's factors included.
    pub limits: MotionLimits,
    /// Time \[s\] between two points of the trajectory.
    pub sample_period: f64,
}

/// A path and the trajectory along it, at rest at both ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The path of the arm.
    pub path: ArmPath,
    /// The timed motion; one point at time zero if the arm is already there.
    pub trajectory: Trajectory,
}

/// Plans a path for the arm, see [`plan_path`], times it within the limits, and checks that the
/// motion as it will be executed keeps the clearance.
///
/// # Errors
/// See [`PlanError`].
pub fn plan(
    chain: &Chain,
    obstacles: &[Obstacle],
    settings: &PlanSettings,
    request: &PathRequest<'_>,
) -> Result<Plan, PlanError> {
    let mut path_settings = settings.path.clone();
    let mut refinements = 0;
    loop {
        let path = plan_path(chain, obstacles, &path_settings, request)?;
        let trajectory = timed(chain, &path, settings)?;
        match violation(chain, obstacles, settings.path.clearance, &trajectory) {
            Some((missing, obstacle)) if missing > PATH_TOLERANCE => {
                if refinements == REFINEMENTS {
                    return Err(PlanError::TooClose { obstacle, missing });
                }
                refinements += 1;
                path_settings.tip_step *= 0.5;
                path_settings.angle_step *= 0.5;
            }
            _ => return Ok(Plan { path, trajectory }),
        }
    }
}

/// The motion along the path; a single point at time zero where nothing moves.
fn timed(
    chain: &Chain,
    path: &ArmPath,
    settings: &PlanSettings,
) -> Result<Trajectory, RetimeError> {
    match TimedPath::new(&path.joint_path, chain, &settings.limits) {
        Ok(timed) => timed.trajectory(chain.joint_names(), settings.sample_period),
        Err(RetimeError::NoMotion) => Ok(Trajectory {
            joint_names: chain.joint_names(),
            points: vec![TrajectoryPoint {
                time: 0.0,
                positions: path.joint_path.points.first().cloned().unwrap_or_default(),
                velocities: vec![0.0; chain.dof()],
                accelerations: vec![0.0; chain.dof()],
            }],
        }),
        Err(error) => Err(error),
    }
}

/// By how much \[m\] the tip comes closer than `clearance` \[m\] to an obstacle at its height, along
/// the whole trajectory, and to which one it does so most; `None` if it does not.
pub fn violation(
    chain: &Chain,
    obstacles: &[Obstacle],
    clearance: f64,
    trajectory: &Trajectory,
) -> Option<(f64, String)> {
    if obstacles.is_empty() {
        return None;
    }
    let duration = trajectory.duration();
    let count = ((duration / CHECK_PERIOD.0).ceil() as usize).clamp(1, CHECK_PERIOD.1);
    let mut worst: Option<(f64, &Obstacle)> = None;
    for sample in 0..=count {
        let point = trajectory.sample(duration * sample as f64 / count as f64)?;
        let tip = forward_kinematics(chain, &point.positions)
            .ok()?
            .translation
            .vector;
        let shadow = Point2::new(tip.x, tip.y);
        for obstacle in obstacles {
            // A tip that slides along the top or bottom within the tolerance only touches it.
            if !obstacle.blocks((tip.z, tip.z), clearance - PATH_TOLERANCE) {
                continue;
            }
            let distance = match obstacle.polygon.locate(&shadow) {
                Side::Inside => -obstacle.polygon.boundary_distance(&shadow),
                _ => obstacle.polygon.distance(&shadow),
            };
            let missing = clearance - distance;
            if missing > 0.0 && worst.is_none_or(|(most, _)| missing > most) {
                worst = Some((missing, obstacle));
            }
        }
    }
    worst.map(|(missing, obstacle)| (missing, obstacle.id.clone()))
}
