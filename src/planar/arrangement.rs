//! Merged outlines: the boundary of everything that blocks, as edges that meet
//! only at their ends.
//!
//! Overlapping bodies are merged without a clipping library: their edges are
//! split where they touch (exactly) and where they cross (at a rounded point),
//! and what lies inside another body is dropped. Vertices of the input stay
//! bit for bit. That is enough for exact shortest paths: where two outlines
//! cross, the union has a re-entrant corner, and no shortest path turns there.

use std::collections::HashMap;

use nalgebra::Point2;

use super::bodies::{Bodies, Kind};
use super::predicates::{compare_angle, in_open_segment, line_crossing, segments_meet, Meeting};
use super::sector::{Contact, Corner, Fan, Sector};

/// A vertex of the merged outlines.
#[derive(Debug, Clone, PartialEq)]
pub struct Vertex {
    /// Where it is. [m]
    pub point: Point2<f64>,
    /// What surrounds it.
    pub sectors: Vec<Sector>,
    /// Whether shortest paths can turn here, and by which directions.
    pub corner: Option<Corner>,
    /// Obstacles that reach it (indices; the number of obstacles stands for the boundary).
    pub obstacles: Vec<u32>,
}

/// Merged outlines of a world.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arrangement {
    vertices: Vec<Vertex>,
    edges: Vec<[u32; 2]>,
    walls: Vec<bool>,
    parents: Vec<u32>,
}

impl Arrangement {
    /// All vertices that lie on the merged boundary.
    pub fn vertices(&self) -> &[Vertex] {
        &self.vertices
    }

    /// Directed edges between vertices, the blocked side to the left. Where contact can be
    /// passed a seam is two edges, one each way; a wall without thickness is one.
    pub fn edges(&self) -> &[[u32; 2]] {
        &self.edges
    }

    /// Whether edge `i` is a wall without thickness.
    pub fn is_wall(&self, i: usize) -> bool {
        self.walls.get(i).copied().unwrap_or(false)
    }

    /// The body edge that edge `i` is a piece of.
    pub(crate) fn parent(&self, i: usize) -> u32 {
        self.parents.get(i).copied().unwrap_or(u32::MAX)
    }

    /// The closed outlines, blocked side to the left, as vertex indices. A wall without
    /// thickness is an outline of two vertices.
    pub fn loops(&self) -> Vec<Vec<u32>> {
        let mut outgoing: Vec<Vec<usize>> = vec![Vec::new(); self.vertices.len()];
        let mut loops = Vec::new();
        for (i, [from, to]) in self.edges.iter().enumerate() {
            if self.is_wall(i) {
                loops.push(vec![*from, *to]);
            } else {
                outgoing[*from as usize].push(i);
            }
        }
        let mut used = vec![false; self.edges.len()];
        for first in 0..self.edges.len() {
            if used[first] || self.is_wall(first) {
                continue;
            }
            let (mut ring, mut edge) = (Vec::new(), first);
            while !used[edge] {
                used[edge] = true;
                let [from, to] = self.edges[edge];
                ring.push(from);
                let (center, back) = (self.point(to), self.point(from));
                // The first edge counter-clockwise from where we come from keeps free space
                // to the right.
                let after = |i: &usize| {
                    compare_angle(&center, &self.point(self.edges[*i][1]), &back).is_gt()
                };
                let candidates = outgoing[to as usize].iter().copied().filter(|i| !used[*i]);
                let next = candidates.min_by(|i, j| {
                    let (a, b) = (self.point(self.edges[*i][1]), self.point(self.edges[*j][1]));
                    after(j)
                        .cmp(&after(i))
                        .then(compare_angle(&center, &a, &b))
                        .then(i.cmp(j))
                });
                match next {
                    Some(next) => edge = next,
                    None => break,
                }
            }
            loops.push(ring);
        }
        loops
    }

    fn point(&self, vertex: u32) -> Point2<f64> {
        self.vertices[vertex as usize].point
    }

    /// Merges the bodies.
    pub(crate) fn new(bodies: &Bodies, contact: Contact) -> Self {
        Builder::new(bodies).build(contact)
    }
}

struct Builder<'a> {
    bodies: &'a Bodies,
    points: Vec<Point2<f64>>,
    index: HashMap<(u64, u64), u32>,
    /// Vertices inside each edge, unordered.
    splits: Vec<Vec<u32>>,
}

impl<'a> Builder<'a> {
    fn new(bodies: &'a Bodies) -> Self {
        Builder {
            bodies,
            points: Vec::with_capacity(bodies.points.len()),
            index: HashMap::with_capacity(bodies.points.len()),
            splits: vec![Vec::new(); bodies.points.len()],
        }
    }

    fn vertex(&mut self, p: Point2<f64>) -> u32 {
        *self
            .index
            .entry((p.x.to_bits(), p.y.to_bits()))
            .or_insert_with(|| {
                self.points.push(p);
                self.points.len() as u32 - 1
            })
    }

