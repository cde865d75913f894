//! `arm-planner plan-batch`: free motions in joint space for many pairs of configurations.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use serde::{Deserialize, Serialize};

use super::arm::{read_model, read_text, TimeLimit};
use super::collision::{chain_for, read_prisms, ShapeOptions};
use super::json::{print_json, write_json};
use super::stages::quantile;
use super::CliError;
use crate::collision::{CollisionModel, CollisionWorld};
use crate::model::{did_you_mean, Chain};
use crate::planning::{plan_joint_path, JointSpaceError, JointSpaceSettings};

/// Plans free motions in joint space between pairs of configurations among prisms.
///
/// Exit code 0 even where pairs have no motion: the results tell which, and why; 2 where a pair is malformed.
#[derive(Debug, Args)]
pub struct PlanBatch {
    /// The robot description (URDF, xacro expanded).
    #[arg(long, value_name = "FILE")]
    urdf: PathBuf,
    #[command(flatten)]
    shapes: ShapeOptions,
    /// Pairs of configurations: JSON with `scenes`, by id a list of `[start, goal]`; `qmin` and `qmax`
    /// narrow the limits, `base`, `tip` and `joints` name the chain.
    #[arg(long, value_name = "FILE.json")]
    pairs: PathBuf,
    /// Scenes of prisms: JSON with `scenes`, each with `id` and `prisms` (`polygon`, `z0`, `height`).
    #[arg(long, value_name = "FILE.json")]
    prisms: PathBuf,
    /// Which scene.
    #[arg(long, value_name = "ID")]
    scene: String,
    /// The base link; the file's, or the root if left out.
    #[arg(long, value_name = "LINK", default_value = "")]
    base: String,
    /// The tip link; the file's, or that of the one chain with as many joints if left out.
    #[arg(long, value_name = "LINK", default_value = "")]
    tip: String,
    /// The same seed gives the same motions.
    #[arg(long, value_name = "N", default_value_t = JointSpaceSettings::default().seed)]
    seed: u64,
    /// How many random configurations to try for a pair: a thousand take about ten milliseconds; narrow places
    /// may need a hundred thousand.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    max_samples: usize,
    #[command(flatten)]
    time: TimeLimit,
    /// How many attempts to cut a motion short.
    #[arg(long, value_name = "N", default_value_t = JointSpaceSettings::default().shortcuts)]
    shortcuts: usize,
    /// Plan each pair this often and report the shortest time (other programs disturb less).
    #[arg(long, value_name = "N", default_value_t = 1)]
    rounds: u32,
    /// Write all motions here.
    #[arg(long, value_name = "OUT.json")]
    out: Option<PathBuf>,
    /// Print the results as JSON.
    #[arg(long)]
    json: bool,
}

/// Start and goal.
type Pair = [Vec<f64>; 2];

#[derive(Deserialize)]
struct PairFile {
    #[serde(default)]
    base: Option<String>,
    #[serde(default)]
    tip: Option<String>,
    #[serde(default)]
    joints: Option<Vec<String>>,
    #[serde(default)]
    qmin: Option<Vec<f64>>,
    #[serde(default)]
    qmax: Option<Vec<f64>>,
    scenes: BTreeMap<String, Vec<Pair>>,
}

#[derive(Debug, Serialize)]
struct PairResult {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Whether the pair itself is to blame: it is no start and goal of this chain.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    malformed: bool,
    time_us: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    joint_path: Vec<Vec<f64>>,
    /// Sum of the Euclidean lengths of the pieces (rad, m).
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<f64>,
    /// Random configurations that were tried; none if the straight way is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<usize>,
}

#[derive(Debug, Serialize)]
struct Report {
    scene: String,
    obstacles: usize,
    tip: String,
    joints: Vec<String>,
    pairs: usize,
    solved: usize,
    /// Solved by the straight way.
    straight: usize,
    median_us: f64,
    p99_us: f64,
    max_us: f64,
    /// Length of all motions over that of the straight ways.
    detour: f64,
    results: Vec<PairResult>,
}

