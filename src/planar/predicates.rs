//! Exact sign decisions: the only place where the planar rooms decide on which
//! side something lies.
//!
//! Every answer comes from the adaptive orientation predicate of the crate
//! `robust` \[Shewchuk1997\] or from plain comparisons of coordinates, so there
//! is no tolerance anywhere: two answers about the same points never
//! contradict each other. Coordinates must be finite and free of values so
//! small that a product of two of them underflows; [`flush_tiny`] sees to the
//! latter at the edge of the room.

use std::cmp::Ordering;

use nalgebra::Point2;
use robust::Coord;

/// On which side of the directed line `a → b` the point `c` lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Orientation {
    /// `c` lies to the left: `a, b, c` turn counter-clockwise.
    Left,
    /// `c` lies to the right: `a, b, c` turn clockwise.
    Right,
    /// The three points lie on one line.
    Collinear,
}

impl Orientation {
    /// The same seen from the other side of the plane.
    pub fn reversed(self) -> Self {
        match self {
            Orientation::Left => Orientation::Right,
            Orientation::Right => Orientation::Left,
            Orientation::Collinear => Orientation::Collinear,
        }
    }
}

/// Exact orientation of the triangle `a, b, c`.
#[inline]
pub fn orient2d(a: &Point2<f64>, b: &Point2<f64>, c: &Point2<f64>) -> Orientation {
    // The first stage of the predicate, here so that it is compiled into every loop: beyond
    // this bound rounding cannot have changed the sign.
    let (left, right) = ((a.x - c.x) * (b.y - c.y), (a.y - c.y) * (b.x - c.x));
    let bound = FILTER * (left.abs() + right.abs());
    if left - right > bound {
        return Orientation::Left;
    }
    if right - left > bound {
        return Orientation::Right;
    }
    exact_orientation(a, b, c)
}

/// Error bound of the determinant in `f64`: `(3 + 16 ε) ε` with ε = 2⁻⁵³ \[Shewchuk1997\].
const FILTER: f64 = 3.330_669_073_875_472e-16;

#[cold]
#[inline(never)]
fn exact_orientation(a: &Point2<f64>, b: &Point2<f64>, c: &Point2<f64>) -> Orientation {
    let sign = robust::orient2d(
        Coord { x: a.x, y: a.y },
        Coord { x: b.x, y: b.y },
        Coord { x: c.x, y: c.y },
    );
    if sign > 0.0 {
        Orientation::Left
    } else if sign < 0.0 {
        Orientation::Right
    } else {
        Orientation::Collinear
    }
}

/// Whether `d` lies strictly inside the circle through `a`, `b` and `c`, which turn
/// counter-clockwise.
pub(crate) fn in_circle(
    a: &Point2<f64>,
    b: &Point2<f64>,
    c: &Point2<f64>,
    d: &Point2<f64>,
) -> bool {
    let coord = |p: &Point2<f64>| Coord { x: p.x, y: p.y };
    robust::incircle(coord(a), coord(b), coord(c), coord(d)) > 0.0
}

/// Smallest coordinate magnitude that is kept. \[m\]
///
/// Products of such numbers do not underflow, which is what the exact predicates
/// need; nothing in a robot's world is that small.
const TINY: f64 = 1e-40;

/// Replaces a coordinate below 1e-40 m (and the negative zero) by zero.
#[inline]
pub fn flush_tiny(value: f64) -> f64 {
    if value.abs() < TINY {
        0.0
    } else {
        value
    }
}

/// [`flush_tiny`] for both coordinates.
#[inline]
pub fn flush_tiny_point(point: &Point2<f64>) -> Point2<f64> {
    Point2::new(flush_tiny(point.x), flush_tiny(point.y))
}

