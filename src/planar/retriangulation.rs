//! A triangulation of outlines of which some changed, from the one before.
//!
//! The triangles that touched what went or that new edges run through are a hole,
//! which is triangulated by itself; afterwards edges are flipped until the
//! triangles are Delaunay again.

use nalgebra::Point2;

use super::arrangement::Arrangement;
use super::predicates::{in_circle, orient2d, segments_meet, Meeting, Orientation};
use super::splice::Changes;
use super::triangulation::{next, previous, Mesh, Triangulation, NONE};

/// An edge around the hole (its inside to the left), and what lies beyond.
#[derive(Debug, Clone, Copy)]
struct Rim {
    ends: [u32; 2],
    /// The triangle outside, and the place of the edge in it; `NONE` at the box.
    outside: u32,
    place: usize,
    is_outline: bool,
}

impl Triangulation {
    /// The triangulation of `arrangement`, which came about from this one's by `changes`.
    /// `None` if it has to be built anew: where the world grew out of its box.
    pub(crate) fn updated(&self, arrangement: &Arrangement, changes: &Changes) -> Option<Self> {
        let real = arrangement.vertices().len() as u32;
        let box_at = self.points.len().checked_sub(4)?;
        let outer = self.points.get(box_at..)?;
        let (low, high) = (outer.first()?, outer.get(2)?);
        let room = (high - low) * 0.05;
        let inside = |p: &Point2<f64>| {
            let (low, high) = (low + room, high - room);
            p.x > low.x && p.y > low.y && p.x < high.x && p.y < high.y
        };
        let new_points = arrangement.vertices().iter().map(|v| v.point);
        if !changes.added.iter().all(|v| inside(&arrangement.point(*v))) {
            return None;
        }
        // Old numbers to new ones; vertices that go are put behind the box for the moment.
        let mut points: Vec<Point2<f64>> = Vec::with_capacity(real as usize + 4);
        points.extend(new_points);
        points.extend_from_slice(outer);
        let gone = real + 4;
        let mut number: Vec<u32> = Vec::with_capacity(self.points.len());
        for (v, new) in changes.vertices.iter().enumerate() {
            number.push(if *new == NONE {
                points.push(self.points[v]);
                points.len() as u32 - 1
            } else {
                *new
            });
        }
        number.extend(real..real + 4);
        let mut this = Triangulation {
            points,
            corners: self
                .corners
                .iter()
                .map(|c| c.map(|v| number[v as usize]))
                .collect(),
            beyond: self.beyond.clone(),
            outlines: self.outlines.clone(),
            blocked: self.blocked.clone(),
            start: Vec::new(),
            fan: Vec::new(),
            hints: self.hints.clone(),
            outside_is_blocked: self.outside_is_blocked,
        };
        let hole = this.hole(gone, changes);
        if !hole.is_empty() {
            this.fill(&hole, gone, arrangement, changes)?;
        }
        this.points.truncate(gone as usize);
        this.collect_fans();
        Some(this)
    }

    /// Triangles that have to go, ascending.
    fn hole(&self, gone: u32, changes: &Changes) -> Vec<u32> {
        let mut in_hole: Vec<bool> = self
            .corners
            .iter()
            .map(|c| c.iter().any(|v| *v >= gone))
            .collect();
        let mut seen_for = vec![u32::MAX; in_hole.len()];
        let mut stack: Vec<u32> = Vec::new();
        for (k, edge) in (0u32..).zip(&changes.added_edges) {
            let [a, b] = edge.map(|v| self.points[v as usize]);
            stack.extend(self.locate(&a));
            while let Some(t) = stack.pop() {
                if std::mem::replace(&mut seen_for[t as usize], k) == k
                    || !self.meets_segment(t, &a, &b)
                {
                    continue;
                }
                in_hole[t as usize] = true;
                stack.extend(self.beyond[t as usize].iter().filter(|n| **n != NONE));
            }
        }
        (0u32..)
            .zip(&in_hole)
            .filter(|(_, hole)| **hole)
            .map(|(t, _)| t)
            .collect()
    }

