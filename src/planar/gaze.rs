//! Looking around from a point only as far as a short way to another one can lead.
//!
//! Triangular expansion \[Bungiu2014\], but a cone of sight waits if every way through it
//! is longer than a limit; it is followed when the limit is raised.

use nalgebra::Point2;

use super::predicates::{orient2d, Orientation};
use super::triangulation::{next, Cone, Place, Region, SightStack, Triangulation, WANTED};

/// Cones of sight that wait until longer ways are asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gaze {
    waiting: Vec<(f64, Cone)>,
}

impl Gaze {
    /// The shortest way that one of them could lead to, if any waits.
    pub fn next_bound(&self) -> f64 {
        let bounds = self.waiting.iter().map(|w| w.0);
        bounds.fold(f64::INFINITY, f64::min)
    }

    /// Nothing waits.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }
}

impl Triangulation {
    /// Begins to look around from a point towards another one: puts the cones of sight out of its
    /// triangle into `gaze`, and calls `found` with the triangle's corners.
    pub(crate) fn begin_gaze(&self, place: &Place, gaze: &mut Gaze, mut found: impl FnMut(u32)) {
        let mut around = [Some((place.triangle, place.edge)), None];
        if let Some(k) = place.edge {
            let beyond = self.triangles[place.triangle as usize].beyond[k];
            around[1] = Some((beyond.triangle(), Some(beyond.place())));
        }
        for (t, except) in around.into_iter().flatten() {
            let triangle = &self.triangles[t as usize];
            for k in (0..3).filter(|k| Some(*k) != except) {
                let [right, left] = [k, next(k)].map(|k| {
                    let v = triangle.corners[k];
                    found(v);
                    (*self.point(v), WANTED)
                });
                let by = triangle.beyond[k];
                if !by.is_closed() {
                    gaze.waiting.push((0.0, Cone { by, right, left }));
                }
            }
        }
    }

    /// Goes on looking around from `p`, through everything by which a way to `other` no longer
    /// than `limit` could lead. Calls `found` with every vertex that is seen without another
    /// vertex exactly in between.
    pub(crate) fn gaze(
        &self,
        p: &Point2<f64>,
        other: &Point2<f64>,
        limit: f64,
        gaze: &mut Gaze,
        stack: &mut SightStack,
        mut found: impl FnMut(u32),
    ) {
        let stack = &mut stack.0;
        gaze.waiting.retain(|(bound, cone)| {
            let waits = *bound > limit;
            if !waits {
                stack.push(*cone);
            }
            waits
        });
        while let Some(Cone { by, right, left }) = stack.pop() {
            let triangle = &self.triangles[by.triangle() as usize];
            let to_right = next(by.place());
            let to_left = next(to_right);
            let apex = triangle.corners[to_left];
            let c = self.point(apex);
            let reaches_right = orient2d(p, &right.0, c) == Orientation::Left;
            let reaches_left = orient2d(p, &left.0, c) == Orientation::Right;
            let middle = (*c, WANTED);
            let is_seen = reaches_right && reaches_left;
            if is_seen {
                found(apex);
            }
            let mut enter = |k: usize, right: (Point2<f64>, Region), left| {
                let by = triangle.beyond[k];
                if by.is_closed() {
                    return;
                }
                let cone = Cone { by, right, left };
                let portal = [k, next(k)].map(|k| *self.point(triangle.corners[k]));
                let bound = detour(p, other, &right.0, &left.0, &portal);
                if bound > limit {
                    gaze.waiting.push((bound, cone));
                } else {
                    stack.push(cone);
                }
            };
            if reaches_right {
                enter(to_right, right, if is_seen { middle } else { left });
            }
            if reaches_left {
                enter(to_left, if is_seen { middle } else { right }, left);
            }
        }
    }
}

/// Length of the shortest way from `p` to `other` by the part of a portal (its right and left
/// end) that a cone of sight leaves; never more, but for rounding.
fn detour(
    p: &Point2<f64>,
    other: &Point2<f64>,
    right: &Point2<f64>,
    left: &Point2<f64>,
    portal: &[Point2<f64>; 2],
) -> f64 {
    let along = portal[1] - portal[0];
    let cut = |border: &Point2<f64>, end: &Point2<f64>| {
        if border == end {
            return *end;
        }
        let ray = border - p;
        let across = ray.perp(&along);
        // Where the ray runs along the portal the point would be uncertain: then all of it.
        if across.abs() < 1e-6 * (ray.norm_squared() * along.norm_squared()).sqrt() {
            return *end;
        }
        let share = ray.perp(&(p - portal[0])) / across;
        portal[0] + along * share.clamp(0.0, 1.0)
    };
    let (a, b) = (cut(right, &portal[0]), cut(left, &portal[1]));
    // The other point seen in a mirror if it lies on this side of the portal.
    let beside = along.perp(&(other - portal[0]));
    let mut target = *other;
    if beside * along.perp(&(p - portal[0])) > 0.0 {
        let across = nalgebra::Vector2::new(-along.y, along.x);
        target -= across * (2.0 * beside / along.norm_squared());
    }
    let direction = target - p;
    let is_within = (a - p).perp(&direction) >= 0.0 && (b - p).perp(&direction) <= 0.0;
    let length = if is_within {
        direction.norm()
    } else {
        let by = |q: &Point2<f64>| (q - p).norm() + (other - q).norm();
        by(&a).min(by(&b))
    };
    // Ample for the rounding in here; not a number means that nothing is known.
    let length = length * (1.0 - 1e-9);
    if length.is_nan() {
        0.0
    } else {
        length
    }
}
