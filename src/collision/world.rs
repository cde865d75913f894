//! Obstacles, prepared for checking.

use parry3d_f64::math::Vector;

use super::decompose::{convex_pieces, Fault};
use super::footprint::{Boxes, Footprint};
use super::shape::Core;

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

/// A convex piece of an obstacle.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    /// Index of its obstacle.
    pub obstacle: usize,
    pub core: Core,
    pub low: Vector,
    pub high: Vector,
}

/// Obstacles cut into convex pieces, in the chain's base frame.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CollisionWorld {
    ids: Vec<String>,
    pub(super) pieces: Vec<Piece>,
    /// The pieces again, for quick searches and distances.
    pub(super) boxes: Boxes,
    pub(super) footprints: Vec<Footprint>,
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
                let core = Core::Prism {
                    corners,
                    min_z,
                    max_z,
                };
                let (centre, half) = core.aabb();
                world.pieces.push(Piece {
                    obstacle,
                    core,
                    low: centre - half,
                    high: centre + half,
                });
            }
        }
        world.boxes = Boxes::new(&world.pieces);
        let pieces = world.pieces.iter();
        world.footprints = pieces.map(|piece| Footprint::new(&piece.core)).collect();
        Ok(world)
    }

    /// The obstacles' names, in the order given.
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Whether there is no obstacle.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}
