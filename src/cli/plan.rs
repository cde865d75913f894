//! `arm-planner plan`: a timed motion around obstacles, without ROS.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::arm::{check_limit, pose, write_text, ArmOptions, JointValues, Numbers, TimeLimit};
use super::collision::ShapeOptions;
use super::follow_batch::FINEST;
use super::json::print_json;
use super::plan_report::{failure, partial_report, report, success};
use super::plan_story::{Asked, Came, Story};
use super::scene::{ContactArgument, Scene};
use super::stages::StageClock;
use super::{plan_picture, plan_report, CliError};
use crate::collision::{CollisionModel, CollisionWorld, Prism};
use crate::ik::IkRequest;
use crate::kinematics::{forward_kinematics, Pose};
use crate::model::{Chain, RobotModel};
use crate::motion::{partial_motion, plan_known, Known, PlanError, PlanErrorKind, PlanSettings};
use crate::planar::SelfCrossing;
use crate::planning::{collision_frame, ArmCheck, Obstacle, PathRequest, PathSettings};
use crate::trajectory::{LimitDefaults, MotionLimits, TimingOptions};

/// Plan a motion of the arm: the tip's shortest way around obstacles, the joint path that follows
/// it, and its timing.
#[derive(Debug, clap::Args)]
pub(super) struct PlanOptions {
    #[command(flatten)]
    arm: ArmOptions,
    /// Obstacles: JSON {"obstacles": [...]}, each a list of [x, y] corners or an object with polygon, id,
    /// min_height, max_height [m, base frame].
    #[arg(long, value_name = "FILE")]
    scene: Option<PathBuf>,
    /// Joint values at the start, in the chain's order or as joint=value (rad, m); others: middle of the range.
    #[arg(long, value_name = "VALUES", allow_hyphen_values = true)]
    start: JointValues,
    /// Pose of the tip in the base frame: x,y,z,qx,qy,qz,qw, or x,y,z to keep the orientation. May be repeated.
    #[arg(long, value_name = "POSE", required = true, allow_hyphen_values = true)]
    goal: Vec<Numbers>,
    /// Planning plane: its pose in the base frame, x,y,z or x,y,z,qx,qy,qz,qw; the scene is in its coordinates.
    #[arg(long, value_name = "POSE", allow_hyphen_values = true)]
    plane: Option<Numbers>,
    /// Height above the plane at which the tip may go up, over and down where it cannot go around, or where
    /// that is shorter (m).
    #[arg(long, value_name = "METRES", allow_negative_numbers = true)]
    safe_height: Option<f64>,
    /// Largest distance of the tip from its path between two configurations (m).
    #[arg(
        long,
        value_name = "METRES",
        default_value_t = 1e-3,
        allow_negative_numbers = true
    )]
    deviation: f64,
    /// The same for its orientation [degrees].
    #[arg(
        long,
        value_name = "DEGREES",
        default_value_t = 0.5,
        allow_negative_numbers = true
    )]
    angle_deviation: f64,
    /// Where the arm cannot follow, print the part of the path that it can (with --json: its configurations).
    #[arg(long)]
    partial: bool,
    /// Distance that the tip keeps from obstacles (m).
    #[arg(
        long,
        value_name = "METRES",
        default_value_t = 0.03,
        allow_negative_numbers = true
    )]
    clearance: f64,
    /// Road map; an unknown name lists the choices.
    #[arg(long, value_name = "NAME", default_value = "auto")]
    roadmap: String,
    /// Whether obstacles that touch can be slipped between.
    #[arg(long, value_enum, default_value = "blocked")]
    contact: ContactArgument,
    /// Solver for the goals.
    #[arg(long, value_name = "NAME", default_value = "")]
    solver: String,
    /// Fraction of the velocity limits, above 0 and at most 1.
    #[arg(
        long,
        value_name = "FACTOR",
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    velocity_scaling: f64,
    /// Fraction of the acceleration limits, above 0 and at most 1.
    #[arg(
        long,
        value_name = "FACTOR",
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    acceleration_scaling: f64,
    /// Velocity limit of joints whose description has none [rad/s, m/s].
    #[arg(
        long,
        value_name = "VALUE",
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    default_max_velocity: f64,
    /// Acceleration limit of all joints [rad/s², m/s²].
    #[arg(
        long,
        value_name = "VALUE",
        default_value_t = 3.0,
        allow_negative_numbers = true
    )]
    max_acceleration: f64,
    /// Largest speed of the tip (m/s).
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    tip_speed: Option<f64>,
    /// Largest acceleration of the tip (m/s²).
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    tip_acceleration: Option<f64>,
    #[command(flatten)]
    shapes: ShapeOptions,
    /// Keep the tip alone out of the obstacles, and look neither at the other links nor at what
    /// they do to each other.
    #[arg(long)]
    no_collision: bool,
    /// Where the arm cannot follow the route, let it go to the goal its own way, free of collisions.
    #[arg(long, conflicts_with = "no_collision")]
    leave_route: bool,
    /// Time between two points of the trajectory (s).
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 0.02,
        allow_negative_numbers = true
    )]
    sample_period: f64,
    #[command(flatten)]
    time: TimeLimit,
    /// Draw the plan view and the joint curves.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write the trajectory: time, then position, velocity and acceleration of each joint.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &PlanOptions) -> Result<(), CliError> {
    let (model, chain) = options.arm.load()?;
    let start = options.start.resolve(&chain, "--start", &chain.middle())?;
    let obstacles = match &options.scene {
        Some(path) => read_obstacles(path)?,
        None => Vec::new(),
    };
    let goals = goals(options, &chain, &start)?;
    let settings = settings(options, &chain)?;
    let budget = options.time.budget()?;

    let arm = whole_arm(options, &model, &chain, &obstacles, &settings.path.plane)?;
    let begun = Instant::now();
    let give_up = || begun.elapsed() > budget;
    let mut ik = IkRequest::new(Pose::identity());
    ik.give_up = Some(&give_up);
    let request = PathRequest {
        solver: &options.solver,
        // A picture shows where the arm is when it can go no further.
        partial: options.partial || options.svg.is_some(),
        collision: arm.as_ref().map(|(model, world)| ArmCheck { model, world }),
        leave_route: options.leave_route,
        ..PathRequest::new(&start, &goals, &ik)
    };
    let mut clock = StageClock::start();
    let observer = &mut |stage| clock.enter(stage);
    let mut known = Known::default();
    let result = plan_known(
        &mut known, &chain, &obstacles, &settings, &request, observer,
    );
    let planning_time = begun.elapsed().as_secs_f64();
    let stages = clock.stop();

    let part = match &result {
        Err(error) if options.partial => error.partial().and_then(|part| {
            let arm = known.tip.arm(&request);
            partial_motion(&chain, &obstacles, &settings, arm, &part.joint_path)
        }),
        _ => None,
    };
    let motion = match &result {
        Ok(plan) => Some(&plan.trajectory),
        Err(_) => part.as_ref(),
    };
    match (&options.csv, motion) {
        (Some(path), Some(motion)) => write_text(path, &plan_report::csv(motion))?,
        // What an earlier plan left there must not be taken for this one's.
        (Some(path), None) => errln!(
            "arm-planner: {} is not written: there is no motion{}",
            path.display(),
            if options.partial {
                ""
            } else {
                " (--partial: that of the part that can be followed)"
            }
        ),
        (None, _) => {}
    }
    if let Some(path) = &options.svg {
        let asked = Asked {
            chain: &chain,
            obstacles: &obstacles,
            settings: &settings,
            start: &start,
            goals: &goals,
        };
        let came = match &result {
            Ok(plan) => Came::Planned(plan),
            Err(error) => Came::Failed(error, part.as_ref()),
        };
        write_text(path, &plan_picture::draw(&Story::new(asked, &known, came)))?;
    }
    match result {
        Ok(plan) if options.json => print_json(&success(&plan, planning_time, &stages)),
        Ok(plan) => {
            out!("{}", report(&chain, &plan, planning_time, &stages));
            Ok(())
        }
        Err(error) => {
            let shown = error.partial().filter(|_| options.partial);
            if options.json {
                print_json(&failure(
                    &chain,
                    &error,
                    &known,
                    shown,
                    planning_time,
                    &stages,
                ))?;
            } else if let Some(part) = shown {
                out!("{}", partial_report(&chain, part, error.fraction()));
            }
            Err(sort(error))
        }
    }
}

