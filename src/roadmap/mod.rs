//! Shortest paths among the obstacles of a [`PlanarWorld`], behind one trait.
//!
//! | file | holds |
//! |---|---|
//! | `naive` | visibility graph, all pairs against all edges: the oracle, O(n³) |
//! | `sweep` | visibility graph by rotational sweep, O(n² log n) |
//! | `graph` | what both share: nodes, flat adjacency, queries |
//! | `taut` | the one that serves: taut edges through triangles, stored or lazy |
//! | `dynamic` | the same after one obstacle changed, without building it again |
//! | `taut_search`, `frontier` | its A*, which keeps around the obstacles |
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
mod frontier;
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

/// The name by which the road map is chosen: see [`choose_roadmap`].
pub const AUTO: &str = "auto";

/// Names that [`build_roadmap`] knows, with what they are.
pub const ROADMAPS: &[(&str, &str)] = &[
    (
        AUTO,
        "visibility_graph, or lazy for few questions to a large world (the default)",
    ),
    (
        "visibility_graph",
        "visibility graph of taut edges, built through triangles",
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
    /// The caller said that it is no longer wanted.
    #[error("time was up while the road map '{name}' was built{}", hint(name))]
    GivenUp {
        /// Which one.
        name: &'static str,
    },
}

/// What helps when a road map takes too long.
fn hint(name: &str) -> &'static str {
    match name {
        "lazy" | "visibility_graph" => "",
        _ => ": visibility_graph and lazy are built faster",
    }
}

/// How a road map is built.
#[derive(Clone, Copy)]
pub struct BuildOptions<'a> {
    /// How many questions are expected before the world changes: [`choose_roadmap`] goes by it.
    pub queries: usize,
    /// Asked now and then while a road map is built; `true` ends it with
    /// [`RoadmapError::GivenUp`].
    pub give_up: &'a dyn Fn() -> bool,
}

impl Default for BuildOptions<'_> {
    /// A world that is asked often, and all the time that it takes.
    fn default() -> Self {
        BuildOptions {
            queries: usize::MAX,
            give_up: &|| false,
        }
    }
}

impl fmt::Debug for BuildOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuildOptions")
            .field("queries", &self.queries)
            .finish_non_exhaustive()
    }
}

/// A world with no more outline vertices than this has a visibility graph in little more than a
/// millisecond: it is worth having for its picture alone.
const SMALL_WORLD: usize = 256;

/// From this many questions on storing the graph pays. `cargo bench --bench planar` prints for every
/// kind and size of scene after how many questions both have cost the same.
const MANY_QUERIES: usize = 50;

/// The road map that [`AUTO`] stands for in a world with this many outline vertices that will be
/// asked about this many `queries`: the stored graph, or for few questions to a large world none.
pub fn choose_roadmap(vertices: usize, queries: usize) -> &'static str {
    if vertices <= SMALL_WORLD || queries >= MANY_QUERIES {
        "visibility_graph"
    } else {
        "lazy"
    }
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

    /// Whether its paths are the shortest ones.
    fn is_optimal(&self) -> bool {
        true
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

/// Builds the road map with this name (see [`ROADMAPS`]; empty: the default) for a world that is
/// asked often.
///
/// # Errors
/// [`RoadmapError::UnknownName`] lists the choices.
pub fn build_roadmap(
    name: &str,
    world: Arc<PlanarWorld>,
) -> Result<Box<dyn Roadmap>, RoadmapError> {
    build_roadmap_with(name, world, &BuildOptions::default())
}

/// Builds the road map with this name (see [`ROADMAPS`]; empty: the default). The road map's own
/// name tells what [`AUTO`] chose.
///
/// # Errors
/// [`RoadmapError::UnknownName`] lists the choices; [`RoadmapError::GivenUp`].
pub fn build_roadmap_with(
    name: &str,
    world: Arc<PlanarWorld>,
    options: &BuildOptions<'_>,
) -> Result<Box<dyn Roadmap>, RoadmapError> {
    let give_up = options.give_up;
    let name = match name {
        "" | AUTO => choose_roadmap(world.arrangement().vertices().len(), options.queries),
        name => name,
    };
    match name {
        "visibility_graph" => taut("visibility_graph", world, false, give_up),
        "lazy" => taut("lazy", world, true, give_up),
        "visibility_sweep" => sweep_graph("visibility_sweep", world, give_up),
        "visibility_naive" => {
            let graph = VisibilityGraph::naive_unless(world, give_up);
            boxed("visibility_naive", graph)
        }
        "trapezoidal_map" => {
            let map = TrapezoidalRoadmap::new(world, give_up);
            boxed("trapezoidal_map", map)
        }
        _ => Err(RoadmapError::UnknownName {
            name: name.to_owned(),
        }),
    }
}

/// A road map, or that its building was given up.
fn boxed<R: Roadmap + 'static>(
    name: &'static str,
    built: Option<R>,
) -> Result<Box<dyn Roadmap>, RoadmapError> {
    match built {
        Some(roadmap) => Ok(Box::new(roadmap)),
        None => Err(RoadmapError::GivenUp { name }),
    }
}

