//! `arm-planner path-batch`: every query of a scene file, with times, compared with
//! reference lengths if there are any.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use nalgebra::Point2;
use serde::Serialize;

use super::arm::{read_text, FARTHEST};
use super::json::{print_json, write_json};
use super::path_updates::{follow_moves, Updates};
use super::scene::{ContactArgument, Scene, SelfCrossingArgument};
use super::stages::quantile;
use super::CliError;
use crate::planar::{PlanarWorld, WorldOptions};
use crate::roadmap::{
    build_roadmap, build_roadmap_with, shorten, BuildOptions, End, Roadmap, Route, RouteError,
};

/// Runs every query of a planar scene.
#[derive(Debug, Args)]
pub struct PathBatch {
    /// Scene (with queries) or case file (with one start and goal), JSON.
    #[arg(long)]
    scene: PathBuf,
    /// Road map; an unknown name lists the choices.
    #[arg(long, default_value = "auto")]
    roadmap: String,
    /// Whether obstacles that touch can be slipped between.
    #[arg(long, value_enum, default_value = "blocked")]
    contact: ContactArgument,
    /// Distance to keep from obstacles and boundary (m).
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true)]
    clearance: f64,
    /// What to do with polygons that cross themselves.
    #[arg(long, value_enum, default_value = "refuse")]
    self_crossing: SelfCrossingArgument,
    /// Move starts and goals to the nearest free points if they are not free.
    #[arg(long)]
    nearest_free: bool,
    /// Pull every path taut (for road maps that do not give the shortest one).
    #[arg(long)]
    shorten: bool,
    /// Afterwards move this many random obstacles a little, one after the other, and print how
    /// long the road map takes to follow; some results are compared with a rebuild.
    #[arg(long, default_value_t = 0)]
    update: usize,
    /// Where to write all results, JSON.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Print the results as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct QueryResult {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    path: Vec<[f64; 2]>,
    time_us: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Debug, Serialize)]
struct Comparison {
    /// Lines of the reference file that were compared.
    compared: usize,
    /// Largest relative difference of the lengths.
    max_relative_difference: f64,
    /// Query (from 0) with the largest difference.
    worst_query: usize,
}

/// How much longer than the shortest paths those of a road map are that is not optimal.
#[derive(Debug, Serialize)]
struct Excess {
    /// Mean of length over shortest length.
    mean_ratio: f64,
    /// Largest ratio.
    max_ratio: f64,
}

#[derive(Debug, Serialize)]
struct Report {
    scene: String,
    roadmap: String,
    vertices: usize,
    nodes: usize,
    edges: usize,
    build_ms: f64,
    query_median_us: f64,
    query_p99_us: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    over_shortest: Option<Excess>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<Comparison>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updates: Option<Updates>,
    results: Vec<QueryResult>,
}

