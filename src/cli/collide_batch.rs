//! `arm-planner collide-batch`: many configurations against a scene of prisms, with times.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::arm::{read_model, read_text};
use super::collision::{chain_for, read_prisms, ShapeOptions};
use super::json::{print_json, write_json};
use super::stages::quantile;
use super::table;
use super::CliError;
use crate::collision::{CheckScratch, CollisionModel, CollisionWorld, Obstacle};

/// Check configurations of a whole arm against prisms and itself, and print verdicts and times.
#[derive(Debug, clap::Args)]
pub(super) struct CollideBatch {
    /// The robot description (URDF, xacro expanded).
    #[arg(long, value_name = "FILE")]
    urdf: PathBuf,
    #[command(flatten)]
    shapes: ShapeOptions,
    /// Scenes of vertical prisms: JSON with `scenes`, each an `id` and `prisms` of `polygon`, `z0`,
    /// `height` in the base frame.
    #[arg(long, value_name = "FILE.json")]
    prisms: PathBuf,
    /// Which scene.
    #[arg(long, value_name = "ID")]
    scene: String,
    /// Configurations: JSON with `q`, a list of lists; `base`, `tip`, `joints` if they are there, and
    /// verdicts to compare with (`scenes`, by id).
    #[arg(long, value_name = "FILE.json")]
    configs: PathBuf,
    /// The base link; the file's, or the root if left out.
    #[arg(long, value_name = "LINK", default_value = "")]
    base: String,
    /// The tip link; the file's, or that of the one chain with as many joints if left out.
    #[arg(long, value_name = "LINK", default_value = "")]
    tip: String,
    /// How often to check everything; the fastest round counts for `checks_per_second`.
    #[arg(long, value_name = "N", default_value_t = 5)]
    rounds: u32,
    /// Write all verdicts here.
    #[arg(long, value_name = "OUT.json")]
    out: Option<PathBuf>,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Deserialize)]
struct Configs {
    #[serde(default)]
    base: Option<String>,
    #[serde(default)]
    tip: Option<String>,
    #[serde(default)]
    joints: Option<Vec<String>>,
    q: Vec<Vec<f64>>,
    #[serde(default)]
    scenes: BTreeMap<String, Verdicts>,
}

/// What another program said.
#[derive(Debug, Default, Deserialize)]
struct Verdicts {
    #[serde(default)]
    verdict_hull: Vec<Option<bool>>,
    #[serde(default)]
    verdict_mesh: Vec<Option<bool>>,
    #[serde(default)]
    min_dist_hull: Vec<Option<f64>>,
}

#[derive(Debug, Serialize)]
struct Verdict {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    time_us: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    collision: Option<bool>,
    /// Link, and obstacle or link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pair: Option<[String; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    with: Option<&'static str>,
}

/// Where our verdict is not the other program's.
#[derive(Debug, Clone, Serialize)]
struct Disagreement {
    index: usize,
    ours: bool,
    theirs: bool,
    /// Distance that we find (m); zero in contact.
    distance: f64,
    /// That the file gives (m).
    #[serde(skip_serializing_if = "Option::is_none")]
    their_distance: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Comparison {
    with: &'static str,
    compared: usize,
    disagreements: Vec<Disagreement>,
}

#[derive(Debug, Serialize)]
struct Summary {
    scene: String,
    tip: String,
    joints: Vec<String>,
    obstacles: usize,
    self_pairs: usize,
    configurations: usize,
    collisions: usize,
    failed: usize,
    checks_per_second: f64,
    median_us: f64,
    p99_us: f64,
    comparisons: Vec<Comparison>,
}

#[derive(Serialize)]
struct Output<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    results: &'a [Verdict],
}