    /// Whether a triangle and the segment `a b` have any point in common.
    fn meets_segment(&self, t: u32, a: &Point2<f64>, b: &Point2<f64>) -> bool {
        let corners = self.corners[t as usize].map(|v| self.points[v as usize]);
        let sides = (0..3).map(|k| (corners[k], corners[next(k)]));
        sides
            .clone()
            .all(|(c, d)| orient2d(&c, &d, a) != Orientation::Right)
            || sides
                .into_iter()
                .any(|(c, d)| segments_meet(a, b, &c, &d) != Meeting::Apart)
    }

    fn fill(
        &mut self,
        hole: &[u32],
        gone: u32,
        arrangement: &Arrangement,
        changes: &Changes,
    ) -> Option<()> {
        let mut in_hole = vec![false; self.corners.len()];
        for t in hole {
            in_hole[*t as usize] = true;
        }
        // What is triangulated: everything in and around the hole that stays, and what is new.
        let mut local = vec![NONE; gone as usize];
        let mut global: Vec<u32> = Vec::new();
        let mut take = |v: u32| {
            let number = &mut local[v as usize];
            if *number == NONE {
                *number = global.len() as u32;
                global.push(v);
            }
            *number
        };
        let mut rim: Vec<Rim> = Vec::new();
        let mut constraints: Vec<[u32; 2]> = Vec::new();
        for &t in hole {
            let corners = self.corners[t as usize];
            for v in corners.iter().filter(|v| **v < gone) {
                take(*v);
            }
            for k in 0..3 {
                let ends = [corners[k], corners[next(k)]];
                let outside = self.beyond[t as usize][k];
                let is_outline = self.outlines[t as usize] >> k & 1 == 1;
                if outside == NONE || !in_hole[outside as usize] {
                    let ends = ends.map(&mut take);
                    let place = match outside {
                        NONE => 0,
                        _ => self.place_of(outside, t)?,
                    };
                    rim.push(Rim {
                        ends,
                        outside,
                        place,
                        is_outline,
                    });
                    constraints.push(ends);
                } else if is_outline && ends.iter().all(|v| *v < gone) {
                    constraints.push(ends.map(&mut take));
                }
            }
        }
        for v in &changes.added {
            take(*v);
        }
        constraints.extend(changes.added_edges.iter().map(|e| e.map(&mut take)));
        rim.sort_unstable_by_key(|r| r.ends);
        let points: Vec<Point2<f64>> = global.iter().map(|v| self.points[*v as usize]).collect();
        let mesh = Mesh::new(&points, constraints)?;

        // The triangles inside the rim.
        let rim_at = |f: usize, k: usize| {
            let ends = [mesh.corners[f][k], mesh.corners[f][next(k)]];
            rim.binary_search_by_key(&ends, |r| r.ends)
                .ok()
                .map(|i| rim[i])
        };
        let mut slot = vec![NONE; mesh.corners.len()];
        let mut order: Vec<usize> = Vec::new();
        let mut stack: Vec<usize> = Vec::new();
        let mut on_rim = 0;
        for f in 0..mesh.corners.len() {
            let count = (0..3).filter(|k| rim_at(f, *k).is_some()).count();
            on_rim += count;
            if count > 0 {
                stack.push(f);
            }
        }
        if on_rim != rim.len() {
            return None;
        }
        let mut free_slots = hole.iter().copied();
        let mut count = self.corners.len() as u32;
        while let Some(f) = stack.pop() {
            if slot[f] != NONE {
                continue;
            }
            slot[f] = free_slots.next().unwrap_or_else(|| {
                count += 1;
                count - 1
            });
            order.push(f);
            for k in 0..3 {
                if rim_at(f, k).is_none() {
                    match mesh.beyond[f][k] {
                        NONE => return None,
                        other => stack.push(other as usize),
                    }
                }
            }
        }
        let unused: Vec<u32> = free_slots.collect();
        let count = count as usize;
        self.corners.resize(count, [0; 3]);
        self.beyond.resize(count, [NONE; 3]);
        self.outlines.resize(count, 0);
        self.blocked.resize(count, false);
        for &f in &order {
            let t = slot[f] as usize;
            self.corners[t] = mesh.corners[f].map(|v| global[v as usize]);
            self.outlines[t] = 0;
            self.blocked[t] = false;
            for k in 0..3 {
                let (other, is_outline) = match rim_at(f, k) {
                    Some(edge) => {
                        if edge.outside != NONE {
                            self.beyond[edge.outside as usize][edge.place] = t as u32;
                        }
                        (edge.outside, edge.is_outline)
                    }
                    None => (
                        slot[mesh.beyond[f][k] as usize],
                        mesh.constrained[f] >> k & 1 == 1,
                    ),
                };
                self.beyond[t][k] = other;
                self.outlines[t] |= u8::from(is_outline) << k;
            }
        }
        // Free and blocked, from the outlines and from what is known around the hole.
        let mut known = vec![true; count];
        for &f in &order {
            known[slot[f] as usize] = false;
        }
        let mut seeds: Vec<(u32, bool)> = Vec::new();
        for &f in &order {
            let t = slot[f];
            self.outline_seeds(t, arrangement, &mut seeds);
            for k in 0..3 {
                let other = self.through(t, k);
                if other == NONE {
                    if self.beyond[t as usize][k] == NONE {
                        seeds.push((t, self.outside_is_blocked));
                    }
                } else if known[other as usize] {
                    seeds.push((t, self.blocked[other as usize]));
                }
            }
        }
        self.flood(seeds, known);
        let fresh: Vec<u32> = order.iter().map(|f| slot[*f]).collect();
        self.make_delaunay(&fresh);
        for hole in unused.into_iter().rev() {
            self.remove(hole);
        }
        Some(())
    }

