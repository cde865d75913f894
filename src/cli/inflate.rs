//! `arm-planner inflate`: the obstacles of a scene, inflated and merged.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use nalgebra::Point2;
use serde_json::json;

use super::arm::write_text;
use super::scene::{Scene, SelfCrossingArgument};
use super::CliError;
use crate::planar::offset::{inflate_all, FINEST_ARC, LEAST_MITRE};
use crate::planar::{Join, Polygon};

/// Corner shapes as they are written on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum JoinArgument {
    /// Arcs.
    Round,
    /// Edges prolonged until they meet, cut where the limit is passed.
    Mitre,
}

/// Inflates the obstacles of a scene and merges what then overlaps.
#[derive(Debug, Args)]
pub struct Inflate {
    /// Scene file, JSON.
    #[arg(long)]
    scene: PathBuf,
    /// How far to inflate (m).
    #[arg(long, allow_negative_numbers = true)]
    radius: f64,
    /// Shape of convex corners.
    #[arg(long, value_enum, default_value = "round")]
    join: JoinArgument,
    /// Farthest corner of a mitred join, in radii.
    #[arg(long, default_value_t = 2.0, allow_negative_numbers = true)]
    mitre_limit: f64,
    /// How far the chords of a round join may lie outside the true arc (m)
    /// (default: a hundredth of the radius).
    #[arg(long, allow_negative_numbers = true)]
    arc_tolerance: Option<f64>,
    /// What to do with polygons that cross themselves.
    #[arg(long, value_enum, default_value = "refuse")]
    self_crossing: SelfCrossingArgument,
    /// Where to write the polygons, JSON.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Print the polygons as JSON.
    #[arg(long)]
    json: bool,
}

fn ring(points: &[Point2<f64>]) -> Vec<[f64; 2]> {
    points.iter().map(|p| [p.x, p.y]).collect()
}

fn to_json(polygons: &[Polygon]) -> serde_json::Value {
    let polygons: Vec<_> = polygons
        .iter()
        .map(|p| {
            let holes: Vec<_> = p.holes().iter().map(|h| ring(h)).collect();
            json!({"outer": ring(p.outer()), "holes": holes, "area": p.area()})
        })
        .collect();
    json!({"polygons": polygons})
}

impl Inflate {
    /// Runs the command.
    ///
    /// # Errors
    /// See [`CliError`].
    pub fn run(&self) -> Result<(), CliError> {
        let scene = Scene::read(&self.scene, self.self_crossing.into())?;
        scene.report_repairs();
        let join = match self.join {
            JoinArgument::Round => Join::Round {
                arc_tolerance: self.arc_tolerance,
            },
            JoinArgument::Mitre => Join::Mitre {
                limit: self.mitre_limit,
            },
        };
        // Finer or sharper than corners are made would be coarsened in silence.
        let finest = FINEST_ARC * self.radius;
        if let Some(tolerance) = self.arc_tolerance.filter(|t| *t > 0.0 && *t < finest) {
            return Err(CliError::BadInput(format!(
                "--arc-tolerance {tolerance} is finer than arcs are made: for a radius of {} m it must be {finest:e} m or more",
                self.radius
            )));
        }
        let limit = self.mitre_limit;
        if self.join == JoinArgument::Mitre && limit > 0.0 && limit < LEAST_MITRE {
            return Err(CliError::BadInput(format!(
                "--mitre-limit must be {LEAST_MITRE} or more, not {limit}"
            )));
        }
        let polygons: Vec<Polygon> = scene.obstacles.into_iter().map(|o| o.polygon).collect();
        let inflated = inflate_all(&polygons, self.radius, &join)
            .map_err(|error| CliError::BadInput(error.to_string()))?;
        let json = to_json(&inflated);
        if let Some(out) = &self.out {
            write_text(out, &json.to_string())?;
        }
        if self.json {
            outln!("{json}");
        } else {
            let holes: usize = inflated.iter().map(|p| p.holes().len()).sum();
            outln!(
                "{} polygon(s) inflated by {} m: {} part(s), {holes} hole(s)",
                polygons.len(),
                self.radius,
                inflated.len()
            );
            outln!(
                "{:>5} {:>9} {:>6} {:>18}",
                "part",
                "vertices",
                "holes",
                "area [m²]"
            );
            for (k, p) in inflated.iter().enumerate() {
                outln!(
                    "{k:>5} {:>9} {:>6} {:>18.9}",
                    p.rings().map(<[_]>::len).sum::<usize>(),
                    p.holes().len(),
                    p.area()
                );
            }
        }
        Ok(())
    }
}
