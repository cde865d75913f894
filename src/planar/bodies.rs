//! What blocks, as flat arrays with a uniform grid over the edges: the exact
//! answers about points and segments.
//!
//! A body is an obstacle, the complement of the boundary, a wall without
//! thickness, or everything after it was inflated and merged. Bodies may overlap and touch each other freely: no
//! point is ever computed here, so every answer is exact for the coordinates given.

use nalgebra::Point2;

use super::arrangement::Arrangement;
use super::grid::Grid;
use super::polygon::Polygon;
use super::predicates::{in_open_segment, on_segment, ray_crosses, segments_meet, Meeting};
use super::sector::{leaves, passes, Contact, Fan, Sector};

/// What a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The inside of its rings is blocked.
    Solid,
    /// The outside of its rings (which are reversed) is blocked.
    Complement,
    /// A line that must not be crossed: two edges, out and back.
    Wall,
}

#[derive(Debug, Clone)]
pub(crate) struct Body {
    /// Index of the obstacle; the number of obstacles stands for the boundary.
    obstacle: u32,
    pub kind: Kind,
}

/// Where a point lies with respect to the bodies (indices of bodies).
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Spot {
    pub inside: Vec<u32>,
    pub on: Vec<u32>,
}

/// A closed line of edges, numbered in a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ring {
    pub body: u32,
    pub first: u32,
    pub len: u32,
}

