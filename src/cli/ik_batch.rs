//! `arm-planner ik-batch`: many targets in one thread, with times.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::arm::{pose, read_model, read_text, time_budget};
use super::json::{print_pretty, write_json};
use super::stages::quantile;
use super::table;
use super::CliError;
use crate::ik::{solver, IkError, IkRequest, IkSolver};
use crate::kinematics::{forward_kinematics, pose_error, Pose};
use crate::model::Chain;

/// Solve every target of a file, each as one call, and print success and times.
#[derive(Debug, clap::Args)]
pub(super) struct IkBatch {
    /// Targets: JSON with `base`, `tip`, `joints`, `mid`, `q`, `pose`, `seed`; the URDF that
    /// it names lies beside it.
    #[arg(long, value_name = "FILE.json")]
    targets: PathBuf,
    /// Where each call starts.
    #[arg(long, value_enum, default_value_t = Protocol::Far)]
    protocol: Protocol,
    /// Solver; the default order if left out.
    #[arg(long, value_name = "NAME", default_value = "")]
    solver: String,
    /// Solve the first targets only.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Time budget of one call.
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    timeout: Option<f64>,
    /// Write all answers here.
    #[arg(long, value_name = "OUT.json")]
    out: Option<PathBuf>,
    /// Solve everything a second time and count the answers that are not the same bit for bit.
    #[arg(long)]
    repeat: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
}

/// Start configurations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Protocol {
    /// The middle of the limits.
    Far,
    /// The target's own random start.
    Random,
    /// The configuration that made the target, up to 0.05 off each joint.
    Near,
}

#[derive(Debug, Deserialize)]
struct Targets {
    urdf: String,
    base: String,
    tip: String,
    joints: Vec<String>,
    mid: Vec<f64>,
    q: Vec<Vec<f64>>,
    pose: Vec<[f64; 7]>,
    seed: Vec<Vec<f64>>,
}

#[derive(Debug, Serialize)]
struct Answer {
    ok: bool,
    q: Vec<f64>,
    solver: &'static str,
    iterations: u32,
    time_us: f64,
    position_error: f64,
    orientation_error: f64,
}

#[derive(Debug, Serialize)]
struct Output<'a> {
    solver: &'a str,
    results: &'a [Answer],
}

#[derive(Debug, Serialize)]
struct Summary<'a> {
    targets: String,
    protocol: String,
    solver: &'a str,
    calls: usize,
    success_percent: f64,
    median_us: f64,
    mean_us: f64,
    p99_us: f64,
    worst_position_error: f64,
    worst_orientation_error: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    jumps_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    differing_answers: Option<usize>,
}

/// An answer counts if each component of the pose error is below this \[m, rad\].
const COMPONENT_TOLERANCE: f64 = 1e-5;
/// A near start whose answer moves a joint by more than this has jumped \[rad, m\].
const JUMP: f64 = 0.3;
/// Largest offset of a near start \[rad, m\].
const NEAR: f64 = 0.05;

