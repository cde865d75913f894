//! Where a frame lies in the arm's base: robot links through the description and the joint
//! states, everything else through TF.

use std::time::Duration;

use nalgebra::Isometry3;

use super::joint_states::{JointStates, StateError};
use super::tf_buffer::TfBuffer;
use crate::model::{did_you_mean, JointKind, Motion, RobotModel};

/// Why a frame cannot be related to the base.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FrameError {
    /// Neither a link nor a frame of TF.
    #[error("frame \"{frame}\" is not known{hint}: it is neither a link of the robot nor {}; known frames: {}", if *tf { "a frame heard of on TF" } else { "can TF be asked (the node was built without tf2_msgs)" }, known.join(", "))]
    Unknown {
        /// The name as sent.
        frame: String,
        /// `; did you mean …?` or empty.
        hint: String,
        /// Whether there is TF.
        tf: bool,
        /// What is known, sorted.
        known: Vec<String>,
    },
    /// Known, but not connected to the base.
    #[error("frame \"{frame}\" is not connected to the base link \"{base}\": its tree ends at \"{frame_root}\", the base's at \"{base_root}\"; publish a transform between them")]
    NotConnected {
        /// The frame.
        frame: String,
        /// The base link.
        base: String,
        /// Where the frame's tree ends.
        frame_root: String,
        /// Where the base's tree ends.
        base_root: String,
    },
    /// TF runs in a circle.
    #[error("the transforms above frame \"{frame}\" run in a circle ({}): two publishers disagree on a parent", circle.join(" -> "))]
    Circle {
        /// The frame.
        frame: String,
        /// The frames on the way.
        circle: Vec<String>,
    },
    /// The frame moves with joints whose state is not known.
    #[error("frame \"{frame}\" moves with the robot's joints: {error}")]
    State {
        /// The frame.
        frame: String,
        /// What is missing.
        error: StateError,
    },
    /// The frame hangs on a joint that has no single value.
    #[error("frame \"{frame}\" hangs on joint \"{joint}\", which is floating or planar: its pose cannot be known")]
    Unsupported {
        /// The frame.
        frame: String,
        /// The joint.
        joint: String,
    },
}

/// A frame's pose in the base.
#[derive(Debug, Clone, PartialEq)]
pub struct InBase {
    /// Pose of the frame in the base.
    pub pose: Isometry3<f64>,
    /// What a user should know of how the name was read.
    pub note: Option<String>,
}

/// Everything that frames are looked up in.
#[derive(Clone, Copy)]
pub struct Frames<'a> {
    /// The robot.
    pub model: &'a RobotModel,
    /// Name of the arm's base link.
    pub base: &'a str,
    /// State of its joints.
    pub states: &'a JointStates,
    /// Now, on the steady clock of `states`.
    pub now: Duration,
    /// Greatest age of a joint state \[s\].
    pub max_age: f64,
    /// TF, where the node was built with it.
    pub tf: Option<&'a TfBuffer>,
}

/// What a frame hangs on its parent by.
enum Edge {
    Joint(usize),
    Transform(Isometry3<f64>),
}

struct Step {
    frame: String,
    /// How the frame hangs on the next one of the list; `None` for the root.
    edge: Option<Edge>,
}

