//! `arm-planner path-batch --update`: how fast a road map follows its obstacles.

use std::sync::Arc;
use std::time::Instant;

use nalgebra::{Point2, Vector2};
use serde::Serialize;

use super::stages::quantile;
use super::CliError;
use crate::planar::{Edit, Obstacle, PlanarWorld, Polygon};
use crate::roadmap::DynamicRoadmap;

/// What the moves took.
#[derive(Debug, Serialize)]
pub(super) struct Updates {
    pub moves: usize,
    pub median_ms: f64,
    pub p99_ms: f64,
    /// How many of the results were compared with a rebuild; all of them were equal.
    pub verified: usize,
    /// Median time of those rebuilds.
    pub rebuild_median_ms: f64,
}

/// Moves random obstacles by up to a hundredth of the scene, always the same ones.
pub(super) fn follow_moves(world: &Arc<PlanarWorld>, moves: usize) -> Result<Updates, CliError> {
    let count = world.obstacles().len();
    if count == 0 {
        return Err(CliError::BadInput("no obstacle to move".to_owned()));
    }
    let points = world.obstacles().iter().flat_map(|o| o.polygon.outer());
    let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for p in points {
        low = [low[0].min(p.x), low[1].min(p.y)];
        high = [high[0].max(p.x), high[1].max(p.y)];
    }
    let reach = 0.01 * (high[0] - low[0]).max(high[1] - low[1]);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut snapshot = DynamicRoadmap::new(world.clone());
    let (mut times, mut rebuilds) = (Vec::new(), Vec::new());
    let every = moves.div_ceil(10);
    for k in 0..moves {
        let which = ((random() * count as f64) as usize).min(count - 1);
        let by = Vector2::new(2.0 * random() - 1.0, 2.0 * random() - 1.0) * reach;
        let moved = |ring: &[Point2<f64>]| ring.iter().map(|p| p + by).collect::<Vec<_>>();
        let obstacle = &snapshot.world().obstacles()[which];
        let Ok(polygon) = Polygon::from_points(&moved(obstacle.polygon.outer())) else {
            continue;
        };
        let edit = Edit {
            remove: vec![which as u32],
            at: which,
            insert: vec![Obstacle {
                id: obstacle.id.clone(),
                polygon,
            }],
        };
        let begin = Instant::now();
        let next = snapshot
            .edited(&edit)
            .map_err(|error| CliError::BadInput(error.to_string()))?;
        times.push(begin.elapsed().as_secs_f64() * 1e3);
        snapshot = next;
        if k % every == 0 {
            let now = snapshot.world();
            let begin = Instant::now();
            let again = PlanarWorld::build(
                now.obstacles().to_vec(),
                now.boundary().cloned(),
                now.options(),
            )
            .map_err(|error| CliError::BadInput(error.to_string()))?;
            let again = DynamicRoadmap::new(Arc::new(again));
            rebuilds.push(begin.elapsed().as_secs_f64() * 1e3);
            let same_world = again.world().arrangement() == now.arrangement();
            if !same_world || again.graph() != snapshot.graph() {
                return Err(CliError::NoSolution(format!(
                    "after move {k} of obstacle '{}' the road map is not that of a rebuild",
                    now.obstacles()[which].id
                )));
            }
        }
    }
    times.sort_by(f64::total_cmp);
    rebuilds.sort_by(f64::total_cmp);
    Ok(Updates {
        moves: times.len(),
        median_ms: quantile(&times, 0.5),
        p99_ms: quantile(&times, 0.99),
        verified: rebuilds.len(),
        rebuild_median_ms: quantile(&rebuilds, 0.5),
    })
}
