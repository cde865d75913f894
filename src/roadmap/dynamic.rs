//! Road maps that follow their obstacles: one changes, and only what is seen past it
//! is looked at again.
//!
//! Of the taut visibility graph \[Bungiu2014\] an edge can go only if it ends at a
//! vertex that went or meets an outline that came; and an edge can come only if it
//! ends at a vertex that came or runs through where an outline was. So the corners
//! that saw an outline that went, and those that came, look around anew; all other
//! edges are taken over. The result is the graph that is built anew, bit for bit.

use std::sync::Arc;

use nalgebra::Point2;

use crate::planar::predicates::{orient2d, segments_meet, Meeting, Orientation};
use crate::planar::sector::Side;
use crate::planar::splice::Changes;
use crate::planar::triangulation::{Region, SightStack, WANTED};
use crate::planar::{Edit, Obstacle, PlanarWorld, Polygon, WorldError};

use super::search::Adjacency;
use super::taut::{TautRoadmap, NONE};
use super::Roadmap;

/// Why obstacles could not be changed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum UpdateError {
    /// An obstacle with this name is there already.
    #[error("there is an obstacle '{id}' already: replace it, or choose another name")]
    KnownId {
        /// The name.
        id: String,
    },
    /// No obstacle has this name.
    #[error("there is no obstacle '{id}' to replace or remove")]
    UnknownId {
        /// The name.
        id: String,
    },
    /// The world with the change cannot be built.
    #[error(transparent)]
    World(#[from] WorldError),
}

/// A snapshot of a world with its road map, from which the next one is made.
///
/// Immutable and cheap to clone: queries go on with the old snapshot while another thread
/// makes the new one.
#[derive(Debug, Clone)]
pub struct DynamicRoadmap {
    roadmap: Snapshot,
}

#[derive(Debug, Clone)]
enum Snapshot {
    Taut(Arc<TautRoadmap>),
    /// Where the outlines cannot be triangulated.
    Other(Arc<dyn Roadmap>),
}

impl DynamicRoadmap {
    /// Builds the road map (the taut visibility graph) of a world.
    pub fn new(world: Arc<PlanarWorld>) -> Self {
        let roadmap = match TautRoadmap::new("visibility_graph", world.clone(), false) {
            Some(taut) => Snapshot::Taut(Arc::new(taut)),
            None => Snapshot::Other(Arc::new(super::VisibilityGraph::by_sweep(
                "visibility_graph",
                world,
            ))),
        };
        DynamicRoadmap { roadmap }
    }

    /// Its road map.
    pub fn roadmap(&self) -> &dyn Roadmap {
        match &self.roadmap {
            Snapshot::Taut(taut) => taut.as_ref(),
            Snapshot::Other(other) => other.as_ref(),
        }
    }

    /// Its world.
    pub fn world(&self) -> &Arc<PlanarWorld> {
        self.roadmap().world()
    }

    /// The taut visibility graph: nodes and edges between them. `None` where the outlines
    /// could not be triangulated.
    pub fn graph(&self) -> Option<(&[Point2<f64>], &Adjacency)> {
        match &self.roadmap {
            Snapshot::Taut(taut) => taut.stored_graph(),
            Snapshot::Other(_) => None,
        }
    }

    /// The snapshot with one more obstacle, the last of all.
    ///
    /// # Errors
    /// See [`UpdateError`].
    pub fn add(&self, id: &str, polygon: Polygon) -> Result<Self, UpdateError> {
        if self.has(id) {
            return Err(UpdateError::KnownId { id: id.to_owned() });
        }
        self.set(id, vec![polygon])
    }

    /// The snapshot in which an obstacle has another shape or place.
    ///
    /// # Errors
    /// See [`UpdateError`].
    pub fn replace(&self, id: &str, polygon: Polygon) -> Result<Self, UpdateError> {
        self.known(id)?;
        self.set(id, vec![polygon])
    }

    /// The snapshot without an obstacle (without all polygons of this name).
    ///
    /// # Errors
    /// See [`UpdateError`].
    pub fn remove(&self, id: &str) -> Result<Self, UpdateError> {
        self.known(id)?;
        self.set(id, Vec::new())
    }

    /// The snapshot in which these polygons, and no others, bear the name; they take the place
    /// of the first that did, or come last.
    ///
    /// # Errors
    /// See [`UpdateError`].
    pub fn set(&self, id: &str, polygons: Vec<Polygon>) -> Result<Self, UpdateError> {
        let named = |polygon| Obstacle {
            id: id.to_owned(),
            polygon,
        };
        let insert = polygons.into_iter().map(named).collect();
        self.edited(&Edit::replace(self.world(), id, insert))
    }

