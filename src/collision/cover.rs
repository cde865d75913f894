//! Balls that together contain a body: what most distances are decided by, before any exact one.

use std::ops::Range;

use nalgebra::{Matrix3, Vector3};
use parry3d_f64::math::Vector;

use super::arm::Group;
use super::bodies::Body;
use super::shape::Core;
use crate::model::Chain;

/// Most balls a body.
const MOST: usize = 6;

/// Corners around a cylinder that stand in for its circle, outside of it.
const AROUND: usize = 16;

/// A ball in the frame of a body's carrier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ball {
    pub centre: Vector,
    /// Radius \[m\].
    pub radius: f64,
    /// Whether the centre is a point of the body itself.
    pub inside: bool,
}

/// Points in the carrier's frame whose hull contains the body's core, and whether it is the core.
fn corners(body: &Body) -> (Vec<Vector>, bool) {
    match &body.core {
        Core::Hull(hull) => (hull.points().to_vec(), true),
        Core::Cylinder {
            frame,
            radius,
            half,
        } => {
            let outer = radius / (std::f64::consts::PI / AROUND as f64).cos();
            let points = (0..AROUND).flat_map(|k| {
                let (sin, cos) = (std::f64::consts::TAU * k as f64 / AROUND as f64).sin_cos();
                [-half, *half].map(|z| Vector::new(outer * cos, outer * sin, z))
            });
            (points.map(|p| frame.transform_point(p)).collect(), false)
        }
    }
}

/// The direction in which points are spread most.
fn long_axis(points: &[Vector]) -> Vector {
    let count = points.len().max(1) as f64;
    let mean = points.iter().fold(Vector::ZERO, |sum, &p| sum + p) / count;
    let spread = points.iter().fold(Matrix3::zeros(), |sum, &p| {
        let d = p - mean;
        let d = Vector3::new(d.x, d.y, d.z);
        sum + d * d.transpose()
    });
    let axes = spread.symmetric_eigen().eigenvectors;
    let extent = |axis: Vector| {
        let (low, high) = range(points, axis);
        high - low
    };
    axes.column_iter()
        .map(|axis| Vector::new(axis.x, axis.y, axis.z))
        .filter(|axis| axis.is_finite())
        .max_by(|a, b| extent(*a).total_cmp(&extent(*b)))
        .unwrap_or(Vector::X)
}

fn range(points: &[Vector], axis: Vector) -> (f64, f64) {
    points
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| {
            let along = p.dot(axis);
            (low.min(along), high.max(along))
        })
}

/// A small ball around points, its centre in their hull \[Badoiu2003\].
fn enclose(points: &[Vector]) -> (Vector, f64) {
    let count = points.len().max(1) as f64;
    let mut centre = points.iter().fold(Vector::ZERO, |sum, &p| sum + p) / count;
    let farthest = |centre: Vector| {
        points.iter().fold((centre, 0.0_f64), |best, &p| {
            let square = (p - centre).length_squared();
            if square > best.1 {
                (p, square)
            } else {
                best
            }
        })
    };
    let (mut best, mut least) = (centre, farthest(centre).1);
    for step in 1..=32 {
        let (far, square) = farthest(centre);
        if square < least {
            (best, least) = (centre, square);
        }
        centre += (far - centre) / (f64::from(step) + 1.0);
    }
    (best, least.sqrt())
}

/// Balls that together contain `body`: it is cut into slabs across its long axis.
pub(super) fn cover(body: &Body) -> Vec<Ball> {
    let (points, exact) = corners(body);
    let axis = long_axis(&points);
    let (low, high) = range(&points, axis);
    let length = high - low;
    let (middle, _) = enclose(&points);
    let width = points.iter().fold(0.0_f64, |most, &p| {
        let d = p - middle;
        most.max((d - axis * d.dot(axis)).length())
    });
    let width = width + body.radius;
    let pieces = if width > 0.0 && length.is_finite() {
        ((length / width).ceil() as usize).clamp(1, MOST)
    } else {
        1
    };
    let mut balls = Vec::with_capacity(pieces);
    let mut slab = Vec::new();
    for piece in 0..pieces {
        let bound = |k: usize| low + length * k as f64 / pieces as f64;
        let (from, to) = (bound(piece), bound(piece + 1));
        slab.clear();
        for (index, &p) in points.iter().enumerate() {
            let at = p.dot(axis);
            if pieces == 1 || (at >= from && at <= to) {
                slab.push(p);
            }
            if pieces == 1 {
                continue;
            }
            // Where segments between any two points cross the cuts: more than the hull's edges,
            // so that nothing depends on knowing these.
            for &other in points.iter().skip(index + 1) {
                let there = other.dot(axis);
                for cut in [from, to] {
                    if (at < cut) != (there < cut) {
                        slab.push(p + (other - p) * ((cut - at) / (there - at)));
                    }
                }
            }
        }
        if slab.is_empty() {
            continue;
        }
        let (centre, radius) = enclose(&slab);
        balls.push(Ball {
            centre,
            // The last digits of the cuts.
            radius: (radius + body.radius) * (1.0 + 1e-9) + 1e-9,
            inside: exact,
        });
    }
    balls
}

