//! From a checked text, through `urdf_rs`, to the tree.

use std::collections::HashMap;

use nalgebra::{Isometry3, Translation3, Unit, UnitQuaternion, Vector3};

use super::clean::{clean, Cleaned};
use super::hint::did_you_mean;
use super::{
    Geometry, Joint, JointKind, JointLimits, Link, LinkShape, Mimic, ModelError, ModelWarning,
    RobotModel,
};

pub(super) fn read(text: &str) -> Result<RobotModel, ModelError> {
    let Cleaned {
        urdf, mut warnings, ..
    } = clean(text)?;
    let robot = urdf_rs::read_from_string(&urdf).map_err(|error| ModelError::Parser {
        message: error.to_string(),
    })?;
    let mut links: Vec<Link> = robot
        .links
        .iter()
        .map(|link| Link {
            name: link.name.clone(),
            collision: link
                .collision
                .iter()
                .map(|shape| convert_shape(&shape.origin, &shape.geometry))
                .collect(),
            visual: link
                .visual
                .iter()
                .map(|shape| convert_shape(&shape.origin, &shape.geometry))
                .collect(),
            parent_joint: None,
            child_joints: Vec::new(),
        })
        .collect();
    if links.is_empty() {
        return Err(ModelError::NoLinks { robot: robot.name });
    }
    let link_index: HashMap<&str, usize> = robot
        .links
        .iter()
        .enumerate()
        .map(|(index, link)| (link.name.as_str(), index))
        .collect();
    let mut joints = Vec::with_capacity(robot.joints.len());
    for joint in &robot.joints {
        let find = |role: &'static str, name: &str| {
            link_index
                .get(name)
                .copied()
                .ok_or_else(|| ModelError::UnknownLink {
                    joint: joint.name.clone(),
                    role,
                    link: name.to_owned(),
                    hint: did_you_mean(name, link_index.keys().copied()),
                })
        };
        joints.push(convert_joint(
            joint,
            find("parent", &joint.parent.link)?,
            find("child", &joint.child.link)?,
            &mut warnings,
        ));
    }
    let root = connect(&mut links, &joints)?;
    resolve_mimics(&robot.joints, &mut joints, &mut warnings)?;
    Ok(RobotModel {
        name: robot.name,
        links,
        joints,
        root,
        warnings,
        urdf,
    })
}

fn convert_pose(pose: &urdf_rs::Pose) -> Isometry3<f64> {
    let [x, y, z] = *pose.xyz;
    let [roll, pitch, yaw] = *pose.rpy;
    Isometry3::from_parts(
        Translation3::new(x, y, z),
        UnitQuaternion::from_euler_angles(roll, pitch, yaw),
    )
}

fn convert_shape(origin: &urdf_rs::Pose, geometry: &urdf_rs::Geometry) -> LinkShape {
    let geometry = match geometry {
        urdf_rs::Geometry::Box { size } => Geometry::Box {
            size: Vector3::from(**size),
        },
        urdf_rs::Geometry::Cylinder { radius, length } => Geometry::Cylinder {
            radius: *radius,
            length: *length,
        },
        urdf_rs::Geometry::Capsule { radius, length } => Geometry::Capsule {
            radius: *radius,
            length: *length,
        },
        urdf_rs::Geometry::Sphere { radius } => Geometry::Sphere { radius: *radius },
        urdf_rs::Geometry::Mesh { filename, scale } => Geometry::Mesh {
            filename: filename.clone(),
            scale: scale
                .as_ref()
                .map_or(Vector3::repeat(1.0), |scale| Vector3::from(**scale)),
        },
    };
    LinkShape {
        origin: convert_pose(origin),
        geometry,
    }
}

