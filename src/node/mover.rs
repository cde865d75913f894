//! The only way to the controller: through the gate, one motion at a time, the newest wins.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::codes::{Code, Failure};
use super::context::{Shared, View};
use super::convert::{nanoseconds_of, trajectory_message};
use super::shutdown::{Cancel, Shutdown};
use crate::trajectory::{
    check, joint_bounds, stop_trajectory, GateContext, GatePolicy, JointBounds, MeasuredJoint,
    MotionLimits, OutgoingTrajectory, Trajectory,
};

/// A joint slower than this is at rest \[rad/s or m/s\].
pub const REST_SPEED: f64 = 0.01;
/// While coming to rest an arm may be this many times faster than it should ever have been.
const STOP_VELOCITY_SLACK: f64 = 10.0;

/// A trajectory that was sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution {
    /// Its number; the next one replaces it.
    pub id: u64,
    /// When it will have ended, on the steady clock.
    pub ends: Duration,
    /// Where it ends: joint names and values.
    pub target: Vec<(String, f64)>,
    /// What the gate changed, in words.
    pub notes: Vec<String>,
}

#[derive(Debug, Default)]
struct State {
    /// Of the motion being planned.
    planning: Option<Cancel>,
    /// How many were sent.
    sent: u64,
    /// When the last one ends.
    ends: Duration,
    /// Whether the last one was to stop.
    stopping: bool,
    /// How often the stop service was called.
    stops: u64,
    /// Tickets given out.
    tickets: u64,
    /// The newest ticket that has begun; older ones come too late.
    begun: u64,
}

/// Who moves.
#[derive(Debug, Default)]
pub struct Mover(Mutex<State>);

impl Mover {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place in the order of what was asked for. Requests are checked before they begin, some
    /// take longer than others, and still the one that came last must win.
    pub fn ticket(&self) -> u64 {
        let mut state = self.state();
        state.tickets += 1;
        state.tickets
    }

    /// Begins a new motion: what is being planned is given up.
    ///
    /// # Errors
    /// [`Code::Preempted`] if something that was asked for later, or the stop service, came first.
    pub fn begin(&self, ticket: u64, shutdown: &Shutdown) -> Result<Cancel, Failure> {
        let cancel = Cancel::new(shutdown);
        let mut state = self.state();
        if ticket < state.begun {
            return Err(preempted());
        }
        state.begun = ticket;
        if let Some(before) = state.planning.replace(cancel.clone()) {
            before.cancel();
        }
        Ok(cancel)
    }

    /// Whether `execution` is still the last that was sent.
    pub fn is_current(&self, execution: &Execution) -> bool {
        self.state().sent == execution.id
    }

    /// Whether the last that was sent was to stop.
    pub fn was_stopped(&self) -> bool {
        self.state().stopping
    }

    /// How often the stop service was called.
    pub fn stops(&self) -> u64 {
        self.state().stops
    }

    /// Whether a trajectory is under way at `now`.
    pub fn is_moving(&self, now: Duration) -> bool {
        now < self.state().ends
    }

    /// Checks a trajectory of the arm against its state now and sends it, unless `cancel` was
    /// cancelled meanwhile.
    ///
    /// # Errors
    /// [`Code::GateRejected`] with the reason, [`Code::Preempted`], or there is no state.
    pub fn send(
        &self,
        shared: &Shared,
        trajectory: &Trajectory,
        limits: &MotionLimits,
        cancel: &Cancel,
    ) -> Result<Execution, Failure> {
        let view = shared.view()?;
        let policy = GatePolicy {
            max_age: view.parameters.joint_state_max_age,
            start_tolerance: view.parameters.start_tolerance,
            ..GatePolicy::default()
        };
        self.pass(shared, &view, trajectory, limits, &policy, Some(cancel))
    }

    /// Gives up what is being planned and brings the arm to rest within its limits.
    ///
    /// # Errors
    /// There is no current state, or the gate refuses.
    pub fn stop(&self, shared: &Shared) -> Result<(Execution, Vec<String>), Failure> {
        {
            let mut state = self.state();
            state.stops += 1;
            state.tickets += 1;
            state.begun = state.tickets;
            if let Some(planning) = state.planning.take() {
                planning.cancel();
            }
        }
        self.come_to_rest(shared, None)
    }

