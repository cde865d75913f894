//! `arm-planner follow-batch`: joint paths for dense paths of the tip.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::arm::{pose, read_model, read_text, TimeLimit};
use super::json::write_json;
use super::stages::quantile;
use super::{table, CliError};
use crate::ik::IkRequest;
use crate::kinematics::{forward_kinematics, residual, Pose};
use crate::model::Chain;
use crate::planning::{follow_path, FollowSettings, Followed, Guide, PosePath};

/// Angle that the orientation may be off for each metre of the tolerance \[rad/m\]: 0.5° at 1 mm.
const RADIANS_PER_METRE: f64 = 0.5 * std::f64::consts::PI / 180.0 * 1e3;

/// Radius of curvature \[m\] by which samples are spaced at first.
const TYPICAL_RADIUS: f64 = 0.3;

/// Smallest tolerance \[m\]: finer ones are lost in the rounding of the poses.
pub(super) const FINEST: f64 = 1e-9;

/// Places between two configurations at which the report measures the deviation.
const MEASURED: usize = 8;

/// Follow dense paths of the tip with the joints, each from its start without a leap; between
/// the configurations given back the joints move in straight lines.
#[derive(Debug, clap::Args)]
pub(super) struct FollowBatch {
    /// Paths: JSON {"urdf", "base", "tip", "paths": [{"id", "q_start", "poses": [[x, y, z, qx, qy, qz, qw], ...]}]}; without
    /// q_start every posture at the first pose is tried.
    #[arg(long, value_name = "FILE")]
    paths: PathBuf,
    /// The robot description; if left out, the file's "urdf", relative to the file.
    #[arg(long, value_name = "FILE")]
    urdf: Option<PathBuf>,
    /// The link in whose frame poses are given; if left out, the file's "base".
    #[arg(long, value_name = "LINK")]
    base: Option<String>,
    /// The link that is led along the paths; if left out, the file's "tip".
    #[arg(long, value_name = "LINK")]
    tip: Option<String>,
    /// How far the tip may leave its path anywhere (m); its orientation 0.5° for each millimetre of that.
    #[arg(
        long,
        value_name = "METRES",
        default_value_t = 1e-3,
        allow_negative_numbers = true
    )]
    tolerance: f64,
    /// How many configurations a search through the null space may look at.
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    search_nodes: usize,
    #[command(flatten)]
    time: TimeLimit,
    /// Where to write all results, JSON.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct File {
    #[serde(default)]
    urdf: Option<String>,
    #[serde(default)]
    base: Option<String>,
    #[serde(default)]
    tip: Option<String>,
    paths: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    #[serde(default)]
    id: Option<serde_json::Value>,
    #[serde(default)]
    q_start: Option<Vec<f64>>,
    poses: Vec<[f64; 7]>,
}

/// What became of one path.
#[derive(Debug, Serialize)]
struct Outcome {
    id: serde_json::Value,
    ok: bool,
    reason: String,
    time_us: f64,
    /// Part of the path that is followed, 0 to 1.
    fraction: f64,
    /// Configurations; also of the part that can be followed where that is not all.
    joint_path: Vec<Vec<f64>>,
    /// Fraction of the path at each configuration.
    fractions: Vec<f64>,
    /// Largest distance of the tip from its path (m), measured between the configurations, too.
    max_deviation: f64,
    /// Largest angle from the path's orientation (rad).
    max_angle_deviation: f64,
    /// Largest move of one joint between two configurations (rad or m).
    max_joint_step: f64,
    /// Sum of the joints' ways (rad, m).
    joint_motion: f64,
}

#[derive(Debug, Serialize)]
struct Report {
    tolerance: f64,
    angle_tolerance: f64,
    results: Vec<Outcome>,
}

impl FollowBatch {
    pub(super) fn run(&self) -> Result<(), CliError> {
        let bad =
            |message: String| CliError::BadInput(format!("{}: {message}", self.paths.display()));
        if !(self.tolerance >= FINEST && self.tolerance.is_finite()) {
            return Err(CliError::BadInput(format!(
                "--tolerance must be a finite number of metres, {FINEST:e} or more, not {}",
                self.tolerance
            )));
        }
        let budget = self.time.budget()?;
        let file: File = serde_json::from_str(&read_text(&self.paths)?).map_err(|error| {
            bad(format!(
                "{error}; expected {{\"urdf\", \"base\", \"tip\", \"paths\": [{{\"q_start\", \"poses\"}}]}}"
            ))
        })?;
        let chain = self.chain(&file)?;
        let settings = self.settings();
        let mut results = Vec::with_capacity(file.paths.len());
        for (index, entry) in file.paths.iter().enumerate() {
            let path = self
                .read(&chain, entry)
                .map_err(|error| bad(format!("path {index}: {error}")))?;
            let id = entry.id.clone().unwrap_or_else(|| index.into());
            results.push(self.follow(
                &chain,
                &path,
                entry.q_start.as_deref(),
                &settings,
                budget,
                id,
            ));
        }
        let report = Report {
            tolerance: settings.deviation,
            angle_tolerance: settings.angle_deviation,
            results,
        };
        write_json(self.out.as_deref(), &report)?;
        out!("{}", summary(&report));
        Ok(())
    }

    fn chain(&self, file: &File) -> Result<Chain, CliError> {
        let beside = |name: &String| match self.paths.parent() {
            Some(folder) => folder.join(name),
            None => PathBuf::from(name),
        };
        let urdf = self
            .urdf
            .clone()
            .or_else(|| file.urdf.as_ref().map(beside))
            .ok_or_else(|| {
                CliError::BadInput("the file names no \"urdf\": give --urdf".to_owned())
            })?;
        let pick = |option: &Option<String>, field: &Option<String>| {
            option.clone().or_else(|| field.clone()).unwrap_or_default()
        };
        read_model(&urdf)?
            .chain(
                &pick(&self.base, &file.base),
                &pick(&self.tip, &file.tip),
                false,
            )
            .map_err(|error| CliError::BadInput(error.to_string()))
    }

