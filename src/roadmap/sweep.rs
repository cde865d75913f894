//! Visibility by rotational sweep \[Lee1978\] \[deBerg2008\], O(n log n) for one point.
//!
//! A ray turns counter-clockwise around the point. The status, a balanced tree,
//! holds the outline edges that the ray crosses in their inside, nearest first.
//! An edge is in it only for the open turn between its ends, and never if it
//! points at the point; so the degenerate cases need no special treatment: at a
//! direction in which vertices lie, all edges that end there are taken out
//! first, the nearest remaining one is a true crossing that hides everything
//! beyond, and whether the ray may graze or pass the vertices before it is
//! decided one after the other from the sectors around them. Two edges of the
//! status are compared by the exact predicate alone, without the ray.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use nalgebra::Point2;

use crate::planar::predicates::{compare_angle, orient2d, Orientation};
use crate::planar::sector::{enters, leaves, passes, Contact, Corner, Sector};
use crate::planar::{Arrangement, PlanarWorld};

/// An edge of the status, from its first to its last point as seen by the turning ray:
/// the sweep's centre lies to the left of `a → b`.
#[derive(Debug, Clone, Copy)]
struct StatusEdge {
    a: Point2<f64>,
    b: Point2<f64>,
    id: u32,
}

impl StatusEdge {
    /// Which of two edges that some ray crosses both is nearer, decided from `self`'s line:
    /// `None` if `other` lies on both sides of it.
    fn nearer_by_own_line(&self, other: &StatusEdge) -> Option<Ordering> {
        use Orientation::{Left, Right};
        let sides = [
            orient2d(&self.a, &self.b, &other.a),
            orient2d(&self.a, &self.b, &other.b),
        ];
        match (sides.contains(&Left), sides.contains(&Right)) {
            (false, true) => Some(Ordering::Less),
            (true, false) => Some(Ordering::Greater),
            (false, false) => Some(Ordering::Equal),
            (true, true) => None,
        }
    }
}

impl PartialEq for StatusEdge {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for StatusEdge {}

impl PartialOrd for StatusEdge {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for StatusEdge {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.id == other.id {
            return Ordering::Equal;
        }
        self.nearer_by_own_line(other)
            .or_else(|| other.nearer_by_own_line(self).map(Ordering::reverse))
            .unwrap_or(Ordering::Equal)
            // The same line: both ways of a seam.
            .then(self.id.cmp(&other.id))
    }
}

/// From where a sweep looks.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The centre, free or on an outline.
    pub point: Point2<f64>,
    /// What surrounds it.
    pub sectors: &'a [Sector],
    /// Set if paths turn in it: directions it does not admit are left out.
    pub corner: Option<&'a Corner>,
    /// Outline edges to be left out (see `PlanarWorld::displaced_edges`).
    pub ignored: &'a [u32],
    /// Only directions in the half turn [0, π) from +x: visibility is mutual.
    pub upper_half: bool,
    /// Only the nearest vertex in every direction.
    pub nearest_only: bool,
}

/// Sweeps over one arrangement, keeping its buffers.
#[derive(Debug)]
pub struct Sweeper<'a> {
    world: &'a PlanarWorld,
    arrangement: &'a Arrangement,
    contact: Contact,
    /// Edges at every vertex, flat.
    start: Vec<u32>,
    incident: Vec<u32>,
    order: Vec<u32>,
}

impl<'a> Sweeper<'a> {
    /// Prepares sweeps over a world's merged outlines.
    pub fn new(world: &'a PlanarWorld) -> Self {
        let arrangement = world.arrangement();
        let mut start = vec![0u32; arrangement.vertices().len() + 1];
        for end in arrangement.edges().iter().flat_map(|e| &e.ends) {
            start[*end as usize + 1] += 1;
        }
        for k in 1..start.len() {
            start[k] += start[k - 1];
        }
        let mut fill = start.clone();
        let mut incident = vec![0; arrangement.edges().len() * 2];
        for (i, edge) in arrangement.edges().iter().enumerate() {
            for end in &edge.ends {
                incident[fill[*end as usize] as usize] = i as u32;
                fill[*end as usize] += 1;
            }
        }
        let contact = world.options().contact;
        Sweeper {
            world,
            arrangement,
            contact,
            start,
            incident,
            order: Vec::new(),
        }
    }

