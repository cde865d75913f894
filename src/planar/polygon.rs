//! Validated polygons, made from rings as users send them.
//!
//! [`Polygon::from_ring`] repairs a ring where its meaning is plain and says what it
//! did ([`Repair`]); everything else is refused with a [`PolygonError`] that
//! names the polygon and the vertex. Afterwards the type guarantees a simple
//! counter-clockwise outer ring (and clockwise holes, which only computed
//! polygons have) without repeated, collinear or folded vertices.
//!
//! Longer than most files here: all repairs of a ring stand beside the type that they guarantee.

use nalgebra::Point2;

use super::overlay;
pub use super::polygon_error::{PolygonError, Repair};
use super::predicates::{
    flush_tiny_point, in_open_segment, locate_in_rings, orient2d, segments_meet, Meeting,
    Orientation, Side,
};

/// Largest coordinate magnitude that is accepted. \[m\]
pub const MAX_COORDINATE: f64 = 1e7;

/// What to do with a ring that crosses or touches itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SelfCrossing {
    /// An error that names the two edges.
    #[default]
    Refuse,
    /// Everything that the ring winds around at least once is inside (the non-zero rule).
    Resolve,
}

/// How rings are read.
#[derive(Debug, Clone, PartialEq)]
pub struct PolygonOptions {
    /// Consecutive vertices that are not further apart than this are one vertex. \[m\]
    ///
    /// The default, 1e-6 m, is what single-precision messages need; 0 merges
    /// only vertices that are exactly equal.
    pub merge_tolerance: f64,
    /// What to do with a ring that crosses or touches itself.
    pub self_crossing: SelfCrossing,
}

impl Default for PolygonOptions {
    fn default() -> Self {
        PolygonOptions {
            merge_tolerance: 1e-6,
            self_crossing: SelfCrossing::Refuse,
        }
    }
}

/// Polygons made from one ring, and what was put right in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Repaired {
    /// One polygon, or several when a self-crossing ring was resolved.
    pub polygons: Vec<Polygon>,
    /// What was put right, in the order of the vertices.
    pub repairs: Vec<Repair>,
}

/// A simple polygon: outer ring counter-clockwise, holes clockwise.
#[derive(Debug, Clone, PartialEq)]
pub struct Polygon {
    outer: Vec<Point2<f64>>,
    holes: Vec<Vec<Point2<f64>>>,
    walls: Vec<[Point2<f64>; 2]>,
}

impl Polygon {
    /// Reads a ring as a user sends it. `id` is only for the error's text.
    ///
    /// # Errors
    /// See [`PolygonError`].
    pub fn from_ring(
        id: &str,
        points: &[Point2<f64>],
        options: &PolygonOptions,
    ) -> Result<Repaired, PolygonError> {
        for (vertex, p) in points.iter().enumerate() {
            let (x, y) = (p.x, p.y);
            if !x.is_finite() || !y.is_finite() {
                return Err(PolygonError::NotFinite {
                    id: id.to_owned(),
                    vertex,
                    x,
                    y,
                });
            }
            if x.abs() > MAX_COORDINATE || y.abs() > MAX_COORDINATE {
                return Err(PolygonError::TooLarge {
                    id: id.to_owned(),
                    vertex,
                    x,
                    y,
                });
            }
        }
        let mut repairs = Vec::new();
        let ring = without_repeated(points, options.merge_tolerance, &mut repairs);
        if ring.len() < 3 {
            return Err(PolygonError::TooFewCorners {
                id: id.to_owned(),
                sent: points.len(),
                distinct: ring.len(),
            });
        }
        let mut walls = Vec::new();
        let first = ring.first().map_or(0, |v| v.0);
        let mut ring = without_straight(ring, &mut repairs, &mut walls);
        if ring.len() < 3 {
            return Err(PolygonError::ZeroArea {
                id: id.to_owned(),
                vertex: first,
            });
        }
        if let Some((i, j, meeting)) = self_meeting(&ring) {
            if options.self_crossing == SelfCrossing::Refuse {
                return Err(meeting_error(id, &ring, i, j, meeting));
            }
            let corners: Vec<Point2<f64>> = ring.iter().map(|v| v.1).collect();
            let mut polygons = overlay::resolve_non_zero(&corners);
            if polygons.is_empty() {
                return Err(PolygonError::Unresolvable { id: id.to_owned() });
            }
            if let Some(polygon) = polygons.first_mut() {
                polygon.walls = walls;
            }
            repairs.push(Repair::Resolved {
                parts: polygons.len(),
            });
            return Ok(Repaired { polygons, repairs });
        }
        if !is_counter_clockwise(&ring) {
            ring.reverse();
            repairs.push(Repair::Reversed);
        }
        let outer = ring.into_iter().map(|v| v.1).collect();
        Ok(Repaired {
            polygons: vec![Polygon {
                outer,
                holes: Vec::new(),
                walls,
            }],
            repairs,
        })
    }