    /// Flips edges, beginning at those of some triangles, until every edge is Delaunay
    /// \[Lawson1977\].
    fn make_delaunay(&mut self, fresh: &[u32]) {
        let mut stack: Vec<(u32, usize)> = fresh
            .iter()
            .flat_map(|t| (0..3).map(move |k| (*t, k)))
            .collect();
        while let Some((t, k)) = stack.pop() {
            let o = self.through(t, k);
            if o == NONE {
                continue;
            }
            let Some(j) = self.place_of(o, t) else {
                continue;
            };
            let [a, b, c] = [k, next(k), previous(k)].map(|k| self.corners[t as usize][k]);
            let d = self.corners[o as usize][previous(j)];
            let [pa, pb, pc, pd] = [a, b, c, d].map(|v| self.points[v as usize]);
            if !in_circle(&pa, &pb, &pc, &pd) {
                continue;
            }
            // The edge a b becomes c d.
            let side = |this: &Self, t: u32, k: usize| {
                let outline = this.outlines[t as usize] >> k & 1;
                (this.beyond[t as usize][k], outline)
            };
            let (ca, bc) = (side(self, t, previous(k)), side(self, t, next(k)));
            let (ad, db) = (side(self, o, next(j)), side(self, o, previous(j)));
            self.corners[t as usize] = [c, a, d];
            self.corners[o as usize] = [d, b, c];
            self.beyond[t as usize] = [ca.0, ad.0, o];
            self.beyond[o as usize] = [db.0, bc.0, t];
            self.outlines[t as usize] = ca.1 | ad.1 << 1;
            self.outlines[o as usize] = db.1 | bc.1 << 1;
            self.relink(ad.0, o, t);
            self.relink(bc.0, t, o);
            stack.extend([(t, 0), (t, 1), (o, 0), (o, 1)]);
        }
    }

    /// Tells triangle `t` (if there is one) that its neighbour has a new number.
    fn relink(&mut self, t: u32, old: u32, new: u32) {
        if t != NONE {
            for n in &mut self.beyond[t as usize] {
                if *n == old {
                    *n = new;
                }
            }
        }
    }

