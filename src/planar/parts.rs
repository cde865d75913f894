//! The rings of all bodies sorted into parts that have nothing to do with each other.
//!
//! Rings that touch, cross or nearly touch are one part. What is left of a part
//! after merging depends on its own rings and on how many bodies cover its
//! surroundings, and on nothing else: so a world is merged part by part, and
//! where one obstacle changes only its part is merged again.

use nalgebra::Point2;

use super::arrangement::{Arrangement, Edge, Vertex};
use super::bodies::{Bodies, Kind};
use super::distance::segment_segment;
use super::faces::Faces;
use super::order::z_order;
use super::predicates::{ray_crosses, Orientation};
use super::sector::{simple_vertex, Contact, Fan, Sector};
use super::subdivision::Subdivision;

/// Edges that come as near as this belong to one part. \[m\]
///
/// Rounding bends edges where they are split: by less than this, at any coordinate that is
/// accepted. A greater distance does no harm: what is merged together need not touch.
pub(crate) const LINK: f64 = 1e-5;

/// No part.
pub(crate) const NONE: u32 = u32::MAX;

/// A part.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// Its leftmost (of those the lowest) vertex.
    probe: Point2<f64>,
    /// How many bodies of other parts cover its surroundings.
    pub depth: i32,
    /// Whether it is a single ring that comes nowhere near itself.
    is_simple: bool,
    /// Whether its outlines have rounded crossing points.
    pub rounded: bool,
    /// Corners that its outlines lack because rounding closed a sliver.
    pub lost: Vec<Point2<f64>>,
}

/// All parts of a world.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parts {
    pub parts: Vec<Part>,
    /// The part of every ring.
    pub of_ring: Vec<u32>,
}

/// Sets of rings that are joined step by step.
struct Sets(Vec<u32>);

impl Sets {
    fn root(&mut self, mut i: u32) -> u32 {
        while self.0[i as usize] != i {
            let up = self.0[self.0[i as usize] as usize];
            self.0[i as usize] = up;
            i = up;
        }
        i
    }

    /// The smaller root stays one.
    fn join(&mut self, i: u32, j: u32) {
        let (i, j) = (self.root(i), self.root(j));
        self.0[i.max(j) as usize] = i.min(j);
    }
}

/// Whether two edges come near each other without being neighbours in a ring.
fn near(bodies: &Bodies, i: u32, j: u32) -> bool {
    let (i, j) = (i.min(j), i.max(j));
    if bodies.next[i as usize] == j || bodies.next[j as usize] == i {
        return false;
    }
    let ((a, b), (c, d)) = (bodies.edge(i), bodies.edge(j));
    let apart =
        |a: f64, b: f64, c: f64, d: f64| a.max(b) + LINK < c.min(d) || c.max(d) + LINK < a.min(b);
    !apart(a.x, b.x, c.x, d.x)
        && !apart(a.y, b.y, c.y, d.y)
        && segment_segment(&a, &b, &c, &d) <= LINK
}

impl Parts {
    /// Sorts all rings.
    pub fn new(bodies: &Bodies) -> Self {
        let rings: Vec<u32> = (0..bodies.rings.len() as u32).collect();
        let mut this = Parts {
            parts: Vec::new(),
            of_ring: vec![NONE; rings.len()],
        };
        this.sort(bodies, &rings, |meet| {
            for cell in bodies.grid().cells() {
                for (k, &i) in cell.iter().enumerate() {
                    for &j in &cell[k + 1..] {
                        meet(i, j);
                    }
                }
            }
        });
        for part in 0..this.parts.len() as u32 {
            this.find_depth(bodies, part);
        }
        this
    }

    /// Sorts some rings (ascending), which belong to no part, among themselves.
    pub fn add(&mut self, bodies: &Bodies, rings: &[u32]) {
        let mut known = vec![false; bodies.rings.len()];
        for r in rings {
            known[*r as usize] = true;
        }
        self.sort(bodies, rings, |meet| {
            for &r in rings {
                for i in bodies.rings[r as usize].edges() {
                    let (a, b) = bodies.edge(i);
                    bodies.grid().visit_segment(&a, &b, |j| {
                        if j > i && known[bodies.edge_ring[j as usize] as usize] {
                            meet(i, j);
                        }
                        true
                    });
                }
            }
        });
    }

