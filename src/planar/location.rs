//! Where a point lies in a world, and the free point nearest to it.

use nalgebra::Point2;

use super::distance::{nearest_on_segment, point_segment};
use super::predicates::{flush_tiny_point, Side};
use super::world::{dedup, is_valid, PlanarWorld};

/// Where a point lies.
#[derive(Debug, Clone, PartialEq)]
pub enum Location {
    /// In free space.
    Free,
    /// On the boundary of what is blocked: allowed.
    OnBoundary {
        /// The obstacles whose (inflated) outline it lies on.
        obstacles: Vec<String>,
    },
    /// Inside obstacles as they were given, or on a contact between them that blocks.
    Inside {
        /// The obstacles.
        obstacles: Vec<String>,
        /// Distance to the nearest free point. \[m\]
        depth: f64,
    },
    /// Outside the obstacles but nearer to them than the clearance.
    TooClose {
        /// The obstacles that are too near, the nearest first.
        obstacles: Vec<String>,
        /// Distance to the nearest one. \[m\]
        distance: f64,
        /// The clearance that was asked for. \[m\]
        clearance: f64,
    },
    /// Outside the boundary as it was given.
    OutsideBoundary {
        /// Distance to the nearest free point. \[m\]
        depth: f64,
    },
    /// A coordinate is NaN, infinite or beyond 1e7 m.
    Invalid,
}

impl Location {
    /// Whether a path may start or end here.
    pub fn is_free(&self) -> bool {
        matches!(self, Location::Free | Location::OnBoundary { .. })
    }
}

impl PlanarWorld {
    /// Where `p` lies, exactly.
    pub fn locate(&self, p: &Point2<f64>) -> Location {
        if !is_valid(p) {
            return Location::Invalid;
        }
        let p = &flush_tiny_point(p);
        let spot = self.bodies.locate(p);
        if spot.inside.is_empty() {
            if spot.on.is_empty() {
                return Location::Free;
            }
            if self.bodies.has_exit(p, &spot, self.options.contact) {
                return Location::OnBoundary {
                    obstacles: self.ids_at(p),
                };
            }
        }
        self.explain(p)
    }

    /// Why `p`, which is not free, is not.
    fn explain(&self, p: &Point2<f64>) -> Location {
        let depth = || {
            self.nearest_free_point(p)
                .map_or(f64::INFINITY, |q| (q - p).norm())
        };
        if self
            .boundary
            .as_ref()
            .is_some_and(|b| b.locate(p) == Side::Outside)
        {
            return Location::OutsideBoundary { depth: depth() };
        }
        let within: Vec<String> = dedup(
            self.obstacles
                .iter()
                .filter(|o| o.polygon.locate(p) == Side::Inside)
                .map(|o| o.id.clone()),
        );
        if !within.is_empty() {
            return Location::Inside {
                obstacles: within,
                depth: depth(),
            };
        }
        if self.options.clearance == 0.0 {
            // On a contact that blocks.
            return Location::Inside {
                obstacles: self.ids_at(p),
                depth: depth(),
            };
        }
        // A point on the inner side of the margin is farther than the clearance: then the
        // nearest one counts.
        let all = 0..self.obstacles.len() as u32 + u32::from(self.boundary.is_some());
        let mut near: Vec<(f64, u32)> = all.map(|i| (self.distance_to(i, p), i)).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let enough = self.options.clearance;
        let too_near = near.iter().filter(|n| n.0 < enough).count().max(1);
        near.truncate(too_near);
        Location::TooClose {
            distance: near.first().map_or(f64::INFINITY, |n| n.0),
            obstacles: dedup(near.iter().map(|n| self.obstacle_id(n.1).to_owned())),
            clearance: self.options.clearance,
        }
    }

    fn distance_to(&self, obstacle: u32, p: &Point2<f64>) -> f64 {
        match (self.obstacles.get(obstacle as usize), &self.boundary) {
            (Some(o), _) => o.polygon.distance(p),
            (None, Some(boundary)) => boundary.boundary_distance(p),
            (None, None) => f64::INFINITY,
        }
    }

    /// The free point nearest to `p` (`p` itself if it is free); `None` if nothing is free.
    pub fn nearest_free_point(&self, p: &Point2<f64>) -> Option<Point2<f64>> {
        if !is_valid(p) {
            return None;
        }
        let p = flush_tiny_point(p);
        if self.bodies.point_is_free(&p, self.options.contact) {
            return Some(p);
        }
        let vertices = self.arrangement.vertices();
        let mut candidates: Vec<(f64, [Point2<f64>; 2])> = self
            .arrangement
            .edges()
            .iter()
            .map(|e| e.ends.map(|v| vertices[v as usize].point))
            .map(|[a, b]| (point_segment(&p, &a, &b), [a, b]))
            .collect();
        candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
        candidates
            .iter()
            .find_map(|(_, [a, b])| self.push_out(&nearest_on_segment(&p, a, b), a, b))
    }

    /// `q` on the edge `a b`, moved to the free side by as little as rounding needs.
    fn push_out(&self, q: &Point2<f64>, a: &Point2<f64>, b: &Point2<f64>) -> Option<Point2<f64>> {
        let free = |q: &Point2<f64>| self.bodies.point_is_free(q, self.options.contact);
        if free(q) {
            return Some(*q);
        }
        let d = (b - a).normalize();
        let outward = nalgebra::Vector2::new(d.y, -d.x);
        let unit = f64::EPSILON * (q.x.abs() + q.y.abs() + 1e-3 * (b - a).norm());
        // Up to 2^20 units in the last place: a nanometre for a robot.
        (0..20)
            .map(|k| q + outward * (unit * f64::from(1u32 << k)))
            .map(|q| flush_tiny_point(&q))
            .find(free)
    }
}