    /// Calls `found` with every vertex that is visible, in the order of the turn. Vertices in
    /// which no path turns are among them; corners only by directions that they admit.
    pub fn visible(&mut self, view: &View<'_>, mut found: impl FnMut(u32)) {
        let vertices = self.arrangement.vertices();
        let p = view.point;
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend((0..vertices.len() as u32).filter(|v| {
            let q = vertices[*v as usize].point;
            q != p && (!view.upper_half || q.y > p.y || (q.y == p.y && q.x > p.x))
        }));
        order.sort_unstable_by(|u, v| {
            let (a, b) = (vertices[*u as usize].point, vertices[*v as usize].point);
            compare_angle(&p, &a, &b).then_with(|| nearer(&p, &a, &b))
        });
        let mut status = self.initial_status(view);
        let ahead = |v: &u32| &vertices[*v as usize].point;
        for group in order.chunk_by(|u, v| compare_angle(&p, ahead(u), ahead(v)).is_eq()) {
            for &v in group {
                self.edges_at(view, v, Orientation::Right, |edge| {
                    if !status.remove(&edge) {
                        // Only if rounded crossing points upset the order.
                        status.retain(|e| e.id != edge.id);
                    }
                });
            }
            self.look(view, group, status.first(), &mut found);
            for &v in group {
                self.edges_at(view, v, Orientation::Left, |edge| {
                    status.insert(edge);
                });
            }
        }
        self.order = order;
    }

    /// Edges that the ray along +x crosses in their inside.
    fn initial_status(&self, view: &View<'_>) -> BTreeSet<StatusEdge> {
        let vertices = self.arrangement.vertices();
        let p = view.point;
        let mut status = BTreeSet::new();
        for (i, edge) in self.arrangement.edges().iter().enumerate() {
            let [mut a, mut b] = edge.ends.map(|v| vertices[v as usize].point);
            if a.y > b.y {
                std::mem::swap(&mut a, &mut b);
            }
            if a.y < p.y
                && p.y < b.y
                && orient2d(&a, &b, &p) == Orientation::Left
                && !view.ignored.contains(&(i as u32))
            {
                status.insert(StatusEdge { a, b, id: i as u32 });
            }
        }
        status
    }

    /// Calls `f` with the edges at vertex `v` that lie on this side of the ray through it.
    fn edges_at(&self, view: &View<'_>, v: u32, side: Orientation, mut f: impl FnMut(StatusEdge)) {
        let vertices = self.arrangement.vertices();
        let at = vertices[v as usize].point;
        let range = self.start[v as usize] as usize..self.start[v as usize + 1] as usize;
        for &id in &self.incident[range] {
            let [from, to] = self.arrangement.edges()[id as usize].ends;
            let other = vertices[if from == v { to } else { from } as usize].point;
            if orient2d(&view.point, &at, &other) == side && !view.ignored.contains(&id) {
                let (a, b) = if side == Orientation::Left {
                    (at, other)
                } else {
                    (other, at)
                };
                f(StatusEdge { a, b, id });
            }
        }
    }

    /// What surrounds vertex `v` by the edges as they were given, if one of those that were
    /// split at rounded points runs through the centre.
    fn exact_sectors(&self, view: &View<'_>, v: u32) -> Option<Vec<Sector>> {
        let range = self.start[v as usize] as usize..self.start[v as usize + 1] as usize;
        let displaced = !view.ignored.is_empty()
            && self.incident[range]
                .iter()
                .any(|e| view.ignored.contains(e));
        displaced.then(|| self.world.sectors_at(&self.arrangement.point(v)))
    }

    /// Goes along one direction: `group` are the vertices there, nearest first, `nearest` the
    /// nearest edge that is crossed.
    fn look(
        &self,
        view: &View<'_>,
        group: &[u32],
        nearest: Option<&StatusEdge>,
        found: &mut impl FnMut(u32),
    ) {
        let vertices = self.arrangement.vertices();
        let p = &view.point;
        let Some(first) = group.first() else { return };
        let direction = &vertices[*first as usize].point;
        if !leaves(p, view.sectors, self.contact, direction)
            || !view.corner.is_none_or(|c| c.admits(p, direction))
        {
            return;
        }
        for (k, &v) in group.iter().enumerate() {
            let vertex = &vertices[v as usize];
            let q = &vertex.point;
            let exact = self.exact_sectors(view, v);
            let sectors = exact.as_deref().unwrap_or(&vertex.sectors);
            let hidden = nearest.is_some_and(|e| orient2d(&e.a, &e.b, q) == Orientation::Right);
            if hidden || enters(q, sectors, p) {
                return;
            }
            if vertex.corner.is_none_or(|c| c.admits(q, p)) {
                found(v);
            }
            if view.nearest_only {
                return;
            }
            if let Some(next) = group.get(k + 1) {
                let ahead = &vertices[*next as usize].point;
                if !passes(q, sectors, self.contact, p, ahead) {
                    return;
                }
            }
        }
    }
}

/// Which of two points in the same direction from `p` is nearer, exactly.
fn nearer(p: &Point2<f64>, a: &Point2<f64>, b: &Point2<f64>) -> Ordering {
    let along = |p: f64, a: f64, b: f64| {
        if a > p {
            a.total_cmp(&b)
        } else {
            b.total_cmp(&a)
        }
    };
    if a.x != p.x {
        along(p.x, a.x, b.x)
    } else {
        along(p.y, a.y, b.y)
    }
}
