//! The one gate that every trajectory passes on its way to a controller.
//!
//! `joint_trajectory_controller` enforces no limits and takes NaN for a position; and what it
//! refuses it refuses without a word to the sender. So everything is checked here, with the
//! motion *between* the points as the controller will interpolate it.

use std::collections::BTreeMap;

use super::gate_error::{Field, GateError, Obstruction};
use super::gate_motion::{collisions, end, limits, start, within, JointView};
use super::message::{seconds, OutgoingPoint, OutgoingTrajectory};
use super::sampled::Trajectory;
use super::MotionLimits;
use crate::model::Chain;

/// Limits of one joint.
#[derive(Debug, Clone, PartialEq)]
pub struct JointBounds {
    /// Smallest position \[rad or m\], minus infinity without a limit.
    pub lower: f64,
    /// Largest position \[rad or m\], infinity without a limit.
    pub upper: f64,
    /// Largest speed \[rad/s or m/s\]; unchecked if `None`.
    pub velocity: Option<f64>,
    /// Largest acceleration \[rad/s² or m/s²\]; if `None` it is not checked, and positions without
    /// velocities are allowed.
    pub acceleration: Option<f64>,
}

/// The limits of a chain's joints by name, for [`GateContext::bounds`].
pub fn joint_bounds(chain: &Chain, limits: &MotionLimits) -> BTreeMap<String, JointBounds> {
    chain
        .dofs
        .iter()
        .zip(limits.velocity().iter().zip(limits.acceleration()))
        .map(|(dof, (&velocity, &acceleration))| {
            let bounds = JointBounds {
                lower: dof.lower,
                upper: dof.upper,
                velocity: Some(velocity),
                acceleration: Some(acceleration),
            };
            (dof.name.clone(), bounds)
        })
        .collect()
}

/// What a joint was last seen doing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredJoint {
    /// Position \[rad or m\].
    pub position: f64,
    /// Velocity \[rad/s or m/s\], if it is measured.
    pub velocity: Option<f64>,
    /// How long ago \[s\].
    pub age: f64,
}

/// How strict the gate is.
#[derive(Debug, Clone, PartialEq)]
pub struct GatePolicy {
    /// Greatest age of the measured state \[s\].
    pub max_age: f64,
    /// Greatest distance of the first point from the measured state \[rad or m\].
    pub start_tolerance: f64,
    /// Greatest difference between the first point's velocity and the measured one, where there is
    /// one \[rad/s or m/s\]; `None` leaves it unchecked.
    pub start_velocity_tolerance: Option<f64>,
    /// A point this little outside the position limits is moved onto them \[rad or m\]; beyond, it
    /// is refused. No point outside is ever passed on.
    pub position_tolerance: f64,
    /// How far the interpolation between points may leave the position limits \[rad or m\].
    pub position_slack: f64,
    /// Factor on the velocity limits.
    pub velocity_slack: f64,
    /// Factor on the acceleration limits.
    pub acceleration_slack: f64,
    /// Greatest jump in velocity of motion that is given by positions alone, where there is an
    /// acceleration limit \[rad/s or m/s\].
    pub velocity_jump: f64,
    /// Greatest speed at the end \[rad/s or m/s\].
    pub rest_tolerance: f64,
    /// How far ahead a stamp may lie \[s\].
    pub max_start_delay: f64,
    /// Greatest joint motion between two collision checks \[rad or m\].
    pub collision_step: f64,
}

impl Default for GatePolicy {
    fn default() -> Self {
        Self {
            max_age: 0.5,
            start_tolerance: 0.01,
            start_velocity_tolerance: Some(0.2),
            position_tolerance: 1e-6,
            position_slack: 1e-4,
            velocity_slack: 1.001,
            acceleration_slack: 1.001,
            velocity_jump: 0.01,
            // The controller's own threshold.
            rest_tolerance: f32::EPSILON as f64,
            max_start_delay: 10.0,
            collision_step: 0.02,
        }
    }
}

/// A check of one configuration (values in the order of [`GateContext::controller_joints`]).
pub type ConfigurationCheck<'a> = &'a dyn Fn(&[f64]) -> Result<(), Obstruction>;

