//! The latest transform of every frame that was heard of on `/tf` and `/tf_static`.

use std::collections::HashMap;

use nalgebra::Isometry3;

/// A transform that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TfFault {
    /// A frame without a name.
    #[error("TF: a transform from \"{parent}\" to \"{child}\" lacks a name; ignored")]
    Unnamed {
        /// The parent frame.
        parent: String,
        /// The child frame.
        child: String,
    },
    /// A frame that is its own parent.
    #[error("TF: frame \"{frame}\" is its own parent; ignored")]
    OwnParent {
        /// The frame.
        frame: String,
    },
}

/// Where a frame hangs.
#[derive(Debug, Clone, PartialEq)]
pub struct Hung {
    /// The parent frame.
    pub parent: String,
    /// Pose of the frame in its parent.
    pub pose: Isometry3<f64>,
}

/// A forest of frames; the latest transform replaces the one before.
#[derive(Debug, Clone, Default)]
pub struct TfBuffer {
    frames: HashMap<String, Hung>,
}

/// Frame names of ROS 1 began with a slash.
fn bare(name: &str) -> &str {
    name.trim_start_matches('/')
}

impl TfBuffer {
    /// Takes the pose of `child` in `parent`.
    ///
    /// # Errors
    /// [`TfFault`]: nothing was taken.
    pub fn insert(
        &mut self,
        parent: &str,
        child: &str,
        pose: Isometry3<f64>,
    ) -> Result<(), TfFault> {
        let (parent, child) = (bare(parent), bare(child));
        if parent.is_empty() || child.is_empty() {
            return Err(TfFault::Unnamed {
                parent: parent.into(),
                child: child.into(),
            });
        }
        if parent == child {
            return Err(TfFault::OwnParent {
                frame: child.into(),
            });
        }
        match self.frames.get_mut(child) {
            Some(known) if known.parent == parent => known.pose = pose,
            _ => {
                self.frames.insert(
                    child.to_owned(),
                    Hung {
                        parent: parent.to_owned(),
                        pose,
                    },
                );
            }
        }
        Ok(())
    }

    /// Where the frame hangs; `None` for roots and unknown frames.
    pub fn parent(&self, frame: &str) -> Option<&Hung> {
        self.frames.get(frame)
    }

    /// Whether the frame was heard of, as a child or as a parent.
    pub fn knows(&self, frame: &str) -> bool {
        self.frames.contains_key(frame) || self.frames.values().any(|hung| hung.parent == frame)
    }

    /// All frames that were heard of, in no order, some of them more than once.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let parents = self.frames.values().map(|hung| hung.parent.as_str());
        self.frames.keys().map(String::as_str).chain(parents)
    }
}
