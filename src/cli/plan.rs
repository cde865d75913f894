//! `arm-planner plan`: a timed motion around obstacles, without ROS.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::arm::{write_text, ArmOptions, JointValues, Numbers};
use super::collision::ShapeOptions;
use super::scene::ContactArgument;
use super::stages::{StageClock, Stages};
use super::{plan_picture, plan_scene, table, CliError};
use crate::collision::{CollisionModel, CollisionWorld, Prism};
use crate::ik::IkRequest;
use crate::kinematics::{forward_kinematics, validated_pose, Pose};
use crate::model::{Chain, RobotModel};
use crate::motion::{plan_observed, Plan, PlanError, PlanErrorKind, PlanSettings};
use crate::planning::{collision_frame, ArmCheck, Obstacle, Partial, PathRequest, PathSettings};
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
    /// Joint values at the start, in the chain's order or as joint=value \[rad, m\]; others: middle of the range.
    #[arg(long, value_name = "VALUES", allow_hyphen_values = true)]
    start: JointValues,
    /// Pose of the tip in the base frame: x,y,z,qx,qy,qz,qw, or x,y,z to keep the orientation. May be repeated.
    #[arg(long, value_name = "POSE", required = true, allow_hyphen_values = true)]
    goal: Vec<Numbers>,
    /// Planning plane: its pose in the base frame, x,y,z or x,y,z,qx,qy,qz,qw; the scene is in its coordinates.
    #[arg(long, value_name = "POSE", allow_hyphen_values = true)]
    plane: Option<Numbers>,
    /// Height above the plane at which the tip may go up, over and down where it cannot go around, or where
    /// that is shorter \[m\].
    #[arg(long, value_name = "METRES", allow_negative_numbers = true)]
    safe_height: Option<f64>,
    /// Largest distance of the tip from its path between two configurations \[m\].
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
    /// Distance that the tip keeps from obstacles \[m\].
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
    /// Largest speed of the tip \[m/s\].
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    tip_speed: Option<f64>,
    /// Largest acceleration of the tip \[m/s²\].
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
    /// Time between two points of the trajectory \[s\].
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 0.02,
        allow_negative_numbers = true
    )]
    sample_period: f64,
    /// Give up after this time \[s\].
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 10.0,
        allow_negative_numbers = true
    )]
    timeout: f64,
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

#[derive(Debug, Serialize)]
struct Output<'a> {
    ok: bool,
    reason: String,
    notes: &'a [String],
    length: f64,
    /// `null` where no obstacle is at the tip's height, or where it left its route.
    min_clearance: Option<f64>,
    fraction: f64,
    duration: f64,
    planning_time: f64,
    /// Time of each stage \[s\].
    stages: BTreeMap<String, f64>,
    /// Goals, from 1, to which the tip left its route.
    left_route: &'a [usize],
    /// Configurations of the part that can be followed, where that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    partial: Vec<Vec<f64>>,
    /// The road map that gave the route.
    roadmap: &'static str,
    route: Vec<Vec<[f64; 2]>>,
    joints: Vec<String>,
    trajectory: Vec<Point<'a>>,
}

#[derive(Debug, Serialize)]
struct Point<'a> {
    time: f64,
    positions: &'a [f64],
    velocities: &'a [f64],
    accelerations: &'a [f64],
}