    /// Reads a ring that must give exactly one polygon, with the default options.
    ///
    /// # Errors
    /// See [`PolygonError`].
    pub fn from_points(points: &[Point2<f64>]) -> Result<Polygon, PolygonError> {
        let repaired = Polygon::from_ring("polygon", points, &PolygonOptions::default())?;
        repaired
            .polygons
            .into_iter()
            .next()
            .ok_or_else(|| PolygonError::Unresolvable {
                id: "polygon".to_owned(),
            })
    }

    /// Takes rings that some computation made: the first is the outer one, the others are
    /// holes; winding and straight vertices are put right. `None` if the outer ring has no area.
    pub(crate) fn from_computed_rings(rings: Vec<Vec<Point2<f64>>>) -> Option<Polygon> {
        let mut cleaned = rings.into_iter().map(|ring| {
            let (mut repairs, mut walls) = (Vec::new(), Vec::new());
            let ring = without_repeated(&ring, 0.0, &mut repairs);
            let ring = without_straight(ring, &mut repairs, &mut walls);
            let left = ring.len() >= 3 && is_counter_clockwise(&ring);
            (ring.into_iter().map(|v| v.1).collect::<Vec<_>>(), left)
        });
        let (mut outer, left) = cleaned.next()?;
        if outer.len() < 3 {
            return None;
        }
        if !left {
            outer.reverse();
        }
        let holes = cleaned
            .filter(|(ring, _)| ring.len() >= 3)
            .map(|(mut ring, left)| {
                if left {
                    ring.reverse();
                }
                ring
            })
            .collect();
        Some(Polygon {
            outer,
            holes,
            walls: Vec::new(),
        })
    }

    /// Outer ring, counter-clockwise, first vertex not repeated.
    pub fn outer(&self) -> &[Point2<f64>] {
        &self.outer
    }

    /// Holes, clockwise.
    pub fn holes(&self) -> &[Vec<Point2<f64>>] {
        &self.holes
    }

    /// Spikes of the ring as it was sent: walls without thickness, from foot to tip.
    pub fn walls(&self) -> &[[Point2<f64>; 2]] {
        &self.walls
    }

    /// All rings, the outer one first.
    pub fn rings(&self) -> impl Iterator<Item = &[Point2<f64>]> {
        std::iter::once(self.outer.as_slice()).chain(self.holes.iter().map(Vec::as_slice))
    }

