//! Obstacles, prepared for checking.

use parry3d_f64::math::Vector;
use parry3d_f64::shape::SupportMap;

use super::blocks::Blocks;
use super::decompose::{convex_pieces, Fault};
use super::ease::Ease;
use super::footprint::Footprint;

/// Heights are cut off here \[m\]: beyond any arm, and small enough to keep digits.
const FAR: f64 = 1e3;

/// An obstacle: a polygon in the base frame's XY plane, between two heights.
#[derive(Debug, Clone, PartialEq)]
pub struct Prism {
    /// Its name.
    pub id: String,
    /// Corners x, y \[m\] in the chain's base frame, closed implicitly, in either direction.
    pub polygon: Vec<[f64; 2]>,
    /// Lower end \[m\]; minus infinity where it is not bounded.
    pub min_z: f64,
    /// Upper end \[m\]; infinity where it is not bounded.
    pub max_z: f64,
}

/// Why an obstacle cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WorldError {
    /// No polygon.
    #[error("obstacle '{id}' has no area: give at least three corners that are not on one line")]
    NoArea {
        /// The obstacle.
        id: String,
    },
    /// Edges that cross.
    #[error("the outline of obstacle '{id}' crosses itself")]
    SelfCrossing {
        /// The obstacle.
        id: String,
    },
    /// NaN, infinite or extreme coordinates.
    #[error("obstacle '{id}' has a corner that is not finite")]
    Coordinate {
        /// The obstacle.
        id: String,
    },
    /// Heights that are NaN or upside down.
    #[error(
        "obstacle '{id}' reaches from {min_z} to {max_z} m: the lower end must be the lower one"
    )]
    Heights {
        /// The obstacle.
        id: String,
        /// Lower end \[m\].
        min_z: f64,
        /// Upper end \[m\].
        max_z: f64,
    },
}

/// Name of the ground in contacts.
pub const GROUND: &str = "ground";

/// A convex piece of an obstacle.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    /// Index of its obstacle.
    pub obstacle: usize,
    /// Corners x, y \[m\], counter-clockwise.
    corners: Vec<[f64; 2]>,
    /// Upright faces: outward unit normal x, y, and the distance from the origin along it \[m\].
    faces: Vec<[f64; 3]>,
    pub low: Vector,
    pub high: Vector,
    pub footprint: Footprint,
}

impl Piece {
    fn new(obstacle: usize, corners: Vec<[f64; 2]>, min_z: f64, max_z: f64) -> Self {
        let fold = |axis: usize, with: fn(f64, f64) -> f64, start: f64| {
            corners.iter().map(|corner| corner[axis]).fold(start, with)
        };
        let low = Vector::new(
            fold(0, f64::min, f64::INFINITY),
            fold(1, f64::min, f64::INFINITY),
            min_z,
        );
        let high = Vector::new(
            fold(0, f64::max, f64::NEG_INFINITY),
            fold(1, f64::max, f64::NEG_INFINITY),
            max_z,
        );
        let next = corners.iter().cycle().skip(1);
        let faces = corners.iter().zip(next).filter_map(|(a, b)| {
            let (x, y) = (b[1] - a[1], a[0] - b[0]);
            let length = x.hypot(y);
            if length <= 0.0 {
                return None;
            }
            let (x, y) = (x / length, y / length);
            // The farthest corner, not the edge: then no rounding cuts a corner off.
            let far = corners.iter().map(|c| x * c[0] + y * c[1]);
            Some([x, y, far.fold(f64::NEG_INFINITY, f64::max)])
        });
        Self {
            obstacle,
            faces: faces.collect(),
            footprint: Footprint::new(&corners, min_z, max_z),
            corners,
            low,
            high,
        }
    }

    /// The farthest point along `direction`.
    #[inline]
    pub fn support(&self, direction: Vector) -> Vector {
        let mut best = [0.0; 2];
        let mut most = f64::NEG_INFINITY;
        for &corner in &self.corners {
            let along = corner[0] * direction.x + corner[1] * direction.y;
            if along > most {
                most = along;
                best = corner;
            }
        }
        let z = if direction.z > 0.0 {
            self.high.z
        } else {
            self.low.z
        };
        Vector::new(best[0], best[1], z)
    }

    /// The face (outward normal) whose plane is farthest before a segment, and by how much \[m\]:
    /// the segment is at least that far away.
    #[inline]
    pub fn best_face(&self, [a, b]: [Vector; 2]) -> (Vector, f64) {
        let mut best = (Vector::Z, a.z.min(b.z) - self.high.z);
        let below = self.low.z - a.z.max(b.z);
        if below > best.1 {
            best = (-Vector::Z, below);
        }
        for &[x, y, far] in &self.faces {
            let before = (x * a.x + y * a.y).min(x * b.x + y * b.y) - far;
            if before > best.1 {
                best = (Vector::new(x, y, 0.0), before);
            }
        }
        best
    }
}

impl SupportMap for Piece {
    fn local_support_point(&self, direction: Vector) -> Vector {
        self.support(direction)
    }
}

/// Obstacles cut into convex pieces, in the chain's base frame.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CollisionWorld {
    ids: Vec<String>,
    pub(super) pieces: Vec<Piece>,
    pub(super) blocks: Blocks,
    pub(super) ground: Option<f64>,
    /// Where less than the clearance is demanded, see [`super::CollisionModel::stand`].
    pub(super) eases: Vec<Ease>,
}

impl CollisionWorld {
    /// Prepares `prisms`.
    ///
    /// # Errors
    /// [`WorldError`], for the first obstacle that cannot be used.
    pub fn new(prisms: &[Prism]) -> Result<Self, WorldError> {
        let mut world = Self::default();
        for (obstacle, prism) in prisms.iter().enumerate() {
            let id = || prism.id.clone();
            let (min_z, max_z) = (prism.min_z.max(-FAR), prism.max_z.min(FAR));
            // `max` and `min` would hide a NaN.
            if prism.min_z.is_nan() || prism.max_z.is_nan() || prism.min_z > prism.max_z {
                return Err(WorldError::Heights {
                    id: id(),
                    min_z: prism.min_z,
                    max_z: prism.max_z,
                });
            }
            let pieces = convex_pieces(&prism.polygon).map_err(|fault| match fault {
                Fault::NoArea => WorldError::NoArea { id: id() },
                Fault::SelfCrossing => WorldError::SelfCrossing { id: id() },
                Fault::Coordinate => WorldError::Coordinate { id: id() },
            })?;
            world.ids.push(id());
            if min_z > max_z {
                // All of it lies beyond the far end.
                continue;
            }
            for corners in pieces {
                world
                    .pieces
                    .push(Piece::new(obstacle, corners, min_z, max_z));
            }
        }
        let boxes: Vec<(Vector, Vector)> = world.pieces.iter().map(|p| (p.low, p.high)).collect();
        world.blocks = Blocks::new(&boxes);
        Ok(world)
    }

    /// The same with solid ground up to a height \[m\] in the base frame, which moving links keep
    /// the clearance from; contacts call it [`GROUND`]. NaN is no ground.
    #[must_use]
    pub fn with_ground(mut self, height: f64) -> Self {
        self.ground = Some(height).filter(|height| !height.is_nan());
        self
    }

    /// Height of the ground \[m\], if there is one.
    pub fn ground(&self) -> Option<f64> {
        self.ground
    }

    /// The obstacles' names, in the order given.
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Whether there is neither an obstacle nor ground.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty() && self.ground.is_none()
    }
}