/// Whether `p`, known to be collinear with `a` and `b`, lies on the closed segment `a b`.
#[inline]
fn within_box(a: &Point2<f64>, b: &Point2<f64>, p: &Point2<f64>) -> bool {
    p.x >= a.x.min(b.x) && p.x <= a.x.max(b.x) && p.y >= a.y.min(b.y) && p.y <= a.y.max(b.y)
}

/// Whether `p` lies on the closed segment `a b`.
#[inline]
pub fn on_segment(a: &Point2<f64>, b: &Point2<f64>, p: &Point2<f64>) -> bool {
    within_box(a, b, p) && orient2d(a, b, p) == Orientation::Collinear
}

/// Whether `p` lies on the segment `a b` without its two ends.
#[inline]
pub fn in_open_segment(a: &Point2<f64>, b: &Point2<f64>, p: &Point2<f64>) -> bool {
    p != a && p != b && on_segment(a, b, p)
}

/// How two closed segments meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Meeting {
    /// No point in common.
    Apart,
    /// They cross in one point that is inside both.
    Crossing,
    /// An end of one lies on the other (or they overlap along a line).
    Touching,
}

/// How the closed segments `a b` and `c d` meet.
pub fn segments_meet(
    a: &Point2<f64>,
    b: &Point2<f64>,
    c: &Point2<f64>,
    d: &Point2<f64>,
) -> Meeting {
    if a.x.max(b.x) < c.x.min(d.x)
        || c.x.max(d.x) < a.x.min(b.x)
        || a.y.max(b.y) < c.y.min(d.y)
        || c.y.max(d.y) < a.y.min(b.y)
    {
        return Meeting::Apart;
    }
    let (oc, od) = (orient2d(a, b, c), orient2d(a, b, d));
    if oc == od && oc != Orientation::Collinear {
        return Meeting::Apart;
    }
    let (oa, ob) = (orient2d(c, d, a), orient2d(c, d, b));
    if oa == ob && oa != Orientation::Collinear {
        return Meeting::Apart;
    }
    if [oa, ob, oc, od]
        .iter()
        .all(|o| *o != Orientation::Collinear)
    {
        return Meeting::Crossing;
    }
    let touches = (oc == Orientation::Collinear && within_box(a, b, c))
        || (od == Orientation::Collinear && within_box(a, b, d))
        || (oa == Orientation::Collinear && within_box(c, d, a))
        || (ob == Orientation::Collinear && within_box(c, d, b));
    if touches {
        Meeting::Touching
    } else {
        Meeting::Apart
    }
}

/// Whether the segments `a b` and `c d` cross in a point that is inside both.
#[inline]
pub fn segments_cross(a: &Point2<f64>, b: &Point2<f64>, c: &Point2<f64>, d: &Point2<f64>) -> bool {
    segments_meet(a, b, c, d) == Meeting::Crossing
}

/// Rounded point in which the lines `a b` and `c d` cross (they must not be parallel).
///
/// The only constructed point of the room: good to a few units in the last
/// place, and never used to decide a sign about its own lines.
pub fn line_crossing(
    a: &Point2<f64>,
    b: &Point2<f64>,
    c: &Point2<f64>,
    d: &Point2<f64>,
) -> Point2<f64> {
    let r = b - a;
    let s = d - c;
    let denominator = r.x * s.y - r.y * s.x;
    let offset = c - a;
    let t = (offset.x * s.y - offset.y * s.x) / denominator;
    let t = if t.is_finite() {
        t.clamp(0.0, 1.0)
    } else {
        0.5
    };
    flush_tiny_point(&(a + r * t))
}

/// Whether the direction `center → p` lies in the half-turn `[0, π)` that starts along +x.
#[inline]
pub(crate) fn in_upper_half(center: &Point2<f64>, p: &Point2<f64>) -> bool {
    p.y > center.y || (p.y == center.y && p.x > center.x)
}

