//! What was put right in a ring, and why a ring is refused.

use std::fmt;

use nalgebra::Point2;

use super::polygon::MAX_COORDINATE;

/// Something that was put right in a ring; vertices are counted as sent, from 0.
#[derive(Debug, Clone, PartialEq)]
pub enum Repair {
    /// The last vertices repeated the first one.
    ClosingVertex {
        /// The vertex left out.
        vertex: usize,
    },
    /// A vertex repeated the one before it.
    RepeatedVertex {
        /// The vertex left out.
        vertex: usize,
    },
    /// A vertex lay on the straight line between its neighbours.
    CollinearVertex {
        /// The vertex left out.
        vertex: usize,
    },
    /// The ring went out and came back along the same line; the spike is kept
    /// as a wall without thickness ([`super::Polygon::walls`]).
    Spike {
        /// The tip of the spike.
        vertex: usize,
        /// Its length. \[m\]
        length: f64,
    },
    /// The ring was clockwise.
    Reversed,
    /// The ring crossed or touched itself and was resolved by the non-zero rule.
    Resolved {
        /// Number of polygons that it became.
        parts: usize,
    },
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Repair::ClosingVertex { vertex } => {
                write!(f, "vertex {vertex} repeats the first one: left out")
            }
            Repair::RepeatedVertex { vertex } => {
                write!(f, "vertex {vertex} repeats the one before it: left out")
            }
            Repair::CollinearVertex { vertex } => {
                write!(f, "vertex {vertex} lies on a straight edge: left out")
            }
            Repair::Spike { vertex, length } => write!(
                f,
                "vertex {vertex} is the tip of a spike of {length} m without width: kept as a wall"
            ),
            Repair::Reversed => write!(f, "the ring was clockwise: reversed"),
            Repair::Resolved { parts } => {
                write!(
                    f,
                    "the ring crossed or touched itself: resolved into {parts} polygon(s)"
                )
            }
        }
    }
}

/// Why a ring is no polygon; vertices are counted as sent, from 0.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PolygonError {
    /// Fewer than three different corners.
    #[error("polygon '{id}' has {distinct} different corner(s) among {sent} vertices: at least three are needed")]
    TooFewCorners {
        /// The polygon.
        id: String,
        /// Number of vertices as sent.
        sent: usize,
        /// Number of vertices after repeated ones were left out.
        distinct: usize,
    },
    /// A coordinate is NaN or infinite.
    #[error("polygon '{id}', vertex {vertex}: coordinate ({x}, {y}) is not finite")]
    NotFinite {
        /// The polygon.
        id: String,
        /// The vertex.
        vertex: usize,
        /// Its first coordinate.
        x: f64,
        /// Its second coordinate.
        y: f64,
    },
    /// A coordinate is beyond [`MAX_COORDINATE`].
    #[error("polygon '{id}', vertex {vertex}: coordinate ({x}, {y}) is out of range, at most {MAX_COORDINATE} m is allowed")]
    TooLarge {
        /// The polygon.
        id: String,
        /// The vertex.
        vertex: usize,
        /// Its first coordinate.
        x: f64,
        /// Its second coordinate.
        y: f64,
    },
    /// All vertices lie on one line.
    #[error("polygon '{id}' has no area: its vertices lie on one line, from vertex {vertex} on; send a wall with its thickness")]
    ZeroArea {
        /// The polygon.
        id: String,
        /// A vertex of the line.
        vertex: usize,
    },
    /// Two edges cross.
    #[error("polygon '{id}' crosses itself: the edges after vertices {first} and {second} cross near ({}, {}); send the corners in order, or let self-crossings be resolved", at.x, at.y)]
    SelfCrossing {
        /// The polygon.
        id: String,
        /// Vertex at which the first edge starts.
        first: usize,
        /// Vertex at which the second edge starts.
        second: usize,
        /// Where they cross, rounded.
        at: Point2<f64>,
    },
    /// Two edges that are not neighbours touch.
    #[error("polygon '{id}' touches itself: the edges after vertices {first} and {second} touch; send its parts as polygons of their own, or let self-crossings be resolved")]
    SelfTouching {
        /// The polygon.
        id: String,
        /// Vertex at which the first edge starts.
        first: usize,
        /// Vertex at which the second edge starts.
        second: usize,
    },
    /// The clipping library returned nothing for a ring that has an area.
    #[error(
        "polygon '{id}' could not be resolved into simple polygons; send the corners in order"
    )]
    Unresolvable {
        /// The polygon.
        id: String,
    },
}
