//! The only way to the controller: through the gate, one motion at a time, the newest wins.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::codes::{Code, Failure};
use super::collisions::Checker;
use super::context::{Shared, View};
use super::controller::{GoalId, Phases};
use super::convert::{nanoseconds_of, trajectory_message};
use super::moves::{ahead_on, Advance, Ahead, Motion, State};
use super::obstacles::{ObstacleSet, Sent};
use super::shutdown::{Cancel, Shutdown};
use super::whereabouts::{hold_the_others, Whereabouts};
use crate::collision::CheckScratch;
use crate::trajectory::{
    check, joint_bounds, stop_trajectory, GateContext, GatePolicy, JointBounds, MotionLimits,
    OutgoingTrajectory, Trajectory, TrajectoryPoint,
};

/// A joint slower than this is at rest \[rad/s or m/s\].
pub const REST_SPEED: f64 = 0.01;
/// A stop begins this much later than it is sent, so that it begins where the arm is then.
const STOP_LEAD: Duration = Duration::from_millis(20);
/// What is left in memory of a longer time when a shorter one is seen.
const FADING: f64 = 0.8;
/// While coming to rest an arm may be this many times faster than it should ever have been.
const STOP_VELOCITY_SLACK: f64 = 10.0;

/// A trajectory that was sent.
#[derive(Debug, Clone)]
pub struct Execution {
    /// Its number; the next one replaces it.
    pub id: u64,
    /// When it will have ended, on the steady clock.
    pub ends: Duration,
    /// Where it ends: joint names and values.
    pub target: Vec<(String, f64)>,
    /// What the gate changed, in words.
    pub notes: Vec<String>,
    /// What the motion was planned around, for those who watch it.
    pub guard: Option<Guard>,
    /// What the controller says about it.
    pub phases: Phases,
}

/// What a motion was planned around.
#[derive(Debug, Clone, PartialEq)]
pub struct Guard {
    /// The obstacles that were known.
    pub known: Arc<ObstacleSet>,
    /// Changes to them for this motion alone.
    pub extra: Vec<Sent>,
    /// The distance that the tip kept from them \[m\].
    pub clearance: f64,
    /// Whether it did so all the way; off its route only the links' clearance counts.
    pub on_route: bool,
}

/// What a trajectory is checked against.
struct Terms {
    bounds: BTreeMap<String, JointBounds>,
    whereabouts: Whereabouts,
    policy: GatePolicy,
    /// The moment at which it begins: its stamp \[ns\], and the same on the steady clock; on arrival
    /// if there is none.
    begins: Option<(i64, Duration)>,
    /// What the whole arm must not meet; unchecked if there is none.
    obstacles: Option<Arc<ObstacleSet>>,
}

/// Who moves.
#[derive(Debug, Default)]
pub struct Mover(Mutex<State>);

impl Mover {
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.settle();
        state
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

    /// Whether `execution` is still what the arm is on; something newer takes its place only once
    /// the controller has accepted it.
    pub fn is_current(&self, execution: &Execution) -> bool {
        let state = self.state();
        let is = |motion: Option<&Motion>| motion.is_some_and(|motion| motion.id == execution.id);
        is(state.current()) || is(state.last.as_ref())
    }

    /// Whether what the arm is on was to stop it.
    pub fn was_stopped(&self) -> bool {
        self.state().current().is_some_and(|motion| motion.stopping)
    }

    /// How far `execution` is, if the arm is on it.
    pub fn advance(&self, execution: &Execution, now: Duration) -> Option<Advance> {
        let state = self.state();
        let motion = state.current().filter(|motion| motion.id == execution.id)?;
        let elapsed = now.min(motion.ends).saturating_sub(motion.began);
        let positions = motion.at(now)?.positions;
        let names = motion.trajectory.joint_names.iter().cloned();
        Some(Advance {
            elapsed,
            left: motion.ends.saturating_sub(now),
            expected: names.zip(positions).collect(),
            error: motion.error.clone(),
        })
    }

