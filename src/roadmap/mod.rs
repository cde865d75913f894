//! Shortest paths among the obstacles of a [`PlanarWorld`], behind one trait.
//!
//! | file | holds |
//! |---|---|
//! | `naive` | visibility graph, all pairs against all edges: the oracle, O(n³) |
//! | `sweep` | visibility graph by rotational sweep, O(n² log n) |
//! | `graph` | what both share: nodes, flat adjacency, queries |
//! | `taut` | the one that serves: taut edges through triangles, stored or lazy |
//! | `dynamic` | the same after one obstacle changed, without building it again |
//! | `taut_search` | its A*, which keeps around the obstacles |
//! | `search` | Dijkstra and A* |
//! | `trapezoid` | trapezoidal map with point location in O(log n) |
//! | `trapezoidal_map` | its road map: fast, not the shortest; `shorten` |
//! | `ends` | what all do alike with start, goal and failure |
//!
//! [`build_roadmap`] is the front door.

use std::fmt;
use std::sync::Arc;

use nalgebra::Point2;

use crate::planar::PlanarWorld;

pub mod dynamic;
mod ends;
pub mod graph;
mod naive;
pub mod search;
pub mod sweep;
pub mod taut;
mod taut_search;
mod trapezoid;
pub mod trapezoidal_map;

pub use dynamic::{DynamicRoadmap, UpdateError};
pub use graph::VisibilityGraph;
pub use taut::TautRoadmap;
pub use trapezoidal_map::{shorten, TrapezoidalRoadmap};

/// Names that [`build_roadmap`] knows, with what they are.
pub const ROADMAPS: &[(&str, &str)] = &[
    (
        "visibility_graph",
        "visibility graph of taut edges, built through triangles (the default)",
    ),
    (
        "visibility_sweep",
        "visibility graph, built by rotational sweep",
    ),
    (
        "visibility_naive",
        "visibility graph, every pair against every edge (slow, for comparison)",
    ),
    (
        "lazy",
        "no stored graph, searched through triangles: for a world that is asked once",
    ),
    (
        "trapezoidal_map",
        "centres and walls of the trapezoidal map (quick, not the shortest path)",
    ),
];

/// Which end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// Where it starts.
    Start,
    /// Where it ends.
    Goal,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            End::Start => "start",
            End::Goal => "goal",
        })
    }
}

/// A path from start to goal.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// Its vertices, start and goal as they were asked for. \[m\]
    ///
    /// One point if start and goal are equal. If an end had to be moved to free space
    /// (within the world's snap tolerance), the free point follows or precedes it.
    pub points: Vec<Point2<f64>>,
    /// For every point the obstacle at whose corner the path turns there.
    pub obstacles: Vec<Option<String>>,
    /// Length. \[m\]
    pub length: f64,
    /// Number of nodes that the search took up.
    pub expanded: usize,
}

impl Route {
    /// The route from a point to itself.
    pub(crate) fn point(at: Point2<f64>) -> Self {
        Route {
            points: vec![at],
            obstacles: vec![None],
            length: 0.0,
            expanded: 0,
        }
    }
}

/// Why there is no path.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RouteError {
    /// A coordinate is NaN, infinite or beyond 1e7 m.
    #[error("the {end} ({x}, {y}) is not a finite point within 1e7 m")]
    InvalidPoint {
        /// Which end.
        end: End,
        /// First coordinate.
        x: f64,
        /// Second coordinate.
        y: f64,
    },
    /// An end lies inside obstacles.
    #[error(
        "the {end} lies inside obstacle {}, {depth:.6} m from free space: move it out",
        quoted(obstacles)
    )]
    InObstacle {
        /// Which end.
        end: End,
        /// The obstacles.
        obstacles: Vec<String>,
        /// Distance to the nearest free point. \[m\]
        depth: f64,
    },
    /// An end is nearer to obstacles than the clearance.
    #[error("the {end} is {distance:.6} m from obstacle {}: {:.6} m less than the clearance of {clearance} m; move it, or ask for less clearance", quoted(obstacles), clearance - distance)]
    TooClose {
        /// Which end.
        end: End,
        /// The obstacles, the nearest first.
        obstacles: Vec<String>,
        /// Distance to the nearest one. \[m\]
        distance: f64,
        /// The clearance that was asked for. \[m\]
        clearance: f64,
    },
    /// An end lies outside the boundary.
    #[error("the {end} lies outside the boundary, {depth:.6} m from free space")]
    OutsideBoundary {
        /// Which end.
        end: End,
        /// Distance to the nearest free point. \[m\]
        depth: f64,
    },
    /// Both ends are free, but obstacles lie around one of them.
    #[error("no path: the {enclosed} is enclosed by obstacle {}; remove one of them, or ask for less clearance", quoted(by))]
    NoPath {
        /// The end that is shut in.
        enclosed: End,
        /// The obstacles that can be reached from it.
        by: Vec<String>,
    },
}

