//! Distances of points to prisms, and boxes around them in a form that is quick to search.

use parry3d_f64::math::Vector;

use super::shape::Core;
use super::world::Piece;

/// Boxes that are compared at a time.
const LANES: usize = 8;

/// Boxes around all pieces, each coordinate in an array of its own, rounded outwards.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Boxes {
    sides: Vec<[[f32; LANES]; 6]>,
}

impl Boxes {
    pub(super) fn new(pieces: &[Piece]) -> Self {
        let sides = pieces
            .chunks(LANES)
            .map(|chunk| {
                // What is missing in the last one is far from everything.
                let mut sides = [[f32::MAX; LANES]; 6];
                for (lane, piece) in chunk.iter().enumerate() {
                    let (low, high) = (piece.low, piece.high);
                    let all = [low.x, low.y, low.z, high.x, high.y, high.z];
                    for (k, (side, value)) in sides.iter_mut().zip(all).enumerate() {
                        if let Some(side) = side.get_mut(lane) {
                            let near = value as f32;
                            *side = if k < 3 {
                                near.next_down()
                            } else {
                                near.next_up()
                            };
                        }
                    }
                }
                sides
            })
            .collect();
        Self { sides }
    }

    /// Calls `visit` with the number of each box that is within `radius` of `centre`, and perhaps
    /// of some that are hardly farther.
    pub(super) fn within(&self, centre: Vector, radius: f64, mut visit: impl FnMut(usize)) {
        let (x, y, z) = (centre.x as f32, centre.y as f32, centre.z as f32);
        // Rounding of the centre and of the sums below.
        let size = centre.x.abs() + centre.y.abs() + centre.z.abs() + radius;
        let radius = (radius + 1e-6 * size) as f32;
        let most = radius * radius * (1.0 + 1e-6);
        for (chunk, [lx, ly, lz, hx, hy, hz]) in self.sides.iter().enumerate() {
            let mut squares = [0.0_f32; LANES];
            for (lane, square) in squares.iter_mut().enumerate() {
                let gap = |low: f32, high: f32, at: f32| (low - at).max(at - high).max(0.0);
                let (dx, dy, dz) = (
                    gap(lx[lane], hx[lane], x),
                    gap(ly[lane], hy[lane], y),
                    gap(lz[lane], hz[lane], z),
                );
                *square = dx * dx + dy * dy + dz * dz;
            }
            if squares.iter().fold(f32::MAX, |least, &s| least.min(s)) <= most {
                for (lane, &square) in squares.iter().enumerate() {
                    if square <= most {
                        visit(chunk * LANES + lane);
                    }
                }
            }
        }
    }
}

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
    pub(super) fn new(core: &Core) -> Self {
        let Core::Prism {
            corners,
            min_z,
            max_z,
        } = core
        else {
            return Self::default();
        };
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
            min_z: *min_z,
            max_z: *max_z,
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
    use super::*;
    use crate::collision::{CollisionWorld, Prism};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]
        #[test]
        fn offsets_and_boxes_agree_with_many_points(
            angles in prop::collection::vec(0.0..6.28_f64, 3..9), x in -1.0..1.0_f64, y in -1.0..1.0_f64,
            p in (-2.0..2.0_f64, -2.0..2.0_f64, -1.0..2.0_f64), radius in 0.0..1.5_f64,
        ) {
            let mut angles = angles;
            angles.sort_by(f64::total_cmp);
            let polygon: Vec<[f64; 2]> =
                angles.iter().map(|a| [x + 0.4 * a.cos(), y + 0.4 * a.sin()]).collect();
            let prism = Prism { id: "p".into(), polygon: polygon.clone(), min_z: 0.1, max_z: 0.7 };
            // Angles too near to each other leave no area.
            let Ok(world) = CollisionWorld::new(&[prism]) else { return Ok(()) };
            let point = Vector::new(p.0, p.1, p.2);
            let near = world.pieces.iter()
                .map(|piece| Footprint::new(&piece.core).offset(point).length())
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
            let mut found = Vec::new();
            Boxes::new(&world.pieces).within(point, radius, |k| found.push(k));
            for (k, piece) in world.pieces.iter().enumerate() {
                let nearest = point.max(piece.low).min(piece.high);
                let gap = (point - nearest).length();
                if gap <= radius { prop_assert!(found.contains(&k)); }
                if gap > radius + 1e-4 { prop_assert!(!found.contains(&k)); }
            }
            prop_assert!(found.iter().all(|&k| k < world.pieces.len()));
        }
    }
}