    /// Takes note of how far the controller says that the arm is off.
    #[cfg_attr(not(has_control_msgs), allow(dead_code))]
    pub fn off(&self, goal: &GoalId, joint: &str, error: f64) {
        if let Some(motion) = &mut self.state().last {
            if motion.goal.as_ref() == Some(goal) {
                motion.error = Some((joint.to_owned(), error));
            }
        }
    }

    /// How often the stop service was called.
    pub fn stops(&self) -> u64 {
        self.state().stops
    }

    /// What is left at `now` of the trajectory that was sent last.
    pub fn rest_of_the_motion(&self, now: Duration) -> Option<Trajectory> {
        self.state().current()?.rest(now)
    }

    /// Where the arm will be after `lead`, at the next point of the trajectory that it is on; `None`
    /// if it is at rest, does not follow, or if nobody can say because the controller has
    /// another clock.
    pub fn ahead(&self, shared: &Shared, view: &View, lead: Duration) -> Option<Ahead> {
        self.state().ahead(shared, view, lead, true)
    }

    /// Takes note of where the arm was at a time on the steady clock, see [`Motion::observe`].
    pub fn observe(&self, time: Duration, position: &dyn Fn(&str) -> Option<f64>, commanded: bool) {
        let mut state = self.state();
        if let Some(motion) = state.last.as_mut().filter(|motion| motion.before.is_none()) {
            motion.observe(time, position, commanded);
        }
    }

    /// How long it is likely to take to plan and to go over to that.
    pub fn took(&self) -> Duration {
        let state = self.state();
        state.planning_time + state.going_over
    }

    /// Takes note of how long planning took.
    pub fn planning_took(&self, took: Duration) {
        let mut state = self.state();
        state.planning_time = remembered(state.planning_time, took);
    }

    /// Takes note of how long it took to blend, check and send what was planned.
    pub fn going_over_took(&self, took: Duration) {
        let mut state = self.state();
        state.going_over = remembered(state.going_over, took);
    }

    /// How long it is likely to take to blend, check and send what was planned.
    pub fn going_over(&self) -> Duration {
        self.state().going_over
    }

    /// How long the last check of the gate took.
    pub fn checking(&self) -> Duration {
        self.state().checking
    }

    /// What the arm goes on with from the moment `from` until `until`, both on the steady clock, with
    /// its time zero at `from`; `None` if it is no longer on that motion.
    pub fn stretch(&self, on: u64, from: Duration, until: Duration) -> Option<Trajectory> {
        let state = self.state();
        let motion = state.last.as_ref().filter(|motion| motion.id == on)?;
        let mut stretch = motion.rest(from)?;
        let length = until.checked_sub(from)?.as_secs_f64();
        stretch.points.retain(|point| point.time < length - 1e-6);
        Some(stretch)
    }

    /// Where the arm has been on `execution` until `now`, a millisecond apart; `None` if it is on
    /// another motion.
    pub fn passed(&self, execution: &Execution, now: Duration) -> Option<Vec<TrajectoryPoint>> {
        let state = self.state();
        let motion = state.current().filter(|motion| motion.id == execution.id)?;
        let steps = (motion.since(now).max(0.0) * 1e3).min(1e6) as u32;
        let times = (0..=steps).map(|step| motion.began + Duration::from_millis(u64::from(step)));
        times.map(|time| motion.at(time)).collect()
    }

    /// Whether a trajectory is under way at `now`.
    pub fn is_moving(&self, now: Duration) -> bool {
        self.state()
            .last
            .as_ref()
            .is_some_and(|motion| motion.moves(now))
    }