impl Frames<'_> {
    /// The pose of `frame` in the base. Empty means the base; a leading slash is taken off; both
    /// are noted.
    ///
    /// # Errors
    /// See [`FrameError`].
    pub fn resolve(&self, frame: &str) -> Result<InBase, FrameError> {
        if frame.is_empty() {
            let note = format!(
                "the frame was empty: taken as the base link \"{}\"",
                self.base
            );
            return Ok(InBase {
                pose: Isometry3::identity(),
                note: Some(note),
            });
        }
        let bare = frame.trim_start_matches('/');
        if bare.is_empty() || !self.knows(bare) {
            return Err(self.unknown(frame, bare));
        }
        let note = (bare != frame).then(|| {
            format!("frame \"{frame}\" was read as \"{bare}\" (no leading slash in ROS 2)")
        });
        if bare == self.base {
            return Ok(InBase {
                pose: Isometry3::identity(),
                note,
            });
        }
        let up = self.ancestors(bare)?;
        let base_up = self.ancestors(self.base)?;
        let common = up.iter().enumerate().find_map(|(index, step)| {
            let other = base_up.iter().position(|other| other.frame == step.frame)?;
            Some((index, other))
        });
        let Some((index, other)) = common else {
            let root = |list: &[Step]| list.last().map_or(String::new(), |step| step.frame.clone());
            return Err(FrameError::NotConnected {
                frame: bare.to_owned(),
                base: self.base.to_owned(),
                frame_root: root(&up),
                base_root: root(&base_up),
            });
        };
        let frame_in_common = self.compose(bare, up.get(..index).unwrap_or_default())?;
        let base_in_common = self.compose(bare, base_up.get(..other).unwrap_or_default())?;
        Ok(InBase {
            pose: base_in_common.inv_mul(&frame_in_common),
            note,
        })
    }

    /// Whether the pose of `frame` in the base changes when joints of the robot move.
    pub fn moves(&self, frame: &str) -> bool {
        let bare = frame.trim_start_matches('/');
        if bare.is_empty() || bare == self.base || !self.knows(bare) {
            return false;
        }
        let (Ok(up), Ok(base_up)) = (self.ancestors(bare), self.ancestors(self.base)) else {
            return false;
        };
        let common = |step: &&Step| base_up.iter().any(|other| other.frame == step.frame);
        let moving = |step: &Step| match step.edge {
            Some(Edge::Joint(joint)) => {
                let joint = self.model.joints.get(joint);
                joint.is_some_and(|joint| joint.kind != JointKind::Fixed)
            }
            _ => false,
        };
        let meet = up.iter().find(common).map(|step| step.frame.clone());
        let until = |step: &&Step| Some(&step.frame) != meet.as_ref();
        up.iter().take_while(until).any(moving) || base_up.iter().take_while(until).any(moving)
    }

    fn knows(&self, frame: &str) -> bool {
        self.model.link_index(frame).is_some() || self.tf.is_some_and(|tf| tf.knows(frame))
    }

    fn unknown(&self, frame: &str, bare: &str) -> FrameError {
        let links = self.model.links.iter().map(|link| link.name.as_str());
        let others = self.tf.into_iter().flat_map(TfBuffer::names);
        let mut known: Vec<&str> = links.chain(others).collect();
        known.sort_unstable();
        known.dedup();
        FrameError::Unknown {
            frame: frame.to_owned(),
            hint: did_you_mean(bare, known.iter().copied()),
            tf: self.tf.is_some(),
            known: known.into_iter().map(str::to_owned).collect(),
        }
    }

    /// The frame and everything above it. Inside the robot its description holds, whatever TF says:
    /// it may be late, or come from a publisher that follows something else.
    fn ancestors(&self, frame: &str) -> Result<Vec<Step>, FrameError> {
        let mut steps: Vec<Step> = Vec::new();
        let mut current = frame.to_owned();
        loop {
            if steps.iter().any(|step| step.frame == current) {
                let mut circle: Vec<String> = steps.into_iter().map(|step| step.frame).collect();
                circle.push(current);
                return Err(FrameError::Circle {
                    frame: frame.to_owned(),
                    circle,
                });
            }
            let joint = self
                .model
                .link_index(&current)
                .and_then(|link| self.model.links.get(link)?.parent_joint);
            let parent_link = joint
                .and_then(|joint| self.model.joints.get(joint))
                .and_then(|joint| self.model.links.get(joint.parent));
            let (edge, parent) = match (joint, parent_link) {
                (Some(joint), Some(link)) => (Edge::Joint(joint), link.name.clone()),
                _ => match self.tf.and_then(|tf| tf.parent(&current)) {
                    Some(hung) => (Edge::Transform(hung.pose), hung.parent.clone()),
                    None => {
                        steps.push(Step {
                            frame: current,
                            edge: None,
                        });
                        return Ok(steps);
                    }
                },
            };
            steps.push(Step {
                frame: current,
                edge: Some(edge),
            });
            current = parent;
        }
    }

    /// Pose of the first frame of `steps` in the one above the last. `asked` is for errors.
    fn compose(&self, asked: &str, steps: &[Step]) -> Result<Isometry3<f64>, FrameError> {
        let mut pose = Isometry3::identity();
        for step in steps {
            let in_parent = match &step.edge {
                Some(Edge::Transform(transform)) => *transform,
                Some(Edge::Joint(joint)) => self.joint_pose(asked, *joint)?,
                None => Isometry3::identity(),
            };
            pose = in_parent * pose;
            pose.rotation.renormalize_fast();
        }
        Ok(pose)
    }

    fn joint_pose(&self, asked: &str, index: usize) -> Result<Isometry3<f64>, FrameError> {
        let Some(joint) = self.model.joints.get(index) else {
            return Ok(Isometry3::identity());
        };
        let motion = match joint.kind {
            JointKind::Fixed => return Ok(joint.origin),
            JointKind::Revolute | JointKind::Continuous => Motion::Rotation,
            JointKind::Prismatic => Motion::Translation,
            JointKind::Floating | JointKind::Planar => {
                return Err(FrameError::Unsupported {
                    frame: asked.to_owned(),
                    joint: joint.name.clone(),
                })
            }
        };
        let value = self
            .states
            .fresh_position(self.model, index, self.now, self.max_age)
            .map_err(|error| FrameError::State {
                frame: asked.to_owned(),
                error,
            })?;
        let moved = match motion {
            Motion::Rotation => Isometry3::from_parts(
                nalgebra::Translation3::identity(),
                nalgebra::UnitQuaternion::from_axis_angle(&joint.axis, value),
            ),
            Motion::Translation => Isometry3::from_parts(
                (joint.axis.into_inner() * value).into(),
                nalgebra::UnitQuaternion::identity(),
            ),
        };
        Ok(joint.origin * moved)
    }
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
