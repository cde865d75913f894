//! A triangulation of outlines of which some changed, from the one before.
//!
//! The triangles that touched what went or that new edges run through are a hole,
//! which is triangulated by itself; afterwards edges are flipped until the
//! triangles are Delaunay again.

use nalgebra::Point2;

use super::arrangement::Arrangement;
use super::predicates::{in_circle, orient2d, segments_meet, Meeting, Orientation};
use super::splice::Changes;
use super::triangulation::{next, previous, Beyond, Mesh, Triangle, Triangulation, NONE};

/// An edge around the hole (its inside to the left), and what lies beyond.
#[derive(Debug, Clone, Copy)]
struct Rim {
    ends: [u32; 2],
    outside: Beyond,
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
            triangles: self
                .triangles
                .iter()
                .map(|t| Triangle {
                    corners: t.corners.map(|v| number[v as usize]),
                    ..*t
                })
                .collect(),
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
            .triangles
            .iter()
            .map(|t| t.corners.iter().any(|v| *v >= gone))
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
                let beyond = self.triangles[t as usize].beyond.into_iter();
                let beyond = beyond.filter(|b| *b != Beyond::OUTSIDE);
                stack.extend(beyond.map(Beyond::triangle));
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
        let corners = self.triangles[t as usize]
            .corners
            .map(|v| self.points[v as usize]);
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
        let mut in_hole = vec![false; self.triangles.len()];
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
            let Triangle { corners, beyond } = self.triangles[t as usize];
            for v in corners.iter().filter(|v| **v < gone) {
                take(*v);
            }
            for (k, outside) in beyond.into_iter().enumerate() {
                let ends = [corners[k], corners[next(k)]];
                if outside == Beyond::OUTSIDE || !in_hole[outside.triangle() as usize] {
                    let ends = ends.map(&mut take);
                    rim.push(Rim { ends, outside });
                    constraints.push(ends);
                } else if outside.is_closed() && ends.iter().all(|v| *v < gone) {
                    constraints.push(ends.map(&mut take));
                }
            }
        }
        for v in &changes.added {
            take(*v);
        }
        let outlines = changes.added_edges.iter().chain(&changes.rejoined_edges);
        constraints.extend(outlines.map(|e| e.map(&mut take)));
        rim.sort_unstable_by_key(|r| r.ends);
        let points: Vec<Point2<f64>> = global.iter().map(|v| self.points[*v as usize]).collect();
        let mesh = Mesh::new(&points, constraints)?.0;

        // The triangles inside the rim.
        let rim_at = |f: usize, k: usize| {
            let corners = mesh[f].corners;
            let ends = [corners[k], corners[next(k)]];
            rim.binary_search_by_key(&ends, |r| r.ends)
                .ok()
                .map(|i| rim[i])
        };
        let mut slot = vec![NONE; mesh.len()];
        let mut order: Vec<usize> = Vec::new();
        let mut stack: Vec<usize> = Vec::new();
        let mut on_rim = 0;
        for f in 0..mesh.len() {
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
        let mut count = self.triangles.len() as u32;
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
                    match mesh[f].beyond[k] {
                        Beyond::OUTSIDE => return None,
                        other => stack.push(other.triangle() as usize),
                    }
                }
            }
        }
        let unused: Vec<u32> = free_slots.collect();
        let count = count as usize;
        self.triangles.resize(count, Triangle::EMPTY);
        self.blocked.resize(count, false);
        for &f in &order {
            let t = slot[f] as usize;
            self.triangles[t].corners = mesh[f].corners.map(|v| global[v as usize]);
            self.blocked[t] = false;
            for k in 0..3 {
                self.triangles[t].beyond[k] = match rim_at(f, k) {
                    Some(Rim { outside, .. }) => {
                        if outside != Beyond::OUTSIDE {
                            let other = &mut self.triangles[outside.triangle() as usize];
                            other.beyond[outside.place()] =
                                Beyond::new(t as u32, k, outside.is_closed());
                        }
                        outside
                    }
                    None => {
                        let beyond = mesh[f].beyond[k];
                        let other = slot[beyond.triangle() as usize];
                        Beyond::new(other, beyond.place(), beyond.is_closed())
                    }
                };
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
            for beyond in self.triangles[t as usize].beyond {
                if beyond == Beyond::OUTSIDE {
                    seeds.push((t, self.outside_is_blocked));
                } else if !beyond.is_closed() && known[beyond.triangle() as usize] {
                    seeds.push((t, self.blocked[beyond.triangle() as usize]));
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
            let beyond = self.triangles[t as usize].beyond[k];
            if beyond.is_closed() {
                continue;
            }
            let (o, j) = (beyond.triangle(), beyond.place());
            let (near, far) = (self.triangles[t as usize], self.triangles[o as usize]);
            let [a, b, c] = [k, next(k), previous(k)].map(|k| near.corners[k]);
            let d = far.corners[previous(j)];
            let [pa, pb, pc, pd] = [a, b, c, d].map(|v| self.points[v as usize]);
            if !in_circle(&pa, &pb, &pc, &pd) {
                continue;
            }
            // The edge a b becomes c d.
            let (ca, bc) = (near.beyond[previous(k)], near.beyond[next(k)]);
            let (ad, db) = (far.beyond[next(j)], far.beyond[previous(j)]);
            self.triangles[t as usize] = Triangle {
                corners: [c, a, d],
                beyond: [ca, ad, Beyond::new(o, 2, false)],
            };
            self.triangles[o as usize] = Triangle {
                corners: [d, b, c],
                beyond: [db, bc, Beyond::new(t, 2, false)],
            };
            self.relink(t);
            self.relink(o);
            stack.extend([(t, 0), (t, 1), (o, 0), (o, 1)]);
        }
    }

    /// Tells the neighbours of triangle `t` where it is.
    fn relink(&mut self, t: u32) {
        for (k, beyond) in self.triangles[t as usize].beyond.into_iter().enumerate() {
            if beyond != Beyond::OUTSIDE {
                self.triangles[beyond.triangle() as usize].beyond[beyond.place()] =
                    Beyond::new(t, k, beyond.is_closed());
            }
        }
    }

    /// Takes a triangle that nothing leads to out of the arrays.
    fn remove(&mut self, t: u32) {
        self.triangles.swap_remove(t as usize);
        self.blocked.swap_remove(t as usize);
        if (t as usize) < self.triangles.len() {
            self.relink(t);
        }
    }
}