    /// Parts with rings other than ring `r` to which `r` comes near.
    pub fn near_ring(&self, bodies: &Bodies, r: u32, mut found: impl FnMut(u32)) {
        for i in bodies.rings[r as usize].edges() {
            let (a, b) = bodies.edge(i);
            bodies.grid().visit_segment(&a, &b, |j| {
                let part = self.of_ring[bodies.edge_ring[j as usize] as usize];
                if part != NONE && near(bodies, i, j) {
                    found(part);
                }
                true
            });
        }
    }

    /// `pairs` calls back with every pair of edges of `rings` that may come near each other.
    fn sort(
        &mut self,
        bodies: &Bodies,
        rings: &[u32],
        pairs: impl FnOnce(&mut dyn FnMut(u32, u32)),
    ) {
        let mut sets = Sets((0..bodies.rings.len() as u32).collect());
        let mut is_simple = vec![true; bodies.rings.len()];
        pairs(&mut |i, j| {
            let (r, s) = (bodies.edge_ring[i as usize], bodies.edge_ring[j as usize]);
            if r == s {
                if is_simple[r as usize] && near(bodies, i, j) {
                    is_simple[r as usize] = false;
                }
            } else if sets.root(r) != sets.root(s) && near(bodies, i, j) {
                is_simple[r as usize] = false;
                is_simple[s as usize] = false;
                sets.join(r, s);
            }
        });
        for &r in rings {
            let root = sets.root(r);
            let ring = &bodies.rings[r as usize];
            if root == r {
                self.of_ring[r as usize] = self.parts.len() as u32;
                let solid = bodies.kind(ring.first) != Kind::Wall && ring.len > 2;
                self.parts.push(Part {
                    probe: bodies.points[ring.first as usize],
                    depth: 0,
                    is_simple: is_simple[r as usize] && solid,
                    rounded: false,
                    lost: Vec::new(),
                });
            }
            // Roots come before what they hold.
            let number = self.of_ring[root as usize];
            self.of_ring[r as usize] = number;
            let part = &mut self.parts[number as usize];
            for i in ring.edges() {
                let p = bodies.points[i as usize];
                if (p.x, p.y) < (part.probe.x, part.probe.y) {
                    part.probe = p;
                }
            }
        }
    }

    /// Counts the bodies that cover a part's surroundings.
    pub fn find_depth(&mut self, bodies: &Bodies, part: u32) {
        let probe = self.parts[part as usize].probe;
        let mut crossed: Vec<u32> = Vec::new();
        bodies.grid().visit_ray(&probe, |i| {
            let (a, b) = bodies.edge(i);
            let other = self.of_ring[bodies.edge_ring[i as usize] as usize] != part;
            if other && ray_crosses(&probe, &a, &b) == Some(true) {
                crossed.push(i);
            }
        });
        // The grid may show an edge several times.
        crossed.sort_unstable();
        crossed.dedup();
        let depth: i32 = crossed.iter().map(|i| crossing_sign(bodies, *i)).sum();
        self.parts[part as usize].depth = i32::from(bodies.has_complement()) + depth;
    }

    /// How often ring `r` of some bodies winds around a part's surroundings.
    pub fn winding(&self, bodies: &Bodies, r: u32, part: u32) -> i32 {
        let probe = self.parts[part as usize].probe;
        let crosses = |i: &u32| {
            let (a, b) = bodies.edge(*i);
            ray_crosses(&probe, &a, &b) == Some(true)
        };
        let edges = bodies.rings[r as usize].edges();
        edges
            .filter(crosses)
            .map(|i| crossing_sign(bodies, i))
            .sum()
    }

