//! The geometric subproblems into which closed forms fall apart \[Paden1986\], \[Elias2025\].
//!
//! Each asks for the angles of one or two rotations about fixed axes through the origin. Angles
//! that make no difference (a point on its axis) are `None`, so that the caller can keep the
//! seed's.

use nalgebra::Vector3;

/// Up to two angles \[rad\].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Angles {
    /// Nothing solves it.
    None,
    /// One.
    One(f64),
    /// Two distinct ones.
    Two(f64, f64),
    /// All do.
    Any,
}

impl Angles {
    /// The angles in a row; `free` where all are solutions.
    pub(super) fn list(self, free: f64) -> impl Iterator<Item = f64> {
        let (first, second) = match self {
            Angles::None => (None, None),
            Angles::One(a) => (Some(a), None),
            Angles::Two(a, b) => (Some(a), Some(b)),
            Angles::Any => (Some(free), None),
        };
        first.into_iter().chain(second)
    }
}

/// Product of the two levers \[m² or 1\] below which a vector counts as on its axis.
const ON_AXIS: f64 = 1e-14;
/// Below this length \[m, or 1 for directions\] a lever makes no difference.
const LEVER: f64 = 1e-9;
/// A cosine may exceed one by this much: rounded descriptions, targets on the rim.
const RIM: f64 = 1e-3;

/// `vector` turned about the unit vector `axis`.
pub(super) fn turn(axis: &Vector3<f64>, angle: f64, vector: &Vector3<f64>) -> Vector3<f64> {
    let (sine, cosine) = angle.sin_cos();
    let along = axis * (axis.dot(vector) * (1.0 - cosine));
    vector * cosine + axis.cross(vector) * sine + along
}

/// The turn about `axis` that brings `from` nearest to `to`; `None` if either is on the axis.
pub(in crate::ik) fn align(
    axis: &Vector3<f64>,
    from: &Vector3<f64>,
    to: &Vector3<f64>,
) -> Option<f64> {
    let sine = axis.dot(&from.cross(to));
    let cosine = from.dot(to) - axis.dot(from) * axis.dot(to);
    (sine.hypot(cosine) > ON_AXIS).then(|| sine.atan2(cosine))
}

/// The turns of `point` about `axis` after which its part along `direction` is `height`.
pub(super) fn reach_height(
    direction: &Vector3<f64>,
    axis: &Vector3<f64>,
    point: &Vector3<f64>,
    height: f64,
) -> Angles {
    let constant = direction.dot(axis) * axis.dot(point);
    let a = direction.dot(point) - constant;
    let b = direction.dot(&axis.cross(point));
    let radius = a.hypot(b);
    let rest = height - constant;
    if radius <= LEVER {
        return if rest.abs() <= 1e-6 {
            Angles::Any
        } else {
            Angles::None
        };
    }
    let cosine = rest / radius;
    let middle = b.atan2(a);
    if cosine.abs() > 1.0 + RIM || cosine.is_nan() {
        Angles::None
    } else if cosine.abs() >= 1.0 {
        Angles::One(
            middle
                + if cosine > 0.0 {
                    0.0
                } else {
                    std::f64::consts::PI
                },
        )
    } else {
        let half = cosine.acos();
        Angles::Two(middle + half, middle - half)
    }
}

/// The turns of `point` about `axis` after which it is `distance` away from `centre`.
pub(super) fn reach_distance(
    axis: &Vector3<f64>,
    point: &Vector3<f64>,
    centre: &Vector3<f64>,
    distance: f64,
) -> Angles {
    let size = centre.norm();
    if size <= LEVER {
        return if (point.norm() - distance).abs() <= 1e-6 {
            Angles::Any
        } else {
            Angles::None
        };
    }
    let product = 0.5 * (point.norm_squared() + size * size - distance * distance);
    reach_height(&(centre / size), axis, point, product / size)
}

