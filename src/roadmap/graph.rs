//! The visibility graph of a world: nodes, flat adjacency, and queries.
//!
//! Its nodes are the corners in which shortest paths can turn. Start and goal
//! are joined to it for each query. Every leg of an answer is confirmed by the
//! world's exact segment test before it is returned.

use std::sync::{Arc, OnceLock};

use nalgebra::Point2;

use crate::planar::sector::Corner;
use crate::planar::PlanarWorld;

use super::ends::{assemble, free_end, look_around, no_path};
use super::naive;
use super::search::{shortest, Adjacency, Found, Search};
use super::sweep::{Sweeper, View};
use super::{End, Roadmap, Route, RouteError};

/// The corners in which shortest paths can turn, flat.
#[derive(Debug, Clone, Default)]
pub(crate) struct Nodes {
    pub points: Vec<Point2<f64>>,
    pub corners: Vec<Corner>,
    /// An obstacle (index) at every node.
    pub obstacles: Vec<u32>,
    /// The arrangement's vertex of every node; empty for nodes that were found without it.
    pub vertices: Vec<u32>,
    /// The node of every vertex of the arrangement, if it is one.
    pub of_vertex: Vec<Option<u32>>,
}

impl Nodes {
    fn push(&mut self, point: Point2<f64>, corner: Corner, obstacle: u32) -> u32 {
        self.points.push(point);
        self.corners.push(corner);
        self.obstacles.push(obstacle);
        self.points.len() as u32 - 1
    }

    /// From the merged outlines.
    pub fn of_outlines(world: &PlanarWorld) -> Self {
        let mut nodes = Nodes::default();
        for (v, vertex) in (0u32..).zip(world.arrangement().vertices()) {
            let node = vertex.corner.map(|corner| {
                let obstacle = vertex.obstacles.first().copied().unwrap_or(0);
                nodes.vertices.push(v);
                nodes.push(vertex.point, corner, obstacle)
            });
            nodes.of_vertex.push(node);
        }
        nodes
    }