impl PathBatch {
    /// Runs the command.
    ///
    /// # Errors
    /// See [`CliError`]; a query without a path is [`CliError::NoSolution`], after everything
    /// was printed and written.
    pub fn run(&self) -> Result<(), CliError> {
        let scene = Scene::read(&self.scene, self.self_crossing.into())?;
        scene.report_repairs();
        if scene.queries.is_empty() {
            return Err(CliError::BadInput(format!(
                "{}: no queries: 'queries' must be a list of [[x, y], [x, y]], or 'start' and \
                 'goal' be given",
                self.scene.display()
            )));
        }
        let options = WorldOptions {
            clearance: self.clearance,
            contact: self.contact.into(),
            ..WorldOptions::default()
        };
        let (obstacles, boundary) = (scene.outlines(), scene.boundary.clone());
        let begin = Instant::now();
        let world = PlanarWorld::build(obstacles, boundary, &options)
            .map_err(|error| CliError::BadInput(error.to_string()))?;
        let options = BuildOptions {
            queries: scene.queries.len(),
            ..BuildOptions::default()
        };
        let roadmap = build_roadmap_with(&self.roadmap, Arc::new(world), &options)
            .map_err(|error| CliError::BadInput(error.to_string()))?;
        let build_ms = begin.elapsed().as_secs_f64() * 1e3;
        let results = self.run_queries(&scene, roadmap.as_ref());
        let mut times: Vec<f64> = results.iter().map(|r| r.time_us).collect();
        times.sort_by(f64::total_cmp);
        let report = Report {
            scene: self.scene.display().to_string(),
            roadmap: roadmap.name().to_owned(),
            vertices: scene.vertices,
            nodes: roadmap.node_count(),
            edges: roadmap.edge_count(),
            build_ms,
            query_median_us: quantile(&times, 0.5),
            query_p99_us: quantile(&times, 0.99),
            over_shortest: self.excess(&scene, roadmap.as_ref(), &results)?,
            reference: self.compare(&results)?,
            updates: match self.update {
                0 => None,
                moves => Some(follow_moves(roadmap.world(), moves)?),
            },
            results,
        };
        write_json(self.out.as_deref(), &report)?;
        if self.json {
            print_json(&report)?;
        } else {
            print_table(&report);
        }
        if let Some((number, reason)) = self.unusable(&scene) {
            return Err(CliError::BadInput(format!(
                "{}: query {number} from 0: {reason}",
                self.scene.display()
            )));
        }
        let failed = report.results.iter().filter(|r| !r.ok).count();
        match report.results.iter().find_map(|r| r.reason.as_ref()) {
            Some(reason) if report.results.len() == 1 => Err(CliError::NoSolution(reason.clone())),
            Some(reason) => Err(CliError::NoSolution(format!(
                "{failed} of {} queries have no path; the first: {reason}",
                report.results.len()
            ))),
            None => Ok(()),
        }
    }

    /// The first query whose ends are no points of a planar world.
    fn unusable(&self, scene: &Scene) -> Option<(usize, RouteError)> {
        let ends = scene.queries.iter().enumerate();
        ends.flat_map(|(number, [start, goal])| {
            [(number, End::Start, start), (number, End::Goal, goal)]
        })
        .find(|(_, _, p)| !(p.x.abs() <= FARTHEST && p.y.abs() <= FARTHEST))
        .map(|(number, end, p)| {
            (
                number,
                RouteError::InvalidPoint {
                    end,
                    x: p.x,
                    y: p.y,
                },
            )
        })
    }

    fn run_queries(&self, scene: &Scene, roadmap: &dyn Roadmap) -> Vec<QueryResult> {
        // Drawn on a terminal only.
        let bar = ProgressBar::new(scene.queries.len() as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} queries, {eta} left")
        {
            bar.set_style(style);
        }
        let results = scene
            .queries
            .iter()
            .map(|ends| {
                let begin = Instant::now();
                let answer = self.query(roadmap, ends);
                let time_us = begin.elapsed().as_secs_f64() * 1e6;
                bar.inc(1);
                match answer {
                    Ok(route) => QueryResult {
                        ok: true,
                        length: Some(route.length),
                        path: route.points.iter().map(|p| [p.x, p.y]).collect(),
                        time_us,
                        reason: None,
                    },
                    Err(error) => QueryResult {
                        ok: false,
                        length: None,
                        path: Vec::new(),
                        time_us,
                        reason: Some(error.to_string()),
                    },
                }
            })
            .collect();
        bar.finish_and_clear();
        results
    }

    fn query(&self, roadmap: &dyn Roadmap, ends: &[Point2<f64>; 2]) -> Result<Route, RouteError> {
        let [start, goal] = self.ends(roadmap.world(), ends);
        let route = roadmap.shortest_path(&start, &goal)?;
        Ok(match self.shorten {
            true => shorten(roadmap.world(), &route),
            false => route,
        })
    }

    fn ends(&self, world: &PlanarWorld, ends: &[Point2<f64>; 2]) -> [Point2<f64>; 2] {
        ends.map(|p| match self.nearest_free {
            true => world.nearest_free_point(&p).unwrap_or(p),
            false => p,
        })
    }

