//! Proofs that a target is out of reach, whatever the joint values.
//!
//! Two are tried: distance (the arm stretched out is too short) and, for arms whose axes of
//! rotation are all parallel, the plane that their tip cannot leave.

use nalgebra::Vector3;

use super::request::{Attempt, Goal, IkError, IkRequest};
use super::task::Rotation;
use crate::kinematics::forward_kinematics;
use crate::model::{Chain, Motion};

/// Axes count as parallel below this angle \[rad\]: descriptions are rounded.
const PARALLEL: f64 = 1e-9;

/// Why no configuration reaches the target within its tolerances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Proof {
    /// Farther from the first joint than the arm is long \[m\].
    Distance { distance: f64, reach: f64 },
    /// Off the plane in which all motion happens: by at least this far \[m\] and this much \[rad\].
    Plane { position: f64, orientation: f64 },
}

impl Proof {
    pub(super) fn into_error(self, best: Option<Box<Attempt>>) -> IkError {
        match self {
            Proof::Distance { distance, reach } => IkError::Unreachable {
                distance,
                reach,
                best,
            },
            Proof::Plane {
                position,
                orientation,
            } => IkError::OffMotionPlane {
                position,
                orientation,
                best,
            },
        }
    }
}

/// A proof that the target cannot be reached, where one is found.
pub(super) fn proof(chain: &Chain, request: &IkRequest<'_>) -> Option<Proof> {
    let (centre, reach) = chain.reach();
    let mut away = request.target.translation.vector - centre;
    if let Goal::Axes(axes) = request.goal {
        // What is free can be where the first joint is.
        for (part, asked) in away.iter_mut().zip(axes.position) {
            if !asked {
                *part = 0.0;
            }
        }
    }
    let distance = away.norm();
    // The sum of lengths is rounded; a target on the rim must not be called unreachable.
    let slack = 1e-12 * (1.0 + reach);
    if distance - reach > request.tolerances.position + slack {
        return Some(Proof::Distance { distance, reach });
    }
    plane(chain, request)
}

fn angle(a: &Vector3<f64>, b: &Vector3<f64>) -> f64 {
    a.cross(b).norm().atan2(a.dot(b))
}

/// The tip keeps its height along the common direction of all axes of rotation but for what
/// sliding joints add, and its tilt against that direction.
fn plane(chain: &Chain, request: &IkRequest<'_>) -> Option<Proof> {
    let zero = vec![0.0; chain.dof()];
    let mut normal: Option<Vector3<f64>> = None;
    let mut slides = Vec::new();
    let mut pose = nalgebra::Isometry3::identity();
    for joint in &chain.joints {
        let before = pose * joint.before;
        let axis = (before.rotation * joint.axis).into_inner();
        match joint.motion {
            Motion::Rotation => match normal {
                None => normal = Some(axis),
                Some(first) if first.cross(&axis).norm() <= PARALLEL => {}
                Some(_) => return None,
            },
            Motion::Translation => slides.push((joint, axis)),
        }
        pose = before * joint.motion(joint.value(&zero));
    }
    let normal = normal?;
    // Turning about the normal does not change what a sliding axis adds along it.
    let mut low = 0.0;
    let mut high = 0.0;
    for (joint, axis) in slides {
        let along = axis.dot(&normal) * joint.multiplier;
        if along.abs() <= PARALLEL {
            continue;
        }
        // `chain.reach` of a joint without limits is infinite and so is this range.
        let dof = chain.dofs.get(joint.dof)?;
        let (one, other) = (along * dof.lower, along * dof.upper);
        low += one.min(other);
        high += one.max(other);
    }
    let tip = forward_kinematics(chain, &zero).ok()?;
    let offset = (request.target.translation.vector - tip.translation.vector).dot(&normal);
    // Where a free axis leads out of the plane's height, the height proves nothing.
    let counts = match request.goal {
        Goal::Pose | Goal::Position => true,
        Goal::Axes(axes) => {
            let mut parts = normal.iter().zip(axes.position);
            parts.all(|(part, asked)| asked || part.abs() <= PARALLEL)
        }
    };
    let position = if counts {
        (offset - high).max(low - offset).max(0.0)
    } else {
        0.0
    };
    let orientation = match request.goal {
        Goal::Position => 0.0,
        Goal::Pose => {
            let mine = tip.rotation.inverse() * normal;
            let wanted = request.target.rotation.inverse() * normal;
            angle(&mine, &wanted)
        }
        Goal::Axes(axes) => match axes.rotation() {
            Rotation::Full => {
                let mine = tip.rotation.inverse() * normal;
                let wanted = request.target.rotation.inverse() * normal;
                angle(&mine, &wanted)
            }
            // The free axis keeps its angle to the normal.
            Rotation::Swing(axis) => {
                let mine = angle(&(tip.rotation * axis), &normal);
                let wanted = angle(&(request.target.rotation * axis), &normal);
                (mine - wanted).abs()
            }
            Rotation::Twist(_) | Rotation::Free => 0.0,
        },
    };
    // Rounding of the description tilts the plane a little: by far less than this.
    let slack = 1e-8;
    let off = position > request.tolerances.position + slack
        || orientation > request.tolerances.orientation + slack;
    off.then_some(Proof::Plane {
        position,
        orientation,
    })
}
