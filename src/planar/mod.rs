//! Exact geometry in the plane: obstacles, their clearance, and what is free.
//!
//! | file | holds |
//! |---|---|
//! | `predicates` | every decision on which side something lies, exactly |
//! | `sector` | the surroundings of a boundary point, and the contact rule |
//! | `polygon` | validated polygons from rings as users send them |
//! | `convex_hull` | hull of a point set |
//! | `offset` | inflation by a clearance |
//! | `distance` | distances of points and segments |
//! | `subdivision` | edges split until they meet only at their ends |
//! | `faces` | what lies between the pieces, and what covers it |
//! | `parts`, `order` | what has to be merged together; in which order all is numbered |
//! | `splice`, `update`, `retriangulation` | one obstacle changed without building everything again |
//! | `arrangement` | merged outlines: edges and corners without crossings |
//! | `triangulation` | the free space in triangles, and what is seen through them |
//! | `gaze`, `weak_visibility` | what is seen on short ways, and from where an edge is seen |
//! | `bodies`, `grid` | what blocks, flat, and found quickly |
//! | `world` | the obstacles, and every question about free space |
//! | `location` | where a point lies, the nearest free one |
//!
//! All coordinates are metres in one plane; all decisions are exact; only the
//! points where two outlines cross and those of inflated outlines are rounded.

pub mod arrangement;
mod bodies;
pub mod convex_hull;
pub mod distance;
mod faces;
pub(crate) mod gaze;
mod grid;
mod location;
pub mod offset;
mod order;
mod overlay;
mod parts;
pub mod polygon;
mod polygon_error;
pub mod predicates;
mod retriangulation;
pub mod sector;
pub(crate) mod splice;
mod subdivision;
pub mod triangulation;
mod update;
mod weak_visibility;
pub mod world;

pub use arrangement::{Arrangement, Edge, Vertex};
pub use offset::{Join, OffsetError};
pub use polygon::{Polygon, PolygonError, PolygonOptions, Repair, Repaired, SelfCrossing};
pub use sector::Contact;
pub use update::Edit;
pub use world::{Location, Obstacle, PlanarWorld, WorldError, WorldOptions};
