//! The motions that were sent: which of them the arm is on, where it should be, and where it will
//! be in a moment.

use std::time::Duration;

use super::context::{Shared, View};
use super::controller::{GoalId, Phase, Phases};
use super::convert::nanoseconds_of;
use super::shutdown::Cancel;
use crate::trajectory::{Trajectory, TrajectoryPoint};

/// An arm on the move may be behind where it should be by what it covers in this time.
const LAG: f64 = 0.1;

/// Points of a trajectory are further apart than this \[s\]; less is rounding.
const APART: f64 = 1e-6;
/// Slower than this an arm says nothing about time \[rad/s or m/s, over all joints\].
const SLOW: f64 = 0.05;
/// What is later than this has another reason than its way to the controller \[s\].
const MOST_LATE: f64 = 0.1;

/// A trajectory that was sent, for as long as it is the newest.
#[derive(Debug, Clone)]
pub struct Motion {
    /// Its number.
    pub id: u64,
    /// Its time zero, on the steady clock.
    pub began: Duration,
    /// When it will have ended.
    pub ends: Duration,
    /// Whether it was to stop.
    pub stopping: bool,
    /// What was sent, for the joints of the arm.
    pub trajectory: Trajectory,
    /// Its number by action.
    #[cfg_attr(not(has_control_msgs), allow(dead_code))]
    pub goal: Option<GoalId>,
    /// What the controller says about it.
    pub phases: Phases,
    /// How far the controller says that the arm is off, and which joint most.
    pub error: Option<(String, f64)>,
    /// Whether its time zero has been corrected by what the controller says that it commands.
    pub heard: bool,
    /// What goes on should the controller refuse this one.
    pub before: Option<Box<Motion>>,
}

impl Motion {
    /// Whether the arm is under way on it at `now`.
    pub fn moves(&self, now: Duration) -> bool {
        now < self.ends && !self.phases.now().is_last()
    }

    /// Corrects its time zero by where the arm was at a time on the steady clock: what begins "on
    /// arrival" begins a little later than it was sent, nobody says when. Words of the controller
    /// about what it commands (`commanded`) count more than measured positions, which may lag.
    pub fn observe(
        &mut self,
        time: Duration,
        position: &dyn Fn(&str) -> Option<f64>,
        commanded: bool,
    ) {
        if self.heard && !commanded || !self.moves(time) || self.since(time) <= 0.0 {
            return;
        }
        let Some(point) = self.at(time) else { return };
        let names = self.trajectory.joint_names.iter();
        let (mut along, mut square) = (0.0, 0.0);
        for (name, (expected, speed)) in names.zip(point.positions.iter().zip(&point.velocities)) {
            let Some(seen) = position(name).filter(|seen| seen.is_finite()) else {
                return;
            };
            along += speed * (expected - seen);
            square += speed * speed;
        }
        if square < SLOW * SLOW {
            return;
        }
        let late = along / square;
        if late.abs() > MOST_LATE {
            return;
        }
        let share = if commanded { 1.0 } else { 0.5 };
        self.heard |= commanded;
        let shift = Duration::from_secs_f64((share * late).abs());
        let shifted = |time: Duration| {
            if late > 0.0 {
                time + shift
            } else {
                time.saturating_sub(shift)
            }
        };
        (self.began, self.ends) = (shifted(self.began), shifted(self.ends));
    }

    /// Seconds since its time zero; negative before.
    pub fn since(&self, time: Duration) -> f64 {
        time.as_secs_f64() - self.began.as_secs_f64()
    }

    /// Where the arm should be at a time on the steady clock.
    pub fn at(&self, time: Duration) -> Option<TrajectoryPoint> {
        let gone = self.since(time);
        let mut point = self.trajectory.sample(gone)?;
        // A state needs all of its parts.
        let joints = point.positions.len();
        point.velocities.resize(joints, 0.0);
        point.accelerations.resize(joints, 0.0);
        Some(point)
    }

    /// What is left of it from a time on the steady clock on, which becomes its time zero.
    pub fn rest(&self, time: Duration) -> Option<Trajectory> {
        let gone = self.since(time).max(0.0);
        let mut rest = Trajectory {
            joint_names: self.trajectory.joint_names.clone(),
            points: vec![self.trajectory.sample(gone)?],
        };
        let ahead = self.trajectory.points.iter();
        rest.points
            .extend(ahead.filter(|point| point.time > gone + APART).cloned());
        for point in &mut rest.points {
            point.time -= gone;
        }
        Some(rest)
    }

