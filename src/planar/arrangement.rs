//! Merged outlines: the boundary of everything that blocks, as edges that meet
//! only at their ends.
//!
//! Overlapping bodies are merged without a clipping library. Their edges are
//! split into pieces (see `subdivision`), and the faces between the pieces are
//! told how many bodies cover them (see `faces`). What lies inside a body is
//! dropped. No decision is taken from a rounded point, so the outlines are
//! closed however close edges come to each other. Vertices of the input stay
//! bit for bit. That is enough for exact shortest paths: where two outlines
//! cross, the union has a re-entrant corner, and no shortest path turns there.

use nalgebra::Point2;
use smallvec::SmallVec;

use super::predicates::compare_angle;
use super::sector::{Corner, Sector, Turn};

/// A vertex of the merged outlines.
#[derive(Debug, Clone, PartialEq)]
pub struct Vertex {
    /// Where it is. \[m\]
    pub point: Point2<f64>,
    /// What surrounds it.
    pub sectors: SmallVec<[Sector; 1]>,
    /// Whether shortest paths can turn here, and by which directions.
    pub corner: Option<Corner>,
    /// How taut paths go through it, if any does. Every corner has a turn; straight vertices
    /// have one too.
    pub turn: Option<Turn>,
    /// Obstacles that reach it (indices; the number of obstacles stands for the boundary).
    pub obstacles: SmallVec<[u32; 2]>,
}

/// An edge of the merged outlines.
#[derive(Debug, Clone, PartialEq)]
pub struct Edge {
    /// Where it starts and ends (vertices), the blocked side to the left.
    pub ends: [u32; 2],
    /// Whether it is a wall without thickness, blocked on neither side.
    pub is_wall: bool,
    /// An obstacle that it belongs to.
    pub obstacle: u32,
    /// The body edges that it is a piece of, if it was split at a rounded point.
    pub(crate) parents: Vec<u32>,
}

/// Merged outlines of a world.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arrangement {
    pub(super) vertices: Vec<Vertex>,
    pub(super) edges: Vec<Edge>,
    pub(super) rounded: bool,
}

impl Arrangement {
    /// All vertices that lie on the merged boundary.
    pub fn vertices(&self) -> &[Vertex] {
        &self.vertices
    }

    /// All edges. Where contact can be passed a seam is two edges, one each way.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Whether any vertex is a rounded crossing point.
    pub fn is_rounded(&self) -> bool {
        self.rounded
    }

    /// Position of a vertex.
    pub fn point(&self, vertex: u32) -> Point2<f64> {
        self.vertices[vertex as usize].point
    }

    /// The closed outlines, blocked side to the left, as indices of edges. Where blocked areas
    /// touch in a vertex they are outlines of their own. Walls are not among them.
    pub fn loops(&self) -> Vec<Vec<u32>> {
        let mut outgoing: Vec<Vec<u32>> = vec![Vec::new(); self.vertices.len()];
        for (i, edge) in (0u32..).zip(&self.edges) {
            if !edge.is_wall {
                outgoing[edge.ends[0] as usize].push(i);
            }
        }
        let mut used = vec![false; self.edges.len()];
        let mut loops = Vec::new();
        for (first, edge) in (0u32..).zip(&self.edges) {
            if used[first as usize] || edge.is_wall {
                continue;
            }
            let (mut ring, mut at) = (Vec::new(), first);
            loop {
                used[at as usize] = true;
                ring.push(at);
                match self.next_in_loop(at, &outgoing, &used) {
                    Some(next) => at = next,
                    None => break,
                }
            }
            loops.push(ring);
        }
        loops
    }

    /// The edge that bounds the same blocked area after edge `at`.
    fn next_in_loop(&self, at: u32, outgoing: &[Vec<u32>], used: &[bool]) -> Option<u32> {
        let [from, to] = self.edges[at as usize].ends;
        let (center, back) = (self.point(to), self.point(from));
        let target = |i: &u32| self.point(self.edges[*i as usize].ends[1]);
        // The first one clockwise from where we come from: the greatest angle below the one
        // back, or the greatest of all.
        let below = |i: &u32| compare_angle(&center, &target(i), &back).is_lt();
        outgoing[to as usize]
            .iter()
            .copied()
            .filter(|i| !used[*i as usize])
            .max_by(|i, j| {
                below(i)
                    .cmp(&below(j))
                    .then_with(|| compare_angle(&center, &target(i), &target(j)))
                    .then(j.cmp(i))
            })
    }

    /// Leaves only those corners to turn in that `keep` confirms.
    pub(crate) fn keep_corners(&mut self, keep: impl Fn(&Point2<f64>) -> bool) {
        for vertex in &mut self.vertices {
            if vertex.turn.is_some() && !keep(&vertex.point) {
                vertex.corner = None;
                vertex.turn = None;
            }
        }
    }
}
