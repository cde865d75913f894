//! `arm-planner ik-tree`: joint values for several tips at once.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Instant;

use serde::Serialize;

use super::arm::{pose, read_model, time_budget, JointValues, Numbers};
use super::json::print_pretty;
use super::table;
use super::CliError;
use crate::ik::{
    solve_tree, Goal, TipGoal, Tolerances, TreeBase, TreeError, TreeRequest, TreeSolution,
};
use crate::kinematics::Pose;
use crate::model::TreeChain;

/// Inverse kinematics of a tree: joint values that bring several tips to their targets at once.
#[derive(Debug, clap::Args)]
pub(super) struct IkTree {
    /// The robot description (URDF, xacro expanded).
    #[arg(long, value_name = "FILE")]
    urdf: PathBuf,
    /// The link at which the tree begins; the root if left out.
    #[arg(long, value_name = "LINK", default_value = "")]
    base: String,
    /// Respect the soft limits of <safety_controller>, too.
    #[arg(long)]
    soft_limits: bool,
    /// A tip and where it should be: position [m] alone, or with a quaternion. Once for each tip.
    #[arg(
        long = "goal",
        value_name = "LINK=X,Y,Z[,QX,QY,QZ,QW]",
        required = true
    )]
    goals: Vec<LinkNumbers>,
    /// What a squared error of a tip counts beside those of the others; 1 if left out.
    #[arg(long = "weight", value_name = "LINK=W")]
    weights: Vec<LinkNumbers>,
    /// Where the base is, in the frame of the goals; the origin if left out.
    #[arg(long, value_name = "X,Y,Z[,QX,QY,QZ,QW]", allow_hyphen_values = true)]
    base_pose: Option<Numbers>,
    /// Let the base move as the tips need it, starting from its pose.
    #[arg(long)]
    free_base: bool,
    /// Start: values in the tree's order (a,b,c) or by name (joint=value,…); the middle of the
    /// limits if left out [rad, m].
    #[arg(long, value_name = "VALUES", allow_hyphen_values = true)]
    seed: Option<JointValues>,
    /// Do not start again elsewhere than at the seed.
    #[arg(long)]
    no_restarts: bool,
    /// Largest distance of a tip from its position [m].
    #[arg(
        long,
        value_name = "METRES",
        allow_hyphen_values = true,
        default_value_t = 1e-6
    )]
    position_tolerance: f64,
    /// Largest angle between a tip and its orientation [rad].
    #[arg(
        long,
        value_name = "RADIANS",
        allow_hyphen_values = true,
        default_value_t = 1e-6
    )]
    orientation_tolerance: f64,
    /// Time budget.
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    timeout: Option<f64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// `LINK=a,b,c`.
#[derive(Debug, Clone, PartialEq)]
struct LinkNumbers {
    link: String,
    numbers: Vec<f64>,
}

impl FromStr for LinkNumbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (link, numbers) = text
            .split_once('=')
            .ok_or_else(|| format!("\"{text}\" is not of the form LINK=numbers"))?;
        Ok(LinkNumbers {
            link: link.trim().to_owned(),
            numbers: Numbers::from_str(numbers)?.0,
        })
    }
}

#[derive(Debug, Serialize)]
struct Output<'a> {
    ok: bool,
    message: String,
    joints: Vec<String>,
    q: &'a [f64],
    base_position: [f64; 3],
    base_quaternion: [f64; 4],
    tips: Vec<Tip<'a>>,
    iterations: u32,
    time_us: f64,
}

#[derive(Debug, Serialize)]
struct Tip<'a> {
    link: &'a str,
    position_error: f64,
    orientation_error: f64,
}

/// A position, or a whole pose.
fn target(numbers: &[f64], what: &str) -> Result<(Pose, Goal), CliError> {
    let (position, quaternion, goal) = match *numbers {
        [x, y, z] => ([x, y, z], [0.0, 0.0, 0.0, 1.0], Goal::Position),
        [x, y, z, qx, qy, qz, qw] => ([x, y, z], [qx, qy, qz, qw], Goal::Pose),
        _ => {
            return Err(CliError::BadInput(format!(
            "{what} takes 3 numbers (position) or 7 (position and quaternion x, y, z, w), not {}",
            numbers.len()
        )))
        }
    };
    Ok((pose(what, position, quaternion)?, goal))
}

fn seed(values: &JointValues, tree: &TreeChain) -> Result<Vec<f64>, CliError> {
    let bad = |text: String| CliError::BadInput(format!("--seed {text}"));
    match values {
        JointValues::Ordered(values) if values.len() == tree.dof() => Ok(values.clone()),
        JointValues::Ordered(values) => Err(bad(format!(
            "has {} values, the tree has {} degrees of freedom: {}",
            values.len(),
            tree.dof(),
            tree.joint_names().join(", ")
        ))),
        JointValues::Named(names, values) => {
            let mut seed = tree.middle();
            for (name, &value) in names.iter().zip(values) {
                let slot = tree.dof_index(name).and_then(|index| seed.get_mut(index));
                *slot.ok_or_else(|| {
                    bad(format!(
                        "names \"{name}\", which moves no tip; joints: {}",
                        tree.joint_names().join(", ")
                    ))
                })? = value;
            }
            Ok(seed)
        }
    }
}

