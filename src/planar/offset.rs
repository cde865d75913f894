//! Inflation of polygons by a clearance: what a tip with a radius must keep out of.
//!
//! The result is a polygon whose boundary is nowhere nearer to the input than
//! the clearance. Round joins are therefore *circumscribed*: the chords of an
//! arc touch the true circle from outside, and its vertices lie at most the arc
//! tolerance beyond it. On top comes a margin for rounding (a billionth of the
//! clearance, plus 1e-12 of the polygon's extent, plus a few units in the last place of the
//! coordinates), so that a distance measured in `f64` is never below what was asked.
//! Along straight edges nothing else is added.
//!
//! The parts (the polygon, a strip along every edge, a fan around every convex
//! corner) are all wound counter-clockwise and united by the non-zero rule;
//! bays and holes that are narrower than twice the clearance close by themselves.
//!
//! Longer than most files here: inflating and its checks are read together.

use nalgebra::{Point2, Vector2};

use super::distance::segment_segment;
use super::overlay;
use super::polygon::{ring_edges, Polygon};
use super::predicates::{orient2d, Orientation, Side};

/// Shape of an inflated convex corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Join {
    /// An arc, as chords outside the true circle.
    Round {
        /// How far the chords' vertices may lie beyond the circle \[m\];
        /// `None`: a hundredth of the clearance (23 chords for a full circle). Less than the share
        /// [`FINEST_ARC`] of the clearance counts as that.
        arc_tolerance: Option<f64>,
    },
    /// The edges prolonged until they meet.
    Mitre {
        /// Largest distance of a corner from the original one, in clearances. Sharper corners
        /// are cut by as many tangents as the limit needs, never nearer than the clearance.
        /// Values below [`LEAST_MITRE`] count as that.
        limit: f64,
    },
}

/// Finest arc tolerance, as a share of the clearance: a chord count beyond a few thousand a turn serves nobody.
pub const FINEST_ARC: f64 = 1e-6;

/// Smallest mitre limit, in clearances.
pub const LEAST_MITRE: f64 = 1.01;

impl Default for Join {
    fn default() -> Self {
        Join::Round {
            arc_tolerance: None,
        }
    }
}

impl Join {
    /// Largest allowed ratio of a corner's distance to the clearance.
    fn ratio(&self, clearance: f64) -> f64 {
        let ratio = match *self {
            Join::Round {
                arc_tolerance: None,
            } => 1.01,
            Join::Round {
                arc_tolerance: Some(t),
            } => (1.0 + t / clearance).max(1.0 + FINEST_ARC),
            Join::Mitre { limit } => limit.max(LEAST_MITRE),
        };
        if ratio.is_finite() {
            ratio
        } else {
            1e9
        }
    }
}

/// Why a polygon could not be inflated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OffsetError {
    /// The clearance is negative, NaN or infinite, or beyond 1e7 m.
    #[error("clearance {clearance} m cannot be used: it must be 0 or a positive number of metres up to 1e7")]
    InvalidClearance {
        /// What was asked. \[m\]
        clearance: f64,
    },
    /// The arc tolerance or the mitre limit is not a positive number.
    #[error("{what} {value} cannot be used: it must be a positive number")]
    InvalidJoin {
        /// Which number.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// The clipping library returned nothing, or something that does not hold the input.
    #[error("inflating by {clearance} m failed ({reason}): the obstacle would not be covered")]
    NotCovered {
        /// What was asked. \[m\]
        clearance: f64,
        /// What is wrong with the result.
        reason: String,
    },
    /// A boundary is nowhere as wide as twice the clearance.
    #[error("the boundary leaves no free space at a clearance of {clearance} m")]
    NothingLeft {
        /// What was asked. \[m\]
        clearance: f64,
    },
}

