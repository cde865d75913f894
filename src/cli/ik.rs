//! `arm-planner ik`: joint values for a pose.

use std::time::Instant;

use serde::Serialize;

use super::arm::{pose, time_budget, ArmOptions, JointValues, Numbers};
use super::json::print_pretty;
use super::table;
use super::CliError;
use crate::ik::{
    solve_nearest, solver, Goal, IkError, IkRequest, IkSolution, Nearest, Posture, TaskAxes,
    Tolerances,
};
use crate::model::Chain;

/// Inverse kinematics: joint values that bring the tip to a pose.
#[derive(Debug, clap::Args)]
pub(super) struct Ik {
    #[command(flatten)]
    arm: ArmOptions,
    /// Position of the tip in the base frame (m).
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    position: Numbers,
    /// Orientation of the tip in the base frame; any length but zero.
    #[arg(
        long,
        value_name = "X,Y,Z,W",
        allow_hyphen_values = true,
        required_unless_present_any = ["position_only", "axes"]
    )]
    quaternion: Option<Numbers>,
    /// Leave the orientation free.
    #[arg(long)]
    position_only: bool,
    /// Ask for some axes alone: positions along x, y, z of the base frame, rotations rx, ry, rz
    /// about those of the target frame; e.g. xyz,rz for a SCARA arm, or xyz,rxy to leave the turn
    /// of the tool about its own z axis free.
    #[arg(long, value_name = "AXES", conflicts_with = "position_only")]
    axes: Option<TaskAxes>,
    /// Start: values in the chain's order (a,b,c) or by name (joint=value,…); the middle of the
    /// limits if left out (rad, m).
    #[arg(long, value_name = "VALUES", allow_hyphen_values = true)]
    seed: Option<JointValues>,
    /// Posture to stay close to where the goal leaves it free, like the seed; joints that are
    /// not named do not care (rad, m).
    #[arg(long, value_name = "VALUES", allow_hyphen_values = true)]
    posture: Option<JointValues>,
    /// Print all answers that are found, nearest to the seed first.
    #[arg(long)]
    all: bool,
    /// Solver; the default order if left out.
    #[arg(long, value_name = "NAME", default_value = "")]
    solver: String,
    /// Do not start again elsewhere than at the seed.
    #[arg(long)]
    no_restarts: bool,
    /// Largest distance of an answer from the position (m).
    #[arg(
        long,
        value_name = "METRES",
        allow_hyphen_values = true,
        default_value_t = 1e-6
    )]
    position_tolerance: f64,
    /// Largest angle between an answer and the orientation (rad).
    #[arg(
        long,
        value_name = "RADIANS",
        allow_hyphen_values = true,
        default_value_t = 1e-6
    )]
    orientation_tolerance: f64,
    /// Iterations of one descent.
    #[arg(long, value_name = "N", default_value_t = 200)]
    max_iterations: u32,
    /// Time budget.
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    timeout: Option<f64>,
    /// Where there is no answer, look for the configuration that comes nearest (a metre counts
    /// like a radian) and print it with what is left; the exit code still says that there is none.
    #[arg(long, conflicts_with = "all")]
    nearest: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Answers that `--all` asks for.
const ALL: usize = 64;

#[derive(Debug, Serialize)]
struct Output {
    ok: bool,
    message: String,
    joints: Vec<String>,
    solutions: Vec<Answer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<Answer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<Answer>,
    time_us: f64,
}

#[derive(Debug, Serialize)]
struct Answer {
    q: Vec<f64>,
    solver: &'static str,
    iterations: u32,
    position_error: f64,
    orientation_error: f64,
}

impl From<&IkSolution> for Answer {
    fn from(solution: &IkSolution) -> Self {
        Answer {
            q: solution.q.clone(),
            solver: solution.solver,
            iterations: solution.iterations,
            position_error: solution.position_error,
            orientation_error: solution.orientation_error,
        }
    }
}

pub(super) fn run(options: &Ik) -> Result<(), CliError> {
    let solver = solver(&options.solver).map_err(|error| CliError::BadInput(error.to_string()))?;
    let (_, chain) = options.arm.load()?;
    let began = Instant::now();
    let timeout = options.timeout.map(time_budget).transpose()?;
    let late = || timeout.is_some_and(|timeout| began.elapsed() >= timeout);
    let mut request = request(options, &chain)?;
    if timeout.is_some() {
        request.give_up = Some(&late);
    }
    let middle = chain.middle();
    let seed = match &options.seed {
        Some(values) => values.resolve(&chain, "--seed", &middle)?,
        None => middle,
    };
    if options.nearest {
        let result = solve_nearest(solver, &chain, &request, &seed);
        let time_us = began.elapsed().as_secs_f64() * 1e6;
        return match result {
            Ok(Nearest::Reached(solution)) => {
                report(options, &chain, Ok(vec![solution]), None, time_us)
            }
            Ok(Nearest::Approached { best, reason }) => {
                report(options, &chain, Err(reason), Some(&best), time_us)
            }
            Err(reason) => report(options, &chain, Err(reason), None, time_us),
        };
    }
    let result = if options.all {
        solver.solve_all(&chain, &request, &seed)
    } else {
        solver
            .solve(&chain, &request, &seed)
            .map(|solution| vec![solution])
    };
    let time_us = began.elapsed().as_secs_f64() * 1e6;
    report(options, &chain, result, None, time_us)
}