/// The balls of all bodies, and what is known of each group of bodies.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Covers {
    pub balls: Vec<Ball>,
    /// For each body, its balls.
    pub ranges: Vec<Range<usize>>,
    /// For each group, the radius of its largest ball \[m\].
    pub largest: Vec<f64>,
    /// For each group, for each of the chain's moving joints before it, the farthest that any point of the
    /// group can be from the joint's origin \[m\], but for the travel of sliding joints.
    pub far: Vec<Vec<f64>>,
}

impl Covers {
    pub(super) fn new(bodies: &[Body], groups: &[Group], chain: &Chain) -> Self {
        let mut covers = Self::default();
        for body in bodies {
            let from = covers.balls.len();
            covers.balls.extend(cover(body));
            covers.ranges.push(from..covers.balls.len());
        }
        for group in groups {
            let ranges = group.bodies.iter().filter_map(|&k| covers.ranges.get(k));
            let balls = ranges.flat_map(|range| covers.balls.get(range.clone()).unwrap_or(&[]));
            let largest = balls.fold(0.0, |most: f64, ball| most.max(ball.radius));
            covers.largest.push(largest);
            let mut far = vec![0.0; group.carrier];
            let mut most = group.centre.length() + group.reach;
            for (far, joint) in far.iter_mut().zip(&chain.joints).rev() {
                *far = most;
                most += joint.before.translation.vector.norm();
            }
            covers.far.push(far);
        }
        covers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collision::hull::Hull;
    use crate::collision::shape::pose;
    use proptest::prelude::*;

    fn body(core: Core, radius: f64) -> Body {
        Body {
            link: 0,
            carrier: 1,
            core,
            radius,
            centre: Vector::ZERO,
            reach: 1.0,
            ends: [Vector::ZERO; 2],
            thickness: 1.0,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]
        #[test]
        fn balls_contain_the_hull(
            points in prop::collection::vec((-0.1..0.1_f64, -0.1..0.1_f64, -0.5..0.5_f64), 1..30),
            weights in prop::collection::vec(prop::collection::vec(0.0..1.0_f64, 30), 20),
            radius in 0.0..0.1_f64,
        ) {
            let points: Vec<Vector> = points.iter().map(|&(x, y, z)| Vector::new(x, y, z)).collect();
            let balls = cover(&body(Core::Hull(Hull::new(points.clone())), radius));
            prop_assert!(!balls.is_empty() && balls.len() <= MOST);
            for weights in weights {
                // Few large weights: points near edges and corners too.
                let weights: Vec<f64> = weights.iter().map(|w| w.powi(12)).collect();
                let total: f64 = weights.iter().take(points.len()).sum();
                let inner = points.iter().zip(&weights).fold(Vector::ZERO, |sum, (&p, w)| sum + p * (w / total));
                prop_assert!(balls.iter().any(|ball| (ball.centre - inner).length() + radius <= ball.radius + 1e-9));
            }
        }

        #[test]
        fn balls_contain_the_cylinder(
            radius in 0.01..0.2_f64, half in 0.01..0.6_f64, angle in 0.0..6.3_f64, along in -1.0..1.0_f64,
            x in -1.0..1.0_f64, turn in -3.0..3.0_f64,
        ) {
            let local = nalgebra::Isometry3::new(Vector3::new(x, 0.2, 0.1), Vector3::new(turn, 0.3, 0.0));
            let frame = pose(&local);
            let balls = cover(&body(Core::Cylinder { frame, radius, half }, 0.0));
            let p = frame.transform_point(Vector::new(radius * angle.cos(), radius * angle.sin(), half * along));
            prop_assert!(balls.iter().any(|ball| (ball.centre - p).length() <= ball.radius + 1e-9));
        }
    }
}
