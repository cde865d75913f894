//! `arm-planner topp-batch`: times every spline of a file, checks what came out by itself,
//! and compares with reference durations if there are any.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::arm::{check_limit, read_text};
use super::json::write_json;
use super::stages::quantile;
use super::{table, CliError};
use crate::trajectory::{EndCondition, MotionLimits, RetimeError, Spline, TimedPath};

/// Each spline is timed at most this often, while that takes no longer than the second number \[s\]; the
/// median counts.
const RUNS: (usize, f64) = (15, 0.05);
/// Jerk limits of a file without any, as multiples of the acceleration limits \[1/s\].
const DEFAULT_JERK: f64 = 10.0;
/// Spacing of the samples at which the limits are checked \[s\].
const CHECK_PERIOD: f64 = 1e-4;
/// Most places of a motion that are looked at: some last for years.
const MOST_CHECKS: f64 = 1e6;

/// Times the splines of a file, as fast as velocity and acceleration limits allow.
#[derive(Debug, Args)]
pub struct ToppBatch {
    /// File with `vmax`, `amax` and `paths` (`ss`, `waypoints`, `bc`: `natural` or `clamped`), JSON.
    #[arg(long)]
    paths: PathBuf,
    /// Limit jerk too: by the file's `jmax`, else by 10 times each acceleration limit a second.
    #[arg(long)]
    jerk: bool,
    /// Where to write all results, JSON.
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct PathFile {
    vmax: Vec<f64>,
    amax: Vec<f64>,
    #[serde(default)]
    jmax: Option<Vec<f64>>,
    paths: Vec<PathItem>,
}

#[derive(Debug, Deserialize)]
struct PathItem {
    #[serde(default)]
    id: Option<serde_json::Value>,
    #[serde(default)]
    kind: Option<String>,
    bc: String,
    ss: Vec<f64>,
    waypoints: Vec<Vec<f64>>,
    /// Reference duration (s).
    #[serde(default)]
    duration: Option<f64>,
}

impl PathItem {
    /// What the table groups by.
    fn group(&self) -> String {
        match self.kind.as_deref() {
            None | Some("spline") => self.bc.clone(),
            Some(kind) => kind.to_owned(),
        }
    }
}

/// Why an item was not timed.
#[derive(Debug)]
enum Failure {
    /// The item makes no path.
    Malformed(String),
    /// It does, and there is no motion along it.
    NoMotion(String),
}

#[derive(Debug, Default, Serialize)]
struct ItemResult {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<serde_json::Value>,
    group: String,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Whether the item itself is to blame.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    malformed: bool,
    time_us: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<f64>,
    /// (duration - reference) / reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    gap: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_velocity_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_acceleration_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_jerk_ratio: Option<f64>,
    /// `[t, s, ṡ]` with constant s̈ in between; with `--jerk` `[t, s, ṡ, s̈]` with constant s⃛.
    knots: Vec<Vec<f64>>,
}

#[derive(Debug, Serialize)]
struct Report {
    results: Vec<ItemResult>,
}

impl ToppBatch {
    /// Runs the command.
    ///
    /// # Errors
    /// See [`CliError`]; a path that cannot be timed is [`CliError::NoSolution`], after
    /// everything was printed and written.
    pub fn run(&self) -> Result<(), CliError> {
        let bad = |what: String| CliError::BadInput(format!("{}: {what}", self.paths.display()));
        let file: PathFile = serde_json::from_str(&read_text(&self.paths)?)
            .map_err(|error| bad(error.to_string()))?;
        let lists = [
            ("vmax", Some(&file.vmax)),
            ("amax", Some(&file.amax)),
            ("jmax", file.jmax.as_ref().filter(|_| self.jerk)),
        ];
        for (name, list) in lists {
            for value in list.into_iter().flatten() {
                check_limit(name, *value).map_err(|error| bad(error.to_string()))?;
            }
        }
        let limits = MotionLimits::new(file.vmax.clone(), file.amax.clone())
            .map_err(|error| bad(error.to_string()))?;
        let limits = if self.jerk {
            let jerk = file
                .jmax
                .clone()
                .unwrap_or_else(|| file.amax.iter().map(|a| DEFAULT_JERK * a).collect());
            limits
                .with_jerk(jerk)
                .map_err(|error| bad(error.to_string()))?
        } else {
            limits
        };
        if file.paths.is_empty() {
            return Err(bad(
                "no paths: 'paths' must be a list with one at least".into()
            ));
        }
        let results: Vec<ItemResult> = file.paths.iter().map(|item| timed(item, &limits)).collect();
        print_table(&results);
        let report = Report { results };
        write_json(self.out.as_deref(), &report)?;
        let told = |malformed: bool| {
            let fitting = |(_, r): &(usize, &ItemResult)| !r.ok && r.malformed == malformed;
            let mut failed = report.results.iter().enumerate().filter(fitting);
            let (number, first) = failed.next()?;
            let count = failed.count() + 1;
            let reason = first.reason.as_deref().unwrap_or_default();
            Some(format!(
                "{count} of {} paths {{}}; the first, number {number} from 0: {reason}",
                report.results.len()
            ))
        };
        if let Some(words) = told(true) {
            return Err(bad(words.replace("{}", "are malformed")));
        }
        match told(false) {
            Some(words) => Err(CliError::NoSolution(
                words.replace("{}", "could not be timed"),
            )),
            None => Ok(()),
        }
    }
}

/// Spline and profile of an item.
fn profile(item: &PathItem, limits: &MotionLimits) -> Result<(Spline, TimedPath), Failure> {
    let ends = match item.bc.as_str() {
        "natural" => EndCondition::Natural,
        "clamped" => EndCondition::Clamped,
        other => {
            return Err(Failure::Malformed(format!(
                "'bc' is '{other}': it must be natural or clamped"
            )))
        }
    };
    let spline = Spline::with_knots(&item.ss, &item.waypoints, ends)
        .map_err(|error| Failure::Malformed(error.to_string()))?;
    let timed = TimedPath::along(vec![spline.clone()], limits).map_err(|error| match error {
        RetimeError::Limits { .. } => Failure::Malformed(error.to_string()),
        other => Failure::NoMotion(other.to_string()),
    })?;
    Ok((spline, timed))
}

fn timed(item: &PathItem, limits: &MotionLimits) -> ItemResult {
    let mut result = ItemResult {
        id: item.id.clone(),
        group: item.group(),
        ..ItemResult::default()
    };
    let mut times = Vec::with_capacity(RUNS.0);
    let mut answer = Err(Failure::NoMotion(String::new()));
    let all = Instant::now();
    while times.is_empty() || times.len() < RUNS.0 && all.elapsed().as_secs_f64() < RUNS.1 {
        let begin = Instant::now();
        answer = profile(item, limits);
        times.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    result.time_us = times.get(times.len() / 2).copied().unwrap_or(0.0);
    let (spline, timed) = match answer {
        Ok(answer) => answer,
        Err(failure) => {
            result.malformed = matches!(failure, Failure::Malformed(_));
            let (Failure::Malformed(reason) | Failure::NoMotion(reason)) = failure;
            result.reason = Some(reason);
            return result;
        }
    };
    let smooth = limits.jerk().is_some();
    result.knots = timed
        .knots()
        .into_iter()
        .map(|knot| {
            let mut values = vec![knot.time, knot.s, knot.rate];
            values.extend(smooth.then_some(knot.acceleration));
            values
        })
        .collect();
    // What the knots say, which are what is handed on.
    let last = result.knots.last().and_then(|knot| knot.first());
    let duration = last.copied().unwrap_or_else(|| timed.duration());
    let [velocity, acceleration, jerk] = ratios(&spline, limits, &result.knots);
    result.ok = true;
    result.duration = Some(duration);
    result.gap = item.duration.map(|reference| duration / reference - 1.0);
    result.max_velocity_ratio = Some(velocity);
    result.max_acceleration_ratio = Some(acceleration);
    result.max_jerk_ratio = smooth.then_some(jerk);
    result
}

/// Largest shares of the velocity, acceleration and jerk limits that the motion of the knots uses, at
/// each knot from both sides and at most [`CHECK_PERIOD`] apart in between (farther on motions of more
/// than [`MOST_CHECKS`] periods); from the knots and the
/// spline alone.
fn ratios(spline: &Spline, limits: &MotionLimits, knots: &[Vec<f64>]) -> [f64; 3] {
    let mut most = [0.0_f64; 3];
    let duration = knots.last().and_then(|knot| knot.first());
    let period = CHECK_PERIOD.max(duration.copied().unwrap_or(0.0) / MOST_CHECKS);
    for pair in knots.windows(2) {
        let (Some(&[t0, s0, rate0]), Some(&[t1, s1, rate1])) =
            (pair[0].first_chunk(), pair[1].first_chunk())
        else {
            continue;
        };
        let span = t1 - t0;
        let (u0, jerk) = match (pair[0].get(3), pair[1].get(3)) {
            (Some(from), Some(to)) => (*from, (to - from) / span),
            _ => ((rate1 - rate0) / span, 0.0),
        };
        let piece = spline.piece_at(0.5 * (s0 + s1));
        let h = spline.knots()[piece + 1] - spline.knots()[piece];
        let parts = (span / period).ceil().max(1.0) as usize;
        for part in 0..=parts {
            let t = span * part as f64 / parts as f64;
            let s = s0 + t * (rate0 + t * (0.5 * u0 + t * jerk / 6.0));
            let rate = rate0 + t * (u0 + 0.5 * t * jerk);
            let u = u0 + t * jerk;
            for joint in 0..spline.dof() {
                let [_, d, dd] = spline.evaluate(piece, joint, s);
                let velocity = (d * rate).abs() / limits.velocity()[joint];
                let acceleration = (d * u + dd * rate * rate).abs() / limits.acceleration()[joint];
                most[0] = most[0].max(velocity);
                most[1] = most[1].max(acceleration);
                if let Some(limit) = limits.jerk() {
                    let from = spline.evaluate(piece, joint, spline.knots()[piece])[2];
                    let to = spline.evaluate(piece, joint, spline.knots()[piece + 1])[2];
                    let ddd = (to - from) / h;
                    let change = d * jerk + 3.0 * dd * rate * u + ddd * rate * rate * rate;
                    most[2] = most[2].max(change.abs() / limit[joint]);
                }
            }
        }
    }
    most
}

fn print_table(results: &[ItemResult]) {
    let mut groups: BTreeMap<&str, Vec<&ItemResult>> = BTreeMap::new();
    for result in results {
        groups.entry(&result.group).or_default().push(result);
    }
    let header = [
        "kind",
        "paths",
        "failed",
        "median us",
        "p99 us",
        "median gap %",
        "worst gap %",
        "worst |v| ratio",
        "worst |a| ratio",
        "worst |j| ratio",
        "median knots",
    ];
    let rows: Vec<Vec<String>> = groups
        .into_iter()
        .map(|(group, members)| {
            let sorted = |value: &dyn Fn(&ItemResult) -> Option<f64>| {
                let mut values: Vec<f64> = members.iter().filter_map(|r| value(r)).collect();
                values.sort_by(f64::total_cmp);
                values
            };
            let times = sorted(&|r| Some(r.time_us));
            let gaps = sorted(&|r| r.gap.map(|gap| 100.0 * gap));
            let percent = |q: f64| match gaps.as_slice() {
                [] => "-".to_owned(),
                gaps => format!("{:.4}", quantile(gaps, q)),
            };
            let worst = |values: Vec<f64>| {
                values
                    .last()
                    .map_or("-".to_owned(), |worst| format!("{worst:.6}"))
            };
            vec![
                group.to_owned(),
                members.len().to_string(),
                members.iter().filter(|r| !r.ok).count().to_string(),
                format!("{:.1}", quantile(&times, 0.5)),
                format!("{:.1}", quantile(&times, 0.99)),
                percent(0.5),
                percent(1.0),
                worst(sorted(&|r| r.max_velocity_ratio)),
                worst(sorted(&|r| r.max_acceleration_ratio)),
                worst(sorted(&|r| r.max_jerk_ratio)),
                format!(
                    "{}",
                    quantile(&sorted(&|r| Some(r.knots.len() as f64)), 0.5)
                ),
            ]
        })
        .collect();
    out!("{}", table::render(&header, &rows));
}