impl PlanBatch {
    /// Runs the command.
    ///
    /// # Errors
    /// See [`CliError`].
    pub fn run(&self) -> Result<(), CliError> {
        let budget = self.time.budget()?;
        if self.rounds == 0 {
            return Err(CliError::BadInput("--rounds must be one or more".into()));
        }
        let model = read_model(&self.urdf)?;
        for warning in &model.warnings {
            errln!("arm-planner: warning: {warning}");
        }
        let (file, pairs) = self.read_pairs()?;
        let dof = pairs.first().map_or(0, |[start, _]| start.len());
        let pick = |option: &str, file: &Option<String>| match file {
            Some(name) if option.is_empty() => name.clone(),
            _ => option.to_owned(),
        };
        let mut chain = chain_for(
            &model,
            &pick(&self.base, &file.base),
            &pick(&self.tip, &file.tip),
            file.joints.as_deref(),
            dof,
        )?;
        narrow(&mut chain, &file, &self.pairs)?;
        let arm = self.shapes.load(&self.urdf, &model, &chain)?;
        let prisms = read_prisms(&self.prisms, &self.scene)?;
        let mut world = CollisionWorld::new(&prisms)
            .map_err(|error| CliError::BadInput(format!("{}: {error}", self.prisms.display())))?;
        if let Some(ground) = self.shapes.ground {
            world = world.with_ground(ground);
        }
        let results: Vec<PairResult> = pairs
            .iter()
            .map(|pair| self.plan(&chain, &arm, &world, pair, budget))
            .collect();
        let report = self.report(&chain, prisms.len(), &pairs, results);
        write_json(self.out.as_deref(), &report)?;
        if self.json {
            print_json(&report)?;
        } else {
            print(&report);
        }
        let malformed = |(_, result): &(usize, &PairResult)| result.malformed;
        match report.results.iter().enumerate().find(malformed) {
            Some((number, result)) => Err(CliError::BadInput(format!(
                "{}: pair {number} from 0 is malformed: {}",
                self.pairs.display(),
                result.reason.as_deref().unwrap_or_default()
            ))),
            None => Ok(()),
        }
    }

    fn read_pairs(&self) -> Result<(PairFile, Vec<Pair>), CliError> {
        let name = self.pairs.display();
        let mut file: PairFile = serde_json::from_str(&read_text(&self.pairs)?)
            .map_err(|error| CliError::BadInput(format!("{name}: {error}")))?;
        let Some(pairs) = file.scenes.remove(&self.scene) else {
            let ids: Vec<&str> = file.scenes.keys().map(String::as_str).collect();
            return Err(CliError::BadInput(format!(
                "{name}: there are no pairs for scene \"{}\"{}; scenes: {}",
                self.scene,
                did_you_mean(&self.scene, ids.iter().copied()),
                ids.join(", ")
            )));
        };
        if pairs.is_empty() {
            return Err(CliError::BadInput(format!(
                "{name}: scene \"{}\" has no pairs",
                self.scene
            )));
        }
        Ok((file, pairs))
    }

    fn plan(
        &self,
        chain: &Chain,
        arm: &CollisionModel,
        world: &CollisionWorld,
        [start, goal]: &Pair,
        budget: Duration,
    ) -> PairResult {
        let settings = JointSpaceSettings {
            seed: self.seed,
            max_samples: self.max_samples,
            shortcuts: self.shortcuts,
            ..JointSpaceSettings::default()
        };
        let goals = [goal.clone()];
        let mut time_us = f64::INFINITY;
        let mut once = || {
            let begin = Instant::now();
            let late = || begin.elapsed() > budget;
            let answer = plan_joint_path(chain, arm, world, start, &goals, &settings, &late);
            time_us = time_us.min(begin.elapsed().as_secs_f64() * 1e6);
            answer
        };
        let mut answer = once();
        for _ in 1..self.rounds {
            answer = once();
        }
        match answer {
            Ok(path) => PairResult {
                ok: true,
                reason: None,
                malformed: false,
                time_us,
                joint_path: path.points,
                length: Some(path.length),
                samples: Some(path.samples),
            },
            Err(error) => PairResult {
                ok: false,
                malformed: matches!(
                    error,
                    JointSpaceError::Size { .. } | JointSpaceError::NotFinite { .. }
                ),
                reason: Some(error.to_string()),
                time_us,
                joint_path: Vec::new(),
                length: None,
                samples: None,
            },
        }
    }