pub(super) fn run(options: &PlanOptions) -> Result<(), CliError> {
    let (model, chain) = options.arm.load()?;
    let start = options.start.resolve(&chain, "--start", &chain.middle())?;
    let obstacles = options
        .scene
        .as_deref()
        .map(plan_scene::read_obstacles)
        .transpose()?
        .unwrap_or_default();
    let goals = goals(options, &chain, &start)?;
    let settings = settings(options, &chain)?;
    if options.timeout.is_nan() || options.timeout <= 0.0 {
        return Err(CliError::BadInput(format!(
            "--timeout must be above zero, not {}",
            options.timeout
        )));
    }

    let arm = whole_arm(options, &model, &chain, &obstacles, &settings.path.plane)?;
    let begun = Instant::now();
    let budget = Duration::try_from_secs_f64(options.timeout).unwrap_or(Duration::MAX);
    let give_up = || begun.elapsed() > budget;
    let mut ik = IkRequest::new(Pose::identity());
    ik.give_up = Some(&give_up);
    let request = PathRequest {
        solver: &options.solver,
        partial: options.partial,
        collision: arm.as_ref().map(|(model, world)| ArmCheck { model, world }),
        leave_route: options.leave_route,
        ..PathRequest::new(&start, &goals, &ik)
    };
    let mut clock = StageClock::start();
    let observer = &mut |stage| clock.enter(stage);
    let result = plan_observed(&chain, &obstacles, &settings, &request, observer);
    let planning_time = begun.elapsed().as_secs_f64();
    let stages = clock.stop();

    match result {
        Ok(plan) => {
            if let Some(path) = &options.csv {
                write_text(path, &csv(&plan))?;
            }
            if let Some(path) = &options.svg {
                write_text(
                    path,
                    &plan_picture::draw(&chain, &obstacles, &settings, &plan),
                )?;
            }
            if options.json {
                print_json(&success(&plan, planning_time, &stages))
            } else {
                out!("{}", report(&chain, &plan, planning_time, &stages));
                Ok(())
            }
        }
        Err(error) => {
            if options.json {
                print_json(&failure(&chain, &error, planning_time, &stages))?;
            }
            if let (true, Some(part)) = (options.partial && !options.json, error.partial()) {
                out!("{}", partial_report(&chain, part, error.fraction()));
            }
            Err(sort(error))
        }
    }
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

fn print_json(output: &Output<'_>) -> Result<(), CliError> {
    let text =
        serde_json::to_string(output).map_err(|error| CliError::BadInput(error.to_string()))?;
    outln!("{text}");
    Ok(())
}

/// The part of a path that can be followed, as a table.
fn partial_report(chain: &Chain, part: &Partial, fraction: f64) -> String {
    let names = chain.joint_names();
    let header: Vec<&str> = names.iter().map(String::as_str).collect();
    let rows: Vec<Vec<String>> = part
        .joint_path
        .points
        .iter()
        .map(|q| q.iter().map(|value| format!("{value:.4}")).collect())
        .collect();
    format!(
        "the first {:.1} % of the path:\n{}",
        100.0 * fraction,
        table::render(&header, &rows)
    )
}

/// A pose of three (the orientation is `orientation`) or seven numbers; `orientation` becomes its own.
fn pose(
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
    validated_pose([values[0], values[1], values[2]], (*orientation).into())
        .map_err(|error| bad(error.to_string()))
}

fn goals(options: &PlanOptions, chain: &Chain, start: &[f64]) -> Result<Vec<Pose>, CliError> {
    let bad = |error: String| CliError::BadInput(format!("--goal: {error}"));
    let tip = forward_kinematics(chain, start).map_err(|error| bad(error.to_string()))?;
    let mut orientation = tip.rotation.coords;
    options
        .goal
        .iter()
        .map(|numbers| pose("--goal", numbers, &mut orientation))
        .collect()
}

fn settings(options: &PlanOptions, chain: &Chain) -> Result<PlanSettings, CliError> {
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
        Some(numbers) => pose("--plane", numbers, &mut level)?,
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

fn success<'a>(plan: &'a Plan, planning_time: f64, stages: &Stages) -> Output<'a> {
    let route = |route: &Vec<nalgebra::Point2<f64>>| route.iter().map(|p| [p.x, p.y]).collect();
    Output {
        ok: true,
        reason: String::new(),
        notes: &plan.path.notes,
        length: plan.path.length,
        min_clearance: Some(plan.path.min_clearance)
            .filter(|clearance| clearance.is_finite() && plan.path.left_route.is_empty()),
        fraction: 1.0,
        duration: plan.trajectory.duration(),
        planning_time,
        stages: stages.named(),
        left_route: &plan.path.left_route,
        partial: Vec::new(),
        roadmap: plan.path.scene.roadmap,
        route: plan.path.routes.iter().map(route).collect(),
        joints: plan.trajectory.joint_names.clone(),
        trajectory: plan
            .trajectory
            .points
            .iter()
            .map(|point| Point {
                time: point.time,
                positions: &point.positions,
                velocities: &point.velocities,
                accelerations: &point.accelerations,
            })
            .collect(),
    }
}

