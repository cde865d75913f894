//! An independent forward kinematics, by the crate `k`.
//!
//! `k` builds its own tree from the description and multiplies its own transforms: where it and
//! [`crate::kinematics::forward_kinematics`] agree, neither has misread the URDF. It works with an
//! older nalgebra, which is kept inside this file.

use nalgebra::{Isometry3, Quaternion, Translation3, UnitQuaternion};

use super::{JointKind, RobotModel};

/// Why the check cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OracleError {
    /// `k` refused the description.
    #[error("crate k refused the description: {0}")]
    Parser(String),
    /// A link that `k` does not find.
    #[error("crate k does not find link \"{0}\"")]
    UnknownLink(String),
    /// A value for a joint that there is not, or that does not move by itself.
    #[error("no free joint is called \"{0}\"")]
    UnknownJoint(String),
}

/// Pose of link `tip` in the frame of link `base` by the crate `k`, with the named joints at the
/// given values \[rad, m\], all other free joints at zero and followers where they belong.
///
/// # Errors
/// See [`OracleError`].
pub fn forward_kinematics_by_k(
    model: &RobotModel,
    base: &str,
    tip: &str,
    values: &[(&str, f64)],
) -> Result<Isometry3<f64>, OracleError> {
    let robot = urdf_rs::read_from_string(model.cleaned_urdf())
        .map_err(|error| OracleError::Parser(error.to_string()))?;
    let tree = k::Chain::<f64>::from(&robot);
    let mut free = vec![0.0; model.joints.len()];
    for (name, value) in values {
        let index = model
            .joint_index(name)
            .filter(|index| model.joints[*index].mimic.is_none())
            .ok_or_else(|| OracleError::UnknownJoint((*name).to_owned()))?;
        free[index] = *value;
    }
    for (index, joint) in model.joints.iter().enumerate() {
        let value = joint.mimic.map_or(free[index], |mimic| {
            mimic.multiplier * free[mimic.driver] + mimic.offset
        });
        if joint.kind == JointKind::Fixed {
            continue;
        }
        if let Some(node) = tree.find(&joint.name) {
            // Limits are not this check's business.
            node.set_joint_position_unchecked(value);
        }
    }
    tree.update_transforms();
    let pose = |link: &str| {
        tree.find_link(link)
            .and_then(|node| node.world_transform())
            .ok_or_else(|| OracleError::UnknownLink(link.to_owned()))
    };
    let relative = pose(base)?.inverse() * pose(tip)?;
    let (t, r) = (relative.translation.vector, relative.rotation.coords);
    Ok(Isometry3::from_parts(
        Translation3::new(t[0], t[1], t[2]),
        UnitQuaternion::from_quaternion(Quaternion::new(r[3], r[0], r[1], r[2])),
    ))
}