pub(super) fn run(options: &IkBatch) -> Result<(), CliError> {
    let solver = solver(&options.solver).map_err(|error| CliError::BadInput(error.to_string()))?;
    let timeout = options.timeout.map(time_budget).transpose()?;
    let batch = Batch::load(&options.targets)?;
    let count = options
        .limit
        .unwrap_or(usize::MAX)
        .min(batch.targets.pose.len());
    // Drawn only where standard error is a terminal.
    let rounds = if options.repeat { 2 } else { 1 };
    let progress = indicatif::ProgressBar::new(rounds * count as u64);
    let mut answers = Vec::with_capacity(count);
    let mut jumps = 0_usize;
    for index in 0..count {
        let start = batch.start(options.protocol, index)?;
        let answer = batch.call(solver, index, &start, timeout)?;
        jumps += usize::from(
            answer
                .q
                .iter()
                .zip(&start)
                .any(|(to, from)| (to - from).abs() > JUMP),
        );
        answers.push(answer);
        progress.inc(1);
    }
    let mut differing = 0_usize;
    if options.repeat {
        for (index, first) in answers.iter().enumerate() {
            let start = batch.start(options.protocol, index)?;
            let second = batch.call(solver, index, &start, timeout)?;
            let same = first.q.len() == second.q.len()
                && first
                    .q
                    .iter()
                    .zip(&second.q)
                    .all(|(a, b)| a.to_bits() == b.to_bits());
            differing += usize::from(!same);
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    if let Some(path) = &options.out {
        let output = Output {
            solver: solver.name(),
            results: &answers,
        };
        write_json(Some(path), &output)?;
    }
    let mut summary = summary(options, solver.name(), &answers);
    if options.protocol == Protocol::Near && count > 0 {
        summary.jumps_percent = Some(100.0 * jumps as f64 / count as f64);
    }
    summary.differing_answers = options.repeat.then_some(differing);
    print(&summary, options.json)
}

/// A file of targets and its arm, checked.
struct Batch {
    targets: Targets,
    chain: Chain,
    /// Where each of the chain's degrees of freedom is in the file's joint order.
    order: Vec<usize>,
    name: String,
}

impl Batch {
    fn load(path: &Path) -> Result<Batch, CliError> {
        let name = path.display().to_string();
        let targets: Targets = serde_json::from_str(&read_text(path)?)
            .map_err(|error| CliError::BadInput(format!("{name}: {error}")))?;
        let urdf = path.parent().unwrap_or(Path::new("")).join(&targets.urdf);
        let chain = read_model(&urdf)?
            .chain(&targets.base, &targets.tip, false)
            .map_err(|error| CliError::BadInput(error.to_string()))?;
        let order = chain
            .dofs
            .iter()
            .map(|dof| {
                targets
                    .joints
                    .iter()
                    .position(|joint| *joint == dof.name)
                    .ok_or_else(|| {
                        CliError::BadInput(format!("{name}: joint \"{}\" is not listed", dof.name))
                    })
            })
            .collect::<Result<_, _>>()?;
        Ok(Batch {
            targets,
            chain,
            order,
            name,
        })
    }

    fn target(&self, index: usize) -> Result<Pose, CliError> {
        let [x, y, z, qx, qy, qz, qw] = *self
            .targets
            .pose
            .get(index)
            .ok_or_else(|| self.short("pose", index))?;
        let what = format!("{}: target {index}", self.name);
        pose(&what, [x, y, z], [qx, qy, qz, qw])
    }

    fn start(&self, protocol: Protocol, index: usize) -> Result<Vec<f64>, CliError> {
        let (what, values) = match protocol {
            Protocol::Far => ("mid", Some(&self.targets.mid)),
            Protocol::Random => ("seed", self.targets.seed.get(index)),
            Protocol::Near => ("q", self.targets.q.get(index)),
        };
        let values = values.ok_or_else(|| self.short(what, index))?;
        let mut start = Vec::with_capacity(self.order.len());
        for (place, (&from, dof)) in self.order.iter().zip(&self.chain.dofs).enumerate() {
            let value = *values.get(from).ok_or_else(|| self.short(what, index))?;
            start.push(match protocol {
                Protocol::Near => dof.clamp(value + NEAR * fraction(index, place)),
                Protocol::Far | Protocol::Random => value,
            });
        }
        Ok(start)
    }

    /// Solves one target; the time is that of the call alone.
    fn call(
        &self,
        solver: &dyn IkSolver,
        index: usize,
        start: &[f64],
        timeout: Option<Duration>,
    ) -> Result<Answer, CliError> {
        let target = self.target(index)?;
        let began = Instant::now();
        let late = || timeout.is_some_and(|timeout| began.elapsed() >= timeout);
        let mut request = IkRequest::new(target);
        if timeout.is_some() {
            request.give_up = Some(&late);
        }
        let result = solver.solve(&self.chain, &request, start);
        let time_us = began.elapsed().as_secs_f64() * 1e6;
        answer(&self.chain, &target, result, time_us)
    }

    fn short(&self, what: &str, index: usize) -> CliError {
        CliError::BadInput(format!(
            "{}: `{what}` of target {index} is incomplete",
            self.name
        ))
    }
}

/// A fixed pseudo-random number in [−1, 1] for a target and a joint (splitmix64).
fn fraction(index: usize, place: usize) -> f64 {
    let mut z = (index as u64)
        .wrapping_mul(64)
        .wrapping_add(place as u64)
        .wrapping_add(1)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

fn answer(
    chain: &Chain,
    target: &Pose,
    result: Result<crate::ik::IkSolution, IkError>,
    time_us: f64,
) -> Result<Answer, CliError> {
    let (claimed, attempt) = match &result {
        Ok(solution) => (true, Some(solution)),
        Err(IkError::WrongSize { .. } | IkError::Invalid(_) | IkError::UnsupportedChain { .. }) => {
            return Err(CliError::BadInput(
                result
                    .err()
                    .map_or_else(String::new, |error| error.to_string()),
            ))
        }
        Err(error) => (false, error.best()),
    };
    let Some(attempt) = attempt else {
        return Ok(Answer {
            ok: false,
            q: Vec::new(),
            solver: "",
            iterations: 0,
            time_us,
            position_error: f64::MAX,
            orientation_error: f64::MAX,
        });
    };
    let off = forward_kinematics(chain, &attempt.q)
        .map_or(f64::INFINITY, |tip| pose_error(target, &tip).amax());
    Ok(Answer {
        ok: claimed && off <= COMPONENT_TOLERANCE && chain.within_limits(&attempt.q),
        q: attempt.q.clone(),
        solver: attempt.solver,
        iterations: attempt.iterations,
        time_us,
        position_error: attempt.position_error,
        orientation_error: attempt.orientation_error,
    })
}

fn summary<'a>(options: &IkBatch, solver: &'a str, answers: &[Answer]) -> Summary<'a> {
    let mut times: Vec<f64> = answers.iter().map(|answer| answer.time_us).collect();
    times.sort_by(f64::total_cmp);
    let count = answers.len().max(1) as f64;
    let solved = answers.iter().filter(|answer| answer.ok);
    let worst = |error: fn(&Answer) -> f64| solved.clone().map(error).fold(0.0, f64::max);
    Summary {
        targets: options.targets.display().to_string(),
        protocol: format!("{:?}", options.protocol).to_lowercase(),
        solver,
        calls: answers.len(),
        success_percent: 100.0 * solved.clone().count() as f64 / count,
        median_us: quantile(&times, 0.5),
        mean_us: times.iter().sum::<f64>() / count,
        p99_us: quantile(&times, 0.99),
        worst_position_error: worst(|answer| answer.position_error),
        worst_orientation_error: worst(|answer| answer.orientation_error),
        jumps_percent: None,
        differing_answers: None,
    }
}

fn print(summary: &Summary<'_>, json: bool) -> Result<(), CliError> {
    if json {
        return print_pretty(summary);
    }
    let mut header = vec![
        "solver",
        "protocol",
        "calls",
        "success %",
        "median us",
        "mean us",
        "p99 us",
        "worst position [m]",
        "worst angle [rad]",
    ];
    let mut row = vec![
        summary.solver.to_owned(),
        summary.protocol.clone(),
        summary.calls.to_string(),
        format!("{:.2}", summary.success_percent),
        format!("{:.1}", summary.median_us),
        format!("{:.1}", summary.mean_us),
        format!("{:.1}", summary.p99_us),
        format!("{:.2e}", summary.worst_position_error),
        format!("{:.2e}", summary.worst_orientation_error),
    ];
    if let Some(jumps) = summary.jumps_percent {
        header.push("moved > 0.3 %");
        row.push(format!("{jumps:.2}"));
    }
    if let Some(differing) = summary.differing_answers {
        header.push("differing");
        row.push(differing.to_string());
    }
    out!("{}", table::render(&header, &[row]));
    Ok(())
}