pub(crate) fn validate(clearance: f64, join: &Join) -> Result<(), OffsetError> {
    if !(0.0..=super::polygon::MAX_COORDINATE).contains(&clearance) {
        return Err(OffsetError::InvalidClearance { clearance });
    }
    match *join {
        Join::Round {
            arc_tolerance: Some(value),
        } if !(value > 0.0 && value.is_finite()) => Err(OffsetError::InvalidJoin {
            what: "arc tolerance",
            value,
        }),
        Join::Mitre { limit: value } if !(value > 0.0 && value.is_finite()) => {
            Err(OffsetError::InvalidJoin {
                what: "mitre limit",
                value,
            })
        }
        _ => Ok(()),
    }
}

/// Inflates one polygon with its walls. The parts of one polygon stay connected, so the
/// result is one polygon, possibly with holes. Clearance 0 returns the polygon as it is.
///
/// # Errors
/// See [`OffsetError`].
pub fn inflate(polygon: &Polygon, clearance: f64, join: &Join) -> Result<Polygon, OffsetError> {
    validate(clearance, join)?;
    if clearance == 0.0 {
        return Ok(polygon.clone());
    }
    let mut reason = String::from("empty result");
    // The margin is ample; should the clipping library ever be rougher than it says, a
    // thousand times more is tried before giving up.
    for factor in [1.0, 1e3] {
        let radius = clearance + margin(polygon, clearance) * factor;
        let mut parts = inflate_once(polygon, radius, join);
        if parts.len() != 1 {
            reason = format!("{} parts instead of one", parts.len());
            continue;
        }
        let Some(result) = parts.pop() else { continue };
        match check(polygon, &result, clearance) {
            Ok(()) => return Ok(result),
            Err(why) => reason = why,
        }
    }
    Err(OffsetError::NotCovered { clearance, reason })
}

/// Inflates polygons and unites what then overlaps.
///
/// # Errors
/// See [`OffsetError`].
pub fn inflate_all(
    polygons: &[Polygon],
    clearance: f64,
    join: &Join,
) -> Result<Vec<Polygon>, OffsetError> {
    let mut rings = Vec::new();
    for polygon in polygons {
        let inflated = inflate(polygon, clearance, join)?;
        rings.extend(inflated.rings().map(<[_]>::to_vec));
    }
    let united = overlay::union(&rings);
    if united.is_empty() && !polygons.is_empty() {
        return Err(OffsetError::NotCovered {
            clearance,
            reason: "empty union".to_owned(),
        });
    }
    Ok(united)
}

/// The part of a boundary polygon that keeps the clearance to its rim, as the
/// (one or more) polygons it falls into.
///
/// # Errors
/// [`OffsetError::NothingLeft`] when there is none.
pub fn deflate(
    boundary: &Polygon,
    clearance: f64,
    join: &Join,
) -> Result<Vec<Polygon>, OffsetError> {
    validate(clearance, join)?;
    if clearance == 0.0 {
        return Ok(vec![boundary.clone()]);
    }
    let radius = clearance + margin(boundary, clearance);
    let origin = origin_of(boundary);
    let mut strips = Vec::new();
    let mut keep = Vec::new();
    for ring in local_rings(boundary, &origin) {
        // Reversed: the strips lie on the inner side.
        let reversed: Vec<_> = ring.iter().rev().copied().collect();
        push_strips(&reversed, radius, join.ratio(radius), &mut strips);
        keep.push(ring);
    }
    let parts: Vec<Polygon> = overlay::difference(&keep, &strips)
        .into_iter()
        .filter_map(|p| to_world(&p, &origin, tidy_tolerance(boundary)))
        .collect();
    if parts.is_empty() {
        return Err(OffsetError::NothingLeft { clearance });
    }
    Ok(parts)
}

fn extent(polygon: &Polygon) -> f64 {
    let o = origin_of(polygon);
    polygon
        .outer()
        .iter()
        .fold(0.0, |m: f64, p| m.max((p - o).norm()))
}

fn largest_coordinate(polygon: &Polygon) -> f64 {
    polygon
        .outer()
        .iter()
        .fold(0.0, |m: f64, p| m.max(p.x.abs()).max(p.y.abs()))
}

