//! Distances of points to prisms.

use parry3d_f64::math::Vector;

/// An edge of a convex polygon: where it begins, its direction and its length.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Edge {
    from: [f64; 2],
    along: [f64; 2],
    length: f64,
}

/// A convex polygon between two heights.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Footprint {
    edges: Vec<Edge>,
    min_z: f64,
    max_z: f64,
}

impl Footprint {
    /// Of corners, counter-clockwise.
    pub(super) fn new(corners: &[[f64; 2]], min_z: f64, max_z: f64) -> Self {
        let next = corners.iter().cycle().skip(1);
        let edges = corners.iter().zip(next).filter_map(|(a, b)| {
            let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
            let length = dx.hypot(dy);
            (length > 0.0).then(|| Edge {
                from: *a,
                along: [dx / length, dy / length],
                length,
            })
        });
        Self {
            edges: edges.collect(),
            min_z,
            max_z,
        }
    }

    /// From the nearest point of the prism to `point` \[m\]; zero inside.
    pub(super) fn offset(&self, point: Vector) -> Vector {
        let mut best = [0.0; 2];
        let mut least = f64::INFINITY;
        let mut outside = false;
        for edge in &self.edges {
            let (dx, dy) = (point.x - edge.from[0], point.y - edge.from[1]);
            // Counter-clockwise: outside is to the right.
            let right = dx * edge.along[1] - dy * edge.along[0];
            if right <= 0.0 {
                continue;
            }
            outside = true;
            let along = (dx * edge.along[0] + dy * edge.along[1])
                .max(0.0)
                .min(edge.length);
            let off = [dx - along * edge.along[0], dy - along * edge.along[1]];
            let square = off[0] * off[0] + off[1] * off[1];
            if square < least {
                least = square;
                best = off;
            }
        }
        if !outside {
            best = [0.0; 2];
        }
        let z = (point.z - self.max_z).max(0.0) + (point.z - self.min_z).min(0.0);
        Vector::new(best[0], best[1], z)
    }
}

#[cfg(test)]
mod tests {
    use crate::collision::{CollisionWorld, Prism};
    use parry3d_f64::math::Vector;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]
        #[test]
        fn offsets_are_those_to_the_edges(
            angles in prop::collection::vec(0.0..6.2_f64, 3..9), x in -1.0..1.0_f64, y in -1.0..1.0_f64,
            p in (-2.0..2.0_f64, -2.0..2.0_f64, -1.0..2.0_f64),         ) {
            let mut angles = angles;
            angles.sort_by(f64::total_cmp);
            let polygon: Vec<[f64; 2]> =
                angles.iter().map(|a| [x + 0.4 * a.cos(), y + 0.4 * a.sin()]).collect();
            let prism = Prism { id: "p".into(), polygon: polygon.clone(), min_z: 0.1, max_z: 0.7 };
            // Angles too near to each other leave no area.
            let Ok(world) = CollisionWorld::new(&[prism]) else { return Ok(()) };
            let point = Vector::new(p.0, p.1, p.2);
            let near = world.pieces.iter()
                .map(|piece| piece.footprint.offset(point).length())
                .fold(f64::INFINITY, f64::min);
            // By the edges, or nothing if the point is on the left of all.
            let n = polygon.len();
            let mut flat = f64::INFINITY;
            let mut inside = true;
            for i in 0..n {
                let (a, b) = (polygon[i], polygon[(i + 1) % n]);
                let e = [b[0] - a[0], b[1] - a[1]];
                let d = [p.0 - a[0], p.1 - a[1]];
                inside &= e[0] * d[1] - e[1] * d[0] >= 0.0;
                let t = ((d[0] * e[0] + d[1] * e[1]) / (e[0] * e[0] + e[1] * e[1])).clamp(0.0, 1.0);
                flat = flat.min((d[0] - t * e[0]).hypot(d[1] - t * e[1]));
            }
            let flat = if inside { 0.0 } else { flat };
            let up = (p.2 - 0.7).max(0.1 - p.2).max(0.0);
            prop_assert!((near - flat.hypot(up)).abs() < 1e-9);
        }
    }
}