fn quoted(ids: &[String]) -> String {
    ids.iter()
        .map(|id| format!("'{id}'"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Why a road map could not be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RoadmapError {
    /// No road map has this name.
    #[error("unknown road map '{name}'; choose one of: {}", ROADMAPS.iter().map(|r| r.0).collect::<Vec<_>>().join(", "))]
    UnknownName {
        /// The name.
        name: String,
    },
}

/// A road map of one world: built once, asked often, never changed.
pub trait Roadmap: fmt::Debug + Send + Sync {
    /// Name of the kind of road map, one of [`ROADMAPS`].
    fn name(&self) -> &'static str;

    /// The world it was built for.
    fn world(&self) -> &Arc<PlanarWorld>;

    /// Number of nodes.
    fn node_count(&self) -> usize;

    /// Number of edges.
    fn edge_count(&self) -> usize;

    /// Its edges as pairs of points, for drawing.
    fn edge_list(&self) -> Vec<[Point2<f64>; 2]>;

    /// The cells that it is made from, for drawing; none for most.
    fn cells(&self) -> Vec<[Point2<f64>; 4]> {
        Vec::new()
    }

    /// The shortest path (for road maps that are not optimal: a path).
    ///
    /// # Errors
    /// See [`RouteError`].
    fn shortest_path(&self, start: &Point2<f64>, goal: &Point2<f64>) -> Result<Route, RouteError>;
}

/// Whether a road map has this name (see [`ROADMAPS`]; empty: the default).
///
/// # Errors
/// [`RoadmapError::UnknownName`] lists the choices.
pub fn known_roadmap(name: &str) -> Result<(), RoadmapError> {
    if name.is_empty() || ROADMAPS.iter().any(|(known, _)| *known == name) {
        return Ok(());
    }
    Err(RoadmapError::UnknownName {
        name: name.to_owned(),
    })
}

/// Whether a path may start or end at `p`, as every road map of `world` will judge it.
///
/// # Errors
/// What a road map would say of it; never [`RouteError::NoPath`].
pub fn check_end(world: &PlanarWorld, end: End, p: &Point2<f64>) -> Result<(), RouteError> {
    ends::free_end(world, end, p).map(|_| ())
}

/// Builds the road map with this name (see [`ROADMAPS`]; empty: the default).
///
/// # Errors
/// [`RoadmapError::UnknownName`] lists the choices.
pub fn build_roadmap(
    name: &str,
    world: Arc<PlanarWorld>,
) -> Result<Box<dyn Roadmap>, RoadmapError> {
    match name {
        "" | "visibility_graph" => Ok(taut("visibility_graph", world, false)),
        "lazy" => Ok(taut("lazy", world, true)),
        "visibility_sweep" => Ok(Box::new(VisibilityGraph::by_sweep(
            "visibility_sweep",
            world,
        ))),
        "visibility_naive" => Ok(Box::new(VisibilityGraph::naive(world))),
        "trapezoidal_map" => Ok(Box::new(TrapezoidalRoadmap::new(world))),
        _ => Err(RoadmapError::UnknownName {
            name: name.to_owned(),
        }),
    }
}

/// The fast road map, or the sweep's if the outlines cannot be triangulated.
fn taut(name: &'static str, world: Arc<PlanarWorld>, lazy: bool) -> Box<dyn Roadmap> {
    match TautRoadmap::new(name, world.clone(), lazy) {
        Some(roadmap) => Box::new(roadmap),
        None => Box::new(VisibilityGraph::by_sweep(name, world)),
    }
}