/// What rounding may take away. \[m\]
fn margin(polygon: &Polygon, clearance: f64) -> f64 {
    let ulps = 8.0 * f64::EPSILON * (largest_coordinate(polygon) + clearance);
    1e-9 * clearance + 1e-12 * (extent(polygon) + clearance) + ulps
}

/// Vertices nearer than this to the line of their neighbours are leftovers of rounding. \[m\]
fn tidy_tolerance(polygon: &Polygon) -> f64 {
    1e-14 * extent(polygon) + f64::EPSILON * largest_coordinate(polygon)
}

fn origin_of(polygon: &Polygon) -> Point2<f64> {
    polygon
        .outer()
        .first()
        .copied()
        .unwrap_or_else(Point2::origin)
}

/// Rings relative to `origin`: full precision wherever the polygon lies.
fn local_rings(polygon: &Polygon, origin: &Point2<f64>) -> Vec<Vec<Point2<f64>>> {
    polygon
        .rings()
        .map(|ring| ring.iter().map(|p| Point2::from(p - origin)).collect())
        .collect()
}

fn inflate_once(polygon: &Polygon, radius: f64, join: &Join) -> Vec<Polygon> {
    let origin = origin_of(polygon);
    let ratio = join.ratio(radius);
    let rings = local_rings(polygon, &origin);
    let tolerance = tidy_tolerance(polygon);
    let convex = rings.len() == 1
        && polygon.walls().is_empty()
        && corners(polygon.outer()).all(|(a, v, b)| orient2d(&a, &v, &b) == Orientation::Left);
    if convex {
        // The offset of a convex polygon needs no clipping: it is its fans' outer vertices.
        let ring = rings
            .iter()
            .flat_map(|r| corners(r))
            .flat_map(|(a, v, b)| fan(&v, normal(&a, &v), normal(&v, &b), radius, ratio));
        return Polygon::from_computed_rings(vec![ring.collect()])
            .and_then(|p| to_world(&p, &origin, tolerance))
            .into_iter()
            .collect();
    }
    let mut pieces = rings.clone();
    for ring in &rings {
        push_strips(ring, radius, ratio, &mut pieces);
    }
    for wall in polygon.walls() {
        let ends = wall.map(|p| Point2::from(p - origin));
        push_strips(&ends, radius, ratio, &mut pieces);
    }
    overlay::union(&pieces)
        .iter()
        .filter_map(|p| to_world(p, &origin, tolerance))
        .collect()
}

/// Every vertex with its two neighbours.
fn corners(
    ring: &[Point2<f64>],
) -> impl Iterator<Item = (Point2<f64>, Point2<f64>, Point2<f64>)> + '_ {
    let n = ring.len();
    ring_edges(ring)
        .zip(ring_edges(ring).cycle().skip(1))
        .map(|((a, v), (_, b))| (a, v, b))
        .take(n)
}

/// Unit normal to the right of `a → b`: outward for a counter-clockwise ring.
fn normal(a: &Point2<f64>, b: &Point2<f64>) -> Vector2<f64> {
    let d = (b - a).normalize();
    Vector2::new(d.y, -d.x)
}

/// Outer vertices of the corner `v` between edges with the normals `from` and `to`:
/// where consecutive tangents of the circle meet.
fn fan(
    v: &Point2<f64>,
    from: Vector2<f64>,
    to: Vector2<f64>,
    radius: f64,
    ratio: f64,
) -> Vec<Point2<f64>> {
    let cross = from.x * to.y - from.y * to.x;
    let mut turn = cross.atan2(from.dot(&to));
    if turn <= 0.0 {
        // Only the end of a wall turns by a half turn, which atan2 may give with either sign.
        turn = std::f64::consts::PI;
    }
    let step = 2.0 * (1.0 / ratio).acos();
    let count = (turn / step).ceil().clamp(1.0, 10_000.0);
    let half = turn / count / 2.0;
    let reach = radius / half.cos();
    let start = from.y.atan2(from.x);
    (0..count as usize)
        .map(|k| {
            let angle = start + (2.0 * k as f64 + 1.0) * half;
            Point2::new(v.x + reach * angle.cos(), v.y + reach * angle.sin())
        })
        .collect()
}