    /// Compares a road map that is not optimal with one that is.
    fn excess(
        &self,
        scene: &Scene,
        roadmap: &dyn Roadmap,
        results: &[QueryResult],
    ) -> Result<Option<Excess>, CliError> {
        if roadmap.is_optimal() {
            return Ok(None);
        }
        let exact = build_roadmap("visibility_graph", Arc::clone(roadmap.world()))
            .map_err(|error| CliError::BadInput(error.to_string()))?;
        let ratios: Vec<f64> = scene
            .queries
            .iter()
            .zip(results)
            .filter_map(|(ends, result)| {
                let [start, goal] = self.ends(roadmap.world(), ends);
                let shortest = exact.shortest_path(&start, &goal).ok()?.length;
                Some(result.length? / shortest).filter(|ratio| ratio.is_finite())
            })
            .collect();
        if ratios.is_empty() {
            return Ok(None);
        }
        Ok(Some(Excess {
            mean_ratio: ratios.iter().sum::<f64>() / ratios.len() as f64,
            max_ratio: ratios.iter().copied().fold(1.0, f64::max),
        }))
    }

    /// Compares with the `.ref` file beside the scene, if there is one: a length per line,
    /// in the order of the queries.
    fn compare(&self, results: &[QueryResult]) -> Result<Option<Comparison>, CliError> {
        let path = self.scene.with_extension("ref");
        if !path.is_file() {
            return Ok(None);
        }
        let text = read_text(&path)?;
        let mut comparison = Comparison {
            compared: 0,
            max_relative_difference: 0.0,
            worst_query: 0,
        };
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        for (k, (line, result)) in lines.zip(results).enumerate() {
            let reference = line
                .split_whitespace()
                .next()
                .and_then(|word| word.parse::<f64>().ok())
                .filter(|length| length.is_finite())
                .ok_or_else(|| {
                    CliError::BadInput(format!(
                        "{}, line {}: '{line}' does not begin with a length",
                        path.display(),
                        k + 1
                    ))
                })?;
            let scale = reference.abs().max(f64::MIN_POSITIVE);
            let difference = result
                .length
                .map_or(f64::INFINITY, |l| (l - reference).abs() / scale);
            comparison.compared += 1;
            if difference > comparison.max_relative_difference {
                comparison.max_relative_difference = difference;
                comparison.worst_query = k;
            }
        }
        Ok(Some(comparison))
    }
}

fn print_table(report: &Report) {
    let failed = report.results.iter().filter(|r| !r.ok).count();
    outln!("scene      {} ({} vertices)", report.scene, report.vertices);
    outln!(
        "road map   {} ({} nodes, {} edges)",
        report.roadmap,
        report.nodes,
        report.edges
    );
    outln!("build      {:.3} ms", report.build_ms);
    outln!(
        "queries    {} ({failed} without a path): median {:.1} µs, p99 {:.1} µs",
        report.results.len(),
        report.query_median_us,
        report.query_p99_us
    );
    if let Some(excess) = &report.over_shortest {
        outln!(
            "lengths    {:.1} % above the shortest on average, {:.1} % at most",
            (excess.mean_ratio - 1.0) * 100.0,
            (excess.max_ratio - 1.0) * 100.0
        );
    }
    if let [QueryResult {
        length: Some(length),
        path,
        ..
    }] = report.results.as_slice()
    {
        outln!("length     {length}");
        for [x, y] in path {
            outln!("           {x}, {y}");
        }
    }
    if let Some(reference) = &report.reference {
        outln!(
            "reference  {} lengths compared, largest relative difference {:.1e} (query {})",
            reference.compared,
            reference.max_relative_difference,
            reference.worst_query
        );
    }
    if let Some(updates) = &report.updates {
        outln!(
            "updates    {} obstacles moved: median {:.3} ms, p99 {:.3} ms ({} compared with a \
             rebuild of {:.3} ms: equal)",
            updates.moves,
            updates.median_ms,
            updates.p99_ms,
            updates.verified,
            updates.rebuild_median_ms
        );
    }
}
