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

use crate::planar::predicates::{flush_tiny_point, in_upper_half};
use crate::planar::sector::{Side, Turn};
use crate::planar::triangulation::{Region, SightStack, Triangulation, WANTED};
use crate::planar::world::is_valid;
use crate::planar::{Contact, PlanarWorld};

use super::ends::{assemble, free_end, no_path, FreeEnd};
use super::frontier::Pool;
use super::search::{Adjacency, Found};
use super::taut_search::Terminal;
use super::{End, Roadmap, Route, RouteError, VisibilityGraph};

pub(super) const NONE: u32 = u32::MAX;

/// Directions from which the other end sees.
const LOWER: Region = 3;

/// Taut visibility graph, stored or lazy.
#[derive(Debug)]
pub struct TautRoadmap {
    name: &'static str,
    pub(super) world: Arc<PlanarWorld>,
    pub(super) triangulation: Triangulation,
    pub(super) points: Vec<Point2<f64>>,
    pub(super) turns: Vec<Turn>,
    /// The arrangement's vertex of every node, and back.
    pub(super) vertices: Vec<u32>,
    pub(super) node_of: Vec<u32>,
    /// Taut edges along seams that can be passed: no free triangle lies beside them.
    pub(super) seams: Adjacency,
    /// All taut edges; `None` when they are found as they are needed.
    pub(super) graph: Option<Adjacency>,
    pub(super) pool: Pool,
    /// Decides when rounding upset this one.
    exact: OnceLock<Box<VisibilityGraph>>,
}

impl TautRoadmap {
    /// Builds the triangles and, unless `lazy`, the graph. `None` if the outlines could not
    /// be triangulated.
    pub fn new(name: &'static str, world: Arc<PlanarWorld>, lazy: bool) -> Option<Self> {
        let this = Self::without_graph(name, world.clone(), Self::triangulate(&world)?);
        match lazy {
            true => Some(this),
            false => this.with_graph(&|| false),
        }
    }

    /// Finds all edges and stores them. `None` when `give_up` said so.
    pub(super) fn with_graph(mut self, give_up: &dyn Fn() -> bool) -> Option<Self> {
        let mut edges: Vec<[u32; 2]> = self.seams.edges().collect();
        let mut stack = SightStack::default();
        // Sight is mutual: half of all directions are enough.
        let lower = |p: &Point2<f64>, q: &Point2<f64>| {
            if in_upper_half(p, q) {
                WANTED
            } else {
                LOWER
            }
        };
        for i in 0..self.points.len() as u32 {
            // Reading a clock takes as long as looking around some corners.
            if i.is_multiple_of(16) && give_up() {
                return None;
            }
            self.seen_by_node(i, lower, &mut stack, |j| edges.push([i.min(j), i.max(j)]));
        }
        edges.sort_unstable();
        edges.dedup();
        self.graph = Some(self.adjacency(&edges));
        Some(self)
    }

    pub(super) fn triangulate(world: &PlanarWorld) -> Option<Triangulation> {
        Triangulation::new(world.arrangement(), world.boundary().is_some())
    }