    /// Takes a triangle that nothing leads to out of the arrays.
    fn remove(&mut self, t: u32) {
        let last = self.corners.len() as u32 - 1;
        if t != last {
            for n in self.beyond[last as usize] {
                self.relink(n, last, t);
            }
        }
        self.corners.swap_remove(t as usize);
        self.beyond.swap_remove(t as usize);
        self.outlines.swap_remove(t as usize);
        self.blocked.swap_remove(t as usize);
    }

    /// Calls `found` with all vertices (and some more) from which any part of the outline
    /// edges `sources` is seen.
    pub(crate) fn weakly_visible(&self, sources: &[[u32; 2]], mut found: impl FnMut(u32)) {
        let mut visits = vec![0u8; self.corners.len() * 3];
        let mut stack: Vec<Wedge> = Vec::new();
        for &[a, b] in sources {
            let range = self.start[a as usize] as usize..self.start[a as usize + 1] as usize;
            for &(t, _) in &self.fan[range] {
                let corners = self.corners[t as usize];
                for k in 0..3 {
                    let ends = [corners[k], corners[next(k)]];
                    if ends == [a, b] || ends == [b, a] {
                        stack.push(Wedge::new(t, k, corners));
                    }
                }
            }
            found(a);
            found(b);
            self.spread_wedges(&mut stack, &mut visits, &mut found);
        }
    }

    fn spread_wedges(
        &self,
        stack: &mut Vec<Wedge>,
        visits: &mut [u8],
        found: &mut impl FnMut(u32),
    ) {
        while let Some(mut wedge) = stack.pop() {
            let (t, edge) = (wedge.triangle, wedge.edge as usize);
            let corners = self.corners[t as usize];
            let visit = &mut visits[t as usize * 3 + edge];
            match *visit {
                DONE => continue,
                // Ways around obstacles can multiply: then all that is seen from the edge.
                MOST_VISITS => {
                    *visit = DONE;
                    wedge = Wedge::new(t, edge, corners);
                }
                _ => *visit += 1,
            }
            let apex = corners[previous(edge)];
            found(apex);
            let at = |v: u32| &self.points[v as usize];
            let [right, left] =
                [wedge.right, wedge.left].map(|[from, by]| orient2d(at(from), at(by), at(apex)));
            let reaches_right = right == Orientation::Left;
            let reaches_left = left == Orientation::Right;
            let mut enter = |k: usize, right: [u32; 2], left: [u32; 2]| {
                let other = self.through(t, k);
                if other == NONE {
                    return;
                }
                if let Some(edge) = self.place_of(other, t) {
                    stack.push(Wedge {
                        triangle: other,
                        edge: edge as u8,
                        right,
                        left,
                    });
                }
            };
            let (to_right, to_left) = (next(edge), previous(edge));
            if reaches_right {
                let left = if reaches_left {
                    [wedge.left[0], apex]
                } else {
                    wedge.left
                };
                enter(to_right, wedge.right, left);
            }
            if reaches_left {
                let right = if reaches_right {
                    [wedge.right[0], apex]
                } else {
                    wedge.right
                };
                enter(to_left, right, wedge.left);
            }
        }
    }
}

/// How often an edge is looked through before everything beyond it is taken to be seen.
const MOST_VISITS: u8 = 16;
const DONE: u8 = u8::MAX;

/// All lines of sight from an edge into a triangle: they lie to the left of the line from the
/// edge's left end by a vertex on the right, and to the right of the line from its right end by
/// a vertex on the left.
#[derive(Debug, Clone, Copy)]
struct Wedge {
    triangle: u32,
    edge: u8,
    right: [u32; 2],
    left: [u32; 2],
}

impl Wedge {
    /// From an edge of a triangle into it.
    fn new(triangle: u32, edge: usize, corners: [u32; 3]) -> Self {
        let (left, right) = (corners[edge], corners[next(edge)]);
        Wedge {
            triangle,
            edge: edge as u8,
            right: [left, right],
            left: [right, left],
        }
    }
}