    fn settings(&self) -> FollowSettings {
        let step = (8.0 * self.tolerance * TYPICAL_RADIUS).sqrt().min(0.02);
        FollowSettings {
            tip_step: step,
            angle_step: 0.05,
            max_joint_step: 0.2,
            deviation: self.tolerance,
            angle_deviation: RADIANS_PER_METRE * self.tolerance,
            search_nodes: self.search_nodes,
        }
    }

    fn read(&self, chain: &Chain, entry: &Entry) -> Result<PosePath, String> {
        if let Some(start) = &entry.q_start {
            if start.len() != chain.dof() {
                return Err(format!(
                    "q_start has {} values, the chain has {}: {}",
                    start.len(),
                    chain.dof(),
                    chain.joint_names().join(", ")
                ));
            }
            if let Some(value) = start.iter().find(|value| !value.is_finite()) {
                return Err(format!("q_start holds {value}"));
            }
        }
        let read = |numbers: &[f64; 7]| -> Result<Pose, String> {
            let [x, y, z, qx, qy, qz, qw] = *numbers;
            pose("poses", [x, y, z], [qx, qy, qz, qw]).map_err(|error| error.to_string())
        };
        let poses: Result<Vec<Pose>, String> = entry.poses.iter().map(read).collect();
        PosePath::new(poses?).map_err(|error| error.to_string())
    }

    fn follow(
        &self,
        chain: &Chain,
        path: &PosePath,
        start: Option<&[f64]>,
        settings: &FollowSettings,
        budget: Duration,
        id: serde_json::Value,
    ) -> Outcome {
        let begun = Instant::now();
        let give_up = || begun.elapsed() > budget;
        let mut ik = IkRequest::new(Pose::identity());
        ik.give_up = Some(&give_up);
        let found = follow_path(chain, path, start, &ik, settings, None);
        let time_us = begun.elapsed().as_secs_f64() * 1e6;
        let (ok, reason, fraction, followed) = match found {
            Ok(followed) => (true, String::new(), 1.0, followed),
            Err(error) => (false, error.to_string(), error.fraction, *error.partial),
        };
        let (max_deviation, max_angle_deviation) = deviation(chain, path, &followed);
        let pairs = || followed.points.iter().zip(followed.points.iter().skip(1));
        let moves = |(a, b): (&Vec<f64>, &Vec<f64>)| -> Vec<f64> {
            a.iter().zip(b).map(|(a, b)| (a - b).abs()).collect()
        };
        Outcome {
            id,
            ok,
            reason,
            time_us,
            fraction,
            max_deviation,
            max_angle_deviation,
            max_joint_step: pairs().flat_map(moves).fold(0.0, f64::max),
            joint_motion: pairs()
                .map(|pair| moves(pair).iter().map(|m| m * m).sum::<f64>().sqrt())
                .sum(),
            joint_path: followed.points,
            fractions: followed.fractions,
        }
    }
}

/// Largest distance \[m\] and angle \[rad\] of the tip from its path, measured densely.
fn deviation(chain: &Chain, path: &PosePath, followed: &Followed) -> (f64, f64) {
    let mut most = (0.0_f64, 0.0_f64);
    let ends = followed.points.iter().zip(&followed.fractions);
    for ((a, u), (b, v)) in ends.clone().zip(ends.skip(1)) {
        for place in 0..=MEASURED {
            let part = place as f64 / MEASURED as f64;
            let q: Vec<f64> = a.iter().zip(b).map(|(a, b)| a + (b - a) * part).collect();
            if let Ok(tip) = forward_kinematics(chain, &q) {
                let off = residual(&path.pose(u + (v - u) * part), &tip);
                most = (most.0.max(off.position), most.1.max(off.orientation));
            }
        }
    }
    most
}

fn summary(report: &Report) -> String {
    let rows: Vec<Vec<String>> = report
        .results
        .iter()
        .map(|result| {
            vec![
                match &result.id {
                    serde_json::Value::String(text) => text.clone(),
                    other => other.to_string(),
                },
                if result.ok { "yes" } else { "no" }.to_owned(),
                format!("{:.1}", 100.0 * result.fraction),
                result.joint_path.len().to_string(),
                format!("{:.2e}", result.max_deviation),
                format!("{:.2}", result.joint_motion),
                format!("{:.2}", result.time_us * 1e-3),
                result.reason.clone(),
            ]
        })
        .collect();
    let mut text = table::render(
        &[
            "path",
            "ok",
            "%",
            "points",
            "deviation",
            "motion",
            "ms",
            "reason",
        ],
        &rows,
    );
    let times = |ok: bool| {
        let chosen = report.results.iter().filter(|result| result.ok == ok);
        let mut times: Vec<f64> = chosen.map(|result| result.time_us * 1e-3).collect();
        times.sort_by(f64::total_cmp);
        times
    };
    for (what, times) in [("followed", times(true)), ("not followed", times(false))] {
        if !times.is_empty() {
            text.push_str(&format!(
                "\n{what} {} of {}: median {:.2} ms, p99 {:.2} ms, longest {:.2} ms",
                times.len(),
                report.results.len(),
                quantile(&times, 0.5),
                quantile(&times, 0.99),
                quantile(&times, 1.0),
            ));
        }
    }
    text.push('\n');
    text
}
