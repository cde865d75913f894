//! `arm-planner plan-random`: how long whole plans take, stage by stage.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use serde::Serialize;

use super::arm::{ArmOptions, TimeLimit, FARTHEST};
use super::json::write_json;
use super::random_scene::{RandomScene, RandomTable};
use super::stages::{quantile, StageClock};
use super::{table, CliError};
use crate::ik::IkRequest;
use crate::kinematics::Pose;
use crate::motion::{plan_observed, PlanSettings};
use crate::planning::{PathRequest, PathSettings};
use crate::trajectory::{LimitDefaults, MotionLimits, TimingOptions};

/// Plan between random places among random obstacles on a table around the arm, tool down, and
/// report how long it took, split by stage.
#[derive(Debug, clap::Args)]
pub(super) struct PlanRandom {
    #[command(flatten)]
    arm: ArmOptions,
    /// Number of obstacles.
    #[arg(long, value_name = "N", default_value_t = 10)]
    obstacles: usize,
    /// Number of pairs of start and goal.
    #[arg(long, value_name = "N", default_value_t = 200)]
    pairs: usize,
    /// Seed of the scene.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Distance that the tip keeps from obstacles (m).
    #[arg(
        long,
        value_name = "METRES",
        default_value_t = 0.02,
        allow_negative_numbers = true
    )]
    clearance: f64,
    /// Distance of starts and goals from the base (m): nearest, farthest.
    #[arg(long, value_name = "METRES", num_args = 2, default_values_t = [0.3, 0.7], allow_negative_numbers = true)]
    ring: Vec<f64>,
    /// Height of starts and goals (m).
    #[arg(
        long,
        value_name = "METRES",
        default_value_t = 0.2,
        allow_negative_numbers = true
    )]
    height: f64,
    /// Height at which the tip may go over obstacles (m).
    #[arg(long, value_name = "METRES", allow_negative_numbers = true)]
    safe_height: Option<f64>,
    #[command(flatten)]
    time: TimeLimit,
    /// Where to write all results, JSON.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
struct Outcome {
    ok: bool,
    reason: String,
    time_us: f64,
    /// Time of each stage (s).
    stages: BTreeMap<String, f64>,
    /// Length of the tip's path (m).
    length: f64,
    duration: f64,
}

#[derive(Debug, Serialize)]
struct Report {
    obstacles: usize,
    results: Vec<Outcome>,
}

