//! The obstacles that are known, in the arm's base frame, and changes to them.
//!
//! A message is applied as a whole or not at all: with one obstacle that is not valid nothing
//! changes, so what was accepted before stays where it was.

use std::collections::BTreeMap;

use nalgebra::{Isometry3, Point2, Point3, Vector3};
use r2r::arm_planner_msgs::msg::PolygonObstacle;
use r2r::geometry_msgs;

use super::codes::{Code, Failure};
use super::frames::{FrameError, Frames};
use crate::planar::{Polygon, PolygonError, PolygonOptions, Repair};
use crate::planning::Obstacle;

/// Greatest angle between an obstacle frame's z axis and that of the base \[rad\]: a millimetre
/// at a metre's distance.
const TILT_TOLERANCE: f64 = 1e-3;

/// What is to be done with an obstacle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Add it, or replace the one of that name.
    Add,
    /// Remove it.
    Remove,
    /// A number that the interface does not know.
    Unknown(u8),
}

/// An obstacle as it was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    /// Name.
    pub id: String,
    /// Frame, may be empty.
    pub frame: String,
    /// What to do.
    pub operation: Operation,
    /// Corners in that frame \[m\].
    pub corners: Vec<Point2<f64>>,
    /// Lower end along the frame's z \[m\].
    pub min_height: f64,
    /// Upper end \[m\]; both 0: unbounded.
    pub max_height: f64,
}

/// Why an obstacle is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ObstacleError {
    /// Without a name it could not be replaced or removed.
    #[error("obstacle number {number} of the message has no id: give it one")]
    NoId {
        /// Which one, from 1.
        number: usize,
    },
    /// Not a simple polygon.
    #[error("obstacle \"{id}\": {error}")]
    Polygon {
        /// The obstacle.
        id: String,
        /// Why.
        error: PolygonError,
    },
    /// Its frame cannot be used.
    #[error("obstacle \"{id}\": {error}")]
    Frame {
        /// The obstacle.
        id: String,
        /// Why.
        error: Box<FrameError>,
    },
    /// Its frame is tilted.
    #[error("obstacle \"{id}\": frame \"{frame}\" is tilted by {angle:.4} rad against the base; obstacles are vertical prisms, send it in a frame whose z axis is parallel to that of the base")]
    Tilted {
        /// The obstacle.
        id: String,
        /// Its frame.
        frame: String,
        /// Angle between the z axes \[rad\].
        angle: f64,
    },
    /// Heights that leave nothing, or are NaN.
    #[error("obstacle \"{id}\": heights from {min} to {max} enclose nothing; give min_height below max_height, or 0 and 0 for unbounded")]
    Heights {
        /// The obstacle.
        id: String,
        /// Lower end \[m\].
        min: f64,
        /// Upper end \[m\].
        max: f64,
    },
    /// Removing what is not there.
    #[error("obstacle \"{id}\" cannot be removed, it is not known; known: {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    NotThere {
        /// The name.
        id: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// An operation that the interface does not know.
    #[error("obstacle \"{id}\": operation {operation} does not exist, use ADD (0) or REMOVE (1)")]
    UnknownOperation {
        /// The obstacle.
        id: String,
        /// The number.
        operation: u8,
    },
}

impl From<&ObstacleError> for Failure {
    fn from(error: &ObstacleError) -> Self {
        let code = match error {
            ObstacleError::Frame { .. } => Code::FrameTransformFailure,
            ObstacleError::NotThere { .. } => Code::InvalidObjectName,
            _ => Code::InvalidObstacle,
        };
        Failure::new(code, error.to_string())
    }
}

/// One failure for everything that is wrong with a message.
pub fn failure(errors: &[ObstacleError]) -> Failure {
    let code = errors
        .first()
        .map_or(Code::InvalidObstacle, |error| Failure::from(error).code);
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Failure::new(code, texts.join("; "))
}

/// An obstacle from a message; `frame` is taken where its own is empty.
pub fn sent_from(message: &PolygonObstacle, frame: &str) -> Sent {
    let own = &message.header.frame_id;
    let operation = match message.operation {
        operation if operation == PolygonObstacle::ADD as u8 => Operation::Add,
        operation if operation == PolygonObstacle::REMOVE as u8 => Operation::Remove,
        other => Operation::Unknown(other),
    };
    Sent {
        id: message.id.clone(),
        frame: if own.is_empty() {
            frame.to_owned()
        } else {
            own.clone()
        },
        operation,
        corners: corners_from(&message.polygon),
        min_height: message.min_height,
        max_height: message.max_height,
    }
}

/// The corners of a polygon message.
pub fn corners_from(polygon: &geometry_msgs::msg::Polygon) -> Vec<Point2<f64>> {
    let corner = |p: &geometry_msgs::msg::Point32| Point2::new(f64::from(p.x), f64::from(p.y));
    polygon.points.iter().map(corner).collect()
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// The obstacles afterwards.
    pub set: ObstacleSet,
    /// What a user should know: frames read in a forgiving way, repairs of polygons.
    pub notes: Vec<String>,
    /// Whether a polygon was repaired in a way that changes what a user would see.
    pub repaired: bool,
}

/// All known obstacles; immutable, a change makes a new set.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ObstacleSet {
    /// An obstacle that crossed itself and was resolved has several parts.
    by_id: BTreeMap<String, Vec<Obstacle>>,
    list: Vec<Obstacle>,
}

impl ObstacleSet {
    /// The obstacles, in the order of their names.
    pub fn list(&self) -> &[Obstacle] {
        &self.list
    }