    /// The outlines of a part, numbered by themselves.
    pub fn outlines(
        &mut self,
        bodies: &Bodies,
        part: u32,
        rings: &[u32],
        contact: Contact,
    ) -> Arrangement {
        let (depth, is_simple) = {
            let part = &mut self.parts[part as usize];
            part.lost.clear();
            (part.depth, part.is_simple)
        };
        if let ([r], true) = (rings, is_simple) {
            if let Some(outline) = simple_outline(bodies, *r, depth, contact) {
                return outline;
            }
        }
        let mut own = Bodies::empty(bodies.is_truth);
        own.add_rings(bodies, rings.iter().copied(), |o| o);
        let subdivision = Subdivision::new(&own);
        let mut faces = Faces::new(&own, &subdivision);
        faces.cover(&subdivision, depth);
        let mut outlines = faces.outlines(&own, &subdivision, contact);
        if !bodies.is_truth {
            // Nobody asks for the edges before merging.
            outlines.edges.iter_mut().for_each(|e| e.parents.clear());
        }
        for parent in outlines.edges.iter_mut().flat_map(|e| &mut e.parents) {
            let ring = own.edge_ring[*parent as usize];
            let from = bodies.rings[rings[ring as usize] as usize].first;
            *parent = from + (*parent - own.rings[ring as usize].first);
        }
        self.parts[part as usize].rounded = outlines.rounded;
        if outlines.rounded && bodies.is_truth {
            outlines.keep_corners(|p| bodies.point_is_free(p, contact));
            self.parts[part as usize].lost = lost_corners(bodies, &own, &outlines, contact);
        }
        outlines
    }
}

/// Corners of a part's own rings that paths can turn in, and that its outlines do not have.
fn lost_corners(
    bodies: &Bodies,
    own: &Bodies,
    outlines: &Arrangement,
    contact: Contact,
) -> Vec<Point2<f64>> {
    let kept = outlines.vertices.iter().filter(|v| v.corner.is_some());
    let mut kept: Vec<u128> = kept.map(|v| z_order(&v.point)).collect();
    kept.sort_unstable();
    let mut lost = own.points.clone();
    lost.retain(|p| {
        kept.binary_search(&z_order(p)).is_err()
            && Fan::new(p, &bodies.sectors_at(p), contact)
                .corner()
                .is_some()
            && bodies.point_is_free(p, contact)
    });
    lost
}

/// By how much the count of covering bodies is greater to the left of an edge that a ray along
/// +x crosses.
fn crossing_sign(bodies: &Bodies, edge: u32) -> i32 {
    let (a, b) = bodies.edge(edge);
    if a.y < b.y {
        1
    } else {
        -1
    }
}

/// The outline of a single ring without contacts. `None` if its vertices are not simple ones.
fn simple_outline(bodies: &Bodies, ring: u32, depth: i32, contact: Contact) -> Option<Arrangement> {
    let edges = bodies.rings[ring as usize].edges();
    let first = edges.start;
    // Which way round it goes decides whether its surroundings are its body's side.
    let lowest = edges.clone().min_by(|i, j| {
        let (p, q) = (bodies.points[*i as usize], bodies.points[*j as usize]);
        p.x.total_cmp(&q.x).then(p.y.total_cmp(&q.y))
    })? as usize;
    let around = |i: usize| {
        let (to, from) = (bodies.next[i] as usize, bodies.prev[i] as usize);
        (bodies.points[to], bodies.points[from])
    };
    let turn = |i: usize| {
        let (to, from) = around(i);
        super::predicates::orient2d(&from, &bodies.points[i], &to)
    };
    let free_depth = match turn(lowest) {
        Orientation::Left => 0,
        Orientation::Right => 1,
        Orientation::Collinear => return None,
    };
    let mut outline = Arrangement::default();
    if depth != free_depth {
        return Some(outline);
    }
    for i in edges {
        let point = bodies.points[i as usize];
        let (from, to) = around(i as usize);
        let sector = Sector { from, to };
        let (corner, turn) = simple_vertex(&point, &sector, contact).unwrap_or_else(|| {
            let fan = Fan::new(&point, &[sector], contact);
            (fan.corner(), fan.turn())
        });
        let obstacle = bodies.edge_obstacle(i);
        outline.vertices.push(Vertex {
            point,
            sectors: smallvec::smallvec![sector],
            corner,
            turn,
            obstacles: smallvec::smallvec![obstacle],
        });
        outline.edges.push(Edge {
            ends: [i - first, bodies.next[i as usize] - first],
            is_wall: false,
            obstacle,
            parents: Vec::new(),
        });
    }
    Some(outline)
}