    /// All edges of all rings, the interior to their left.
    pub fn edges(&self) -> impl Iterator<Item = (Point2<f64>, Point2<f64>)> + '_ {
        self.rings().flat_map(ring_edges)
    }

    /// Area without the holes. \[m²\]
    pub fn area(&self) -> f64 {
        self.rings().map(signed_area).sum()
    }

    /// Where `p` lies (walls are no part of the interior or the boundary), exactly.
    pub fn locate(&self, p: &Point2<f64>) -> Side {
        locate_in_rings(self.rings(), p)
    }

    /// Distance from `p` to the nearest point of the closed polygon and its walls; 0 inside. \[m\]
    pub fn distance(&self, p: &Point2<f64>) -> f64 {
        if self.locate(p) != Side::Outside {
            return 0.0;
        }
        self.boundary_distance(p)
    }

    /// Distance from `p` to the nearest edge or wall. \[m\]
    pub fn boundary_distance(&self, p: &Point2<f64>) -> f64 {
        self.edges()
            .chain(self.walls.iter().map(|w| (w[0], w[1])))
            .map(|(a, b)| super::distance::point_segment(p, &a, &b))
            .fold(f64::INFINITY, f64::min)
    }

    /// Checks every promise of the type; for tests and fuzzing.
    ///
    /// # Errors
    /// Says which promise is broken.
    pub fn sanity_check(&self) -> Result<(), String> {
        for (k, ring) in self.rings().enumerate() {
            if ring.len() < 3 {
                return Err(format!("ring {k} has {} vertices", ring.len()));
            }
            let indexed: Vec<(usize, Point2<f64>)> = ring.iter().copied().enumerate().collect();
            for (i, v) in ring.iter().enumerate() {
                let (a, b) = (
                    ring[(i + ring.len() - 1) % ring.len()],
                    ring[(i + 1) % ring.len()],
                );
                if !v.x.is_finite() || !v.y.is_finite() {
                    return Err(format!("ring {k}, vertex {i} is not finite"));
                }
                if *v == b {
                    return Err(format!("ring {k} repeats vertex {i}"));
                }
                if orient2d(&a, v, &b) == Orientation::Collinear {
                    return Err(format!("ring {k} is straight or folded at vertex {i}"));
                }
            }
            if is_counter_clockwise(&indexed) != (k == 0) {
                return Err(format!("ring {k} winds the wrong way"));
            }
            if let Some((i, j, _)) = self_meeting(&indexed) {
                return Err(format!("ring {k}: edges {i} and {j} meet"));
            }
        }
        Ok(())
    }
}

/// Edges of a closed ring.
pub fn ring_edges(
    ring: &[Point2<f64>],
) -> impl Iterator<Item = (Point2<f64>, Point2<f64>)> + Clone + '_ {
    ring.iter()
        .copied()
        .zip(ring.iter().copied().cycle().skip(1))
        .take(ring.len())
}

/// Area that a ring encloses, negative for a clockwise one. \[m²\]
pub fn signed_area(ring: &[Point2<f64>]) -> f64 {
    // Relative to the first vertex: no cancellation far from the origin.
    let Some(o) = ring.first() else { return 0.0 };
    ring_edges(ring)
        .map(|(a, b)| (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x))
        .sum::<f64>()
        / 2.0
}

type Vertex = (usize, Point2<f64>);

fn without_repeated(
    points: &[Point2<f64>],
    tolerance: f64,
    repairs: &mut Vec<Repair>,
) -> Vec<Vertex> {
    let same = |a: &Point2<f64>, b: &Point2<f64>| a == b || (a - b).norm() <= tolerance;
    let mut ring: Vec<Vertex> = Vec::with_capacity(points.len());
    for (vertex, p) in points.iter().enumerate() {
        let p = flush_tiny_point(p);
        match ring.last() {
            Some((_, last)) if same(last, &p) => repairs.push(Repair::RepeatedVertex { vertex }),
            _ => ring.push((vertex, p)),
        }
    }
    while let (true, Some(first), Some(last)) = (ring.len() > 1, ring.first(), ring.last()) {
        if !same(&first.1, &last.1) {
            break;
        }
        repairs.push(Repair::ClosingVertex { vertex: last.0 });
        ring.pop();
    }
    ring
}

/// Leaves out vertices on straight edges and the tips of spikes, until there are none.
fn without_straight(
    mut ring: Vec<Vertex>,
    repairs: &mut Vec<Repair>,
    walls: &mut Vec<[Point2<f64>; 2]>,
) -> Vec<Vertex> {
    // A stack that is closed into a ring by going on until a whole round changes nothing.
    loop {
        let before = ring.len();
        let mut out: Vec<Vertex> = Vec::with_capacity(before);
        for v in ring {
            out.push(v);
            while out.len() >= 3 {
                let n = out.len();
                let (a, b, c) = (out[n - 3], out[n - 2], out[n - 1]);
                if !straighten(&mut out, n - 2, a, b, c, repairs, walls) {
                    break;
                }
            }
        }
        // The seam of the ring: the last vertex and the first one.
        while out.len() >= 3 {
            let n = out.len();
            let (y, z, a, b) = (out[n - 2], out[n - 1], out[0], out[1]);
            if !straighten(&mut out, n - 1, y, z, a, repairs, walls)
                && !straighten(&mut out, 0, z, a, b, repairs, walls)
            {
                break;
            }
        }
        ring = out;
        if ring.len() == before || ring.len() < 3 {
            return ring;
        }
    }
}