    fn build(mut self, contact: Contact) -> Arrangement {
        let bodies = self.bodies;
        let own: Vec<u32> = bodies.points.iter().map(|p| self.vertex(*p)).collect();
        let touched = self.split(&own);
        let chains = self.chains(&own);

        // Every directed piece with its body; pieces that coincide lie next to each other.
        let mut pieces: Vec<(u32, u32, u32, u32)> = Vec::with_capacity(chains.len());
        for (i, chain) in chains.iter().enumerate() {
            let body = bodies.edge_body[i];
            pieces.extend(chain.windows(2).map(|w| (w[0], w[1], body, i as u32)));
        }
        let mut order: Vec<usize> = (0..pieces.len()).collect();
        let key = |i: &usize| {
            let (u, v, body, _) = pieces[*i];
            (u.min(v), u.max(v), u > v, body)
        };
        order.sort_unstable_by_key(key);

        let mut edges = Vec::new();
        let mut walls = Vec::new();
        let mut parents = Vec::new();
        let mut swallowed: HashMap<u32, bool> = HashMap::new();
        for group in order.chunk_by(|a, b| (key(a).0, key(a).1) == (key(b).0, key(b).1)) {
            let here: Vec<u32> = group.iter().map(|i| pieces[*i].2).collect();
            let (u, v, body, parent) = pieces[group[0]];
            // A body that nothing touches is inside another one as a whole or not at all.
            let inside = if touched[body as usize] || here.iter().any(|b| touched[*b as usize]) {
                self.is_inside(u, v, &here)
            } else {
                *swallowed
                    .entry(body)
                    .or_insert_with(|| self.is_inside(u, v, &here))
            };
            if inside {
                continue;
            }
            let is_solid = |i: &&usize| bodies.bodies[pieces[**i].2 as usize].kind != Kind::Wall;
            let forward = group.iter().find(|i| is_solid(i) && !key(i).2);
            let backward = group.iter().find(|i| is_solid(i) && key(i).2);
            let (low, high) = (u.min(v), u.max(v));
            let mut keep = |edge: [u32; 2], wall: bool, piece: Option<&usize>| {
                edges.push(edge);
                walls.push(wall);
                parents.push(piece.map_or(parent, |i| pieces[*i].3));
            };
            match (forward, backward, contact) {
                (None, None, _) => keep([low, high], true, None),
                // A seam.
                (Some(_), Some(_), Contact::Blocked) => {}
                (forward, backward, _) => {
                    if forward.is_some() {
                        keep([low, high], false, forward);
                    }
                    if backward.is_some() {
                        keep([high, low], false, backward);
                    }
                }
            }
        }
        let arrangement = Arrangement {
            vertices: Vec::new(),
            edges,
            walls,
            parents,
        };
        self.finish(contact, &chains, arrangement)
    }

    /// Splits edges where they meet others; says which bodies meet another one.
    fn split(&mut self, own: &[u32]) -> Vec<bool> {
        let bodies = self.bodies;
        let mut touched = vec![false; bodies.bodies.len()];
        let mut meetings = Vec::new();
        bodies.near_pairs(|i, j| {
            let ((a, b), (c, d)) = (bodies.edge(i), bodies.edge(j));
            let (bi, bj) = (bodies.edge_body[i as usize], bodies.edge_body[j as usize]);
            let neighbours = bodies.next[i as usize] == j || bodies.next[j as usize] == i;
            if neighbours {
                return;
            }
            let meeting = segments_meet(&a, &b, &c, &d);
            if meeting != Meeting::Apart {
                touched[bi as usize] = true;
                touched[bj as usize] = true;
                meetings.push((i.min(j), i.max(j), meeting));
            }
        });
        meetings.sort_unstable_by_key(|m| (m.0, m.1));
        meetings.dedup();
        // First the exact splits, at vertices that lie on other edges …
        for &(i, j, meeting) in &meetings {
            if meeting == Meeting::Crossing {
                continue;
            }
            let ((a, b), (c, d)) = (bodies.edge(i), bodies.edge(j));
            let ends = |e: u32| [e as usize, bodies.next[e as usize] as usize];
            for k in ends(j) {
                if in_open_segment(&a, &b, &bodies.points[k]) {
                    self.splits[i as usize].push(own[k]);
                }
            }
            for k in ends(i) {
                if in_open_segment(&c, &d, &bodies.points[k]) {
                    self.splits[j as usize].push(own[k]);
                }
            }
        }
        // … then the crossings of the pieces, so that edges that partly coincide get the
        // same rounded points.
        let chains = self.chains(own);
        let mut crossings = Crossings::new(&bodies.points);
        for (i, j, _) in meetings.iter().filter(|m| m.2 == Meeting::Crossing) {
            for p in chains[*i as usize].windows(2) {
                for q in chains[*j as usize].windows(2) {
                    let sorted = |w: &[u32]| (w[0].min(w[1]), w[0].max(w[1]));
                    let (p, q) = (sorted(p).min(sorted(q)), sorted(p).max(sorted(q)));
                    let [a, b, c, d] = [p.0, p.1, q.0, q.1].map(|v| self.points[v as usize]);
                    if segments_meet(&a, &b, &c, &d) == Meeting::Crossing {
                        let x = crossings.unify(line_crossing(&a, &b, &c, &d));
                        let x = self.vertex(x);
                        self.splits[*i as usize].push(x);
                        self.splits[*j as usize].push(x);
                    }
                }
            }
        }
        touched
    }