    fn report(
        &self,
        chain: &Chain,
        obstacles: usize,
        pairs: &[Pair],
        results: Vec<PairResult>,
    ) -> Report {
        let mut times: Vec<f64> = results.iter().map(|result| result.time_us).collect();
        times.sort_by(f64::total_cmp);
        let (mut length, mut direct) = (0.0, 0.0);
        for ([start, goal], result) in pairs.iter().zip(&results) {
            if let Some(own) = result.length {
                let squares = start.iter().zip(goal).map(|(a, b)| (a - b) * (a - b));
                direct += squares.sum::<f64>().sqrt();
                length += own;
            }
        }
        let count = |with: fn(&PairResult) -> bool| results.iter().filter(|r| with(r)).count();
        Report {
            scene: self.scene.clone(),
            obstacles,
            tip: chain.tip.clone(),
            joints: chain.joint_names(),
            pairs: pairs.len(),
            solved: count(|result| result.ok),
            straight: count(|result| result.samples == Some(0)),
            median_us: quantile(&times, 0.5),
            p99_us: quantile(&times, 0.99),
            max_us: quantile(&times, 1.0),
            detour: if direct > 0.0 { length / direct } else { 1.0 },
            results,
        }
    }
}

/// Takes the file's limits where they are narrower than the chain's.
fn narrow(chain: &mut Chain, file: &PairFile, path: &Path) -> Result<(), CliError> {
    let count = chain.dof();
    for (name, values) in [("qmin", &file.qmin), ("qmax", &file.qmax)] {
        if let Some(values) = values.as_ref().filter(|values| values.len() != count) {
            return Err(CliError::BadInput(format!(
                "{}: {name} has {} values, the chain has {count} degrees of freedom: {}",
                path.display(),
                values.len(),
                chain.joint_names().join(", ")
            )));
        }
    }
    for (dof, lower) in chain.dofs.iter_mut().zip(file.qmin.iter().flatten()) {
        dof.lower = dof.lower.max(*lower);
    }
    for (dof, upper) in chain.dofs.iter_mut().zip(file.qmax.iter().flatten()) {
        dof.upper = dof.upper.min(*upper);
    }
    Ok(())
}

/// Failures told one by one.
const TOLD: usize = 5;

fn print(report: &Report) {
    let share = |part: usize| 100.0 * part as f64 / report.pairs.max(1) as f64;
    outln!(
        "scene      {} ({} obstacles)",
        report.scene,
        report.obstacles
    );
    outln!("chain      {} ({})", report.tip, report.joints.join(", "));
    outln!(
        "solved     {} of {} ({:.1} %), {} by the straight way",
        report.solved,
        report.pairs,
        share(report.solved),
        report.straight
    );
    outln!(
        "time       median {:.3} ms, p99 {:.3} ms, longest {:.3} ms",
        report.median_us * 1e-3,
        report.p99_us * 1e-3,
        report.max_us * 1e-3
    );
    outln!("length     {:.2} times the straight way", report.detour);
    let failed = report.results.iter().enumerate();
    let failed: Vec<(usize, &str)> = failed
        .filter_map(|(index, result)| Some((index, result.reason.as_deref()?)))
        .collect();
    for (index, reason) in failed.iter().take(TOLD) {
        outln!("pair {index:<5} {reason}");
    }
    if failed.len() > TOLD {
        outln!("and {} more", failed.len() - TOLD);
    }
}