/// Leaves out `b` (at index `at`) if `a, b, c` do not turn. Says whether it did.
fn straighten(
    ring: &mut Vec<Vertex>,
    at: usize,
    a: Vertex,
    b: Vertex,
    c: Vertex,
    repairs: &mut Vec<Repair>,
    walls: &mut Vec<[Point2<f64>; 2]>,
) -> bool {
    if b.1 == a.1 || b.1 == c.1 {
        // Left over when a spike that comes back to its very foot was cut off.
        ring.remove(at);
        return true;
    }
    if orient2d(&a.1, &b.1, &c.1) != Orientation::Collinear {
        return false;
    }
    if in_open_segment(&a.1, &c.1, &b.1) {
        repairs.push(Repair::CollinearVertex { vertex: b.0 });
    } else {
        let (da, dc) = ((b.1 - a.1).norm(), (b.1 - c.1).norm());
        let foot = if da < dc { a.1 } else { c.1 };
        repairs.push(Repair::Spike {
            vertex: b.0,
            length: da.min(dc),
        });
        walls.push([foot, b.1]);
    }
    ring.remove(at);
    true
}

/// Whether a simple ring without straight vertices winds counter-clockwise, exactly.
fn is_counter_clockwise(ring: &[Vertex]) -> bool {
    let n = ring.len();
    let lowest = (0..n).min_by(|&i, &j| {
        let (a, b) = (ring[i].1, ring[j].1);
        a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y))
    });
    let Some(i) = lowest else { return true };
    let (a, b, c) = (ring[(i + n - 1) % n].1, ring[i].1, ring[(i + 1) % n].1);
    orient2d(&a, &b, &c) == Orientation::Left
}

/// The first two edges that are not neighbours and meet (`i < j`, by their first vertex).
fn self_meeting(ring: &[Vertex]) -> Option<(usize, usize, Meeting)> {
    let n = ring.len();
    let edge = |i: usize| (ring[i].1, ring[(i + 1) % n].1);
    let span = |i: usize| {
        let (a, b) = edge(i);
        (a.x.min(b.x), a.x.max(b.x))
    };
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| span(i).0.total_cmp(&span(j).0));
    let mut active: Vec<usize> = Vec::new();
    let mut found: Option<(usize, usize, Meeting)> = None;
    for i in order {
        let left = span(i).0;
        active.retain(|&j| span(j).1 >= left);
        for &j in &active {
            if (i + 1) % n == j || (j + 1) % n == i {
                continue;
            }
            let ((a, b), (c, d)) = (edge(i), edge(j));
            let meeting = segments_meet(&a, &b, &c, &d);
            let (low, high) = (i.min(j), i.max(j));
            // A crossing says more than a touch; otherwise the first in the ring's order.
            let rank = |m: Meeting| u8::from(m == Meeting::Touching);
            let better = |old: &(usize, usize, Meeting)| {
                (rank(meeting), low, high) < (rank(old.2), old.0, old.1)
            };
            if meeting != Meeting::Apart && found.as_ref().is_none_or(better) {
                found = Some((low, high, meeting));
            }
        }
        active.push(i);
    }
    found
}

fn meeting_error(id: &str, ring: &[Vertex], i: usize, j: usize, meeting: Meeting) -> PolygonError {
    let n = ring.len();
    let (id, first, second) = (id.to_owned(), ring[i].0, ring[j].0);
    if meeting == Meeting::Touching {
        return PolygonError::SelfTouching { id, first, second };
    }
    let at = super::predicates::line_crossing(
        &ring[i].1,
        &ring[(i + 1) % n].1,
        &ring[j].1,
        &ring[(j + 1) % n].1,
    );
    PolygonError::SelfCrossing {
        id,
        first,
        second,
        at,
    }
}