fn failure<'a>(
    chain: &Chain,
    error: &PlanError,
    planning_time: f64,
    stages: &Stages,
) -> Output<'a> {
    Output {
        ok: false,
        reason: error.to_string(),
        notes: &[],
        length: 0.0,
        min_clearance: None,
        fraction: error.fraction(),
        duration: 0.0,
        planning_time,
        stages: stages.named(),
        left_route: &[],
        partial: error
            .partial()
            .map_or(Vec::new(), |part| part.joint_path.points.clone()),
        roadmap: "",
        route: Vec::new(),
        joints: chain.joint_names(),
        trajectory: Vec::new(),
    }
}

/// Samples of the motion from which the report takes the largest speeds.
const PEAK_SAMPLES: usize = 5000;

fn report(chain: &Chain, plan: &Plan, planning_time: f64, stages: &Stages) -> String {
    let mut text = String::new();
    for note in &plan.path.notes {
        let _ = writeln!(text, "note: {note}");
    }
    let clearance = match plan.path.min_clearance {
        _ if !plan.path.left_route.is_empty() => {
            "the tip left its route, links keep theirs".to_owned()
        }
        distance if distance.is_finite() => format!("{distance:.4} m"),
        _ => "no obstacle at the tip's height".to_owned(),
    };
    let corners: usize = plan
        .path
        .routes
        .iter()
        .map(|route| route.len().saturating_sub(2))
        .sum();
    let _ = writeln!(
        text,
        "tip path    {:.4} m, {corners} corner(s)",
        plan.path.length
    );
    let _ = writeln!(text, "clearance   {clearance}");
    let _ = writeln!(
        text,
        "trajectory  {:.3} s, {} points",
        plan.trajectory.duration(),
        plan.trajectory.points.len()
    );
    for goal in &plan.path.left_route {
        let _ = writeln!(
            text,
            "off route   to goal {goal}: the arm cannot follow the route, it goes its own way"
        );
    }
    let _ = writeln!(
        text,
        "planned in  {:.1} ms: {}\n",
        planning_time * 1e3,
        stages.words()
    );
    // The motion itself, not its points alone: these may lie far apart.
    let duration = plan.trajectory.duration();
    let motion: Vec<crate::trajectory::TrajectoryPoint> = (0..=PEAK_SAMPLES)
        .filter_map(|k| {
            plan.trajectory
                .sample(duration * k as f64 / PEAK_SAMPLES as f64)
        })
        .collect();
    let peak = |pick: fn(&crate::trajectory::TrajectoryPoint) -> &Vec<f64>, joint: usize| {
        let values = motion.iter().filter_map(|point| pick(point).get(joint));
        values.fold(0.0_f64, |most, value| most.max(value.abs()))
    };
    let rows: Vec<Vec<String>> = chain
        .dofs
        .iter()
        .enumerate()
        .map(|(joint, dof)| {
            let end = |point: Option<&crate::trajectory::TrajectoryPoint>| {
                point
                    .and_then(|point| point.positions.get(joint))
                    .map_or(String::new(), |v| format!("{v:.4}"))
            };
            vec![
                dof.name.clone(),
                end(plan.trajectory.points.first()),
                end(plan.trajectory.points.last()),
                format!("{:.3}", peak(|point| &point.velocities, joint)),
                format!("{:.3}", peak(|point| &point.accelerations, joint)),
            ]
        })
        .collect();
    text.push_str(&table::render(
        &["joint", "start", "end", "top speed", "top acceleration"],
        &rows,
    ));
    text
}

fn csv(plan: &Plan) -> String {
    let mut text = String::from("time");
    for quantity in ["position", "velocity", "acceleration"] {
        for name in &plan.trajectory.joint_names {
            let _ = write!(text, ",{quantity} {}", name.replace([',', '"', '\n'], "_"));
        }
    }
    text.push('\n');
    for point in &plan.trajectory.points {
        let _ = write!(text, "{}", point.time);
        for value in point
            .positions
            .iter()
            .chain(&point.velocities)
            .chain(&point.accelerations)
        {
            let _ = write!(text, ",{value}");
        }
        text.push('\n');
    }
    text
}
