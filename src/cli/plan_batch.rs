//! `arm-planner plan-batch`: free motions in joint space for many pairs of configurations.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::arm::{read_text, write_text, ArmOptions};
use super::CliError;
use crate::collision::{CollisionModel, CollisionOptions, CollisionWorld, Prism};
use crate::planning::{plan_joint_path, JointSpaceSettings};

/// Plans free motions in joint space between pairs of configurations among prisms.
#[derive(Debug, Args)]
pub struct PlanBatch {
    #[command(flatten)]
    arm: ArmOptions,
    /// Semantic description, whose disabled pairs of links may touch.
    #[arg(long, value_name = "FILE")]
    srdf: Option<PathBuf>,
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
    /// Where to write all results, JSON.
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(Deserialize)]
struct PrismFile {
    scenes: Vec<PrismScene>,
}

#[derive(Deserialize)]
struct PrismScene {
    id: String,
    prisms: Vec<PrismEntry>,
}

#[derive(Deserialize)]
struct PrismEntry {
    polygon: Vec<[f64; 2]>,
    z0: f64,
    height: f64,
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

fn temp_stl(root: &Path, name: &str) -> Option<Vec<Vec<[f64; 3]>>> {
    let path = root.join(name.strip_prefix("package://")?);
    let bytes = std::fs::read(path).ok()?;
    let n = u32::from_le_bytes(bytes[80..84].try_into().ok()?) as usize;
    let mut points = Vec::new();
    for k in 0..n {
        let at = 84 + 50 * k + 12;
        for v in 0..3 {
            let f = |c: usize| {
                let o = at + 12 * v + 4 * c;
                f32::from_le_bytes(bytes[o..o + 4].try_into().unwrap()) as f64
            };
            points.push([f(0), f(1), f(2)]);
        }
    }
    Some(vec![points])
}

impl PlanBatch {
    /// Runs the command.
    ///
    /// # Errors
    /// See [`CliError`].
    pub fn run(&self) -> Result<(), CliError> {
        let (model, chain) = self.arm.load()?;
        let bad = |e: serde_json::Error| CliError::BadInput(e.to_string());
        let prisms: PrismFile = serde_json::from_str(&read_text(&self.prisms)?).map_err(bad)?;
        let pairs: PairFile = serde_json::from_str(&read_text(&self.pairs)?).map_err(bad)?;
        let scene = prisms.scenes.iter().find(|s| s.id == self.scene).unwrap();
        let prisms: Vec<Prism> = scene
            .prisms
            .iter()
            .enumerate()
            .map(|(k, p)| Prism {
                id: k.to_string(),
                polygon: p.polygon.clone(),
                min_z: p.z0,
                max_z: p.z0 + p.height,
            })
            .collect();
        let mut options = CollisionOptions::default();
        if let Some(srdf) = &self.srdf {
            for line in read_text(srdf)?.lines() {
                if line.contains("<disable_collisions") {
                    let w: Vec<&str> = line.split('"').collect();
                    options.allowed.push((w[1].into(), w[3].into()));
                }
            }
        }
        let root = self.arm.urdf.parent().unwrap().to_owned();
        let t0 = Instant::now();
        let arm = CollisionModel::new(&model, &chain, &|n| temp_stl(&root, n), &options);
        let t1 = Instant::now();
        for warning in arm.warnings() {
            eprintln!("warning: {warning}");
        }
        let world = CollisionWorld::new(&prisms).unwrap();
        eprintln!(
            "model {:?} world {:?} allowed {}",
            t1 - t0,
            t1.elapsed(),
            arm.allowed_pairs().len()
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
                let begin = Instant::now();
                let answer =
                    plan_joint_path(&chain, &arm, &world, start, &goals, &settings, &|| false);
                let time_us = begin.elapsed().as_secs_f64() * 1e6;
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
            "solved {solved}/{} straight {straight} median {:.0} us p90 {:.0} p99 {:.0} max {:.0} sum length {:.2}",
            results.len(),
            times[times.len() / 2],
            times[times.len() * 9 / 10],
            times[times.len() * 99 / 100 - 1],
            times[times.len() - 1],
            results.iter().filter_map(|r| r.length).sum::<f64>(),
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