    /// Without the merged outlines.
    pub fn exact(world: &PlanarWorld) -> Self {
        let mut nodes = Nodes::default();
        for (point, corner, obstacle) in world.exact_corners() {
            nodes.push(point, corner, obstacle);
        }
        nodes
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Builder {
    Naive,
    Sweep,
}

/// Visibility graph with its queries.
#[derive(Debug)]
pub struct VisibilityGraph {
    name: &'static str,
    world: Arc<PlanarWorld>,
    builder: Builder,
    nodes: Nodes,
    adjacency: Adjacency,
    search: Search,
    /// Built when rounding upset this one.
    exact: OnceLock<Box<VisibilityGraph>>,
}

impl VisibilityGraph {
    /// Builds by asking for every pair: the oracle.
    pub fn naive(world: Arc<PlanarWorld>) -> Self {
        let nodes = Nodes::exact(&world);
        let edges = naive::visibility_edges(&world, &nodes, &|| false).unwrap_or_default();
        Self::new("visibility_naive", world, Builder::Naive, nodes, &edges)
    }

    /// The same; `None` if the caller gives up.
    pub fn naive_unless(world: Arc<PlanarWorld>, give_up: &dyn Fn() -> bool) -> Option<Self> {
        let nodes = Nodes::exact(&world);
        let edges = naive::visibility_edges(&world, &nodes, give_up)?;
        let name = "visibility_naive";
        Some(Self::new(name, world, Builder::Naive, nodes, &edges))
    }

    /// Builds by a rotational sweep around every node.
    pub fn by_sweep(name: &'static str, world: Arc<PlanarWorld>) -> Self {
        let nodes = Nodes::of_outlines(&world);
        let edges = sweep_edges(&world, &nodes, &|| false).unwrap_or_default();
        Self::new(name, world, Builder::Sweep, nodes, &edges)
    }

    /// The same; `None` if the caller gives up.
    pub fn by_sweep_unless(
        name: &'static str,
        world: Arc<PlanarWorld>,
        give_up: &dyn Fn() -> bool,
    ) -> Option<Self> {
        let nodes = Nodes::of_outlines(&world);
        let edges = sweep_edges(&world, &nodes, give_up)?;
        Some(Self::new(name, world, Builder::Sweep, nodes, &edges))
    }

    fn new(
        name: &'static str,
        world: Arc<PlanarWorld>,
        builder: Builder,
        nodes: Nodes,
        edges: &[[u32; 2]],
    ) -> Self {
        let distance =
            |a: u32, b: u32| (nodes.points[a as usize] - nodes.points[b as usize]).norm();
        let adjacency = Adjacency::new(nodes.points.len(), edges, distance);
        VisibilityGraph {
            name,
            world,
            builder,
            nodes,
            adjacency,
            search: Search::AStar,
            exact: OnceLock::new(),
        }
    }

    /// The same graph, searched by another algorithm.
    pub fn with_search(mut self, search: Search) -> Self {
        self.search = search;
        self
    }

    /// Where the nodes are.
    pub fn nodes(&self) -> &[Point2<f64>] {
        &self.nodes.points
    }

    /// The edges between nodes.
    pub fn adjacency(&self) -> &Adjacency {
        &self.adjacency
    }

    /// Nodes that the free point `p` sees, with their distances, in the order of their numbers.
    fn links(&self, builder: Builder, p: &Point2<f64>) -> Vec<(u32, f64)> {
        let mut visible = match builder {
            Builder::Naive => naive::visible_from(&self.world, &self.nodes, p),
            Builder::Sweep => {
                let mut visible = Vec::new();
                look_around(&self.world, p, false, |v| {
                    visible.extend(self.nodes.of_vertex[v as usize])
                });
                visible
            }
        };
        visible.sort_unstable();
        visible
            .iter()
            .map(|&i| (i, (self.nodes.points[i as usize] - p).norm()))
            .collect()
    }

    /// Searches; `None` if there is no way. The nodes are the answering graph's.
    fn search(&self, start: &Point2<f64>, goal: &Point2<f64>) -> (&Nodes, Option<Found>) {
        if self.world.open_segment_is_free(start, goal) {
            let length = (goal - start).norm();
            let straight = Found {
                nodes: Vec::new(),
                length,
                expanded: 0,
            };
            return (&self.nodes, Some(straight));
        }
        let point = |i: u32| &self.nodes.points[i as usize];
        let is_free = |found: &Found| {
            let way: Vec<&Point2<f64>> = std::iter::once(start)
                .chain(found.nodes.iter().map(|i| point(*i)))
                .chain([goal])
                .collect();
            way.windows(2)
                .all(|leg| self.world.open_segment_is_free(leg[0], leg[1]))
        };
        let between = |builder| {
            let links = [start, goal].map(|p| self.links(builder, p));
            let remaining = |i| (goal - point(i)).norm();
            shortest(
                &self.adjacency,
                self.search,
                &links[0],
                &links[1],
                remaining,
            )
        };
        let is_shortest = |found: &Option<Found>| {
            let length = found.as_ref().map_or(f64::INFINITY, |f| f.length);
            !self.world.lacks_a_corner(start, goal, length)
        };
        let found = between(self.builder);
        let is_rounded = self.world.arrangement().is_rounded();
        if self.builder == Builder::Naive || !is_rounded {
            return (&self.nodes, found);
        }
        if found.as_ref().is_some_and(is_free) && is_shortest(&found) {
            return (&self.nodes, found);
        }
        // An end beside an edge may lie on the wrong side of its rounded pieces.
        let found = between(Builder::Naive);
        if found.as_ref().is_none_or(is_free) && is_shortest(&found) {
            return (&self.nodes, found);
        }
        // Only rounded crossing points of overlapping obstacles that nearly coincide can
        // bring this about: then the slow way, which uses none, has to decide.
        self.exact
            .get_or_init(|| Box::new(VisibilityGraph::naive(self.world.clone())))
            .search(start, goal)
    }
}

/// All pairs `[i, j]` that see each other, sorted, `i < j`; `None` if the caller gives up.
fn sweep_edges(
    world: &PlanarWorld,
    nodes: &Nodes,
    give_up: &dyn Fn() -> bool,
) -> Option<Vec<[u32; 2]>> {
    let mut sweeper = Sweeper::new(world);
    let vertices = world.arrangement().vertices();
    let mut edges = Vec::new();
    for (i, v) in (0u32..).zip(&nodes.vertices) {
        if give_up() {
            return None;
        }
        let vertex = &vertices[*v as usize];
        let view = View {
            point: vertex.point,
            sectors: &vertex.sectors,
            corner: vertex.corner.as_ref(),
            ignored: &[],
            upper_half: true,
            nearest_only: false,
        };
        sweeper.visible(&view, |w| {
            if let Some(j) = nodes.of_vertex[w as usize] {
                edges.push([i.min(j), i.max(j)]);
            }
        });
    }
    edges.sort_unstable();
    Some(edges)
}

impl Roadmap for VisibilityGraph {
    fn name(&self) -> &'static str {
        self.name
    }

    fn world(&self) -> &Arc<PlanarWorld> {
        &self.world
    }

    fn node_count(&self) -> usize {
        self.nodes.points.len()
    }

    fn edge_count(&self) -> usize {
        self.adjacency.edge_count()
    }

    fn edge_list(&self) -> Vec<[Point2<f64>; 2]> {
        self.adjacency
            .edges()
            .map(|e| e.map(|i| self.nodes.points[i as usize]))
            .collect()
    }

    fn shortest_path(&self, start: &Point2<f64>, goal: &Point2<f64>) -> Result<Route, RouteError> {
        let start = free_end(&self.world, End::Start, start)?;
        let goal = free_end(&self.world, End::Goal, goal)?;
        if start.asked == goal.asked {
            return Ok(Route::point(start.asked));
        }
        let (nodes, found) = self.search(&start.free, &goal.free);
        let found = found.ok_or_else(|| no_path(&self.world, &start.free, &goal.free))?;
        let between = found.nodes.iter().map(|&i| {
            let id = self.world.obstacle_id(nodes.obstacles[i as usize]);
            (nodes.points[i as usize], Some(id.to_owned()))
        });
        Ok(assemble(&start, &goal, between, found.expanded))
    }
}