fn request(options: &Ik, chain: &Chain) -> Result<IkRequest<'static>, CliError> {
    let position = options.position.exactly::<3>("--position")?;
    let quaternion = match &options.quaternion {
        Some(numbers) => numbers.exactly::<4>("--quaternion")?,
        None if options.axes.is_some_and(|axes| axes.rotation != [false; 3]) => {
            return Err(CliError::BadInput(
                "--axes asks for rotations: give the orientation by --quaternion".into(),
            ))
        }
        None => [0.0, 0.0, 0.0, 1.0],
    };
    let target = pose("--position, --quaternion", position, quaternion)?;
    let mut request = IkRequest::new(target);
    if options.position_only {
        request.goal = Goal::Position;
    }
    if let Some(axes) = options.axes {
        request.goal = axes.into();
    }
    request.tolerances = Tolerances {
        position: options.position_tolerance,
        orientation: options.orientation_tolerance,
    };
    request.max_iterations = options.max_iterations;
    request.restarts = !options.no_restarts;
    if options.all {
        request.max_solutions = ALL;
    }
    if let Some(posture) = &options.posture {
        let weights = match posture {
            JointValues::Ordered(_) => vec![1.0; chain.dof()],
            JointValues::Named(names, _) => chain
                .dofs
                .iter()
                .map(|dof| if names.contains(&dof.name) { 1.0 } else { 0.0 })
                .collect(),
        };
        request.posture = Some(Posture {
            values: posture.resolve(chain, "--posture", &chain.middle())?,
            weights,
        });
    }
    Ok(request)
}

fn report(
    options: &Ik,
    chain: &Chain,
    result: Result<Vec<IkSolution>, IkError>,
    nearest: Option<&IkSolution>,
    time_us: f64,
) -> Result<(), CliError> {
    let (solutions, error) = match result {
        Ok(solutions) => (solutions, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let best = error.as_ref().and_then(IkError::best);
    if options.json {
        let output = Output {
            ok: error.is_none(),
            message: error.as_ref().map_or_else(String::new, ToString::to_string),
            joints: chain.joint_names(),
            solutions: solutions.iter().map(Answer::from).collect(),
            best: best.map(Answer::from),
            nearest: nearest.map(Answer::from),
            time_us,
        };
        print_pretty(&output)?;
    } else if error.is_none() {
        out!("{}", answers(chain, &solutions));
        let (plural, count) = (if solutions.len() == 1 { "" } else { "s" }, solutions.len());
        let more = if options.all && count == ALL {
            " (there may be more)"
        } else {
            ""
        };
        outln!("{count} answer{plural} in {time_us:.0} us{more}");
    } else if let Some(nearest) = nearest {
        outln!("no answer; nearest configuration found:");
        out!("{}", answers(chain, std::slice::from_ref(nearest)));
    } else if let Some(best) = best {
        outln!("best try:");
        out!("{}", answers(chain, std::slice::from_ref(best)));
    }
    match error {
        None => Ok(()),
        Some(
            error @ (IkError::Unreachable { .. }
            | IkError::OffMotionPlane { .. }
            | IkError::NotConverged { .. }),
        ) => Err(CliError::NoSolution(error.to_string())),
        Some(error) => Err(CliError::BadInput(error.to_string())),
    }
}

/// More answers than this stand below each other.
const SIDE_BY_SIDE: usize = 6;

/// One row an answer.
fn many_answers(chain: &Chain, solutions: &[IkSolution]) -> String {
    let mut header = vec!["#"];
    header.extend(chain.dofs.iter().map(|dof| dof.name.as_str()));
    header.extend(["error [m]", "error [rad]"]);
    let rows: Vec<Vec<String>> = (1..)
        .zip(solutions)
        .map(|(number, solution): (usize, &IkSolution)| {
            let mut row = vec![number.to_string()];
            row.extend(solution.q.iter().map(|value| format!("{value:.6}")));
            row.push(format!("{:.1e}", solution.position_error));
            row.push(format!("{:.1e}", solution.orientation_error));
            row
        })
        .collect();
    table::render(&header, &rows)
}

/// One column an answer, one row a joint; many answers as [`many_answers`].
fn answers(chain: &Chain, solutions: &[IkSolution]) -> String {
    if solutions.len() > SIDE_BY_SIDE {
        return many_answers(chain, solutions);
    }
    let numbers: Vec<String> = (1..=solutions.len())
        .map(|number| format!("#{number}"))
        .collect();
    let mut header = vec!["joint"];
    header.extend(numbers.iter().map(String::as_str));
    let mut rows: Vec<Vec<String>> = chain
        .dofs
        .iter()
        .enumerate()
        .map(|(index, dof)| {
            let values = solutions.iter().map(|solution| {
                solution
                    .q
                    .get(index)
                    .map_or_else(String::new, |value| format!("{value:.6}"))
            });
            std::iter::once(dof.name.clone()).chain(values).collect()
        })
        .collect();
    let mut row = |name: &str, cell: &dyn Fn(&IkSolution) -> String| {
        let cells = solutions.iter().map(cell);
        rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
    };
    row("position error [m]", &|s| {
        format!("{:.1e}", s.position_error)
    });
    row("orientation error [rad]", &|s| {
        format!("{:.1e}", s.orientation_error)
    });
    row("iterations", &|s| s.iterations.to_string());
    if let [solution] = solutions {
        return format!(
            "solver: {}\n{}",
            solution.solver,
            table::render(&header, &rows)
        );
    }
    table::render(&header, &rows)
}
