//! The whole robot: links and joints as a tree, checked and immutable.

use nalgebra::{Isometry3, Unit, Vector3};

use super::{Chain, ChainError, ModelError, ModelWarning};

/// The kinds of joints that URDF knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JointKind {
    /// Does not move.
    Fixed,
    /// Turns within limits.
    Revolute,
    /// Turns without limits.
    Continuous,
    /// Slides within limits.
    Prismatic,
    /// Six free directions: no chain may contain it.
    Floating,
    /// Three free directions: no chain may contain it.
    Planar,
}

impl JointKind {
    /// The word that URDF has for it.
    pub fn name(self) -> &'static str {
        match self {
            JointKind::Fixed => "fixed",
            JointKind::Revolute => "revolute",
            JointKind::Continuous => "continuous",
            JointKind::Prismatic => "prismatic",
            JointKind::Floating => "floating",
            JointKind::Planar => "planar",
        }
    }
}

/// What a joint may do, in SI units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointLimits {
    /// Smallest value \[rad or m\], minus infinity without a limit.
    pub lower: f64,
    /// Largest value \[rad or m\], infinity without a limit.
    pub upper: f64,
    /// Soft limits of `<safety_controller>`, intersected with the hard ones, where given and not empty.
    pub soft: Option<(f64, f64)>,
    /// Largest speed \[rad/s or m/s\]; `None` if missing, zero or not positive.
    pub velocity: Option<f64>,
    /// Largest effort \[Nm or N\]; `None` if missing or zero.
    pub effort: Option<f64>,
}

/// A follower: its value is `multiplier * value of driver + offset`. Chains of
/// followers are composed, so the driver is never a follower itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mimic {
    /// Index of the driving joint in [`RobotModel::joints`].
    pub driver: usize,
    /// Factor.
    pub multiplier: f64,
    /// Offset \[rad or m\].
    pub offset: f64,
}

/// A joint of the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Joint {
    /// Unique name.
    pub name: String,
    /// How it moves.
    pub kind: JointKind,
    /// Index of the parent link.
    pub parent: usize,
    /// Index of the child link.
    pub child: usize,
    /// From the parent link's frame to the joint's frame at value zero.
    pub origin: Isometry3<f64>,
    /// Axis in the joint's frame, unit length (x where the kind needs none).
    pub axis: Unit<Vector3<f64>>,
    /// Limits, see there.
    pub limits: JointLimits,
    /// Set for followers.
    pub mimic: Option<Mimic>,
}

/// A primitive or a mesh, in the frame of its [`LinkShape`]. Meshes are only named, never opened here.
#[derive(Debug, Clone, PartialEq)]
pub enum Geometry {
    /// Full edge lengths along x, y, z \[m\].
    Box {
        /// Edge lengths \[m\].
        size: Vector3<f64>,
    },
    /// Along z, centred.
    Cylinder {
        /// Radius \[m\].
        radius: f64,
        /// Length \[m\].
        length: f64,
    },
    /// Centred.
    Sphere {
        /// Radius \[m\].
        radius: f64,
    },
    /// A capsule along z, centred; `length` without the caps.
    Capsule {
        /// Radius \[m\].
        radius: f64,
        /// Length of the cylindrical part \[m\].
        length: f64,
    },
    /// A mesh file.
    Mesh {
        /// As written in the URDF: `package://`, `file://` or a path.
        filename: String,
        /// Scale along x, y, z.
        scale: Vector3<f64>,
    },
}

/// A shape that a link carries.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkShape {
    /// From the link's frame to the shape's.
    pub origin: Isometry3<f64>,
    /// What it is.
    pub geometry: Geometry,
}

/// A link of the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Unique name.
    pub name: String,
    /// Shapes for collision checking.
    pub collision: Vec<LinkShape>,
    /// Shapes for looking at.
    pub visual: Vec<LinkShape>,
    /// Index of the joint whose child it is; `None` for the root.
    pub parent_joint: Option<usize>,
    /// Indices of the joints whose parent it is, in file order.
    pub child_joints: Vec<usize>,
}

/// A checked robot description.
#[derive(Debug, Clone, PartialEq)]
pub struct RobotModel {
    /// The robot's name.
    pub name: String,
    /// Links in file order.
    pub links: Vec<Link>,
    /// Joints in file order.
    pub joints: Vec<Joint>,
    /// Index of the root link.
    pub root: usize,
    /// What was forgiven while reading.
    pub warnings: Vec<ModelWarning>,
    pub(super) urdf: String,
}

impl RobotModel {
    /// Reads a URDF text.
    ///
    /// # Errors
    /// See [`ModelError`]; what is merely odd ends in [`RobotModel::warnings`].
    pub fn from_urdf(text: &str) -> Result<RobotModel, ModelError> {
        super::read::read(text)
    }

    /// The description as it was understood: links, joints and shapes alone, every number
    /// present, prefixes and unknown elements gone.
    pub fn cleaned_urdf(&self) -> &str {
        &self.urdf
    }

    /// Names of the links that have no children, in file order.
    pub fn leaf_links(&self) -> Vec<&str> {
        let leaves = self
            .links
            .iter()
            .filter(|link| link.child_joints.is_empty());
        leaves.map(|link| link.name.as_str()).collect()
    }

    /// Index of the link called `name`.
    pub fn link_index(&self, name: &str) -> Option<usize> {
        self.links.iter().position(|link| link.name == name)
    }

    /// Index of the joint called `name`.
    pub fn joint_index(&self, name: &str) -> Option<usize> {
        self.joints.iter().position(|joint| joint.name == name)
    }

    /// The chain from `base` to `tip` (names of links; empty: found when there is only one choice).
    ///
    /// # Errors
    /// See [`ChainError`]; with several choices the error lists them.
    pub fn chain(&self, base: &str, tip: &str, use_soft_limits: bool) -> Result<Chain, ChainError> {
        super::extract::chain(self, base, tip, use_soft_limits)
    }
}