pub(super) fn run(options: &CollideBatch) -> Result<(), CliError> {
    let name = options.configs.display().to_string();
    let configs: Configs = serde_json::from_str(&read_text(&options.configs)?)
        .map_err(|error| CliError::BadInput(format!("{name}: {error}")))?;
    let Some(first) = configs.q.first() else {
        return Err(CliError::BadInput(format!("{name}: 'q' is empty")));
    };
    if options.rounds == 0 {
        return Err(CliError::BadInput("--rounds must be one or more".into()));
    }
    let prisms = read_prisms(&options.prisms, &options.scene)?;
    let mut world = CollisionWorld::new(&prisms).map_err(|error| {
        let place = options.prisms.display();
        CliError::BadInput(format!("{place}, scene \"{}\": {error}", options.scene))
    })?;
    if let Some(ground) = options.shapes.ground {
        world = world.with_ground(ground);
    }
    let model = read_model(&options.urdf)?;
    for warning in &model.warnings {
        errln!("arm-planner: warning: {warning}");
    }
    let pick = |own: &str, file: &Option<String>| match (own, file) {
        ("", Some(file)) => file.clone(),
        (own, _) => own.to_owned(),
    };
    let chain = chain_for(
        &model,
        &pick(&options.base, &configs.base),
        &pick(&options.tip, &configs.tip),
        configs.joints.as_deref(),
        first.len(),
    )?;
    let order = order(&name, &configs, &chain)?;
    let arm = options.shapes.load(&options.urdf, &model, &chain)?;
    let in_order = |q: &Vec<f64>| -> Vec<f64> {
        if q.len() == order.len() {
            order.iter().filter_map(|&k| q.get(k).copied()).collect()
        } else {
            q.clone()
        }
    };
    let all: Vec<Vec<f64>> = configs.q.iter().map(in_order).collect();
    let results = judge(&arm, &world, &all);
    let mut times: Vec<f64> = results.iter().map(|verdict| verdict.time_us).collect();
    times.sort_by(f64::total_cmp);
    let summary = Summary {
        scene: options.scene.clone(),
        tip: chain.tip.clone(),
        joints: chain.joint_names(),
        obstacles: prisms.len(),
        self_pairs: arm.active_pairs().len(),
        configurations: results.len(),
        collisions: results.iter().filter(|v| v.collision == Some(true)).count(),
        failed: results.iter().filter(|v| !v.ok).count(),
        checks_per_second: speed(&arm, &world, &all, options.rounds),
        median_us: quantile(&times, 0.5),
        p99_us: quantile(&times, 0.99),
        comparisons: compare(
            &arm,
            &world,
            &all,
            &results,
            configs.scenes.get(&options.scene),
        ),
    };
    let output = Output {
        summary: &summary,
        results: &results,
    };
    write_json(options.out.as_deref(), &output)?;
    if options.json {
        print_json(&summary)?;
    } else {
        print(&summary);
    }
    match results.iter().find_map(|verdict| verdict.reason.as_ref()) {
        Some(reason) => Err(CliError::BadInput(format!(
            "{name}: {} of {} configurations cannot be checked; the first: {reason}",
            summary.failed, summary.configurations
        ))),
        None => Ok(()),
    }
}

/// Where each of the chain's degrees of freedom is in the file's configurations.
fn order(
    name: &str,
    configs: &Configs,
    chain: &crate::model::Chain,
) -> Result<Vec<usize>, CliError> {
    let Some(joints) = &configs.joints else {
        return Ok((0..chain.dof()).collect());
    };
    let place = |dof: &crate::model::Dof| {
        joints
            .iter()
            .position(|joint| *joint == dof.name)
            .ok_or_else(|| {
                CliError::BadInput(format!(
                    "{name}: joint \"{}\" is not listed in 'joints'",
                    dof.name
                ))
            })
    };
    if joints.len() != chain.dof() {
        return Err(CliError::BadInput(format!(
            "{name}: {} joints are listed, the chain has {}: {}",
            joints.len(),
            chain.dof(),
            chain.joint_names().join(", ")
        )));
    }
    chain.dofs.iter().map(place).collect()
}

/// Every configuration by itself, with its time.
fn judge(arm: &CollisionModel, world: &CollisionWorld, all: &[Vec<f64>]) -> Vec<Verdict> {
    let mut scratch = CheckScratch::default();
    all.iter()
        .map(|q| {
            let began = Instant::now();
            let found = arm.check_with(q, world, &mut scratch);
            let time_us = began.elapsed().as_secs_f64() * 1e6;
            match found {
                Ok(contact) => {
                    let (pair, with) = match contact {
                        Some(contact) => {
                            let (other, with) = match contact.with {
                                Obstacle::Obstacle(id) => (id, "obstacle"),
                                Obstacle::Link(link) => (link, "link"),
                            };
                            (Some([contact.link, other]), Some(with))
                        }
                        None => (None, None),
                    };
                    Verdict {
                        ok: true,
                        reason: None,
                        time_us,
                        collision: Some(pair.is_some()),
                        pair,
                        with,
                    }
                }
                Err(error) => Verdict {
                    ok: false,
                    reason: Some(error.to_string()),
                    time_us,
                    collision: None,
                    pair: None,
                    with: None,
                },
            }
        })
        .collect()
}