fn read_obstacles(path: &Path) -> Result<Vec<Obstacle>, CliError> {
    let scene = Scene::read(path, SelfCrossing::Refuse)?;
    scene.report_repairs();
    if scene.boundary.is_some() {
        errln!(
            "arm-planner: warning: {}: the boundary is left out, an arm is kept in by its reach and by obstacles",
            path.display()
        );
    }
    Ok(scene.obstacles)
}

/// The arm's shapes and the obstacles that they must not meet; `None` where the tip alone counts.
fn whole_arm(
    options: &PlanOptions,
    model: &RobotModel,
    chain: &Chain,
    obstacles: &[Obstacle],
    plane: &Pose,
) -> Result<Option<(CollisionModel, CollisionWorld)>, CliError> {
    if options.no_collision {
        return Ok(None);
    }
    let links = &model.links;
    if links
        .iter()
        .all(|link| link.collision.is_empty() && link.visual.is_empty())
    {
        errln!(
            "arm-planner: warning: the description has no shapes, so the tip alone keeps out of obstacles"
        );
        return Ok(None);
    }
    let frame = collision_frame(plane);
    let arm = options
        .shapes
        .load_in(&options.arm.urdf, model, chain, &frame)?;
    let prisms: Vec<Prism> = obstacles
        .iter()
        .flat_map(|obstacle| obstacle.prisms(plane))
        .collect();
    let mut world =
        CollisionWorld::new(&prisms).map_err(|error| CliError::BadInput(error.to_string()))?;
    if let Some(ground) = options.shapes.ground {
        world = world.with_ground(ground);
    }
    Ok(Some((arm, world)))
}