impl PlanRandom {
    pub(super) fn run(&self) -> Result<(), CliError> {
        let (_, chain) = self.arm.load()?;
        let (Some(&near), Some(&far)) = (self.ring.first(), self.ring.get(1)) else {
            return Err(CliError::BadInput("--ring takes two distances".to_owned()));
        };
        for (option, value) in [
            ("--ring", near),
            ("--ring", far),
            ("--clearance", self.clearance),
            ("--height", self.height.abs()),
            ("--safe-height", self.safe_height.map_or(0.0, f64::abs)),
        ] {
            if !(0.0..=FARTHEST).contains(&value) {
                return Err(CliError::BadInput(format!(
                    "{option}: {value} is no distance from 0 to {FARTHEST:e} m"
                )));
            }
        }
        if near >= far || self.pairs == 0 {
            return Err(CliError::BadInput(
                "--ring takes the nearer distance first, and --pairs must be 1 or more".to_owned(),
            ));
        }
        let budget = self.time.budget()?;
        let begun = Instant::now();
        let scene = RandomScene::new(
            &chain,
            &RandomTable {
                obstacles: self.obstacles,
                pairs: self.pairs,
                clearance: self.clearance,
                ring: (near, far),
                height: self.height,
                seed: self.seed,
            },
            &|| begun.elapsed() > budget,
        );
        let Some(scene) = scene else {
            return Err(CliError::BadInput(format!(
                "the scene was not drawn within {} s: take fewer --obstacles or --pairs, or a longer --timeout",
                self.time.timeout
            )));
        };
        if scene.pairs.is_empty() {
            return Err(CliError::BadInput(
                "the arm reaches no free place: change --ring or --height".to_owned(),
            ));
        }
        let limits = MotionLimits::from_chain(&chain, &LimitDefaults::default())
            .map_err(|error| CliError::BadInput(error.to_string()))?;
        let settings = PlanSettings {
            path: PathSettings {
                clearance: self.clearance,
                safe_height: self.safe_height,
                scene: false,
                ..PathSettings::default()
            },
            limits,
            sample_period: 0.02,
            timing: TimingOptions::default(),
        };
        let mut results = Vec::with_capacity(scene.pairs.len());
        for (start, goal) in &scene.pairs {
            let goals = [*goal];
            let begun = Instant::now();
            let late = || begun.elapsed() > budget;
            let mut ik = IkRequest::new(Pose::identity());
            ik.give_up = Some(&late);
            let request = PathRequest::new(start, &goals, &ik);
            let mut clock = StageClock::start();
            let observer = &mut |stage| clock.enter(stage);
            let plan = plan_observed(&chain, &scene.obstacles, &settings, &request, observer);
            let time_us = begun.elapsed().as_secs_f64() * 1e6;
            let stages = clock.stop().named();
            results.push(match plan {
                Ok(plan) => Outcome {
                    ok: true,
                    reason: String::new(),
                    time_us,
                    stages,
                    length: plan.path.length,
                    duration: plan.trajectory.duration(),
                },
                Err(error) => Outcome {
                    ok: false,
                    reason: error.to_string(),
                    time_us,
                    stages,
                    length: 0.0,
                    duration: 0.0,
                },
            });
        }
        let report = Report {
            obstacles: self.obstacles,
            results,
        };
        write_json(self.out.as_deref(), &report)?;
        out!("{}", summary(&report));
        Ok(())
    }
}

/// The reason with "…" for each number: numbers differ from case to case, the words do not.
fn without_numbers(reason: &str) -> String {
    let mut words = String::new();
    let mut rest = reason;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(at);
        words.push_str(before.trim_end_matches(['-', '+']));
        // A digit within a name, as in "joint_3", belongs to the name.
        let in_name = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let end = number
            .find(|c: char| !(c.is_ascii_digit() || ".e-+".contains(c)))
            .unwrap_or(number.len());
        let (number, after) = number.split_at(end);
        words.push_str(if in_name { number } else { "…" });
        rest = after;
    }
    words + rest
}

fn summary(report: &Report) -> String {
    let done = report.results.iter().filter(|result| result.ok).count();
    let mut text = format!(
        "{} pairs among {} obstacles: {done} planned\n",
        report.results.len(),
        report.obstacles
    );
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for result in report.results.iter().filter(|result| !result.ok) {
        *reasons.entry(without_numbers(&result.reason)).or_default() += 1;
    }
    for (reason, count) in reasons {
        text.push_str(&format!("  {count} times: {reason}\n"));
    }
    let mut columns: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for result in &report.results {
        columns
            .entry("all")
            .or_default()
            .push(result.time_us * 1e-3);
        for (stage, time) in &result.stages {
            columns.entry(stage).or_default().push(time * 1e3);
        }
    }
    let rows: Vec<Vec<String>> = columns
        .into_iter()
        .map(|(stage, mut times)| {
            times.sort_by(f64::total_cmp);
            let mean = times.iter().sum::<f64>() / report.results.len() as f64;
            let mut row = vec![stage.to_owned()];
            row.extend(
                [quantile(&times, 0.5), quantile(&times, 0.99), mean]
                    .iter()
                    .map(|time| format!("{time:.3}")),
            );
            row
        })
        .collect();
    text.push_str(&table::render(
        &["stage", "median ms", "p99 ms", "mean ms"],
        &rows,
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::without_numbers;

    #[test]
    fn reasons_that_differ_in_numbers_only_are_one() {
        let reason = "the arm can follow 38.1 % (1.5e-6 m, -2 rad) as far as joint_3: limit -3.07";
        let words = "the arm can follow … % (… m, … rad) as far as joint_3: limit …";
        assert_eq!(without_numbers(reason), words);
        assert_eq!(without_numbers(""), "");
    }
}