/// Checks a second when all are done one after the other, of the fastest round.
fn speed(arm: &CollisionModel, world: &CollisionWorld, all: &[Vec<f64>], rounds: u32) -> f64 {
    let mut scratch = CheckScratch::default();
    let mut best = f64::INFINITY;
    for _ in 0..rounds {
        let began = Instant::now();
        let mut free = 0_usize;
        for q in all {
            free += usize::from(arm.is_free(q, world, &mut scratch).unwrap_or(false));
        }
        std::hint::black_box(free);
        best = best.min(began.elapsed().as_secs_f64());
    }
    all.len() as f64 / best.max(1e-9)
}

fn compare(
    arm: &CollisionModel,
    world: &CollisionWorld,
    all: &[Vec<f64>],
    results: &[Verdict],
    verdicts: Option<&Verdicts>,
) -> Vec<Comparison> {
    let Some(verdicts) = verdicts else {
        return Vec::new();
    };
    let kinds = [
        (
            "hulls",
            &verdicts.verdict_hull,
            Some(&verdicts.min_dist_hull),
        ),
        ("meshes", &verdicts.verdict_mesh, None),
    ];
    let mut comparisons = Vec::new();
    for (with, theirs, distances) in kinds {
        let mut comparison = Comparison {
            with,
            compared: 0,
            disagreements: Vec::new(),
        };
        for (index, ((result, theirs), q)) in results.iter().zip(theirs).zip(all).enumerate() {
            let (Some(ours), Some(theirs)) = (result.collision, *theirs) else {
                continue;
            };
            comparison.compared += 1;
            if ours != theirs {
                comparison.disagreements.push(Disagreement {
                    index,
                    ours,
                    theirs,
                    distance: arm.distance(q, world).unwrap_or(f64::MAX),
                    their_distance: distances.and_then(|all| all.get(index).copied().flatten()),
                });
            }
        }
        if comparison.compared > 0 {
            comparisons.push(comparison);
        }
    }
    comparisons
}

/// At most this many disagreements are printed.
const TOLD: usize = 10;

fn print(summary: &Summary) {
    outln!("chain  {} ({})", summary.tip, summary.joints.join(", "));
    let header = [
        "scene",
        "obstacles",
        "self pairs",
        "checks",
        "in collision",
        "checks/s",
        "median us",
        "p99 us",
    ];
    let row = vec![
        summary.scene.clone(),
        summary.obstacles.to_string(),
        summary.self_pairs.to_string(),
        summary.configurations.to_string(),
        summary.collisions.to_string(),
        format!("{:.0}", summary.checks_per_second),
        format!("{:.2}", summary.median_us),
        format!("{:.2}", summary.p99_us),
    ];
    out!("{}", table::render(&header, &[row]));
    for comparison in &summary.comparisons {
        outln!(
            "verdicts on {}: {} of {} disagree",
            comparison.with,
            comparison.disagreements.len(),
            comparison.compared
        );
        let header = [
            "configuration",
            "ours",
            "theirs",
            "distance [m]",
            "their distance [m]",
        ];
        let word = |collision: bool| if collision { "collision" } else { "free" };
        let rows: Vec<Vec<String>> = comparison
            .disagreements
            .iter()
            .take(TOLD)
            .map(|d| {
                vec![
                    d.index.to_string(),
                    word(d.ours).to_owned(),
                    word(d.theirs).to_owned(),
                    format!("{:.3e}", d.distance),
                    d.their_distance.map_or("-".into(), |m| format!("{m:.3e}")),
                ]
            })
            .collect();
        if !rows.is_empty() {
            out!("{}", table::render(&header, &rows));
        }
        if comparison.disagreements.len() > TOLD {
            outln!("and {} more", comparison.disagreements.len() - TOLD);
        }
    }
}