pub(super) fn run(options: &IkTree) -> Result<(), CliError> {
    let bad = |text: String| CliError::BadInput(text);
    let model = read_model(&options.urdf)?;
    for warning in &model.warnings {
        errln!("arm-planner: warning: {warning}");
    }
    let names: Vec<&str> = options
        .goals
        .iter()
        .map(|goal| goal.link.as_str())
        .collect();
    let tree = model
        .tree(&options.base, &names, options.soft_limits)
        .map_err(|error| bad(error.to_string()))?;
    if let Some(other) = options
        .weights
        .iter()
        .find(|w| !names.contains(&w.link.as_str()))
    {
        return Err(bad(format!(
            "--weight names \"{}\", which has no --goal",
            other.link
        )));
    }
    let mut tips = Vec::with_capacity(names.len());
    for asked in &options.goals {
        let (target, goal) = self::target(&asked.numbers, &format!("--goal {}", asked.link))?;
        let weight = match options.weights.iter().find(|w| w.link == asked.link) {
            None => 1.0,
            Some(weight) => match weight.numbers.as_slice() {
                [weight] => *weight,
                _ => return Err(bad(format!("--weight {} takes one number", asked.link))),
            },
        };
        tips.push(TipGoal {
            target,
            goal,
            weight,
        });
    }
    let base = match &options.base_pose {
        None => Pose::identity(),
        Some(numbers) => target(&numbers.0, "--base-pose")?.0,
    };
    let timeout = options.timeout.map(time_budget).transpose()?;
    let seed = match &options.seed {
        Some(values) => seed(values, &tree)?,
        None => tree.middle(),
    };
    let began = Instant::now();
    let late = || timeout.is_some_and(|timeout| began.elapsed() >= timeout);
    let mut request = TreeRequest::new(tips);
    request.base = if options.free_base {
        TreeBase::Free(base)
    } else {
        TreeBase::Fixed(base)
    };
    request.tolerances = Tolerances {
        position: options.position_tolerance,
        orientation: options.orientation_tolerance,
    };
    request.restarts = !options.no_restarts;
    if timeout.is_some() {
        request.give_up = Some(&late);
    }
    let result = solve_tree(&tree, &request, &seed);
    let time_us = began.elapsed().as_secs_f64() * 1e6;
    match result {
        Ok(solution) => print(options, &tree, &solution, "", time_us),
        Err(error @ TreeError::NotConverged { .. }) => {
            let message = error.to_string();
            if let TreeError::NotConverged { best, .. } = &error {
                print(options, &tree, best, &message, time_us)?;
            }
            Err(CliError::NoSolution(message))
        }
        Err(error) => Err(bad(error.to_string())),
    }
}

fn print(
    options: &IkTree,
    tree: &TreeChain,
    solution: &TreeSolution,
    failure: &str,
    time_us: f64,
) -> Result<(), CliError> {
    let base = &solution.base;
    let (p, r) = (base.translation.vector, base.rotation.coords);
    if options.json {
        let output = Output {
            ok: failure.is_empty(),
            message: failure.to_owned(),
            joints: tree.joint_names(),
            q: &solution.q,
            base_position: [p.x, p.y, p.z],
            base_quaternion: [r.x, r.y, r.z, r.w],
            tips: solution
                .tips
                .iter()
                .map(|tip| Tip {
                    link: &tip.tip,
                    position_error: tip.position_error,
                    orientation_error: tip.orientation_error,
                })
                .collect(),
            iterations: solution.iterations,
            time_us,
        };
        print_pretty(&output)?;
        return Ok(());
    }
    if !failure.is_empty() {
        outln!("best try:");
    }
    let joints = tree.dofs.iter().zip(&solution.q);
    let rows: Vec<Vec<String>> = joints
        .map(|(dof, value)| vec![dof.name.clone(), format!("{value:.6}")])
        .collect();
    out!("{}", table::render(&["joint", "value"], &rows));
    outln!();
    let rows: Vec<Vec<String>> = solution
        .tips
        .iter()
        .map(|tip| {
            vec![
                tip.tip.clone(),
                format!("{:.1e}", tip.position_error),
                format!("{:.1e}", tip.orientation_error),
            ]
        })
        .collect();
    let header = ["tip", "position error [m]", "orientation error [rad]"];
    out!("{}", table::render(&header, &rows));
    if options.free_base {
        outln!(
            "base: position {:.6} {:.6} {:.6}, quaternion {:.6} {:.6} {:.6} {:.6}",
            p.x,
            p.y,
            p.z,
            r.x,
            r.y,
            r.z,
            r.w
        );
    }
    outln!("{} iterations in {time_us:.0} us", solution.iterations);
    Ok(())
}