impl Ring {
    /// Its edges.
    pub fn edges(&self) -> std::ops::Range<u32> {
        self.first..self.first + self.len
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Bodies {
    pub bodies: Vec<Body>,
    pub rings: Vec<Ring>,
    /// Edge `i` goes from `points[i]` to `points[next[i]]`, its body to the left.
    pub points: Vec<Point2<f64>>,
    pub next: Vec<u32>,
    pub prev: Vec<u32>,
    pub edge_ring: Vec<u32>,
    /// The obstacle of every edge.
    edge_obstacle: Vec<u32>,
    /// Whether these edges stay the truth when outlines are merged (else the merged ones are).
    pub is_truth: bool,
    /// The body that stands for what is outside the boundary.
    complement: Option<u32>,
    grid: Grid,
}

impl Bodies {
    /// No bodies yet.
    pub fn empty(is_truth: bool) -> Self {
        Bodies {
            is_truth,
            ..Bodies::default()
        }
    }

    pub fn add_polygon(&mut self, obstacle: u32, polygon: &Polygon) {
        self.add_body(obstacle, Kind::Solid);
        for ring in polygon.rings() {
            self.add_ring(ring.iter().copied());
        }
    }

    pub fn add_wall(&mut self, obstacle: u32, wall: &[Point2<f64>; 2]) {
        self.add_body(obstacle, Kind::Wall);
        self.add_ring(wall.iter().copied());
    }

    /// The space outside all of `parts` is blocked.
    pub fn add_complement(&mut self, obstacle: u32, parts: &[Polygon]) {
        self.add_body(obstacle, Kind::Complement);
        for ring in parts.iter().flat_map(Polygon::rings) {
            self.add_ring(ring.iter().rev().copied());
        }
    }

    /// Copies rings (ascending numbers) of other bodies; says where they are from now on.
    /// Their obstacles get new numbers.
    pub fn add_rings(
        &mut self,
        from: &Bodies,
        rings: impl Iterator<Item = u32>,
        obstacle: impl Fn(u32) -> u32,
    ) {
        let mut last = None;
        for r in rings {
            let Ring { body, first, len } = from.rings[r as usize];
            if last != Some(body) {
                let Body { obstacle: o, kind } = from.bodies[body as usize];
                self.add_body(obstacle(o), kind);
                last = Some(body);
            }
            let range = first as usize..(first + len) as usize;
            self.add_ring(from.points[range].iter().copied());
        }
    }

    /// Copies the complement of other bodies.
    pub fn add_complement_of(&mut self, from: &Bodies, obstacle: u32) {
        let Some(complement) = from.complement else {
            return;
        };
        self.add_body(obstacle, Kind::Complement);
        for ring in from.rings.iter().filter(|r| r.body == complement) {
            let range = ring.first as usize..(ring.first + ring.len) as usize;
            self.add_ring(from.points[range].iter().copied());
        }
    }

    fn add_body(&mut self, obstacle: u32, kind: Kind) {
        if kind == Kind::Complement {
            self.complement = Some(self.bodies.len() as u32);
        }
        self.bodies.push(Body { obstacle, kind });
    }

    /// Adds a ring to the last body.
    fn add_ring(&mut self, ring: impl Iterator<Item = Point2<f64>>) {
        let Some(body) = self.bodies.len().checked_sub(1) else {
            return;
        };
        let first = self.points.len() as u32;
        self.points.extend(ring);
        let len = self.points.len() as u32 - first;
        let number = self.rings.len() as u32;
        self.rings.push(Ring {
            body: body as u32,
            first,
            len,
        });
        let obstacle = self.bodies[body].obstacle;
        for k in 0..len {
            self.next.push(first + if k + 1 == len { 0 } else { k + 1 });
            self.prev.push(first + if k == 0 { len - 1 } else { k - 1 });
            self.edge_ring.push(number);
            self.edge_obstacle.push(obstacle);
        }
    }

    /// Merged outlines as one body.
    pub fn from_outlines(arrangement: &Arrangement, has_complement: bool) -> Self {
        let kind = if has_complement {
            Kind::Complement
        } else {
            Kind::Solid
        };
        let edge = |i: &u32| &arrangement.edges()[*i as usize];
        let loops = arrangement.loops();
        let rings = loops
            .iter()
            .map(|ring| ring.iter().map(|i| arrangement.point(edge(i).ends[0])));
        let mut bodies = Bodies::default();
        bodies.add_body(0, kind);
        for ring in rings {
            bodies.add_ring(ring);
        }
        bodies.edge_obstacle = loops.iter().flatten().map(|i| edge(i).obstacle).collect();
        bodies.index();
        bodies
    }

    /// The obstacle of an edge.
    pub fn edge_obstacle(&self, edge: u32) -> u32 {
        self.edge_obstacle[edge as usize]
    }

    /// The obstacle of a body (of bodies that were added, not merged).
    pub fn obstacle(&self, body: u32) -> u32 {
        self.bodies[body as usize].obstacle
    }

    /// Whether there is a boundary.
    pub fn has_complement(&self) -> bool {
        self.complement.is_some()
    }

    /// The obstacles on whose outline `p` lies, sorted.
    pub fn obstacles_at(&self, p: &Point2<f64>) -> Vec<u32> {
        let mut obstacles: Vec<u32> = self
            .edges_at(p)
            .iter()
            .map(|i| self.edge_obstacle[*i as usize])
            .collect();
        obstacles.sort_unstable();
        obstacles.dedup();
        obstacles
    }

    /// Builds the grid; to be called once after everything was added.
    pub fn index(&mut self) {
        let ends: Vec<_> = (0..self.points.len())
            .map(|i| self.edge(i as u32))
            .collect();
        self.grid = Grid::with_reach(&ends, super::parts::LINK);
    }

    /// The grid over the edges.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The body of an edge.
    #[inline]
    pub fn edge_body(&self, edge: u32) -> u32 {
        self.rings[self.edge_ring[edge as usize] as usize].body
    }

    #[inline]
    pub fn edge(&self, i: u32) -> (Point2<f64>, Point2<f64>) {
        let i = i as usize;
        (self.points[i], self.points[self.next[i] as usize])
    }

    #[inline]
    pub fn kind(&self, edge: u32) -> Kind {
        self.bodies[self.edge_body(edge) as usize].kind
    }

    /// Where `p` lies.
    pub fn locate(&self, p: &Point2<f64>) -> Spot {
        let mut spot = Spot::default();
        // Edges, because the grid may show one several times.
        let mut crossed: Vec<(u32, u32)> = Vec::new();
        self.grid.visit_ray(p, |i| {
            let body = self.edge_body(i);
            let (a, b) = self.edge(i);
            match ray_crosses(p, &a, &b) {
                None => spot.on.push(body),
                Some(true) if self.kind(i) != Kind::Wall => crossed.push((body, i)),
                Some(_) => {}
            }
        });
        spot.on.sort_unstable();
        spot.on.dedup();
        crossed.sort_unstable();
        crossed.dedup();
        let odd = crossed
            .chunk_by(|a, b| a.0 == b.0)
            .filter(|c| c.len() % 2 == 1);
        let odd: Vec<u32> = odd.filter_map(|c| c.first()).map(|c| c.0).collect();
        let solid = |b: &u32| self.bodies[*b as usize].kind == Kind::Solid;
        spot.inside = odd.iter().copied().filter(solid).collect();
        if let Some(complement) = self.complement {
            if !odd.contains(&complement) {
                spot.inside.push(complement);
            }
        }
        spot.inside.retain(|b| spot.on.binary_search(b).is_err());
        spot
    }

    /// The bodies' turns around `p`; empty if `p` lies on no edge.
    pub fn sectors_at(&self, p: &Point2<f64>) -> Vec<Sector> {
        let mut sectors = Vec::new();
        self.grid.visit_point(p, |i| {
            let (a, b) = self.edge(i);
            if a == *p {
                sectors.push(Sector {
                    from: b,
                    to: self.points[self.prev[i as usize] as usize],
                });
            } else if in_open_segment(&a, &b, p) {
                if self.kind(i) == Kind::Wall {
                    // Its twin gives the other direction.
                    sectors.push(Sector { from: a, to: a });
                } else {
                    sectors.push(Sector { from: b, to: a });
                }
            }
        });
        sectors
    }

    /// The edges on which `p` lies.
    pub fn edges_at(&self, p: &Point2<f64>) -> Vec<u32> {
        let mut edges = Vec::new();
        self.grid.visit_point(p, |i| {
            let (a, b) = self.edge(i);
            if on_segment(&a, &b, p) {
                edges.push(i);
            }
        });
        edges
    }

    /// Whether `p` is in no interior and (where contact blocks) has a way out.
    pub fn point_is_free(&self, p: &Point2<f64>, contact: Contact) -> bool {
        let spot = self.locate(p);
        spot.inside.is_empty() && self.has_exit(p, &spot, contact)
    }

    /// Whether some direction leads away from `p`, which is in no interior.
    pub fn has_exit(&self, p: &Point2<f64>, spot: &Spot, contact: Contact) -> bool {
        spot.on.is_empty() || Fan::new(p, &self.sectors_at(p), contact).has_exit()
    }

    /// Whether the segment from `a` to `b` enters no interior and slips through no
    /// contact that blocks. Its ends may lie on boundaries.
    pub fn segment_is_free(&self, a: &Point2<f64>, b: &Point2<f64>, contact: Contact) -> bool {
        self.point_is_free(a, contact)
            && (a == b
                || self.point_is_free(b, contact) && self.open_segment_is_free(a, b, contact))
    }

    /// The same for ends that are known to be free.
    pub fn open_segment_is_free(&self, a: &Point2<f64>, b: &Point2<f64>, contact: Contact) -> bool {
        let (mut at_a, mut at_b) = (false, false);
        let mut contacts: Vec<Point2<f64>> = Vec::new();
        let clear = self.grid.visit_segment(a, b, |i| {
            let (c, d) = self.edge(i);
            match segments_meet(a, b, &c, &d) {
                Meeting::Apart => true,
                Meeting::Crossing => false,
                Meeting::Touching => {
                    at_a |= on_segment(&c, &d, a);
                    at_b |= on_segment(&c, &d, b);
                    if in_open_segment(a, b, &c) {
                        contacts.push(c);
                    }
                    true
                }
            }
        });
        if !clear
            || (at_a && !leaves(a, &self.sectors_at(a), contact, b))
            || (at_b && !leaves(b, &self.sectors_at(b), contact, a))
        {
            return false;
        }
        contacts.sort_by(|p, q| p.x.total_cmp(&q.x).then(p.y.total_cmp(&q.y)));
        contacts.dedup();
        contacts
            .iter()
            .all(|p| passes(p, &self.sectors_at(p), contact, a, b))
    }
}