    /// The number of names.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// The names.
    pub fn ids(&self) -> Vec<String> {
        self.by_id.keys().cloned().collect()
    }

    /// A name that starts with `stem` and is not taken.
    pub fn free_id(&self, stem: &str) -> String {
        let mut number = self.by_id.len() + 1;
        loop {
            let id = format!("{stem}_{number}");
            if !self.by_id.contains_key(&id) {
                return id;
            }
            number += 1;
        }
    }

    /// The name of an obstacle of exactly this shape.
    pub fn same_shape(
        &self,
        other: &Sent,
        frames: &Frames<'_>,
        options: &PolygonOptions,
    ) -> Option<&str> {
        let parts = placed(other, frames, options).ok()?.parts;
        let found = self.by_id.iter().find(|(_, known)| {
            known.len() == parts.len()
                && known.iter().zip(&parts).all(|(a, b)| {
                    a.polygon == b.polygon
                        && (a.min_height, a.max_height) == (b.min_height, b.max_height)
                })
        });
        found.map(|(id, _)| id.as_str())
    }

    /// This set with the changes applied in their order, after forgetting everything if `replace_all`.
    ///
    /// # Errors
    /// Everything that is wrong with the message; then nothing of it may be applied.
    pub fn changed(
        &self,
        changes: &[Sent],
        replace_all: bool,
        frames: &Frames<'_>,
        options: &PolygonOptions,
    ) -> Result<Applied, Vec<ObstacleError>> {
        let mut set = if replace_all {
            ObstacleSet::default()
        } else {
            self.clone()
        };
        let (mut errors, mut notes, mut repaired) = (Vec::new(), Vec::new(), false);
        for (index, change) in changes.iter().enumerate() {
            let id = &change.id;
            if id.is_empty() {
                errors.push(ObstacleError::NoId { number: index + 1 });
                continue;
            }
            match change.operation {
                Operation::Remove => {
                    if set.by_id.remove(id).is_none() {
                        errors.push(ObstacleError::NotThere {
                            id: id.clone(),
                            known: set.ids(),
                        });
                    }
                }
                Operation::Unknown(operation) => {
                    errors.push(ObstacleError::UnknownOperation {
                        id: id.clone(),
                        operation,
                    });
                }
                Operation::Add => match placed(change, frames, options) {
                    Ok(placed) => {
                        set.by_id.insert(id.clone(), placed.parts);
                        notes.extend(placed.notes);
                        repaired |= placed.repaired;
                    }
                    Err(error) => errors.push(error),
                },
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        set.list = set.by_id.values().flatten().cloned().collect();
        Ok(Applied {
            set,
            notes,
            repaired,
        })
    }
}

/// Angle between a frame's z axis and the base's, and whether it hangs upside down.
fn tilt(pose: &Isometry3<f64>) -> (f64, bool) {
    let z = pose.rotation * Vector3::z();
    let angle = Vector3::new(z.x, z.y, 0.0).norm().atan2(z.z.abs());
    (angle, z.z < 0.0)
}

/// An obstacle in the base frame.
struct Placed {
    parts: Vec<Obstacle>,
    notes: Vec<String>,
    repaired: bool,
}

/// The obstacle in the base frame, with what is to be told.
fn placed(
    sent: &Sent,
    frames: &Frames<'_>,
    options: &PolygonOptions,
) -> Result<Placed, ObstacleError> {
    let id = &sent.id;
    let frame = frames
        .resolve(&sent.frame)
        .map_err(|error| ObstacleError::Frame {
            id: id.clone(),
            error: Box::new(error),
        })?;
    let (angle, upside_down) = tilt(&frame.pose);
    if angle > TILT_TOLERANCE {
        return Err(ObstacleError::Tilted {
            id: id.clone(),
            frame: sent.frame.clone(),
            angle,
        });
    }
    let (min, max) = (sent.min_height, sent.max_height);
    let (min_height, max_height) = if min == 0.0 && max == 0.0 {
        (f64::NEG_INFINITY, f64::INFINITY)
    } else if min < max {
        let z = frame.pose.translation.vector.z;
        if upside_down {
            (z - max, z - min)
        } else {
            (z + min, z + max)
        }
    } else {
        return Err(ObstacleError::Heights {
            id: id.clone(),
            min,
            max,
        });
    };
    // The corners' own z does not count: it may be NaN, or the height that a sensor saw.
    let corners: Vec<Point2<f64>> = sent
        .corners
        .iter()
        .map(|corner| (frame.pose * Point3::new(corner.x, corner.y, 0.0)).xy())
        .collect();
    let repaired =
        Polygon::from_ring(id, &corners, options).map_err(|error| ObstacleError::Polygon {
            id: id.clone(),
            error,
        })?;
    let mut notes: Vec<String> = frame.note.into_iter().collect();
    let repairs = repaired
        .repairs
        .iter()
        .filter(|repair| matters(repair))
        .map(Repair::to_string);
    let before = notes.len();
    notes.extend(repairs);
    let obstacle = |polygon| Obstacle {
        id: id.clone(),
        polygon,
        min_height,
        max_height,
    };
    Ok(Placed {
        repaired: notes.len() > before,
        notes: notes
            .into_iter()
            .map(|note| format!("obstacle \"{id}\": {note}"))
            .collect(),
        parts: repaired.polygons.into_iter().map(obstacle).collect(),
    })
}

/// Whether a repair changes what a user would see.
fn matters(repair: &Repair) -> bool {
    matches!(repair, Repair::Spike { .. } | Repair::Resolved { .. })
}

#[cfg(test)]
#[path = "obstacles_tests.rs"]
mod tests;
