//! Which obstacles a way in the plane comes near.

use nalgebra::Point2;

use super::Obstacle;
use crate::planar::distance::segment_segment;
use crate::planar::predicates::Side;
use crate::planar::Polygon;

/// A box with sides along the axes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bounds {
    low: Point2<f64>,
    high: Point2<f64>,
}

impl Bounds {
    fn of<'p>(points: impl Iterator<Item = &'p Point2<f64>>) -> Bounds {
        let mut bounds = Bounds {
            low: Point2::new(f64::INFINITY, f64::INFINITY),
            high: Point2::new(f64::NEG_INFINITY, f64::NEG_INFINITY),
        };
        for point in points {
            bounds.low = bounds.low.inf(point);
            bounds.high = bounds.high.sup(point);
        }
        bounds
    }

    /// A lower bound of the distance of what is in the boxes.
    fn gap(&self, other: &Bounds) -> f64 {
        let x = (self.low.x - other.high.x)
            .max(other.low.x - self.high.x)
            .max(0.0);
        let y = (self.low.y - other.high.y)
            .max(other.low.y - self.high.y)
            .max(0.0);
        x.hypot(y)
    }
}

/// An obstacle in the plane, ready to be compared with polylines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape<'a> {
    pub obstacle: &'a Obstacle,
    bounds: Bounds,
}

impl<'a> Shape<'a> {
    pub(super) fn new(obstacle: &'a Obstacle) -> Self {
        let walls = obstacle.polygon.walls().iter().flatten();
        Shape {
            obstacle,
            bounds: Bounds::of(obstacle.polygon.outer().iter().chain(walls)),
        }
    }

    /// Distance \[m\] of the closed polygon and its walls from a polyline (or a single point), as far as it is below
    /// `bound`; else `bound`.
    pub(super) fn distance(&self, line: &[Point2<f64>], bound: f64) -> f64 {
        let polygon: &Polygon = &self.obstacle.polygon;
        let mut least = bound;
        let single = line.first().map(|point| (point, point));
        let pairs = line.iter().zip(line.iter().skip(1));
        for (a, b) in pairs.chain(single.filter(|_| line.len() == 1)) {
            let around = Bounds::of([a, b].into_iter());
            if self.bounds.gap(&around) >= least {
                continue;
            }
            if polygon.locate(a) == Side::Inside {
                return 0.0;
            }
            let walls = polygon.walls().iter().map(|wall| (wall[0], wall[1]));
            for (c, d) in polygon.edges().chain(walls) {
                if Bounds::of([&c, &d].into_iter()).gap(&around) < least {
                    least = least.min(segment_segment(a, b, &c, &d));
                }
            }
        }
        least
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planar::{Obstacle as Given, PlanarWorld, WorldOptions};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        /// The same distance as the planar world's own, which compares everything with everything.
        #[test]
        fn distances_equal_those_of_the_world(
            centre in (-1.0..1.0_f64, -1.0..1.0_f64),
            radii in prop::collection::vec(0.1..0.6_f64, 3..9),
            line in prop::collection::vec((-1.5..1.5_f64, -1.5..1.5_f64), 1..6),
        ) {
            let corners: Vec<Point2<f64>> = radii.iter().enumerate().map(|(k, radius)| {
                let angle = std::f64::consts::TAU * k as f64 / radii.len() as f64;
                Point2::new(centre.0 + radius * angle.cos(), centre.1 + radius * angle.sin())
            }).collect();
            let line: Vec<Point2<f64>> = line.into_iter().map(|(x, y)| Point2::new(x, y)).collect();
            let polygon = Polygon::from_points(&corners).unwrap();
            let given = Given { id: "a".into(), polygon: polygon.clone() };
            let world = PlanarWorld::build(vec![given], None, &WorldOptions::default()).unwrap();
            let expected = world.clearance_of_path(&line).unwrap().distance;
            let obstacle = Obstacle { id: "a".into(), polygon, min_height: 0.0, max_height: 1.0 };
            let shape = Shape::new(&obstacle);
            prop_assert_eq!(shape.distance(&line, f64::INFINITY), expected);
            let bound = 0.5 * expected + 0.1;
            prop_assert_eq!(shape.distance(&line, bound), expected.min(bound));
        }
    }
}
