//! What the tip passes over or under on its way.

use nalgebra::{Point2, Point3};

use crate::planning::Obstacle;

/// An obstacle that the tip passes over or under: nearer than the clearance as seen from above.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Passage {
    pub(super) id: String,
    /// Height range of the obstacle (m).
    pub(super) heights: (f64, f64),
    /// Lengths of the tip's way (m) between which it is near.
    pub(super) near: (f64, f64),
    /// Lengths of the way between which it is straight over or under the obstacle.
    pub(super) over: Option<(f64, f64)>,
    /// Whether the tip is above.
    above: bool,
}

impl Passage {
    /// The edge of the height range that the tip passes, where it is finite.
    pub(super) fn near_edges(&self) -> impl Iterator<Item = f64> {
        let edge = if self.above {
            self.heights.1
        } else {
            self.heights.0
        };
        std::iter::once(edge).filter(|height| height.is_finite())
    }

    /// The height range in words.
    pub(super) fn range(&self) -> String {
        match self.heights {
            (low, high) if low.is_finite() && high.is_finite() => format!("{low} to {high} m"),
            (low, _) if low.is_finite() => format!("from {low} m up"),
            (_, high) if high.is_finite() => format!("up to {high} m"),
            _ => "at all heights".to_owned(),
        }
    }
}

/// The executed motion may come that much nearer than the clearance \[m\] without passing over anything.
const SLACK: f64 = 5e-4;

/// What the tip passes over or under along a line.
pub(super) fn passages(
    obstacles: &[Obstacle],
    clearance: f64,
    line: &[Point3<f64>],
) -> Vec<Passage> {
    let mut ways = Vec::with_capacity(line.len());
    let mut way = 0.0;
    for (k, point) in line.iter().enumerate() {
        way += k
            .checked_sub(1)
            .map_or(0.0, |before| (point - line[before]).norm());
        ways.push(way);
    }
    let near = (clearance - SLACK).max(0.0);
    let mut found = Vec::new();
    for obstacle in obstacles {
        let bounds = Bounds::of(obstacle.polygon.outer(), near);
        let heights = (obstacle.min_height, obstacle.max_height);
        // Of the passage under way: is it above, and from where to where is it near, and straight over.
        let mut open: Option<Passage> = None;
        for (point, way) in line.iter().zip(&ways) {
            let beside = point.z > heights.0 && point.z < heights.1;
            let distance = if bounds.hold(&point.xy()) {
                obstacle.polygon.distance(&point.xy())
            } else {
                f64::INFINITY
            };
            let above = point.z >= heights.1;
            let goes_on = !beside && (distance < near || distance == 0.0);
            if open
                .as_ref()
                .is_some_and(|open| !goes_on || open.above != above)
            {
                found.extend(open.take());
            }
            if !goes_on {
                continue;
            }
            let passage = open.get_or_insert_with(|| Passage {
                id: obstacle.id.clone(),
                heights,
                near: (*way, *way),
                over: None,
                above,
            });
            passage.near.1 = *way;
            if distance == 0.0 {
                passage.over.get_or_insert((*way, *way)).1 = *way;
            }
        }
        found.extend(open);
    }
    found.retain(|passage| passage.near.1 > passage.near.0);
    found
}

struct Bounds {
    low: Point2<f64>,
    high: Point2<f64>,
}

impl Bounds {
    fn of(ring: &[Point2<f64>], wider: f64) -> Bounds {
        let mut bounds = Bounds {
            low: Point2::new(f64::INFINITY, f64::INFINITY),
            high: Point2::new(f64::NEG_INFINITY, f64::NEG_INFINITY),
        };
        for point in ring {
            bounds.low = bounds.low.inf(point);
            bounds.high = bounds.high.sup(point);
        }
        bounds.low.coords.add_scalar_mut(-wider);
        bounds.high.coords.add_scalar_mut(wider);
        bounds
    }

    fn hold(&self, point: &Point2<f64>) -> bool {
        self.low <= *point && *point <= self.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planar::Polygon;

    fn block(heights: (f64, f64)) -> Obstacle {
        let corners = [[1.0, -1.0], [2.0, -1.0], [2.0, 1.0], [1.0, 1.0]];
        let corners: Vec<Point2<f64>> = corners.iter().map(|c| Point2::from(*c)).collect();
        Obstacle {
            id: "block".to_owned(),
            polygon: Polygon::from_points(&corners).unwrap(),
            min_height: heights.0,
            max_height: heights.1,
        }
    }

    #[test]
    fn what_lies_under_the_way_is_a_passage_and_what_lies_beside_it_is_not() {
        let over: Vec<Point3<f64>> = (0..=60)
            .map(|k| Point3::new(0.05 * f64::from(k), 0.0, 0.4))
            .collect();
        let found = passages(&[block((0.0, 0.3)), block((0.0, 0.5))], 0.1, &over);
        assert_eq!(found.len(), 1);
        let (begin, end) = found[0].over.unwrap();
        assert!((begin - 1.0).abs() < 0.051 && (end - 2.0).abs() < 0.051);
        assert!(found[0].near.0 < begin && found[0].near.1 > end);
        assert_eq!(found[0].near_edges().collect::<Vec<_>>(), [0.3]);
        let under = passages(&[block((0.6, f64::INFINITY))], 0.0, &over);
        assert_eq!(under[0].near_edges().collect::<Vec<_>>(), [0.6]);
        assert_eq!(under[0].range(), "from 0.6 m up");
    }
}