/// What a trajectory is checked against.
pub struct GateContext<'a> {
    /// The controller's joints: all of them must be named.
    pub controller_joints: &'a [String],
    /// Limits by joint name, see [`joint_bounds`].
    pub bounds: &'a BTreeMap<String, JointBounds>,
    /// Measured states by joint name; others than the controller's do no harm.
    pub measured: &'a BTreeMap<String, MeasuredJoint>,
    /// The time now, on the clock of the stamps \[ns\].
    pub now_ns: i64,
    /// Tolerances.
    pub policy: &'a GatePolicy,
    /// Collision check of the whole arm, if there is one.
    pub collision: Option<ConfigurationCheck<'a>>,
}

/// A point that lay a hair outside the limits and was moved onto them.
#[derive(Debug, Clone, PartialEq)]
pub struct Clamp {
    /// The joint.
    pub joint: String,
    /// The point, from zero.
    pub point: usize,
    /// The value before \[rad or m\].
    pub from: f64,
    /// The limit \[rad or m\].
    pub to: f64,
}

/// A trajectory that has passed the gate; there is no other way to make one.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    message: OutgoingTrajectory,
    clamped: Vec<Clamp>,
}

impl Checked {
    /// What may be published.
    pub fn message(&self) -> &OutgoingTrajectory {
        &self.message
    }

    /// What was changed on the way through.
    pub fn clamped(&self) -> &[Clamp] {
        &self.clamped
    }

    /// Gives the message away.
    pub fn into_message(self) -> OutgoingTrajectory {
        self.message
    }
}

/// Checks `message` against everything in `context`; what passes may be published.
///
/// # Errors
/// The first fault found, see [`GateError`].
pub fn check(message: OutgoingTrajectory, context: &GateContext) -> Result<Checked, GateError> {
    if message.points.is_empty() {
        return Err(GateError::Empty);
    }
    names(&message, context)?;
    fields(&message)?;
    times(&message, context)?;
    let mut checked = Checked {
        message,
        clamped: Vec::new(),
    };
    clamp(&mut checked, context)?;
    let message = &checked.message;
    let joints = views(message, context)?;
    let trajectory = Trajectory::from(message);
    end(&trajectory, &joints, context.policy)?;
    let motion = start(trajectory, &joints, context.policy)?;
    limits(&motion, &joints, context.policy)?;
    if let Some(collision) = context.collision {
        let order: Vec<usize> = context
            .controller_joints
            .iter()
            .filter_map(|joint| message.joint_names.iter().position(|name| name == joint))
            .collect();
        collisions(&motion, &order, context.policy, collision)?;
    }
    Ok(checked)
}

fn names(message: &OutgoingTrajectory, context: &GateContext) -> Result<(), GateError> {
    for (i, joint) in message.joint_names.iter().enumerate() {
        if !context.controller_joints.contains(joint) {
            return Err(GateError::UnknownJoint {
                joint: joint.clone(),
                known: context.controller_joints.to_vec(),
            });
        }
        if message.joint_names.iter().take(i).any(|name| name == joint) {
            return Err(GateError::DuplicateJoint {
                joint: joint.clone(),
            });
        }
    }
    let missing: Vec<String> = context
        .controller_joints
        .iter()
        .filter(|joint| !message.joint_names.contains(joint))
        .cloned()
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(GateError::MissingJoints { joints: missing })
    }
}