/// The pairs (turn of `p` about `k`, turn of `r` about `s`) that bring the two points together;
/// `None` in a pair where it makes no difference.
pub(in crate::ik) fn meet(
    k: &Vector3<f64>,
    p: &Vector3<f64>,
    s: &Vector3<f64>,
    r: &Vector3<f64>,
) -> [Option<(Option<f64>, Option<f64>)>; 2] {
    let cosine = k.dot(s);
    let normal = k.cross(s);
    let square = normal.norm_squared();
    if square <= LEVER {
        return [None, None];
    }
    let (kp, sr) = (k.dot(p), s.dot(r));
    let alpha = (kp - cosine * sr) / square;
    let beta = (sr - cosine * kp) / square;
    let rest = p.norm_squared() - alpha * alpha - beta * beta - 2.0 * alpha * beta * cosine;
    let base = k * alpha + s * beta;
    let pair = |z: Vector3<f64>| Some((align(k, p, &z), align(s, r, &z)));
    let slack = RIM * p.norm_squared();
    if rest < -slack || rest.is_nan() {
        [None, None]
    } else if rest <= 0.0 {
        [pair(base), None]
    } else {
        let off = normal * (rest / square).sqrt();
        [pair(base + off), pair(base - off)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::{PI, TAU};

    fn vectors() -> impl Iterator<Item = [Vector3<f64>; 4]> {
        let mut state = 3_u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        };
        (0..300).map(move |_| [(); 4].map(|()| Vector3::new(random(), random(), random())))
    }

    /// Zero crossings of `f` over a full turn: the oracle.
    fn roots(f: impl Fn(f64) -> f64) -> usize {
        let steps = 4000;
        let at = |k: i32| f(f64::from(k) * TAU / f64::from(steps));
        (0..steps)
            .filter(|&k| (at(k) > 0.0) != (at(k + 1) > 0.0))
            .count()
    }

    #[test]
    fn every_height_and_distance_is_found() {
        for [a, point, b, c] in vectors() {
            let (axis, direction) = (a.normalize(), b.normalize());
            let height = 0.5 * c.x;
            let found: Vec<f64> = reach_height(&direction, &axis, &point, height)
                .list(0.0)
                .collect();
            let off = |angle: f64| direction.dot(&turn(&axis, angle, &point)) - height;
            for &angle in &found {
                assert!(off(angle).abs() < 1e-2);
            }
            let exact = found
                .iter()
                .filter(|&&angle| off(angle).abs() < 1e-9)
                .count();
            assert!(exact >= roots(off), "{found:?}");
            let distance = 0.2 + c.y.abs();
            let found: Vec<f64> = reach_distance(&axis, &point, &b, distance)
                .list(0.0)
                .collect();
            let off = |angle: f64| (turn(&axis, angle, &point) - b).norm() - distance;
            let exact = found
                .iter()
                .filter(|&&angle| off(angle).abs() < 1e-9)
                .count();
            assert!(exact >= roots(off), "{found:?}");
        }
    }

    #[test]
    fn alignment_is_the_nearest() {
        for [a, from, to, _] in vectors() {
            let axis = a.normalize();
            let angle = align(&axis, &from, &to).unwrap();
            let distance = |angle: f64| (turn(&axis, angle, &from) - to).norm();
            for k in 0..100 {
                assert!(distance(angle) <= distance(f64::from(k) * TAU / 100.0) + 1e-12);
            }
            assert_eq!(align(&axis, &(axis * 2.0), &to), None);
        }
    }

    #[test]
    fn two_turns_meet() {
        for [a, b, r, c] in vectors() {
            let (k, s) = (a.normalize(), b.normalize());
            // Made to have a solution.
            let (one, other) = (c.x * PI, c.y * PI);
            let p = turn(&k, -one, &turn(&s, other, &r));
            let pairs = meet(&k, &p, &s, &r);
            let mut hit = false;
            for (x, y) in pairs.into_iter().flatten() {
                let (x, y) = (x.unwrap(), y.unwrap());
                assert!((turn(&k, x, &p) - turn(&s, y, &r)).norm() < 1e-6);
                let same = |u: f64, v: f64| ((u - v) / TAU - ((u - v) / TAU).round()).abs() < 1e-6;
                hit |= same(x, one) && same(y, other);
            }
            assert!(hit);
        }
    }
}