/// A pose of three (the orientation is `orientation`) or seven numbers; `orientation` becomes its own.
fn pose_of(
    option: &str,
    numbers: &Numbers,
    orientation: &mut nalgebra::Vector4<f64>,
) -> Result<Pose, CliError> {
    let bad = |error: String| CliError::BadInput(format!("{option}: {error}"));
    let values = &numbers.0;
    match values.len() {
        3 => {}
        7 => *orientation = nalgebra::Vector4::new(values[3], values[4], values[5], values[6]),
        other => return Err(bad(format!("3 or 7 numbers are needed, not {other}"))),
    }
    pose(option, [values[0], values[1], values[2]], *orientation)
}

fn goals(options: &PlanOptions, chain: &Chain, start: &[f64]) -> Result<Vec<Pose>, CliError> {
    let bad = |error: String| CliError::BadInput(format!("--goal: {error}"));
    let tip = forward_kinematics(chain, start).map_err(|error| bad(error.to_string()))?;
    let mut orientation = tip.rotation.coords;
    options
        .goal
        .iter()
        .map(|numbers| pose_of("--goal", numbers, &mut orientation))
        .collect()
}

fn settings(options: &PlanOptions, chain: &Chain) -> Result<PlanSettings, CliError> {
    for (option, value) in [
        ("--default-max-velocity", Some(options.default_max_velocity)),
        ("--max-acceleration", Some(options.max_acceleration)),
        ("--tip-speed", options.tip_speed),
        ("--tip-acceleration", options.tip_acceleration),
    ] {
        value.map_or(Ok(()), |value| check_limit(option, value))?;
    }
    // Finer than this the rounding of poses counts.
    if options.deviation < FINEST {
        return Err(CliError::BadInput(format!(
            "--deviation must be {FINEST:e} m or more, not {}",
            options.deviation
        )));
    }
    let defaults = LimitDefaults {
        velocity: options.default_max_velocity,
        acceleration: options.max_acceleration,
        ..LimitDefaults::default()
    };
    let limits = MotionLimits::from_chain(chain, &defaults)
        .and_then(|limits| limits.scaled(options.velocity_scaling, options.acceleration_scaling))
        .map_err(|error| CliError::BadInput(error.to_string()))?;
    let mut level = nalgebra::Vector4::new(0.0, 0.0, 0.0, 1.0);
    let plane = match &options.plane {
        Some(numbers) => pose_of("--plane", numbers, &mut level)?,
        None => Pose::identity(),
    };
    Ok(PlanSettings {
        path: PathSettings {
            plane,
            safe_height: options.safe_height,
            deviation: options.deviation,
            angle_deviation: options.angle_deviation.to_radians(),
            scene: options.svg.is_some(),
            clearance: options.clearance,
            roadmap: options.roadmap.clone(),
            contact: options.contact.into(),
            ..PathSettings::default()
        },
        limits,
        sample_period: options.sample_period,
        timing: TimingOptions {
            tip_speed: options.tip_speed,
            tip_acceleration: options.tip_acceleration,
            ..TimingOptions::default()
        },
    })
}

/// Whether there is no solution, or the question was wrong.
fn sort(error: PlanError) -> CliError {
    match error.kind() {
        PlanErrorKind::InvalidRequest
        | PlanErrorKind::StartOutsideLimits
        | PlanErrorKind::UnknownRoadmap
        | PlanErrorKind::UnknownSolver => CliError::BadInput(error.to_string()),
        _ => CliError::NoSolution(error.to_string()),
    }
}