fn sweep_graph(
    name: &'static str,
    world: Arc<PlanarWorld>,
    give_up: &dyn Fn() -> bool,
) -> Result<Box<dyn Roadmap>, RoadmapError> {
    boxed(name, VisibilityGraph::by_sweep_unless(name, world, give_up))
}

/// The fast road map, or the sweep's if the outlines cannot be triangulated.
fn taut(
    name: &'static str,
    world: Arc<PlanarWorld>,
    lazy: bool,
    give_up: &dyn Fn() -> bool,
) -> Result<Box<dyn Roadmap>, RoadmapError> {
    match TautRoadmap::new(name, world.clone(), true) {
        Some(roadmap) if lazy => Ok(Box::new(roadmap)),
        Some(roadmap) => boxed(name, roadmap.with_graph(give_up)),
        None => sweep_graph(name, world, give_up),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planar::{Obstacle, Polygon, WorldOptions};

    fn squares(count: u32) -> Arc<PlanarWorld> {
        let obstacles = (0..count).map(|k| {
            let x = f64::from(k) * 2.0;
            let ring = [(x, 0.0), (x + 1.0, 0.0), (x + 1.0, 1.0), (x, 1.0)];
            Obstacle {
                id: k.to_string(),
                polygon: Polygon::from_points(&ring.map(|(x, y)| Point2::new(x, y))).unwrap(),
            }
        });
        let options = WorldOptions::default();
        Arc::new(PlanarWorld::build(obstacles.collect(), None, &options).unwrap())
    }

    #[test]
    fn the_automatic_choice_goes_by_size_and_questions() {
        let name = |count: u32, queries: usize, asked: &str| {
            let options = BuildOptions {
                queries,
                ..BuildOptions::default()
            };
            build_roadmap_with(asked, squares(count), &options)
                .unwrap()
                .name()
        };
        for asked in ["", AUTO] {
            assert_eq!(name(64, 1, asked), "visibility_graph");
            assert_eq!(name(65, 1, asked), "lazy");
            assert_eq!(name(65, 49, asked), "lazy");
            assert_eq!(name(65, 50, asked), "visibility_graph");
        }
        // A name forces it.
        assert_eq!(name(2, 1, "lazy"), "lazy");
        assert_eq!(name(65, 1, "visibility_graph"), "visibility_graph");
        let often = build_roadmap("", squares(65)).unwrap();
        assert_eq!(often.name(), "visibility_graph");
    }

    #[test]
    fn builders_give_up_when_asked() {
        for name in [
            "visibility_graph",
            "visibility_naive",
            "visibility_sweep",
            "trapezoidal_map",
        ] {
            let asked = std::cell::Cell::new(0);
            let options = BuildOptions {
                give_up: &|| {
                    asked.set(asked.get() + 1);
                    asked.get() > 5
                },
                ..BuildOptions::default()
            };
            let error = build_roadmap_with(name, squares(40), &options).unwrap_err();
            assert_eq!(error, RoadmapError::GivenUp { name });
            assert_eq!(asked.get(), 6);
            assert!(error.to_string().contains(name));
        }
    }
}