    /// Brings the arm to rest, unless `cancel` was cancelled meanwhile; also names the joints that
    /// cannot stop inside their limits.
    ///
    /// # Errors
    /// There is no current state, or the gate refuses.
    pub fn come_to_rest(
        &self,
        shared: &Shared,
        cancel: Option<&Cancel>,
    ) -> Result<(Execution, Vec<String>), Failure> {
        let view = shared.view()?;
        let chain = &view.robot.chain;
        let state = view.state(chain)?;
        let speeds: Vec<f64> = state
            .readings
            .iter()
            .map(|reading| {
                reading
                    .speed()
                    .filter(|speed| speed.abs() > REST_SPEED)
                    .unwrap_or(0.0)
            })
            .collect();
        let limits = view.parameters.motion_limits(chain)?;
        let stop = stop_trajectory(chain, &state.q(), &speeds, &limits)
            .map_err(|error| Failure::new(Code::Failure, error.to_string()))?;
        let policy = GatePolicy {
            max_age: view.parameters.joint_state_max_age,
            start_tolerance: view.parameters.start_tolerance,
            // It is already there and must be able to stop.
            position_tolerance: view.parameters.limit_tolerance,
            position_slack: view.parameters.limit_tolerance,
            velocity_slack: STOP_VELOCITY_SLACK,
            ..GatePolicy::default()
        };
        let sent = self.pass(shared, &view, &stop.trajectory, &limits, &policy, cancel)?;
        Ok((sent, stop.outside))
    }

    fn pass(
        &self,
        shared: &Shared,
        view: &View,
        trajectory: &Trajectory,
        limits: &MotionLimits,
        policy: &GatePolicy,
        cancel: Option<&Cancel>,
    ) -> Result<Execution, Failure> {
        let mut outgoing = OutgoingTrajectory::from(trajectory);
        let mut bounds = joint_bounds(&view.robot.chain, limits);
        let mut measured = measured(view)?;
        hold_the_others(view, &mut outgoing, &mut bounds, &mut measured)?;
        let context = GateContext {
            controller_joints: &view.robot.controller_joints,
            bounds: &bounds,
            measured: &measured,
            now_ns: nanoseconds_of(&view.stamp),
            policy,
            collision: None,
        };
        let checked = check(outgoing, &context)?;
        let notes = checked.clamped().iter().map(|clamp| {
            format!(
                "joint \"{}\" was moved from {} onto its limit {}",
                clamp.joint, clamp.from, clamp.to
            )
        });
        let notes: Vec<String> = notes.collect();
        let message = trajectory_message(checked.message(), &view.robot.chain.base);
        let last = checked.message().points.last();
        let target: Vec<(String, f64)> = last.map_or(Vec::new(), |last| {
            checked
                .message()
                .joint_names
                .iter()
                .cloned()
                .zip(last.positions.iter().copied())
                .collect()
        });
        let duration = Duration::from_secs_f64(trajectory.duration().clamp(0.0, 1e9));

        // From here on nobody may come in between.
        let mut state = self.state();
        if cancel.is_some_and(Cancel::is_cancelled) {
            return Err(preempted());
        }
        if !shared.outputs.trajectory.publish(&message) {
            return Err(Failure::new(
                Code::Failure,
                "the trajectory could not be published",
            ));
        }
        state.sent += 1;
        state.ends = shared.now() + duration;
        // Nothing but the stop service comes without a way to cancel it.
        state.stopping = cancel.is_none();
        Ok(Execution {
            id: state.sent,
            ends: state.ends,
            target,
            notes,
        })
    }
}

/// The failure of a motion that was replaced.
pub fn preempted() -> Failure {
    Failure::new(
        Code::Preempted,
        "given up: a newer goal or the stop service took over",
    )
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
                velocity: reading.velocity,
                age: view.now.saturating_sub(reading.received).as_secs_f64(),
            };
            (dof.name.clone(), measured)
        });
    Ok(joints.collect())
}

/// A controller may have joints that are not the arm's: they hold their position.
fn hold_the_others(
    view: &View,
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
        let max_age = view.parameters.joint_state_max_age;
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