/// Strips to the right of every edge of a closed ring and fans around its convex corners.
fn push_strips(ring: &[Point2<f64>], radius: f64, ratio: f64, pieces: &mut Vec<Vec<Point2<f64>>>) {
    for (a, v, b) in corners(ring) {
        let (n, m) = (normal(&a, &v), normal(&v, &b));
        pieces.push(vec![a, a + n * radius, v + n * radius, v]);
        if a == b || orient2d(&a, &v, &b) == Orientation::Left {
            let mut piece = vec![v, v + n * radius];
            piece.extend(fan(&v, n, m, radius, ratio));
            piece.push(v + m * radius);
            pieces.push(piece);
        }
    }
}

/// Back to world coordinates, without vertices that rounding left on straight edges.
fn to_world(polygon: &Polygon, origin: &Point2<f64>, tolerance: f64) -> Option<Polygon> {
    let rings = polygon
        .rings()
        .map(|ring| {
            tidy(ring, tolerance)
                .iter()
                .map(|p| origin + p.coords)
                .collect()
        })
        .collect();
    Polygon::from_computed_rings(rings)
}

fn tidy(ring: &[Point2<f64>], tolerance: f64) -> Vec<Point2<f64>> {
    let mut out: Vec<Point2<f64>> = Vec::with_capacity(ring.len());
    let flat = |a: &Point2<f64>, b: &Point2<f64>, c: &Point2<f64>| {
        super::distance::point_segment(b, a, c) <= tolerance
    };
    for p in ring {
        while let [.., a, b] = out.as_slice() {
            if !flat(a, b, p) {
                break;
            }
            out.pop();
        }
        out.push(*p);
    }
    while let ([.., y, z], [a, b, ..], true) = (out.as_slice(), out.as_slice(), out.len() > 3) {
        if flat(y, z, a) {
            out.pop();
        } else if flat(z, a, b) {
            out.remove(0);
        } else {
            break;
        }
    }
    out
}

/// Checks that `outer` holds `inner` with its walls and keeps the clearance from it.
pub(crate) fn check(inner: &Polygon, outer: &Polygon, clearance: f64) -> Result<(), String> {
    for p in inner
        .rings()
        .flatten()
        .chain(inner.walls().iter().flatten())
    {
        if outer.locate(p) != Side::Inside {
            return Err(format!("corner ({}, {}) is not covered", p.x, p.y));
        }
    }
    let mut near: Vec<_> = inner
        .edges()
        .chain(inner.walls().iter().map(|w| (w[0], w[1])))
        .collect();
    let mut far: Vec<_> = outer.edges().collect();
    let low = |e: &(Point2<f64>, Point2<f64>)| e.0.x.min(e.1.x);
    let high = |e: &(Point2<f64>, Point2<f64>)| e.0.x.max(e.1.x);
    near.sort_by(|a, b| low(a).total_cmp(&low(b)));
    far.sort_by(|a, b| low(a).total_cmp(&low(b)));
    let mut next = near.iter().peekable();
    let mut active: Vec<&(Point2<f64>, Point2<f64>)> = Vec::new();
    for f in &far {
        while let Some(n) = next.next_if(|n| low(n) <= high(f) + clearance) {
            active.push(n);
        }
        active.retain(|n| high(n) >= low(f) - clearance);
        for n in &active {
            let distance = segment_segment(&n.0, &n.1, &f.0, &f.1);
            if distance < clearance {
                return Err(format!("only {distance} m away at ({}, {})", f.0.x, f.0.y));
            }
        }
    }
    Ok(())
}
