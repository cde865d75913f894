//! The visibility graph's oracle: every pair of corners against every edge, O(n³).
//!
//! It asks the world's exact segment test, which knows nothing of sweeps,
//! statuses or merged outlines. (The grid in the world only spares edges that
//! are nowhere near the segment.)

use nalgebra::Point2;

use crate::planar::sector::Corner;
use crate::planar::PlanarWorld;

use super::graph::Nodes;

/// Whether the free point `p` (a corner itself if `corner` is given) sees node `to`.
fn sees(
    world: &PlanarWorld,
    nodes: &Nodes,
    p: &Point2<f64>,
    corner: Option<&Corner>,
    to: usize,
) -> bool {
    let q = &nodes.points[to];
    p != q
        && corner.is_none_or(|c| c.admits(p, q))
        && nodes.corners[to].admits(q, p)
        && world.open_segment_is_free(p, q)
}

/// All pairs `[i, j]`, `i < j`, that see each other, in order; `None` if the caller gives up.
pub(crate) fn visibility_edges(
    world: &PlanarWorld,
    nodes: &Nodes,
    give_up: &dyn Fn() -> bool,
) -> Option<Vec<[u32; 2]>> {
    let mut edges = Vec::new();
    for (i, (p, corner)) in nodes.points.iter().zip(&nodes.corners).enumerate() {
        if give_up() {
            return None;
        }
        for j in i + 1..nodes.points.len() {
            if sees(world, nodes, p, Some(corner), j) {
                edges.push([i as u32, j as u32]);
            }
        }
    }
    Some(edges)
}

/// Nodes that the free point `p` sees, in order.
pub(crate) fn visible_from(world: &PlanarWorld, nodes: &Nodes, p: &Point2<f64>) -> Vec<u32> {
    (0..nodes.points.len())
        .filter(|&i| sees(world, nodes, p, None, i))
        .map(|i| i as u32)
        .collect()
}