/// Compares the directions `center → a` and `center → b` by their angle in `[0, 2π)`,
/// counter-clockwise from +x. Equal directions compare equal whatever the distance.
#[inline]
pub fn compare_angle(center: &Point2<f64>, a: &Point2<f64>, b: &Point2<f64>) -> Ordering {
    match (in_upper_half(center, a), in_upper_half(center, b)) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        _ => match orient2d(center, a, b) {
            Orientation::Left => Ordering::Less,
            Orientation::Right => Ordering::Greater,
            Orientation::Collinear => Ordering::Equal,
        },
    }
}

/// Whether `center → a` and `center → b` point in exactly the same direction.
#[inline]
pub fn same_direction(center: &Point2<f64>, a: &Point2<f64>, b: &Point2<f64>) -> bool {
    in_upper_half(center, a) == in_upper_half(center, b)
        && orient2d(center, a, b) == Orientation::Collinear
}

/// Whether the direction `center → p` lies strictly inside the counter-clockwise turn
/// from `center → from` to `center → to`.
///
/// `from` and `to` in the same direction mean an empty turn.
pub fn in_open_sector(
    center: &Point2<f64>,
    from: &Point2<f64>,
    to: &Point2<f64>,
    p: &Point2<f64>,
) -> bool {
    match orient2d(center, from, to) {
        Orientation::Left => {
            orient2d(center, from, p) == Orientation::Left
                && orient2d(center, p, to) == Orientation::Left
        }
        Orientation::Right => {
            // More than a half turn: outside the closed turn that goes on from `to` to `from`.
            orient2d(center, to, p) == Orientation::Right
                || orient2d(center, p, from) == Orientation::Right
        }
        Orientation::Collinear => {
            !same_direction(center, from, to) && orient2d(center, from, p) == Orientation::Left
        }
    }
}

/// Where a point lies with respect to closed rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// In the interior.
    Inside,
    /// On an edge or a vertex.
    Boundary,
    /// In the exterior.
    Outside,
}

/// Counts, exactly, how often the ray from `p` along +x crosses the directed edge `a → b`
/// (half-open in y, so that a vertex counts once): `Some(true)` for a crossing,
/// `None` when `p` lies on the edge.
#[inline]
pub fn ray_crosses(p: &Point2<f64>, a: &Point2<f64>, b: &Point2<f64>) -> Option<bool> {
    if (a.y > p.y && b.y > p.y) || (a.y < p.y && b.y < p.y) || (a.x < p.x && b.x < p.x) {
        return Some(false);
    }
    if p == a || p == b {
        return None;
    }
    if a.y == b.y {
        // Horizontal and level with p: it only matters whether p lies on it.
        return if p.x >= a.x.min(b.x) && p.x <= a.x.max(b.x) {
            None
        } else {
            Some(false)
        };
    }
    let (low, high) = if a.y < b.y { (a, b) } else { (b, a) };
    match orient2d(low, high, p) {
        Orientation::Collinear => {
            if within_box(a, b, p) {
                None
            } else {
                Some(false)
            }
        }
        // The ray starts to the left of the upward edge and hits it.
        Orientation::Left => Some(low.y <= p.y && p.y < high.y),
        Orientation::Right => Some(false),
    }
}

