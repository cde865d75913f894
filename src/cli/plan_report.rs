//! What `arm-planner plan` prints and writes: JSON, tables, and the trajectory as CSV.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::stages::Stages;
use super::table;
use crate::model::Chain;
use crate::motion::{Known, Plan, PlanError};
use crate::planning::Partial;
use crate::trajectory::{Trajectory, TrajectoryPoint};

#[derive(Debug, Serialize)]
pub(super) struct Output<'a> {
    ok: bool,
    reason: String,
    notes: &'a [String],
    length: f64,
    /// `null` where no obstacle is at the tip's height, or where it left its route.
    min_clearance: Option<f64>,
    fraction: f64,
    duration: f64,
    planning_time: f64,
    /// Time of each stage (s).
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

/// The part of a path that can be followed, as a table.
pub(super) fn partial_report(chain: &Chain, part: &Partial, fraction: f64) -> String {
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

pub(super) fn success<'a>(plan: &'a Plan, planning_time: f64, stages: &Stages) -> Output<'a> {
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
        route: numbers(&plan.path.routes),
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

/// Routes as lists of x and y.
fn numbers(routes: &[Vec<nalgebra::Point2<f64>>]) -> Vec<Vec<[f64; 2]>> {
    let route = |route: &Vec<nalgebra::Point2<f64>>| route.iter().map(|p| [p.x, p.y]).collect();
    routes.iter().map(route).collect()
}

pub(super) fn failure<'a>(
    chain: &Chain,
    error: &PlanError,
    known: &'a Known,
    part: Option<&Partial>,
    planning_time: f64,
    stages: &Stages,
) -> Output<'a> {
    Output {
        ok: false,
        reason: error.to_string(),
        notes: &known.tip.notes,
        length: known.tip.length(),
        min_clearance: None,
        fraction: error.fraction(),
        duration: 0.0,
        planning_time,
        stages: stages.named(),
        left_route: &[],
        partial: part.map_or(Vec::new(), |part| part.joint_path.points.clone()),
        roadmap: known.tip.scene.roadmap,
        route: numbers(&known.tip.routes),
        joints: chain.joint_names(),
        trajectory: Vec::new(),
    }
}

/// Samples of the motion from which the report takes the largest speeds.
const PEAK_SAMPLES: usize = 5000;

pub(super) fn report(chain: &Chain, plan: &Plan, planning_time: f64, stages: &Stages) -> String {
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
    let motion: Vec<TrajectoryPoint> = (0..=PEAK_SAMPLES)
        .filter_map(|k| {
            plan.trajectory
                .sample(duration * k as f64 / PEAK_SAMPLES as f64)
        })
        .collect();
    let peak = |pick: fn(&TrajectoryPoint) -> &Vec<f64>, joint: usize| {
        let values = motion.iter().filter_map(|point| pick(point).get(joint));
        values.fold(0.0_f64, |most, value| most.max(value.abs()))
    };
    let rows: Vec<Vec<String>> = chain
        .dofs
        .iter()
        .enumerate()
        .map(|(joint, dof)| {
            let end = |point: Option<&TrajectoryPoint>| {
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

/// A trajectory as CSV: time, then positions, velocities and accelerations, a column a joint.
pub(super) fn csv(trajectory: &Trajectory) -> String {
    let mut text = String::from("time");
    for quantity in ["position", "velocity", "acceleration"] {
        for name in &trajectory.joint_names {
            let _ = write!(text, ",{quantity} {}", name.replace([',', '"', '\n'], "_"));
        }
    }
    text.push('\n');
    for point in &trajectory.points {
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