    /// Whether the measured joints are where they should have been when they were measured; an arm
    /// on the move may be a little behind.
    fn is_followed(&self, view: &View) -> bool {
        let chain = &view.robot.chain;
        if self.trajectory.joint_names != chain.joint_names() {
            return false;
        }
        let Ok(state) = view.state(chain) else {
            return false;
        };
        state.readings.iter().enumerate().all(|(joint, reading)| {
            let Some(point) = self.at(reading.received) else {
                return false;
            };
            let (Some(position), Some(speed)) = (
                point.positions.get(joint).copied(),
                point.velocities.get(joint).copied(),
            ) else {
                return false;
            };
            let speed = speed.abs().max(reading.speed().unwrap_or(0.0).abs());
            let tolerance = view.parameters.start_tolerance + speed * LAG;
            (reading.position - position).abs() <= tolerance
        })
    }
}

/// How far a motion is.
#[derive(Debug, Clone, PartialEq)]
pub struct Advance {
    /// Time since it began.
    pub elapsed: Duration,
    /// Time until it will have ended.
    pub left: Duration,
    /// Where the arm should be now: joints of the trajectory and their values.
    pub expected: Vec<(String, f64)>,
    /// How far the controller says that the arm is off, and which joint most.
    pub error: Option<(String, f64)>,
}

/// Where a moving arm will be in a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Ahead {
    /// The motion that it is on.
    pub id: u64,
    /// The moment, on the steady clock.
    pub when: Duration,
    /// The same on the clock of ROS \[ns\].
    pub stamp_ns: i64,
    /// The state then: positions, velocities and accelerations of the arm's joints.
    pub point: TrajectoryPoint,
}

/// Who moves, and what was asked for.
#[derive(Debug, Default)]
pub struct State {
    /// Of the motion being planned.
    pub planning: Option<Cancel>,
    /// How many were sent.
    pub sent: u64,
    /// How often the stop service was called.
    pub stops: u64,
    /// Tickets given out.
    pub tickets: u64,
    /// The newest ticket that has begun; older ones come too late.
    pub begun: u64,
    /// The trajectory that was sent last.
    pub last: Option<Motion>,
    /// How long the last check of the gate took.
    pub checking: Duration,
    /// How long planning is likely to take.
    pub planning_time: Duration,
    /// How long it is likely to take to blend, check and send what was planned for a moving arm.
    pub going_over: Duration,
}

impl State {
    /// Forgets what the controller has refused, and what was replaced by something it accepted.
    pub fn settle(&mut self) {
        while let Some(last) = &mut self.last {
            match last.phases.now() {
                Phase::Sent => return,
                Phase::Refused(_) => self.last = last.before.take().map(|before| *before),
                _ => {
                    last.before = None;
                    return;
                }
            }
        }
    }

    /// The motion that the arm is on as far as the controller has said.
    pub fn current(&self) -> Option<&Motion> {
        let mut motion = self.last.as_ref()?;
        while let (Some(before), Phase::Sent) = (&motion.before, motion.phases.now()) {
            motion = before;
        }
        Some(motion)
    }

    /// Where the arm will be after `lead`, if it is under way on a motion, follows it, and the
    /// controller shares the node's clock; `at_point`: at the next point of its trajectory.
    pub fn ahead(
        &self,
        shared: &Shared,
        view: &View,
        lead: Duration,
        at_point: bool,
    ) -> Option<Ahead> {
        let motion = self.last.as_ref()?;
        let sure = motion.phases.now() != Phase::Sent || motion.before.is_none();
        if !(sure && motion.moves(view.now) && shared.clocks.agree() && motion.is_followed(view)) {
            return None;
        }
        let lead = if at_point {
            let since = motion.since(view.now + lead);
            let mut points = motion.trajectory.points.iter();
            match points.find(|point| point.time >= since) {
                Some(point) => lead + Duration::from_secs_f64((point.time - since).clamp(0.0, 1.0)),
                None => lead,
            }
        } else {
            lead
        };
        ahead_on(motion, view, lead)
    }
}

