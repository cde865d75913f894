//! Where the arm is, for those who move it: measured, or where it should be.

use std::collections::BTreeMap;

use super::codes::Failure;
use super::context::View;
use super::mover::REST_SPEED;
use super::moves::Ahead;
use crate::trajectory::{JointBounds, MeasuredJoint, OutgoingTrajectory};

/// Where the arm is, as far as is known.
pub struct Whereabouts {
    /// Joint values of the arm \[rad or m\].
    pub q: Vec<f64>,
    /// Their speeds; noise is zero \[rad/s or m/s\].
    pub speeds: Vec<f64>,
    /// For the gate.
    pub measured: BTreeMap<String, MeasuredJoint>,
    /// How old the positions of further joints of the controller may be \[s\].
    pub max_age: f64,
    /// What the user should know about it.
    pub note: Option<String>,
}

impl Whereabouts {
    /// The arm's state as it was measured.
    ///
    /// # Errors
    /// Joints are missing, or their states are too old.
    pub fn seen(view: &View) -> Result<Whereabouts, Failure> {
        let state = view.state(&view.robot.chain)?;
        Ok(Whereabouts {
            q: state.q(),
            speeds: state.speeds(REST_SPEED),
            measured: measured(view)?,
            max_age: view.parameters.joint_state_max_age,
            note: None,
        })
    }

    /// The arm's state where it will be in a moment; further joints of the controller may be known
    /// for `max_age` \[s\].
    pub fn predicted(view: &View, ahead: &Ahead, max_age: f64) -> Whereabouts {
        let joints = view.robot.chain.dofs.iter();
        let states = ahead.point.positions.iter().zip(&ahead.point.velocities);
        let measured = joints.zip(states).map(|(dof, (&position, &velocity))| {
            let measured = MeasuredJoint {
                position,
                velocity: Some(velocity),
                age: 0.0,
            };
            (dof.name.clone(), measured)
        });
        Whereabouts {
            measured: measured.collect(),
            q: ahead.point.positions.clone(),
            speeds: ahead.point.velocities.clone(),
            max_age,
            note: None,
        }
    }
}

fn measured(view: &View) -> Result<BTreeMap<String, MeasuredJoint>, Failure> {
    let chain = &view.robot.chain;
    let state = view.state(chain)?;
    let joints = chain
        .dofs
        .iter()
        .zip(&state.readings)
        .map(|(dof, reading)| {
            let measured = MeasuredJoint {
                position: reading.position,
                velocity: reading.speed(),
                age: view.now.saturating_sub(reading.received).as_secs_f64(),
            };
            (dof.name.clone(), measured)
        });
    Ok(joints.collect())
}

/// A controller may have joints that are not the arm's: they hold their position.
///
/// # Errors
/// Where such a joint is, is not known.
pub fn hold_the_others(
    view: &View,
    max_age: f64,
    outgoing: &mut OutgoingTrajectory,
    bounds: &mut BTreeMap<String, JointBounds>,
    measured: &mut BTreeMap<String, MeasuredJoint>,
) -> Result<(), Failure> {
    let robot = &view.robot;
    for name in &robot.controller_joints {
        if outgoing.joint_names.contains(name) {
            continue;
        }
        let Some((index, joint)) = robot
            .model
            .joint_index(name)
            .and_then(|index| Some((index, robot.model.joints.get(index)?)))
        else {
            continue;
        };
        let position = view
            .states
            .fresh_position(&robot.model, index, view.now, max_age)
            .map_err(|error| Failure::from(error).of("a joint of the controller"))?;
        outgoing.joint_names.push(name.clone());
        for point in &mut outgoing.points {
            point.positions.push(position);
            if !point.velocities.is_empty() {
                point.velocities.push(0.0);
            }
            if !point.accelerations.is_empty() {
                point.accelerations.push(0.0);
            }
        }
        let held = JointBounds {
            lower: joint.limits.lower.min(position),
            upper: joint.limits.upper.max(position),
            velocity: joint.limits.velocity,
            acceleration: None,
        };
        bounds.insert(name.clone(), held);
        measured.insert(
            name.clone(),
            MeasuredJoint {
                position,
                velocity: None,
                age: 0.0,
            },
        );
    }
    Ok(())
}
