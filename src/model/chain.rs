//! A serial chain from a base link to a tip link, as flat arrays.
//!
//! Fixed joints are folded into the transforms between moving joints, and
//! followers (`<mimic>`) into the degrees of freedom that drive them, so that
//! kinematics and solvers see nothing but `q`, one number a degree of freedom.

use nalgebra::{Isometry3, Unit, Vector3};

/// How a degree of freedom may move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DofKind {
    /// Turns within limits \[rad\].
    Revolute,
    /// Turns without limits \[rad\].
    Continuous,
    /// Slides within limits \[m\].
    Prismatic,
}

/// One independent joint value of a chain: an element of `q`.
#[derive(Debug, Clone, PartialEq)]
pub struct Dof {
    /// The URDF joint's name, as in `sensor_msgs/JointState`.
    pub name: String,
    /// How it moves.
    pub kind: DofKind,
    /// Smallest value \[rad or m\]; minus infinity where there is no limit. Limits of
    /// followers are already taken into account.
    pub lower: f64,
    /// Largest value \[rad or m\]; infinity where there is no limit.
    pub upper: f64,
    /// Largest speed \[rad/s or m/s\], `None` where the URDF has none (or zero, as CAD exports do).
    pub velocity: Option<f64>,
}

impl Dof {
    /// The middle of the range; zero (or the limit nearest to it) where the range is not bounded.
    pub fn middle(&self) -> f64 {
        if self.lower.is_finite() && self.upper.is_finite() {
            0.5 * self.lower + 0.5 * self.upper
        } else {
            self.clamp(0.0)
        }
    }

    /// The value inside the limits that is nearest to `value`.
    pub fn clamp(&self, value: f64) -> f64 {
        // Not `f64::clamp`, which panics on NaN limits.
        value.max(self.lower).min(self.upper)
    }

    /// Whether `value` lies inside the limits; not for NaN.
    pub fn contains(&self, value: f64) -> bool {
        self.lower <= value && value <= self.upper
    }
}

/// What a moving joint does with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    /// Turns about its axis.
    Rotation,
    /// Slides along its axis.
    Translation,
}

/// A moving joint of the chain.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainJoint {
    /// The URDF joint's name.
    pub name: String,
    /// The constant transform from the frame after the previous moving joint (or the base)
    /// to this joint's frame at value zero.
    pub before: Isometry3<f64>,
    /// Axis in this joint's frame, unit length.
    pub axis: Unit<Vector3<f64>>,
    /// Turning or sliding.
    pub motion: Motion,
    /// Which element of `q` moves it.
    pub dof: usize,
    /// Joint value = `multiplier * q[dof] + offset`; 1 and 0 unless it is a follower.
    pub multiplier: f64,
    /// See [`ChainJoint::multiplier`] \[rad or m\].
    pub offset: f64,
}

impl ChainJoint {
    /// This joint's own value for the chain's `q`; NaN if `q` is too short.
    pub fn value(&self, q: &[f64]) -> f64 {
        self.multiplier * q.get(self.dof).copied().unwrap_or(f64::NAN) + self.offset
    }

    /// The transform from the frame before this joint's motion to the frame after it.
    pub fn motion(&self, value: f64) -> Isometry3<f64> {
        match self.motion {
            Motion::Rotation => Isometry3::from_parts(
                Vector3::zeros().into(),
                nalgebra::UnitQuaternion::from_axis_angle(&self.axis, value),
            ),
            Motion::Translation => Isometry3::from_parts(
                (self.axis.into_inner() * value).into(),
                nalgebra::UnitQuaternion::identity(),
            ),
        }
    }
}

/// A link that the chain carries.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainLink {
    /// The URDF link's name.
    pub name: String,
    /// How many of the chain's moving joints lie between the base and the link.
    pub after_joints: usize,
    /// From the frame after the last of these joints (or the base) to the link's frame.
    pub offset: Isometry3<f64>,
}

/// A serial chain, base to tip. Immutable once built.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// Name of the base link, in whose frame targets are given.
    pub base: String,
    /// Name of the tip link.
    pub tip: String,
    /// The degrees of freedom in chain order; their number is the length of `q`.
    pub dofs: Vec<Dof>,
    /// The moving joints in order from base to tip (followers included).
    pub joints: Vec<ChainJoint>,
    /// From the frame after the last moving joint to the tip link's frame.
    pub tip_offset: Isometry3<f64>,
    /// All links from the base to the tip, both included.
    pub links: Vec<ChainLink>,
}

impl Chain {
    /// The number of degrees of freedom, the length of `q`.
    pub fn dof(&self) -> usize {
        self.dofs.len()
    }

    /// Names of the degrees of freedom, in the order of `q`.
    pub fn joint_names(&self) -> Vec<String> {
        self.dofs.iter().map(|dof| dof.name.clone()).collect()
    }

    /// Position of the degree of freedom called `name` in `q`.
    pub fn dof_index(&self, name: &str) -> Option<usize> {
        self.dofs.iter().position(|dof| dof.name == name)
    }

    /// The middle of all ranges, see [`Dof::middle`].
    pub fn middle(&self) -> Vec<f64> {
        self.dofs.iter().map(Dof::middle).collect()
    }

    /// Whether `q` has the right length and lies inside all limits.
    pub fn within_limits(&self, q: &[f64]) -> bool {
        q.len() == self.dofs.len()
            && self
                .dofs
                .iter()
                .zip(q)
                .all(|(dof, &value)| dof.contains(value))
    }

    /// An upper bound of the distance \[m\] between the first moving joint's origin and the tip,
    /// and that origin in the base frame. Infinite where a sliding joint has no limit.
    pub fn reach(&self) -> (Vector3<f64>, f64) {
        let Some(first) = self.joints.first() else {
            return (self.tip_offset.translation.vector, 0.0);
        };
        let mut reach = self.tip_offset.translation.vector.norm();
        for (position, joint) in self.joints.iter().enumerate() {
            if position > 0 {
                reach += joint.before.translation.vector.norm();
            }
            if joint.motion == Motion::Translation {
                let travel = self.dofs.get(joint.dof).map_or(f64::INFINITY, |dof| {
                    let low = joint.multiplier * dof.lower + joint.offset;
                    let high = joint.multiplier * dof.upper + joint.offset;
                    low.abs().max(high.abs())
                });
                reach += travel;
            }
        }
        (first.before.translation.vector, reach)
    }
}