/// Where the arm will be after `lead` on a motion.
pub fn ahead_on(motion: &Motion, view: &View, lead: Duration) -> Option<Ahead> {
    let when = view.now + lead;
    let point = motion.at(when)?;
    if point.positions.len() != view.robot.chain.dof() {
        return None;
    }
    let lead_ns = i64::try_from(lead.as_nanos()).ok()?;
    Some(Ahead {
        id: motion.id,
        when,
        stamp_ns: nanoseconds_of(&view.stamp).checked_add(lead_ns)?,
        point: TrajectoryPoint { time: 0.0, ..point },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn motion(id: u64, before: Option<Motion>) -> (tokio::sync::watch::Sender<Phase>, Motion) {
        let (sender, phases) = Phases::begin();
        let point = |time, at| TrajectoryPoint {
            time,
            positions: vec![at],
            velocities: vec![1.0],
            accelerations: Vec::new(),
        };
        let motion = Motion {
            id,
            began: Duration::from_secs(10),
            ends: Duration::from_secs(12),
            stopping: false,
            trajectory: Trajectory {
                joint_names: vec!["j".into()],
                points: vec![point(0.0, 0.0), point(2.0, 2.0)],
            },
            goal: None,
            phases,
            error: None,
            heard: false,
            before: before.map(Box::new),
        };
        (sender, motion)
    }

    #[test]
    fn a_refused_motion_gives_way_to_the_one_before() {
        let (first, one) = motion(1, None);
        first.send_replace(Phase::Accepted);
        let (second, two) = motion(2, Some(one));
        let (third, three) = motion(3, Some(two));
        let mut state = State {
            last: Some(three),
            ..State::default()
        };
        // Neither of the newer ones has been answered.
        assert_eq!(state.current().unwrap().id, 1);
        third.send_replace(Phase::Refused("no".into()));
        state.settle();
        assert_eq!(state.current().unwrap().id, 1);
        second.send_replace(Phase::Accepted);
        state.settle();
        assert_eq!(state.current().unwrap().id, 2);
        assert!(state.last.unwrap().before.is_none());
    }

    #[test]
    fn the_time_at_which_a_motion_really_began_is_found() {
        let (sender, mut motion) = motion(1, None);
        sender.send_replace(Phase::Accepted);
        // It moves at 1 rad/s, and began 30 ms later than was thought.
        let seen = |time: f64| move |_: &str| Some(time - 10.03);
        for step in 0..20 {
            let time = 10.5 + 0.01 * f64::from(step);
            motion.observe(Duration::from_secs_f64(time), &seen(time), false);
        }
        assert!((motion.began.as_secs_f64() - 10.03).abs() < 1e-4);
        assert!((motion.ends.as_secs_f64() - 12.03).abs() < 1e-4);
        // What the controller commands counts at once, and more than what is measured.
        let commanded = |_: &str| Some(0.98);
        motion.observe(Duration::from_secs(11), &commanded, true);
        assert!((motion.began.as_secs_f64() - 10.02).abs() < 1e-9);
        motion.observe(Duration::from_secs(11), &seen(11.0), false);
        assert!((motion.began.as_secs_f64() - 10.02).abs() < 1e-9);
        // Far off, or not a number: something else is wrong.
        motion.observe(Duration::from_secs(11), &|_| Some(0.2), true);
        motion.observe(Duration::from_secs(11), &|_| Some(f64::NAN), true);
        assert!((motion.began.as_secs_f64() - 10.02).abs() < 1e-9);
    }

    #[test]
    fn what_is_left_of_a_motion_begins_at_time_zero() {
        let (_sender, motion) = motion(1, None);
        let rest = motion.rest(Duration::from_millis(10_500)).unwrap();
        assert_eq!(rest.points.len(), 2);
        assert_eq!(
            (rest.points[0].time, rest.points[0].positions[0]),
            (0.0, 0.5)
        );
        assert_eq!(
            (rest.points[1].time, rest.points[1].positions[0]),
            (1.5, 2.0)
        );
        // Just before its last point that point is the only one left.
        let rest = motion.rest(Duration::from_nanos(11_999_999_999)).unwrap();
        assert_eq!(rest.points.len(), 1);
        assert_eq!(motion.at(Duration::from_secs(11)).unwrap().positions, [1.0]);
        assert_eq!(motion.since(Duration::from_secs(9)), -1.0);
        assert!(motion.moves(Duration::from_secs(11)));
        assert!(!motion.moves(Duration::from_secs(12)));
    }
}