    /// Checks a trajectory of the arm against its state now and sends it, unless `cancel` was
    /// cancelled meanwhile. It begins on arrival, or as the continuation of the motion under way
    /// at the moment `ahead`. The whole arm must keep out of `obstacles`; `None`: those known now.
    ///
    /// # Errors
    /// [`Code::GateRejected`] with the reason, [`Code::Preempted`], or there is no state.
    pub fn send(
        &self,
        shared: &Shared,
        trajectory: &Trajectory,
        limits: &MotionLimits,
        obstacles: Option<Arc<ObstacleSet>>,
        ahead: Option<&Ahead>,
        cancel: &Cancel,
    ) -> Result<Execution, Failure> {
        let view = shared.view()?;
        let policy = GatePolicy {
            max_age: view.parameters.joint_state_max_age,
            start_tolerance: view.parameters.start_tolerance,
            ..GatePolicy::default()
        };
        let bounds = joint_bounds(&view.robot.chain, limits);
        let whereabouts = match ahead {
            Some(ahead) => Whereabouts::predicted(&view, ahead, policy.max_age),
            None => Whereabouts::seen(&view)?,
        };
        let obstacles = obstacles.unwrap_or_else(|| Arc::clone(&view.obstacles));
        let terms = Terms {
            bounds,
            whereabouts,
            policy,
            begins: ahead.map(|ahead| (ahead.stamp_ns, ahead.when)),
            obstacles: view.parameters.collision.check_motion.then_some(obstacles),
        };
        self.pass(shared, &view, trajectory, terms, Some(cancel))
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
        self.come_to_rest(shared, None, None)
    }

    /// Brings the arm to rest, unless `cancel` was cancelled meanwhile; also names the joints that
    /// cannot stop inside their limits. `gentle` has less than the arm's limits for it, where it can come
    /// to rest with them inside its joints' limits.
    ///
    /// # Errors
    /// There is no current state, or the gate refuses.
    pub fn come_to_rest(
        &self,
        shared: &Shared,
        cancel: Option<&Cancel>,
        gentle: Option<&MotionLimits>,
    ) -> Result<(Execution, Vec<String>), Failure> {
        let view = shared.view()?;
        let chain = &view.robot.chain;
        let mut ahead = self.state().ahead(shared, &view, STOP_LEAD, false);
        let whereabouts = match (&ahead, Whereabouts::seen(&view)) {
            (Some(ahead), Ok(seen)) => Whereabouts::predicted(&view, ahead, seen.max_age),
            // The stop service must not need what has just failed.
            (_, Err(failure)) if cancel.is_none() => {
                let expected = self.expected(&view).ok_or_else(|| failure.clone())?;
                let why = format!(
                    "stopped from where the arm should be, for {}",
                    failure.message
                );
                let predicted = Whereabouts::predicted(&view, &expected, f64::INFINITY);
                ahead = shared.clocks.agree().then_some(expected);
                Whereabouts {
                    note: Some(why),
                    ..predicted
                }
            }
            (_, seen) => seen?,
        };
        let limits = view.parameters.motion_limits(chain)?;
        let within = |limits| stop_trajectory(chain, &whereabouts.q, &whereabouts.speeds, limits);
        let gently = gentle.and_then(|limits| within(limits).ok());
        let stop = match gently.filter(|stop| stop.outside.is_empty()) {
            Some(stop) => stop,
            None => {
                within(&limits).map_err(|error| Failure::new(Code::Failure, error.to_string()))?
            }
        };
        let policy = GatePolicy {
            max_age: view.parameters.joint_state_max_age,
            start_tolerance: view.parameters.start_tolerance,
            // It is already there and must be able to stop.
            position_tolerance: view.parameters.limit_tolerance,
            position_slack: view.parameters.limit_tolerance,
            velocity_slack: STOP_VELOCITY_SLACK,
            ..GatePolicy::default()
        };
        let mut bounds = joint_bounds(chain, &limits);
        // An arm that has overrun a limit must be able to stop there.
        for (index, name) in stop.trajectory.joint_names.iter().enumerate() {
            let Some(bounds) = bounds.get_mut(name) else {
                continue;
            };
            for position in stop
                .trajectory
                .points
                .iter()
                .filter_map(|p| p.positions.get(index))
            {
                bounds.lower = bounds.lower.min(*position);
                bounds.upper = bounds.upper.max(*position);
            }
        }
        let note = whereabouts.note.clone();
        let terms = Terms {
            bounds,
            whereabouts,
            policy,
            begins: ahead.map(|ahead| (ahead.stamp_ns, ahead.when)),
            // Coming to rest is the best that it can do.
            obstacles: None,
        };
        let mut sent = self.pass(shared, &view, &stop.trajectory, terms, cancel)?;
        sent.notes.extend(note);
        Ok((sent, stop.outside))
    }