fn fields(message: &OutgoingTrajectory) -> Result<(), GateError> {
    let expected = message.joint_names.len();
    let given = |point: &OutgoingPoint| {
        (
            !point.velocities.is_empty(),
            !point.accelerations.is_empty(),
        )
    };
    let (first, _) = message.points.first().map(given).unwrap_or_default();
    for (point, values) in message.points.iter().enumerate() {
        if !values.effort.is_empty() {
            return Err(GateError::Effort { point });
        }
        for (field, list, optional) in [
            (Field::Positions, &values.positions, false),
            (Field::Velocities, &values.velocities, true),
            (Field::Accelerations, &values.accelerations, true),
        ] {
            if list.len() != expected && !(optional && list.is_empty()) {
                return Err(GateError::Length {
                    point,
                    field,
                    got: list.len(),
                    expected,
                });
            }
            for (joint, &value) in message.joint_names.iter().zip(list) {
                if !value.is_finite() {
                    return Err(GateError::NotFinite {
                        joint: joint.clone(),
                        point,
                        field,
                        value,
                    });
                }
            }
        }
        let (velocities, accelerations) = given(values);
        // A point without accelerations among others that have them is fine: beside it the
        // controller interpolates by cubics, and so does what is checked.
        if velocities != first {
            let field = Field::Velocities;
            return Err(GateError::MixedFields { point, field });
        }
        if accelerations && !velocities {
            return Err(GateError::AccelerationsAlone { point });
        }
    }
    Ok(())
}

fn times(message: &OutgoingTrajectory, context: &GateContext) -> Result<(), GateError> {
    let mut before = None;
    for (point, values) in message.points.iter().enumerate() {
        let time_ns = values.time_from_start_ns;
        if time_ns < 0 {
            return Err(GateError::NegativeTime { point, time_ns });
        }
        if let Some(before_ns) = before.filter(|&before_ns| time_ns <= before_ns) {
            return Err(GateError::TimeNotRising {
                point,
                time_ns,
                before_ns,
            });
        }
        before = Some(time_ns);
    }
    let Some(stamp) = message.stamp_ns.filter(|&stamp| stamp != 0) else {
        return Ok(());
    };
    let ahead_ns = stamp.saturating_sub(context.now_ns);
    if ahead_ns < 0 {
        return Err(GateError::StampInPast {
            late_ns: ahead_ns.saturating_neg(),
        });
    }
    if !within(seconds(ahead_ns), context.policy.max_start_delay) {
        return Err(GateError::StampTooFar {
            ahead_ns,
            most: context.policy.max_start_delay,
        });
    }
    Ok(())
}

fn views<'a>(
    message: &'a OutgoingTrajectory,
    context: &GateContext<'a>,
) -> Result<Vec<JointView<'a>>, GateError> {
    message
        .joint_names
        .iter()
        .map(|name| view(name, context))
        .collect()
}

fn view<'a>(name: &'a str, context: &GateContext<'a>) -> Result<JointView<'a>, GateError> {
    let joint = || name.to_string();
    let bounds = context
        .bounds
        .get(name)
        .ok_or_else(|| GateError::NoBounds { joint: joint() })?;
    let measured = context
        .measured
        .get(name)
        .filter(|measured| measured.position.is_finite())
        .ok_or_else(|| GateError::NoState { joint: joint() })?;
    if !within(measured.age, context.policy.max_age) {
        return Err(GateError::StaleState {
            joint: joint(),
            age: measured.age,
            most: context.policy.max_age,
        });
    }
    Ok(JointView {
        name,
        bounds,
        measured,
    })
}

/// Moves positions a hair outside the limits onto them, refuses others outside.
fn clamp(checked: &mut Checked, context: &GateContext) -> Result<(), GateError> {
    for (index, joint) in checked.message.joint_names.iter().enumerate() {
        let Some(&JointBounds { lower, upper, .. }) = context.bounds.get(joint) else {
            return Err(GateError::NoBounds {
                joint: joint.clone(),
            });
        };
        for (point, values) in checked.message.points.iter_mut().enumerate() {
            let Some(slot) = values.positions.get_mut(index) else {
                continue;
            };
            let value = *slot;
            if value >= lower && value <= upper {
                continue;
            }
            let nearest = if value < lower { lower } else { upper };
            if !within(value - nearest, context.policy.position_tolerance) {
                return Err(GateError::Position {
                    joint: joint.clone(),
                    point,
                    value,
                    lower,
                    upper,
                });
            }
            *slot = nearest;
            checked.clamped.push(Clamp {
                joint: joint.clone(),
                point,
                from: value,
                to: nearest,
            });
        }
    }
    Ok(())
}
