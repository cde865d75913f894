//! The visibility graph that serves: only taut edges, found through triangles.
//!
//! A shortest path is pulled taut: in each corner it touches the obstacle with
//! its tangent. So of all pairs that see each other only those are kept whose
//! line is a tangent at both ends, and what a corner sees is found by triangular
//! expansion, which looks only at what is seen. Straight vertices of outlines
//! are nodes here: a sight line ends at the first vertex it touches, and goes on
//! from there.
//!
//! The same without a stored graph is the *lazy* road map: a search asks for the
//! neighbours of a node when it comes to it. It suits a world that is asked once.

use std::sync::{Arc, OnceLock};

use nalgebra::Point2;

use crate::planar::sector::Turn;
use crate::planar::triangulation::{SightStack, Triangulation};
use crate::planar::PlanarWorld;

use super::ends::{assemble, free_end, look_around, no_path};
use super::search::{shortest, Adjacency, Found, Graph, Search};
use super::{End, Roadmap, Route, RouteError, VisibilityGraph};

const NONE: u32 = u32::MAX;

/// Taut visibility graph, stored or lazy.
#[derive(Debug)]
pub struct TautRoadmap {
    name: &'static str,
    world: Arc<PlanarWorld>,
    triangulation: Triangulation,
    points: Vec<Point2<f64>>,
    turns: Vec<Turn>,
    /// The arrangement's vertex of every node, and back.
    vertices: Vec<u32>,
    node_of: Vec<u32>,
    /// Taut edges along outlines, in case no triangle lies beside them.
    outlines: Adjacency,
    /// All taut edges; `None` when they are found as they are needed.
    graph: Option<Adjacency>,
    /// Decides when rounding upset this one.
    exact: OnceLock<Box<VisibilityGraph>>,
}

impl TautRoadmap {
    /// Builds the triangles and, unless `lazy`, the graph. `None` if the outlines could not
    /// be triangulated.
    pub fn new(name: &'static str, world: Arc<PlanarWorld>, lazy: bool) -> Option<Self> {
        let arrangement = world.arrangement();
        let triangulation = Triangulation::new(arrangement, world.boundary().is_some())?;
        let mut points = Vec::new();
        let mut turns = Vec::new();
        let mut vertices = Vec::new();
        let mut node_of = vec![NONE; arrangement.vertices().len()];
        for (v, vertex) in (0u32..).zip(arrangement.vertices()) {
            if let Some(turn) = vertex.turn {
                node_of[v as usize] = points.len() as u32;
                points.push(vertex.point);
                turns.push(turn);
                vertices.push(v);
            }
        }
        let mut this = TautRoadmap {
            name,
            triangulation,
            points,
            turns,
            vertices,
            node_of,
            outlines: Adjacency::default(),
            graph: None,
            exact: OnceLock::new(),
            world: world.clone(),
        };
        let mut along: Vec<[u32; 2]> = arrangement
            .edges()
            .iter()
            .map(|e| e.ends.map(|v| this.node_of[v as usize]))
            .filter(|[a, b]| *a != NONE && *b != NONE && this.is_taut(*a, *b))
            .map(|[a, b]| [a.min(b), a.max(b)])
            .collect();
        along.sort_unstable();
        along.dedup();
        this.outlines = this.adjacency(&along);
        if !lazy {
            let mut edges = along;
            let mut stack = SightStack::default();
            for i in 0..this.points.len() as u32 {
                this.seen_by_node(i, i + 1, &mut stack, |j| edges.push([i, j]));
            }
            edges.sort_unstable();
            edges.dedup();
            this.graph = Some(this.adjacency(&edges));
        }
        Some(this)
    }

    fn adjacency(&self, edges: &[[u32; 2]]) -> Adjacency {
        Adjacency::new(self.points.len(), edges, |a, b| {
            (self.points[a as usize] - self.points[b as usize]).norm()
        })
    }

    /// Whether the line between two nodes is a tangent at both.
    #[inline]
    fn is_taut(&self, a: u32, b: u32) -> bool {
        let (p, q) = (&self.points[a as usize], &self.points[b as usize]);
        self.turns[a as usize].is_taut(p, q) && self.turns[b as usize].is_taut(q, p)
    }

    /// Calls `found` with nodes from number `first` on that node `i` sees along common
    /// tangents (possibly repeated).
    #[inline]
    fn seen_by_node(&self, i: u32, first: u32, stack: &mut SightStack, mut found: impl FnMut(u32)) {
        let (p, turn) = (&self.points[i as usize], &self.turns[i as usize]);
        let vertex = self.vertices[i as usize];
        self.triangulation
            .visible_from_vertex(vertex, turn, stack, |v| {
                // The box's corners are no nodes.
                let j = self.node_of.get(v as usize).copied().unwrap_or(NONE);
                if j != NONE
                    && j >= first
                    && self.turns[j as usize].is_taut(&self.points[j as usize], p)
                {
                    found(j);
                }
            });
    }