    /// The vertices along every edge, its ends included.
    fn chains(&self, own: &[u32]) -> Vec<Vec<u32>> {
        (0..self.bodies.points.len())
            .map(|i| {
                let (a, b) = self.bodies.edge(i as u32);
                let d = b - a;
                let along = |v: &u32| (self.points[*v as usize] - a).dot(&d);
                let mut inner = self.splits[i].clone();
                inner.sort_by(|u, v| along(u).total_cmp(&along(v)).then(u.cmp(v)));
                let mut chain = vec![own[i]];
                chain.append(&mut inner);
                chain.push(own[self.bodies.next[i] as usize]);
                chain.dedup();
                // A crossing rounded onto an end that another split follows.
                chain
            })
            .collect()
    }

    /// Whether the piece `u v` lies inside a body that it is no part of.
    fn is_inside(&self, u: u32, v: u32, own: &[u32]) -> bool {
        let (a, b) = (self.points[u as usize], self.points[v as usize]);
        let middle = nalgebra::center(&a, &b);
        self.bodies
            .locate(&middle)
            .inside
            .iter()
            .any(|body| !own.contains(body))
    }

    fn finish(
        &self,
        contact: Contact,
        chains: &[Vec<u32>],
        mut arrangement: Arrangement,
    ) -> Arrangement {
        let bodies = self.bodies;
        // New numbers for the vertices that are still used.
        let mut number = vec![u32::MAX; self.points.len()];
        let mut vertices: Vec<Vertex> = Vec::new();
        let mut renumber = |v: u32| {
            let n = &mut number[v as usize];
            if *n == u32::MAX {
                *n = vertices.len() as u32;
                vertices.push(Vertex {
                    point: self.points[v as usize],
                    sectors: Vec::new(),
                    corner: None,
                    obstacles: Vec::new(),
                });
            }
            *n
        };
        for edge in &mut arrangement.edges {
            *edge = edge.map(&mut renumber);
        }
        for (i, chain) in chains.iter().enumerate() {
            let body = &bodies.bodies[bodies.edge_body[i] as usize];
            let before = &chains[bodies.prev[i] as usize];
            for (k, v) in chain.iter().enumerate().take(chain.len() - 1) {
                let Some(vertex) = vertices.get_mut(number[*v as usize] as usize) else {
                    continue;
                };
                let ahead = self.points[chain[k + 1] as usize];
                let back = if k > 0 {
                    chain[k - 1]
                } else {
                    before[before.len() - 2]
                };
                let back = self.points[back as usize];
                let back = if body.kind == Kind::Wall { ahead } else { back };
                vertex.sectors.push(Sector {
                    from: ahead,
                    to: back,
                });
                vertex.obstacles.push(body.obstacle);
            }
        }
        for vertex in &mut vertices {
            vertex.obstacles.sort_unstable();
            vertex.obstacles.dedup();
            vertex.corner = Fan::new(&vertex.point, &vertex.sectors, contact).corner();
        }
        arrangement.vertices = vertices;
        arrangement
    }
}

/// Makes one of crossing points that only rounding keeps apart (three edges through one point).
struct Crossings {
    grid: f64,
    cells: HashMap<(i64, i64), Point2<f64>>,
}

impl Crossings {
    fn new(points: &[Point2<f64>]) -> Self {
        let largest = points
            .iter()
            .fold(0.0_f64, |m, p| m.max(p.x.abs()).max(p.y.abs()));
        Crossings {
            grid: (16.0 * f64::EPSILON * largest).max(f64::MIN_POSITIVE),
            cells: HashMap::new(),
        }
    }

    fn unify(&mut self, p: Point2<f64>) -> Point2<f64> {
        // At most 2^49 cells each way: exact in an i64.
        let (i, j) = (
            (p.x / self.grid).round() as i64,
            (p.y / self.grid).round() as i64,
        );
        let near = (-1..=1).flat_map(|di| (-1..=1).map(move |dj| (i + di, j + dj)));
        match near.into_iter().find_map(|cell| self.cells.get(&cell)) {
            Some(q) => *q,
            None => *self.cells.entry((i, j)).or_insert(p),
        }
    }
}