    /// The snapshot after an edit.
    ///
    /// # Errors
    /// See [`UpdateError`].
    pub fn edited(&self, edit: &Edit) -> Result<Self, UpdateError> {
        let (world, changes) = self.world().updated_with_changes(edit)?;
        let world = Arc::new(world);
        if let Snapshot::Taut(taut) = &self.roadmap {
            if let Some(taut) = taut.updated(world.clone(), &changes) {
                let roadmap = Snapshot::Taut(Arc::new(taut));
                return Ok(DynamicRoadmap { roadmap });
            }
        }
        Ok(DynamicRoadmap::new(world))
    }

    /// Checks that the stored graph is what is seen through the triangles, and that these fit
    /// together; for tests and fuzzing.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn sanity_check(&self) -> Result<(), String> {
        self.world().sanity_check()?;
        match &self.roadmap {
            Snapshot::Taut(taut) => taut.sanity_check(),
            Snapshot::Other(_) => Ok(()),
        }
    }

    fn has(&self, id: &str) -> bool {
        self.world().obstacles().iter().any(|o| o.id == id)
    }

    fn known(&self, id: &str) -> Result<(), UpdateError> {
        if self.has(id) {
            Ok(())
        } else {
            Err(UpdateError::UnknownId { id: id.to_owned() })
        }
    }
}

impl TautRoadmap {
    fn sanity_check(&self) -> Result<(), String> {
        self.triangulation.sanity_check()?;
        let (mut stack, mut seen) = (SightStack::default(), Vec::new());
        for node in 0..self.points.len() as u32 {
            self.all_neighbours(node, &mut stack, &mut seen);
            let stored = self.graph.iter().flat_map(|g| g.neighbours(node));
            if self.graph.is_some() && !stored.map(|n| n.0).eq(seen.iter().copied()) {
                return Err(format!("node {node} sees others than the graph says"));
            }
        }
        Ok(())
    }

    /// The road map of `world`, which came about from this one's by `changes`. `None` if it has
    /// to be built anew.
    fn updated(&self, world: Arc<PlanarWorld>, changes: &Changes) -> Option<Self> {
        let arrangement = world.arrangement();
        let mut next = TautRoadmap::without_graph(
            self.name(),
            world.clone(),
            match self.triangulation.updated(arrangement, changes) {
                Some(triangulation) => triangulation,
                None => TautRoadmap::triangulate(&world)?,
            },
        );
        let Some(graph) = &self.graph else {
            return Some(next);
        };
        let renumbered: Vec<u32> = self
            .vertices
            .iter()
            .map(|v| match changes.vertices[*v as usize] {
                NONE => NONE,
                vertex => next.node_of[vertex as usize],
            })
            .collect();
        let mut is_new = vec![false; next.points.len()];
        for v in &changes.added {
            if let Some(new) = is_new.get_mut(next.node_of[*v as usize] as usize) {
                *new = true;
            }
        }
        // Edges to be added: to the new nodes, and past outlines that went.
        let mut stack = SightStack::default();
        let mut found: Vec<[u32; 2]> = Vec::new();
        let mut seen: Vec<u32> = Vec::new();
        for node in (0..next.points.len() as u32).filter(|i| is_new[*i as usize]) {
            next.all_neighbours(node, &mut stack, &mut seen);
            for &j in &seen {
                found.push([node, j]);
                if !is_new[j as usize] {
                    found.push([j, node]);
                }
            }
        }
        self.look_past(&next, &renumbered, graph, changes, |node, j| {
            found.push([node, j])
        });
        found.sort_unstable();
        found.dedup();
        next.graph = Some(next.taken_over(&renumbered, graph, &is_new, &found, changes));
        Some(next)
    }

    /// Calls `found` with new edges of old nodes past outlines that went (and some old ones).
    fn look_past(
        &self,
        next: &TautRoadmap,
        renumbered: &[u32],
        graph: &Adjacency,
        changes: &Changes,
        mut found: impl FnMut(u32, u32),
    ) {
        let vertices = self.world().arrangement().vertices();
        let mut gone: Vec<u32> = changes.removed_edges.iter().flatten().copied().collect();
        gone.sort_unstable();
        gone.dedup();
        let gone: Vec<Point2<f64>> = gone.iter().map(|v| vertices[*v as usize].point).collect();
        let mut stack = SightStack::default();
        let mut known = vec![false; self.points.len()];
        let mut look = |node: u32| {
            let new = renumbered[node as usize];
            if new == NONE || std::mem::replace(&mut known[node as usize], true) {
                return;
            }
            let (p, turn) = (&self.points[node as usize], &self.turns[node as usize]);
            // Whoever saw all of it in directions by which no taut path comes missed nothing.
            let mut sides = gone.iter().map(|q| turn.side(p, q));
            let first = sides.next().unwrap_or(Side::Tangent);
            if first != Side::Tangent && sides.all(|side| side == first) {
                return;
            }
            match hull_from(p, &gone) {
                Some([right, left]) => {
                    let outside = |p: &Point2<f64>, q: &Point2<f64>| {
                        if orient2d(p, &right, q) == Orientation::Right {
                            TO_THE_RIGHT
                        } else if orient2d(p, &left, q) == Orientation::Left {
                            TO_THE_LEFT
                        } else {
                            WANTED
                        }
                    };
                    next.seen_by_node(new, outside, &mut stack, |j| found(new, j));
                }
                None => next.seen_by_node(new, |_, _| WANTED, &mut stack, |j| found(new, j)),
            }
        };
        self.triangulation
            .weakly_visible(&changes.removed_edges, |v| {
                let node = self.node_of.get(v as usize).copied().unwrap_or(NONE);
                if node != NONE {
                    look(node);
                }
            });
        // Who saw nothing but the end of a wall.
        for node in (0..self.points.len() as u32).filter(|i| renumbered[*i as usize] == NONE) {
            graph.neighbours(node).for_each(|(j, _)| look(j));
        }
    }

