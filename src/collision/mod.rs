//! The whole arm against obstacles and against itself.
//!
//! Every shape is a convex core with a radius around it (a sphere is a point, a capsule a line, a
//! mesh the hull of its points); obstacles are prisms, cut into convex pieces. Distances are those
//! of the GJK algorithm \[Gilbert1988\] in `parry3d`.

mod arm;
mod blocks;
mod bodies;
mod cover;
mod decompose;
mod ease;
mod footprint;
mod frames;
mod hull;
mod mesh;
mod motion;
mod narrow;
mod near;
mod pairs;
mod shape;
mod sweep;
mod tally;
mod travel;
mod world;

pub use arm::{CheckError, CheckScratch, CollisionModel, Contact, Obstacle};
pub use bodies::{CollisionOptions, CollisionWarning, MeshSource};
pub use ease::{Nearness, Stand, TOUCHING};
pub use mesh::{mesh_points, MeshError, MeshParts, MeshStore};
pub use motion::{MotionChecker, MotionVerdict};
pub use pairs::AllowedPair;
pub(crate) use pairs::Samples;
pub use sweep::{MotionContact, PathContact};
pub use tally::ContactTally;
pub use world::{CollisionWorld, Prism, WorldError, GROUND};