/// Where `p` lies with respect to the rings (even-odd over all of them, exact).
pub fn locate_in_rings<'a>(
    rings: impl IntoIterator<Item = &'a [Point2<f64>]>,
    p: &Point2<f64>,
) -> Side {
    let mut inside = false;
    for ring in rings {
        let Some(mut a) = ring.last() else { continue };
        for b in ring {
            match ray_crosses(p, a, b) {
                None => return Side::Boundary,
                Some(true) => inside = !inside,
                Some(false) => {}
            }
            a = b;
        }
    }
    if inside {
        Side::Inside
    } else {
        Side::Outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(x: f64, y: f64) -> Point2<f64> {
        Point2::new(x, y)
    }

    #[test]
    fn orientation_is_exact_where_the_naive_determinant_is_not() {
        // One unit in the last place off the diagonal, far from the origin.
        let a = p(0.5, 0.5);
        let b = p(12.0, 12.0);
        let c = p(24.0, 24.000_000_000_000_004);
        assert_eq!(orient2d(&a, &b, &c), Orientation::Left);
        assert_eq!(orient2d(&a, &b, &p(24.0, 24.0)), Orientation::Collinear);
        assert_eq!(orient2d(&b, &a, &c), Orientation::Right);
    }

    #[test]
    fn meetings() {
        let m = |a, b, c, d| segments_meet(&a, &b, &c, &d);
        let (o, e, n) = (p(0.0, 0.0), p(4.0, 0.0), p(2.0, 3.0));
        assert_eq!(m(o, e, p(2.0, -1.0), n), Meeting::Crossing);
        assert_eq!(m(o, e, p(2.0, 0.0), n), Meeting::Touching);
        assert_eq!(m(o, e, p(3.0, 0.0), p(9.0, 0.0)), Meeting::Touching);
        assert_eq!(m(o, e, p(5.0, 0.0), p(9.0, 0.0)), Meeting::Apart);
        assert_eq!(m(o, e, p(0.0, 1.0), n), Meeting::Apart);
    }

    #[test]
    fn sectors() {
        let o = p(0.0, 0.0);
        let (e, n, w, s) = (p(1.0, 0.0), p(0.0, 1.0), p(-1.0, 0.0), p(0.0, -1.0));
        assert!(in_open_sector(&o, &e, &n, &p(1.0, 1.0)));
        assert!(!in_open_sector(&o, &e, &n, &n));
        assert!(!in_open_sector(&o, &e, &n, &s));
        assert!(in_open_sector(&o, &e, &w, &n));
        assert!(!in_open_sector(&o, &e, &w, &s));
        assert!(in_open_sector(&o, &n, &e, &w));
        assert!(in_open_sector(&o, &n, &e, &s));
        assert!(!in_open_sector(&o, &n, &e, &p(1.0, 1.0)));
        assert!(!in_open_sector(&o, &n, &e, &p(2.0, 0.0)));
        assert!(!in_open_sector(&o, &e, &p(2.0, 0.0), &n));
    }

    #[test]
    fn angles_turn_counter_clockwise_from_plus_x() {
        let o = p(1.0, 1.0);
        let ring = [
            p(3.0, 1.0),
            p(2.0, 2.0),
            p(1.0, 5.0),
            p(0.0, 1.0),
            p(1.0, 0.0),
            p(2.0, 0.0),
        ];
        for (i, a) in ring.iter().enumerate() {
            for (j, b) in ring.iter().enumerate() {
                assert_eq!(compare_angle(&o, a, b), i.cmp(&j));
            }
        }
        assert_eq!(
            compare_angle(&o, &p(2.0, 2.0), &p(9.0, 9.0)),
            Ordering::Equal
        );
    }

    #[test]
    fn locating_on_vertices_edges_and_level_with_vertices() {
        let ring = [
            p(0.0, 0.0),
            p(4.0, 0.0),
            p(4.0, 4.0),
            p(2.0, 2.0),
            p(0.0, 4.0),
        ];
        let side = |x, y| locate_in_rings([&ring[..]], &p(x, y));
        assert_eq!(side(0.0, 0.0), Side::Boundary);
        assert_eq!(side(2.0, 0.0), Side::Boundary);
        assert_eq!(side(3.0, 3.0), Side::Boundary);
        assert_eq!(side(1.0, 2.0), Side::Inside);
        assert_eq!(side(2.0, 3.0), Side::Outside);
        assert_eq!(side(-1.0, 2.0), Side::Outside);
        assert_eq!(side(-1.0, 4.0), Side::Outside);
        assert_eq!(side(-1.0, 0.0), Side::Outside);
        assert_eq!(side(5.0, 2.0), Side::Outside);
    }
}