    /// The edges between old nodes that are still there, and those that were found, sorted.
    fn taken_over(
        &self,
        renumbered: &[u32],
        graph: &Adjacency,
        is_new: &[bool],
        found: &[[u32; 2]],
        changes: &Changes,
    ) -> Adjacency {
        let count = self.points.len();
        let walls = NewOutlines::new(self.world(), changes);
        let mut new = Adjacency::with_capacity(count, graph.edge_count() * 2 + found.len());
        let mut old_of = vec![NONE; count];
        for (old, new) in (0u32..).zip(renumbered) {
            if let Some(place) = old_of.get_mut(*new as usize) {
                *place = old;
            }
        }
        let mut rest = found;
        for node in 0..count as u32 {
            let p = &self.points[node as usize];
            let distance = |j: u32| (self.points[j as usize] - p).norm();
            // What was found for this node.
            let own = rest.iter().take_while(|e| e[0] == node).count();
            let (mut own, others) = rest.split_at(own);
            rest = others;
            let old = old_of[node as usize];
            if old != NONE && !is_new[node as usize] {
                for (j, length) in graph.neighbours(old) {
                    let j = renumbered[j as usize];
                    if j == NONE || walls.meet(p, &self.points[j as usize]) {
                        continue;
                    }
                    while let [[_, k], after @ ..] = own {
                        if *k > j {
                            break;
                        }
                        if *k < j {
                            new.push(*k, distance(*k));
                        }
                        own = after;
                    }
                    new.push(j, length);
                }
            }
            for [_, k] in own {
                new.push(*k, distance(*k));
            }
            new.end_node();
        }
        new
    }
}

/// Regions to both sides of what went.
const TO_THE_RIGHT: Region = 3;
const TO_THE_LEFT: Region = 4;

/// The outermost of some points as seen from `p`: the right and the left one. `None` if `p` lies
/// among them.
fn hull_from(p: &Point2<f64>, points: &[Point2<f64>]) -> Option<[Point2<f64>; 2]> {
    let first = *points.first()?;
    let (mut right, mut left) = (first, first);
    for q in points {
        if orient2d(p, &right, q) == Orientation::Right {
            right = *q;
        }
        if orient2d(p, &left, q) == Orientation::Left {
            left = *q;
        }
    }
    // From among them there is no such order.
    let outermost = orient2d(p, &right, &left) == Orientation::Left
        && points.iter().all(|q| {
            orient2d(p, &right, q) != Orientation::Right
                && orient2d(p, &left, q) != Orientation::Left
        });
    outermost.then_some([right, left])
}

/// Outline edges that came, to be asked by many segments.
struct NewOutlines {
    edges: Vec<[Point2<f64>; 2]>,
    low: Point2<f64>,
    high: Point2<f64>,
}

impl NewOutlines {
    fn new(world: &PlanarWorld, changes: &Changes) -> Self {
        let edges: Vec<[Point2<f64>; 2]> = changes
            .added_edges
            .iter()
            .map(|e| e.map(|v| world.arrangement().point(v)))
            .collect();
        let infinity = Point2::new(f64::INFINITY, f64::INFINITY);
        let mut this = NewOutlines {
            low: infinity,
            high: -infinity,
            edges,
        };
        for p in this.edges.iter().flatten() {
            this.low = this.low.inf(p);
            this.high = this.high.sup(p);
        }
        this
    }

    /// Whether a segment has any point in common with them.
    #[inline]
    fn meet(&self, a: &Point2<f64>, b: &Point2<f64>) -> bool {
        let apart = a.x.max(b.x) < self.low.x
            || a.x.min(b.x) > self.high.x
            || a.y.max(b.y) < self.low.y
            || a.y.min(b.y) > self.high.y;
        !apart
            && self
                .edges
                .iter()
                .any(|[c, d]| segments_meet(a, b, c, d) != Meeting::Apart)
    }
}
