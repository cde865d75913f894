//! From the tree to a [`Chain`]: fixed joints folded, followers resolved.

use nalgebra::Isometry3;

use super::hint::did_you_mean;
use super::{
    Chain, ChainError, ChainJoint, ChainLink, Dof, DofKind, Joint, JointKind, Motion, RobotModel,
};

pub(super) fn chain(
    model: &RobotModel,
    base: &str,
    tip: &str,
    use_soft_limits: bool,
) -> Result<Chain, ChainError> {
    let base = if base.is_empty() {
        model.root
    } else {
        find(model, "base", base)?
    };
    let tip = if tip.is_empty() {
        only_tip(model, base)?
    } else {
        find(model, "tip", tip)?
    };
    let path = path_between(model, base, tip)?;
    let name = |link: usize| model.links[link].name.clone();

    let mut chain = Chain {
        base: name(base),
        tip: name(tip),
        dofs: Vec::new(),
        joints: Vec::new(),
        tip_offset: Isometry3::identity(),
        links: vec![ChainLink {
            name: name(base),
            after_joints: 0,
            offset: Isometry3::identity(),
        }],
    };
    // Which joint of the model stands behind each degree of freedom.
    let mut drivers: Vec<usize> = Vec::new();
    let mut offset = Isometry3::identity();
    for index in path {
        let joint = &model.joints[index];
        let motion = match joint.kind {
            JointKind::Fixed => None,
            JointKind::Revolute | JointKind::Continuous => Some(Motion::Rotation),
            JointKind::Prismatic => Some(Motion::Translation),
            JointKind::Floating | JointKind::Planar => {
                return Err(ChainError::UnsupportedJointInChain {
                    joint: joint.name.clone(),
                    kind: if joint.kind == JointKind::Planar {
                        "planar"
                    } else {
                        "floating"
                    },
                    base: chain.base,
                    tip: chain.tip,
                })
            }
        };
        offset *= joint.origin;
        if let Some(motion) = motion {
            let (driver, multiplier, shift) = match joint.mimic {
                Some(mimic) => (mimic.driver, mimic.multiplier, mimic.offset),
                None => (index, 1.0, 0.0),
            };
            let dof = match drivers.iter().position(|other| *other == driver) {
                Some(dof) => dof,
                None => {
                    drivers.push(driver);
                    chain
                        .dofs
                        .push(dof_of(&model.joints[driver], use_soft_limits));
                    drivers.len() - 1
                }
            };
            chain.joints.push(ChainJoint {
                name: joint.name.clone(),
                before: offset,
                axis: joint.axis,
                motion,
                dof,
                multiplier,
                offset: shift,
            });
            offset = Isometry3::identity();
        }
        chain.links.push(ChainLink {
            name: name(joint.child),
            after_joints: chain.joints.len(),
            offset,
        });
    }
    chain.tip_offset = offset;
    if chain.joints.is_empty() {
        return Err(ChainError::NoMovingJoint {
            base: chain.base,
            tip: chain.tip,
        });
    }
    narrow_by_followers(model, &mut chain, use_soft_limits)?;
    Ok(chain)
}

fn find(model: &RobotModel, role: &'static str, name: &str) -> Result<usize, ChainError> {
    model
        .link_index(name)
        .ok_or_else(|| ChainError::UnknownLink {
            role,
            name: name.to_owned(),
            hint: did_you_mean(name, model.links.iter().map(|link| link.name.as_str())),
            links: model.links.iter().map(|link| link.name.clone()).collect(),
        })
}

/// All links below `base`, itself excluded, in the order of a breadth-first walk.
fn below(model: &RobotModel, base: usize) -> Vec<usize> {
    let mut found = vec![base];
    let mut next = 0;
    while let Some(&link) = found.get(next) {
        next += 1;
        found.extend(
            model.links[link]
                .child_joints
                .iter()
                .map(|joint| model.joints[*joint].child),
        );
    }
    found.remove(0);
    found
}

fn only_tip(model: &RobotModel, base: usize) -> Result<usize, ChainError> {
    let all = below(model, base);
    let leaves: Vec<usize> = all
        .into_iter()
        .filter(|link| model.links[*link].child_joints.is_empty())
        .collect();
    match leaves.as_slice() {
        [tip] => Ok(*tip),
        [] => {
            let name = model.links[base].name.clone();
            Err(ChainError::NoMovingJoint {
                base: name.clone(),
                tip: name,
            })
        }
        _ => {
            let choices = leaves
                .iter()
                .map(|link| model.links[*link].name.clone())
                .collect();
            Err(ChainError::SeveralTips { choices })
        }
    }
}

/// The joints from `base` down to `tip`.
fn path_between(model: &RobotModel, base: usize, tip: usize) -> Result<Vec<usize>, ChainError> {
    let mut path = Vec::new();
    let mut link = tip;
    while link != base {
        let Some(joint) = model.links[link].parent_joint else {
            return Err(ChainError::NotConnected {
                base: model.links[base].name.clone(),
                tip: model.links[tip].name.clone(),
                below: below(model, base)
                    .into_iter()
                    .map(|link| model.links[link].name.clone())
                    .collect(),
            });
        };
        path.push(joint);
        link = model.joints[joint].parent;
    }
    path.reverse();
    Ok(path)
}

/// The joint's own range, soft limits applied if wanted.
fn range(joint: &Joint, use_soft_limits: bool) -> (f64, f64) {
    match joint.limits.soft {
        Some(soft) if use_soft_limits => soft,
        _ => (joint.limits.lower, joint.limits.upper),
    }
}

fn dof_of(joint: &Joint, use_soft_limits: bool) -> Dof {
    let (lower, upper) = range(joint, use_soft_limits);
    let kind = match joint.kind {
        JointKind::Prismatic => DofKind::Prismatic,
        JointKind::Continuous => DofKind::Continuous,
        _ => DofKind::Revolute,
    };
    Dof {
        name: joint.name.clone(),
        kind,
        lower,
        upper,
        velocity: joint.limits.velocity,
    }
}

/// A driver may only go where all of its followers in the chain can go, and as fast as they can.
fn narrow_by_followers(
    model: &RobotModel,
    chain: &mut Chain,
    use_soft_limits: bool,
) -> Result<(), ChainError> {
    for joint in &chain.joints {
        let Some(follower) = model
            .joint_index(&joint.name)
            .map(|index| &model.joints[index])
        else {
            continue;
        };
        if follower.mimic.is_none() || joint.multiplier == 0.0 {
            continue;
        }
        let Some(dof) = chain.dofs.get_mut(joint.dof) else {
            continue;
        };
        let (lower, upper) = range(follower, use_soft_limits);
        let first = (lower - joint.offset) / joint.multiplier;
        let second = (upper - joint.offset) / joint.multiplier;
        dof.lower = dof.lower.max(first.min(second));
        dof.upper = dof.upper.min(first.max(second));
        if dof.lower > dof.upper {
            return Err(ChainError::EmptyRange {
                joint: dof.name.clone(),
                follower: follower.name.clone(),
            });
        }
        if dof.kind == DofKind::Continuous && (dof.lower.is_finite() || dof.upper.is_finite()) {
            dof.kind = DofKind::Revolute;
        }
        if let Some(velocity) = follower.limits.velocity {
            let velocity = velocity / joint.multiplier.abs();
            dof.velocity = Some(dof.velocity.map_or(velocity, |own| own.min(velocity)));
        }
    }
    Ok(())
}