fn convert_joint(
    joint: &urdf_rs::Joint,
    parent: usize,
    child: usize,
    warnings: &mut Vec<ModelWarning>,
) -> Joint {
    let kind = match joint.joint_type {
        urdf_rs::JointType::Revolute => JointKind::Revolute,
        urdf_rs::JointType::Continuous => JointKind::Continuous,
        urdf_rs::JointType::Prismatic => JointKind::Prismatic,
        urdf_rs::JointType::Floating => JointKind::Floating,
        urdf_rs::JointType::Planar => JointKind::Planar,
        _ => JointKind::Fixed,
    };
    let (lower, upper) = match kind {
        JointKind::Revolute | JointKind::Prismatic => (joint.limit.lower, joint.limit.upper),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let soft = joint
        .safety_controller
        .as_ref()
        .filter(|_| lower.is_finite())
        .and_then(|safety| soft_limits(joint, safety, (lower, upper), warnings));
    let positive = |value: f64| Some(value).filter(|value| *value > 0.0);
    Joint {
        name: joint.name.clone(),
        kind,
        parent,
        child,
        origin: convert_pose(&joint.origin),
        axis: Unit::new_normalize(Vector3::from(*joint.axis.xyz)),
        limits: JointLimits {
            lower,
            upper,
            soft,
            velocity: positive(joint.limit.velocity),
            effort: positive(joint.limit.effort),
        },
        mimic: None,
    }
}

fn soft_limits(
    joint: &urdf_rs::Joint,
    safety: &urdf_rs::SafetyController,
    (hard_lower, hard_upper): (f64, f64),
    warnings: &mut Vec<ModelWarning>,
) -> Option<(f64, f64)> {
    let (lower, upper) = (safety.soft_lower_limit, safety.soft_upper_limit);
    let mut warn = |what| {
        warnings.push(ModelWarning::SoftLimits {
            joint: joint.name.clone(),
            lower,
            upper,
            what,
        });
    };
    let range = (lower.max(hard_lower), upper.min(hard_upper));
    if lower > upper {
        warn("are empty: the hard limits are used");
        return None;
    }
    if range.0 > range.1 {
        warn("lie outside of the hard ones: the hard limits are used");
        return None;
    }
    if range != (lower, upper) {
        warn("reach beyond the hard ones: cut off there");
    }
    Some(range)
}

/// Hangs the joints between the links and returns the root, or says why this is not a tree.
fn connect(links: &mut [Link], joints: &[Joint]) -> Result<usize, ModelError> {
    for joint in joints {
        if joint.parent == joint.child {
            return Err(ModelError::Loop {
                joints: vec![joint.name.clone()],
            });
        }
    }
    for (index, joint) in joints.iter().enumerate() {
        if let Some(parent) = links.get_mut(joint.parent) {
            parent.child_joints.push(index);
        }
        let Some(child) = links.get_mut(joint.child) else {
            continue;
        };
        if child.parent_joint.is_some() {
            let parents = joints.iter().filter(|other| other.child == joint.child);
            return Err(ModelError::MultipleParents {
                link: child.name.clone(),
                joints: parents.map(|joint| joint.name.clone()).collect(),
            });
        }
        child.parent_joint = Some(index);
    }
    // Every link has at most one parent now: a walk upwards that comes back is a loop.
    let mut state = vec![0_u8; links.len()];
    for start in 0..links.len() {
        let mut walked = Vec::new();
        let mut link = start;
        while state.get(link) == Some(&0) {
            state[link] = 1;
            walked.push(link);
            match links[link].parent_joint {
                Some(joint) => link = joints[joint].parent,
                None => break,
            }
        }
        if let Some(first) = walked
            .iter()
            .position(|other| *other == link)
            .filter(|_| links[link].parent_joint.is_some())
        {
            // From child to parent while walking; the message goes from parent to child.
            let circle = walked[first..]
                .iter()
                .rev()
                .filter_map(|link| links[*link].parent_joint);
            return Err(ModelError::Loop {
                joints: circle.map(|joint| joints[joint].name.clone()).collect(),
            });
        }
        for link in walked {
            state[link] = 2;
        }
    }
    let roots: Vec<usize> = (0..links.len())
        .filter(|link| links[*link].parent_joint.is_none())
        .collect();
    match roots.as_slice() {
        [root] => Ok(*root),
        _ => Err(ModelError::MultipleRoots {
            roots: roots.iter().map(|root| links[*root].name.clone()).collect(),
        }),
    }
}

/// Follows followers of followers down to a free joint.
fn resolve_mimics(
    sources: &[urdf_rs::Joint],
    joints: &mut [Joint],
    warnings: &mut Vec<ModelWarning>,
) -> Result<(), ModelError> {
    let index: HashMap<&str, usize> = sources
        .iter()
        .enumerate()
        .map(|(index, joint)| (joint.name.as_str(), index))
        .collect();
    let movable = |kind| {
        matches!(
            kind,
            JointKind::Revolute | JointKind::Continuous | JointKind::Prismatic
        )
    };
    for (follower, source) in sources.iter().enumerate() {
        if source.mimic.is_none() {
            continue;
        }
        if !movable(joints[follower].kind) {
            warnings.push(ModelWarning::ImmovableFollower {
                joint: source.name.clone(),
                kind: joints[follower].kind.name(),
            });
            continue;
        }
        let (mut multiplier, mut offset) = (1.0, 0.0);
        let mut path = vec![follower];
        let mut current = follower;
        while let Some(mimic) = &sources[current].mimic {
            let driver =
                *index
                    .get(mimic.joint.as_str())
                    .ok_or_else(|| ModelError::UnknownMimic {
                        joint: sources[current].name.clone(),
                        driver: mimic.joint.clone(),
                        hint: did_you_mean(&mimic.joint, index.keys().copied()),
                    })?;
            if !movable(joints[driver].kind) {
                return Err(ModelError::MimicOfImmovable {
                    joint: sources[current].name.clone(),
                    driver: mimic.joint.clone(),
                    kind: joints[driver].kind.name(),
                });
            }
            offset += multiplier * mimic.offset.unwrap_or(0.0);
            multiplier *= mimic.multiplier.unwrap_or(1.0);
            if let Some(first) = path.iter().position(|other| *other == driver) {
                let mut circle: Vec<String> = path[first..]
                    .iter()
                    .map(|joint| sources[*joint].name.clone())
                    .collect();
                circle.push(sources[driver].name.clone());
                return Err(ModelError::MimicCycle { joints: circle });
            }
            path.push(driver);
            current = driver;
        }
        joints[follower].mimic = Some(Mimic {
            driver: current,
            multiplier,
            offset,
        });
    }
    Ok(())
}
