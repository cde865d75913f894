//! `arm-planner plan-batch`: free motions in joint space for many pairs of configurations.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::arm::{read_text, write_text};
use super::CliError;
use crate::collision::CollisionWorld;
use crate::planning::{plan_joint_path, JointSpaceSettings};

/// Plans free motions in joint space between pairs of configurations among prisms.
#[derive(Debug, Args)]
pub struct PlanBatch {
    /// The robot description (URDF, xacro expanded).
    #[arg(long, value_name = "FILE")]
    urdf: PathBuf,
    /// The tip link.
    #[arg(long, value_name = "LINK", default_value = "")]
    tip: String,
    #[command(flatten)]
    shapes: super::collision::ShapeOptions,
    /// Pairs of configurations by scene, JSON.
    #[arg(long, value_name = "FILE")]
    pairs: PathBuf,
    /// Scenes of prisms, JSON.
    #[arg(long, value_name = "FILE")]
    prisms: PathBuf,
    /// Which scene.
    #[arg(long, value_name = "ID")]
    scene: String,
    /// Seed of the search.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Most random configurations to try for a pair.
    #[arg(long, default_value_t = JointSpaceSettings::default().max_samples)]
    max_samples: usize,
    /// Longest step of the search's trees. \[rad\]
    #[arg(long, default_value_t = JointSpaceSettings::default().range)]
    range: f64,
    /// Plan each pair this often and report the shortest time.
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    /// Where to write all results, JSON.
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(Deserialize)]
struct PairFile {
    scenes: BTreeMap<String, Vec<[Vec<f64>; 2]>>,
}

#[derive(Debug, Serialize)]
struct PairResult {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    time_us: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    joint_path: Vec<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<f64>,
    samples: usize,
    checks: u64,
}

#[derive(Debug, Serialize)]
struct Report {
    scene: String,
    results: Vec<PairResult>,
}

impl PlanBatch {
    /// Runs the command.
    ///
    /// # Errors
    /// See [`CliError`].
    pub fn run(&self) -> Result<(), CliError> {
        let bad = |e: serde_json::Error| CliError::BadInput(e.to_string());
        let model = super::arm::read_model(&self.urdf)?;
        let pairs: PairFile = serde_json::from_str(&read_text(&self.pairs)?).map_err(bad)?;
        let prisms = super::collision::read_prisms(&self.prisms, &self.scene)?;
        let dof = pairs.scenes[&self.scene][0][0].len();
        let chain = super::collision::chain_for(&model, "", &self.tip, None, dof)?;
        let t0 = Instant::now();
        let arm = self.shapes.load(&self.urdf, &model, &chain)?;
        let t1 = Instant::now();
        let world = CollisionWorld::new(&prisms).unwrap();
        eprintln!(
            "model {:?} world {:?} pairs {}",
            t1 - t0,
            t1.elapsed(),
            arm.active_pairs().len()
        );
        let settings = JointSpaceSettings {
            seed: self.seed,
            max_samples: self.max_samples,
            range: self.range,
            ..JointSpaceSettings::default()
        };
        let results: Vec<PairResult> = pairs.scenes[&self.scene]
            .iter()
            .map(|[start, goal]| {
                let goals = [goal.clone()];
                let mut time_us = f64::INFINITY;
                let mut timed = || {
                    let begin = Instant::now();
                    let answer =
                        plan_joint_path(&chain, &arm, &world, start, &goals, &settings, &|| false);
                    time_us = time_us.min(begin.elapsed().as_secs_f64() * 1e6);
                    answer
                };
                for _ in 1..self.repeat {
                    let _ = timed();
                }
                let answer = timed();
                match answer {
                    Ok(path) => PairResult {
                        ok: true,
                        reason: None,
                        time_us,
                        length: Some(path.length),
                        joint_path: path.points,
                        samples: path.samples,
                        checks: path.checks,
                    },
                    Err(error) => PairResult {
                        ok: false,
                        reason: Some(error.to_string()),
                        time_us,
                        joint_path: Vec::new(),
                        length: None,
                        samples: 0,
                        checks: 0,
                    },
                }
            })
            .collect();
        let mut times: Vec<f64> = results.iter().map(|r| r.time_us).collect();
        times.sort_by(f64::total_cmp);
        let solved = results.iter().filter(|r| r.ok).count();
        let straight = results.iter().filter(|r| r.ok && r.samples == 0).count();
        println!(
            "solved {solved}/{} straight {straight} median {:.0} us p90 {:.0} p99 {:.0} max {:.0} sum length {:.2} checks {} samples {}",
            results.len(),
            times[times.len() / 2],
            times[times.len() * 9 / 10],
            times[times.len() * 99 / 100 - 1],
            times[times.len() - 1],
            results.iter().filter_map(|r| r.length).sum::<f64>(),
            results.iter().map(|r| r.checks).sum::<u64>(), results.iter().map(|r| r.samples).sum::<usize>(),
        );
        if let Some(out) = &self.out {
            let report = Report {
                scene: self.scene.clone(),
                results,
            };
            write_text(out, &serde_json::to_string(&report).map_err(bad)?)?;
        }
        Ok(())
    }
}