    /// The nodes and what else is not the graph.
    pub(super) fn without_graph(
        name: &'static str,
        world: Arc<PlanarWorld>,
        triangulation: Triangulation,
    ) -> Self {
        let arrangement = world.arrangement();
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
            seams: Adjacency::default(),
            graph: None,
            pool: Pool::default(),
            exact: OnceLock::new(),
            world: world.clone(),
        };
        // Edges that are outlines both ways.
        let edges = arrangement.edges();
        let mut seams: Vec<[u32; 2]> = Vec::new();
        if world.options().contact == Contact::Passable {
            let has = |ends: [u32; 2]| edges.binary_search_by_key(&ends, |e| e.ends).is_ok();
            seams = edges
                .iter()
                .filter(|e| e.ends[0] < e.ends[1] && has([e.ends[1], e.ends[0]]))
                .map(|e| e.ends.map(|v| this.node_of[v as usize]))
                .filter(|[a, b]| *a != NONE && *b != NONE && this.is_taut(*a, *b))
                .collect();
        }
        this.seams = this.adjacency(&seams);
        this
    }

    /// Nodes and stored edges.
    pub(super) fn stored_graph(&self) -> Option<(&[Point2<f64>], &Adjacency)> {
        self.graph.as_ref().map(|g| (self.points.as_slice(), g))
    }

    /// All neighbours of a node, found anew, ascending.
    pub(super) fn all_neighbours(&self, node: u32, stack: &mut SightStack, seen: &mut Vec<u32>) {
        seen.clear();
        self.seen_by_node(node, |_, _| WANTED, stack, |j| seen.push(j));
        seen.extend(self.seams.neighbours(node).map(|n| n.0));
        seen.sort_unstable();
        seen.dedup();
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

    /// Calls `found` with nodes that node `i` sees along common tangents (possibly repeated),
    /// by directions that `unwanted` does not put into a region.
    #[inline]
    pub(super) fn seen_by_node(
        &self,
        i: u32,
        unwanted: impl Fn(&Point2<f64>, &Point2<f64>) -> Region,
        stack: &mut SightStack,
        mut found: impl FnMut(u32),
    ) {
        let (p, turn) = (&self.points[i as usize], &self.turns[i as usize]);
        let region = |q: &Point2<f64>| match unwanted(p, q) {
            WANTED => match turn.side(p, q) {
                Side::Tangent => WANTED,
                Side::Obstacle => 1,
                Side::Opposite => 2,
            },
            elsewhere => elsewhere,
        };
        let vertex = self.vertices[i as usize];
        self.triangulation
            .visible_from_vertex(vertex, region, stack, |v| {
                // The box's corners are no nodes.
                let j = self.node_of.get(v as usize).copied().unwrap_or(NONE);
                if j != NONE && self.turns[j as usize].is_taut(&self.points[j as usize], p) {
                    found(j);
                }
            });
    }

    /// An end of a path, and where a search for it begins.
    fn terminal(&self, end: End, p: &Point2<f64>) -> Result<(FreeEnd, Terminal), RouteError> {
        if self.world.outlines_are_exact() && is_valid(p) {
            // What lies strictly inside a free triangle is free.
            let p = flush_tiny_point(p);
            if let Some(place) = self.triangulation.place(&p) {
                let terminal = Terminal::new(p, Some(place));
                return Ok((FreeEnd { asked: p, free: p }, terminal));
            }
        }
        let end = free_end(&self.world, end, p)?;
        let terminal = Terminal::new(end.free, None);
        Ok((end, terminal))
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
        let (start, from) = self.terminal(End::Start, start)?;
        let (goal, to) = self.terminal(End::Goal, goal)?;
        if start.asked == goal.asked {
            return Ok(Route::point(start.asked));
        }
        if self.world.open_segment_is_free(&start.free, &goal.free) {
            return Ok(assemble(&start, &goal, std::iter::empty(), 0));
        }
        let ends = [&start.free, &goal.free];
        let is_exact = self.world.outlines_are_exact();
        // Legs between asked and free ends are not free and need not be.
        let is_free = |found: &Found| {
            let way = found.nodes.iter().map(|i| &self.points[*i as usize]);
            let way: Vec<_> = [ends[0]].into_iter().chain(way).chain([ends[1]]).collect();
            way.windows(2)
                .all(|leg| leg[0] == leg[1] || self.world.open_segment_is_free(leg[0], leg[1]))
        };
        let mut found = self.find(&from, &to);
        if !is_exact && !found.as_ref().is_some_and(is_free) {
            found = self.find(&from.by_segments(), &to.by_segments());
        }
        let length = found.as_ref().map_or(f64::INFINITY, |f| f.length);
        let is_shortest = is_exact || !self.world.lacks_a_corner(ends[0], ends[1], length);
        if is_shortest && found.is_none() {
            return Err(no_path(&self.world, &start.free, &goal.free));
        }
        let found = found.filter(|found| is_exact || is_shortest && is_free(found));
        if let Some(found) = found {
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