    /// Nodes that the free point `p` sees along their tangents, with their distances.
    fn links(&self, p: &Point2<f64>) -> Vec<(u32, f64)> {
        let mut nodes: Vec<u32> = Vec::new();
        let mut add = |v: u32| {
            if let Some(&i) = self.node_of.get(v as usize) {
                if i != NONE && self.turns[i as usize].is_taut(&self.points[i as usize], p) {
                    nodes.push(i);
                }
            }
        };
        let mut stack = SightStack::default();
        if !self
            .triangulation
            .visible_from_point(p, &mut stack, &mut add)
        {
            // On an outline or far outside: the sweep knows all cases.
            look_around(&self.world, p, add);
        }
        nodes.sort_unstable();
        nodes.dedup();
        nodes
            .iter()
            .map(|&i| (i, (self.points[i as usize] - p).norm()))
            .collect()
    }

    /// The same without the merged outlines: next to one of their rounded pieces a free point
    /// may lie on its wrong side.
    fn exact_links(&self, p: &Point2<f64>) -> Vec<(u32, f64)> {
        (0u32..)
            .zip(self.points.iter().zip(&self.turns))
            .filter(|(_, (q, turn))| {
                *q != p && turn.is_taut(q, p) && self.world.open_segment_is_free(p, q)
            })
            .map(|(i, (q, _))| (i, (q - p).norm()))
            .collect()
    }

    fn find(&self, goal: &Point2<f64>, [from, to]: &[Vec<(u32, f64)>; 2]) -> Option<Found> {
        let remaining = |i: u32| (goal - self.points[i as usize]).norm();
        match &self.graph {
            Some(graph) => shortest(graph, Search::AStar, from, to, remaining),
            None => {
                let lazy = Lazy {
                    roadmap: self,
                    stack: SightStack::default(),
                    seen: Vec::new(),
                };
                shortest(lazy, Search::AStar, from, to, remaining)
            }
        }
    }
}

/// Neighbours on demand.
struct Lazy<'a> {
    roadmap: &'a TautRoadmap,
    stack: SightStack,
    seen: Vec<u32>,
}

impl Graph for Lazy<'_> {
    fn node_count(&self) -> usize {
        self.roadmap.points.len()
    }

    fn for_each_neighbour(&mut self, node: u32, mut f: impl FnMut(u32, f64)) {
        let roadmap = self.roadmap;
        self.seen.clear();
        roadmap.seen_by_node(node, 0, &mut self.stack, |j| self.seen.push(j));
        self.seen
            .extend(roadmap.outlines.neighbours(node).map(|n| n.0));
        // In the order of the stored graph, so that both break ties alike.
        self.seen.sort_unstable();
        self.seen.dedup();
        let p = &roadmap.points[node as usize];
        for &j in &self.seen {
            f(j, (roadmap.points[j as usize] - p).norm());
        }
    }
}

impl Roadmap for TautRoadmap {
    fn name(&self) -> &'static str {
        self.name
    }

    fn world(&self) -> &Arc<PlanarWorld> {
        &self.world
    }

    fn node_count(&self) -> usize {
        self.points.len()
    }

    fn edge_count(&self) -> usize {
        self.graph.as_ref().map_or(0, Adjacency::edge_count)
    }

    fn edge_list(&self) -> Vec<[Point2<f64>; 2]> {
        match &self.graph {
            Some(graph) => graph
                .edges()
                .map(|e| e.map(|i| self.points[i as usize]))
                .collect(),
            None => {
                // What there is instead of a graph.
                let triangles = self.triangulation.free_triangles();
                triangles
                    .iter()
                    .flat_map(|[a, b, c]| [[*a, *b], [*b, *c], [*c, *a]])
                    .collect()
            }
        }
    }

    fn shortest_path(&self, start: &Point2<f64>, goal: &Point2<f64>) -> Result<Route, RouteError> {
        let start = free_end(&self.world, End::Start, start)?;
        let goal = free_end(&self.world, End::Goal, goal)?;
        if start.asked == goal.asked {
            return Ok(Route::point(start.asked));
        }
        if self.world.open_segment_is_free(&start.free, &goal.free) {
            return Ok(assemble(&start, &goal, std::iter::empty(), 0));
        }
        let ends = [&start.free, &goal.free];
        // Legs between asked and free ends are not free and need not be.
        let is_free = |found: &Found| {
            let way = found.nodes.iter().map(|i| &self.points[*i as usize]);
            let way: Vec<_> = [ends[0]].into_iter().chain(way).chain([ends[1]]).collect();
            way.windows(2)
                .all(|leg| leg[0] == leg[1] || self.world.open_segment_is_free(leg[0], leg[1]))
        };
        let mut found = self.find(&goal.free, &ends.map(|p| self.links(p)));
        let is_rounded = self.world.arrangement().is_rounded();
        if is_rounded && !found.as_ref().is_some_and(is_free) {
            found = self.find(&goal.free, &ends.map(|p| self.exact_links(p)));
        }
        let found = found.ok_or_else(|| no_path(&self.world, &start.free, &goal.free))?;
        if is_free(&found) {
            let vertices = self.world.arrangement().vertices();
            let between = found.nodes.iter().map(|&i| {
                let vertex = &vertices[self.vertices[i as usize] as usize];
                let id = vertex
                    .obstacles
                    .first()
                    .map(|o| self.world.obstacle_id(*o).to_owned());
                (vertex.point, id)
            });
            return Ok(assemble(&start, &goal, between, found.expanded));
        }
        // Only rounded crossing points of overlapping obstacles that nearly coincide can
        // bring this about: then the slow way, which uses none, has to decide.
        self.exact
            .get_or_init(|| Box::new(VisibilityGraph::naive(self.world.clone())))
            .shortest_path(&start.asked, &goal.asked)
    }
}