    /// Where the arm should be in a moment, if it is under way.
    fn expected(&self, view: &View) -> Option<Ahead> {
        let state = self.state();
        let motion = state.current().filter(|motion| motion.moves(view.now))?;
        ahead_on(motion, view, STOP_LEAD)
    }

    fn pass(
        &self,
        shared: &Shared,
        view: &View,
        trajectory: &Trajectory,
        terms: Terms,
        cancel: Option<&Cancel>,
    ) -> Result<Execution, Failure> {
        let mut outgoing = OutgoingTrajectory::from(trajectory);
        let Terms {
            mut bounds,
            whereabouts,
            policy,
            begins,
            obstacles,
        } = terms;
        outgoing.stamp_ns = begins.map(|(stamp_ns, _)| stamp_ns);
        let mut measured = whereabouts.measured;
        let max_age = whereabouts.max_age;
        hold_the_others(view, max_age, &mut outgoing, &mut bounds, &mut measured)?;
        // A robot without shapes cannot be checked; what plans with the whole arm says so.
        let checker = obstacles.and_then(|obstacles| {
            Checker::new(view, &view.robot.chain, &obstacles, &mut Vec::new()).ok()
        });
        let order = chain_order(view);
        let scratch = RefCell::new((CheckScratch::default(), Vec::new()));
        let free = |values: &[f64]| {
            let (scratch, q) = &mut *scratch.borrow_mut();
            q.clear();
            q.extend(order.iter().filter_map(|&index| values.get(index)));
            checker
                .as_ref()
                .map_or(Ok(()), |checker| checker.obstruction(q, scratch))
        };
        let context = GateContext {
            controller_joints: &view.robot.controller_joints,
            bounds: &bounds,
            measured: &measured,
            now_ns: nanoseconds_of(&view.stamp),
            policy: &policy,
            collision: checker.is_some().then_some(&free),
        };
        let began = Instant::now();
        let checked = check(outgoing, &context).inspect_err(|_| {
            shared.counts.gate_refusals.count();
        })?;
        self.state().checking = began.elapsed();
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
        // Whoever can be cancelled can do something else; the stop service cannot.
        if cancel.is_some() && begins.is_some_and(|(_, when)| shared.now() >= when) {
            let message = "checking took so long that it is past the moment to begin";
            return Err(Failure::new(Code::TimedOut, message));
        }
        let sending = shared.outputs.controller.send(message)?;
        shared.counts.sent.count();
        state.sent += 1;
        let now = shared.now();
        let began = begins.map_or(now, |(_, when)| when);
        let before = state.last.take().filter(|before| before.moves(now));
        let motion = Motion {
            id: state.sent,
            began,
            ends: began + duration,
            // Nothing but the stop service comes without a way to cancel it.
            stopping: cancel.is_none(),
            trajectory: trajectory.clone(),
            goal: sending.goal,
            phases: sending.phases,
            error: None,
            // A stamp says exactly when.
            heard: begins.is_some(),
            before: before.map(Box::new),
        };
        let execution = Execution {
            id: motion.id,
            ends: motion.ends,
            target,
            notes,
            guard: None,
            phases: motion.phases.clone(),
        };
        state.last = Some(motion);
        Ok(execution)
    }
}

/// Of what something took before and now, what it is likely to take: the most of late, since what takes
/// too long costs a stop.
fn remembered(before: Duration, now: Duration) -> Duration {
    now.max(before.mul_f64(FADING))
}

/// Where the arm's joints are among those of the controller.
fn chain_order(view: &View) -> Vec<usize> {
    let controller = &view.robot.controller_joints;
    let joints = view.robot.chain.dofs.iter();
    joints
        .filter_map(|dof| controller.iter().position(|name| *name == dof.name))
        .collect()
}

/// The failure of a motion that was replaced.
pub fn preempted() -> Failure {
    Failure::new(
        Code::Preempted,
        "given up: a newer goal or the stop service took over",
    )
}
