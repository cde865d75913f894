//! The gate's checks of the motion itself: where it starts, how it ends, and what the controller
//! will do between its points.

use super::gate::{ConfigurationCheck, GatePolicy, JointBounds, MeasuredJoint};
use super::gate_error::GateError;
use super::polynomial::Segment;
use super::sampled::{Interpolation, Trajectory, TrajectoryPoint};

/// One joint of the message with all that is known of it.
pub(super) struct JointView<'a> {
    pub name: &'a str,
    pub bounds: &'a JointBounds,
    pub measured: &'a MeasuredJoint,
}

/// The motion as the controller will make it: the message's points and, where the first of them
/// lies after time zero, the measured state before them.
pub(super) struct Motion {
    trajectory: Trajectory,
    /// How many points stand before those of the message: 0 or 1.
    before: usize,
}

/// Compares a first point at time zero with the measured state; puts the measured state before
/// a later first point, as the controller does.
pub(super) fn start(
    mut trajectory: Trajectory,
    joints: &[JointView],
    policy: &GatePolicy,
) -> Result<Motion, GateError> {
    let Some(first) = trajectory.points.first() else {
        return Err(GateError::Empty);
    };
    let velocities: Vec<f64> = joints
        .iter()
        .filter_map(|joint| joint.measured.velocity.filter(|value| value.is_finite()))
        .collect();
    let all_measured = velocities.len() == joints.len() && !first.velocities.is_empty();
    if first.time > 0.0 {
        let measured = TrajectoryPoint {
            time: 0.0,
            positions: joints.iter().map(|joint| joint.measured.position).collect(),
            velocities: if all_measured { velocities } else { Vec::new() },
            accelerations: Vec::new(),
        };
        trajectory.points.insert(0, measured);
        return Ok(Motion {
            trajectory,
            before: 1,
        });
    }
    for (joint, &value) in joints.iter().zip(&first.positions) {
        let measured = joint.measured.position;
        if !within(value - measured, policy.start_tolerance) {
            return Err(GateError::StartElsewhere {
                joint: joint.name.to_string(),
                measured,
                start: value,
                tolerance: policy.start_tolerance,
            });
        }
    }
    if let Some(tolerance) = policy.start_velocity_tolerance.filter(|_| all_measured) {
        for (joint, (&start, &measured)) in
            joints.iter().zip(first.velocities.iter().zip(&velocities))
        {
            if !within(start - measured, tolerance) {
                return Err(GateError::StartVelocity {
                    joint: joint.name.to_string(),
                    measured,
                    start,
                    tolerance,
                });
            }
        }
    }
    Ok(Motion {
        trajectory,
        before: 0,
    })
}

/// Whether `value` is at most `tolerance` in size; never if either is NaN.
pub(super) fn within(value: f64, tolerance: f64) -> bool {
    value.abs() <= tolerance
}

pub(super) fn end(
    trajectory: &Trajectory,
    joints: &[JointView],
    policy: &GatePolicy,
) -> Result<(), GateError> {
    let Some(last) = trajectory.points.last() else {
        return Err(GateError::Empty);
    };
    for (joint, &velocity) in joints.iter().zip(&last.velocities) {
        if !within(velocity, policy.rest_tolerance) {
            return Err(GateError::EndsMoving {
                joint: joint.name.to_string(),
                velocity,
            });
        }
    }
    Ok(())
}

/// Limits along the polynomials that the controller will follow.
pub(super) fn limits(
    motion: &Motion,
    joints: &[JointView],
    policy: &GatePolicy,
) -> Result<(), GateError> {
    for (pair, point) in motion.pairs() {
        let [from, to] = pair else { continue };
        let kind = from.interpolation_to(to);
        for (index, joint) in joints.iter().enumerate() {
            if let Some(segment) = from.segment_to(to, index) {
                between(&segment, kind, joint, point, policy)?;
            }
        }
    }
    Ok(())
}

impl Motion {
    /// Neighbouring points, with the message's number of the later one.
    fn pairs(&self) -> impl Iterator<Item = (&[TrajectoryPoint], usize)> {
        let shift = 1 - self.before.min(1);
        self.trajectory
            .points
            .windows(2)
            .enumerate()
            .map(move |(number, pair)| (pair, number + shift))
    }
}

fn between(
    segment: &Segment,
    kind: Interpolation,
    joint: &JointView,
    point: usize,
    policy: &GatePolicy,
) -> Result<(), GateError> {
    let name = || joint.name.to_string();
    let JointBounds { lower, upper, .. } = *joint.bounds;
    // The measured state may lie outside, and from there only the way back is left.
    let entry = segment.at(0.0).position;
    let (low, high) = segment.position_range(0.1 * policy.position_slack);
    for (value, excess) in [
        (low, lower.min(entry) - low),
        (high, high - upper.max(entry)),
    ] {
        // Infinite limits give minus infinity here.
        if excess > policy.position_slack || excess.is_nan() {
            return Err(GateError::PositionBetween {
                joint: name(),
                point,
                value,
                lower,
                upper,
            });
        }
    }
    let speed = segment.max_speed();
    if let Some(limit) = joint.bounds.velocity {
        if !within(speed, limit * policy.velocity_slack) {
            return Err(GateError::Velocity {
                joint: name(),
                point,
                value: speed,
                limit,
            });
        }
    }
    if let Some(limit) = joint.bounds.acceleration {
        if kind == Interpolation::Linear && !within(speed, policy.velocity_jump) {
            return Err(GateError::VelocityJump {
                joint: name(),
                point,
                step: speed,
            });
        }
        let acceleration = segment.max_acceleration();
        if !within(acceleration, limit * policy.acceleration_slack) {
            return Err(GateError::Acceleration {
                joint: name(),
                point,
                value: acceleration,
                limit,
            });
        }
    }
    Ok(())
}

/// Checks configurations along the motion, no two of them further apart in any joint than the
/// policy says.
pub(super) fn collisions(
    motion: &Motion,
    order: &[usize],
    policy: &GatePolicy,
    collision: ConfigurationCheck,
) -> Result<(), GateError> {
    let mut configuration = Vec::with_capacity(order.len());
    let mut test = |time: f64, point: usize, state: &dyn Fn(usize) -> Option<f64>| {
        configuration.clear();
        configuration.extend(order.iter().filter_map(|&joint| state(joint)));
        collision(&configuration).map_err(|what| GateError::Collision { time, point, what })
    };
    if let Some(first) = motion.trajectory.points.first() {
        test(first.time, 0, &|joint| first.positions.get(joint).copied())?;
    }
    let step = policy.collision_step;
    for (pair, point) in motion.pairs() {
        let [from, to] = pair else { continue };
        let duration = to.time - from.time;
        let segments: Vec<Segment> = (0..order.len())
            .filter_map(|joint| from.segment_to(to, joint))
            .collect();
        let travel = segments
            .iter()
            .fold(0.0_f64, |most, segment| most.max(segment.max_speed()))
            * duration;
        // A step of zero or NaN would ask for infinitely many checks.
        let steps = if step > 0.0 {
            (travel / step).ceil().clamp(1.0, 1e6)
        } else {
            1e3
        };
        for k in 1..=(steps as usize) {
            let time = duration * k as f64 / steps;
            test(from.time + time, point, &|joint| {
                segments.get(joint).map(|segment| segment.at(time).position)
            })?;
        }
    }
    Ok(())
}
