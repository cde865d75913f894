//! A new motion that begins while the arm still moves.
//!
//! The arm comes to rest with a part of its acceleration while the new motion already begins with
//! what is left of it: the sum of both is continuous in position and velocity, stays within the
//! limits, and ends where the new motion ends. The new motion starts from where the stop alone
//! would end, so a planner knows its start beforehand ([`stop_configuration`]).

use super::polynomial::Segment;
use super::retime::{RetimeError, TimedPath, SAMPLING_SLACK};
use super::sampled::{sample_times, Trajectory, TrajectoryPoint};
use super::stop::{stop_trajectory, Stop, StopError};
use super::MotionLimits;
use crate::model::Chain;
use crate::planning::JointPath;

/// Share of the acceleration limits with which the arm comes to rest while it blends; the new motion
/// has the rest of them meanwhile.
pub const BLEND_STOP_SHARE: f64 = 0.5;
/// How far \[rad, m\] the start of the new path may be from [`stop_configuration`].
pub const BLEND_START_TOLERANCE: f64 = 1e-6;
/// Parts of the stop in which the room that it leaves to the new motion is taken as constant.
const PHASES: usize = 8;
/// Share of a joint's velocity limit that must be free before the new motion begins.
const LEAST_ROOM: f64 = 0.02;
/// Moments of a stop with limited jerk at which the new motion may begin, as shares of its duration.
const BEGINS: [f64; 4] = [0.0, 0.25, 0.5, 0.75];
/// Share of what such a stop leaves that the new motion is planned with.
const ROOM: f64 = 0.98;
/// Shares of all limits that are tried for the blend, until what a controller interpolates between
/// samples stays within the limits too.
const SHARES: [f64; 6] = [1.0, 0.95, 0.9, 0.8, 0.65, 0.5];

/// Why there is no blend.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BlendError {
    /// The moving state cannot be used.
    #[error(transparent)]
    Stop(#[from] StopError),
    /// The new path cannot be timed.
    #[error(transparent)]
    Next(#[from] RetimeError),
    /// The new path starts elsewhere.
    #[error("joint {joint} of the new path starts at {start}, but the moving arm would come to rest at {stop}: let the path start at the stop configuration")]
    Start {
        /// Which joint, from zero.
        joint: usize,
        /// Where the new path starts \[rad, m\].
        start: f64,
        /// Where the arm would come to rest \[rad, m\].
        stop: f64,
    },
    /// The arm cannot come to rest inside its limits.
    #[error("the arm cannot come to rest inside the limits of {}", joints.join(", "))]
    Outside {
        /// The joints that would be outside.
        joints: Vec<String>,
    },
}

/// A new motion joined to the one under way.
#[derive(Debug, Clone, PartialEq)]
pub struct Blend {
    /// From the moving state to rest at the end of the new path, time zero at the moving state.
    pub trajectory: Trajectory,
    /// Until when \[s\] the arm may be off the new path; from then on it follows it exactly.
    pub joined: f64,
    /// Whether the arm comes to rest in between (the fallback, [`stop_then_go`]).
    pub rests_between: bool,
}

/// Where a moving arm comes to rest for a [`blend`]: where the new path has to start.
///
/// `moving` is a state of the motion under way, as of [`Trajectory::sample`].
///
/// # Errors
/// [`BlendError::Stop`] and [`BlendError::Outside`].
pub fn stop_configuration(
    chain: &Chain,
    moving: &TrajectoryPoint,
    limits: &MotionLimits,
) -> Result<Vec<f64>, BlendError> {
    let stop = gentle_stop(chain, moving, limits)?;
    let last = stop.trajectory.points.into_iter().next_back();
    Ok(last.map_or_else(|| moving.positions.clone(), |point| point.positions))
}

fn gentle_stop(
    chain: &Chain,
    moving: &TrajectoryPoint,
    limits: &MotionLimits,
) -> Result<Stop, BlendError> {
    let gentle = limits
        .scaled(1.0, BLEND_STOP_SHARE)
        .unwrap_or_else(|_| limits.clone());
    let stop = stop_trajectory(chain, &moving.positions, &moving.velocities, &gentle)?;
    if stop.outside.is_empty() {
        return Ok(stop);
    }
    Err(BlendError::Outside {
        joints: stop.outside,
    })
}

/// Leaves the motion under way for `next`, without a jump in velocity: from `moving` (a state as of
/// [`Trajectory::sample`], time zero of the answer) to rest at the end of `next`, sampled at most
/// `period` \[s\] apart. `next` must start at [`stop_configuration`].
///
/// Until [`Blend::joined`] the arm is beside `next` by what is left of the stop, so collisions have to be
/// checked on the answer. Where a blend would leave position limits or cannot keep the others,
/// the answer is that of [`stop_then_go`].
///
/// # Errors
/// [`BlendError`].
pub fn blend(
    chain: &Chain,
    moving: &TrajectoryPoint,
    next: &JointPath,
    limits: &MotionLimits,
    period: f64,
) -> Result<Blend, BlendError> {
    let stop = checked_stop(chain, moving, next, limits)?;
    if limits.jerk().is_some() {
        let simple = concatenated(chain, moving, &stop, next, limits, period)?;
        let smooth = smoothly_superposed(chain, &stop, next, limits, period)?;
        return Ok(smooth
            .filter(|smooth| smooth.trajectory.duration() < simple.trajectory.duration())
            .unwrap_or(simple));
    }
    for share in SHARES {
        let Ok(reduced) = limits.scaled(share, share) else {
            break;
        };
        if let Some(blend) = superposed(chain, &stop, next, limits, &reduced, period)? {
            return Ok(blend);
        }
    }
    concatenated(chain, moving, &stop, next, limits, period)
}

/// The slow and simple way to a new motion: comes to rest at [`stop_configuration`], then follows
/// `next`.
///
/// # Errors
/// [`BlendError`].
pub fn stop_then_go(
    chain: &Chain,
    moving: &TrajectoryPoint,
    next: &JointPath,
    limits: &MotionLimits,
    period: f64,
) -> Result<Blend, BlendError> {
    let stop = checked_stop(chain, moving, next, limits)?;
    concatenated(chain, moving, &stop, next, limits, period)
}

/// The stop, if `next` begins where it ends.
fn checked_stop(
    chain: &Chain,
    moving: &TrajectoryPoint,
    next: &JointPath,
    limits: &MotionLimits,
) -> Result<Trajectory, BlendError> {
    let stop = gentle_stop(chain, moving, limits)?.trajectory;
    let rest = stop
        .points
        .last()
        .map_or(&moving.positions, |p| &p.positions);
    if let Some(first) = next.points.first() {
        for (joint, (&start, &stop)) in first.iter().zip(rest).enumerate() {
            if (start - stop).abs() > BLEND_START_TOLERANCE {
                return Err(BlendError::Start { joint, start, stop });
            }
        }
    }
    Ok(stop)
}

/// The new motion while the stop goes on: timed anew at the beginning of each phase of the stop,
/// with the room that the stop leaves from then on.
struct Phases {
    /// Begin of a phase \[s\] and the motion from then on, whose own time starts at zero; none
    /// before the new motion begins.
    parts: Vec<(f64, TimedPath)>,
}

impl Phases {
    fn new(
        chain: &Chain,
        stop: &Trajectory,
        next: &JointPath,
        limits: &MotionLimits,
    ) -> Result<Self, BlendError> {
        let mut parts: Vec<(f64, TimedPath)> = Vec::new();
        let end = stop.duration();
        for phase in 0..=PHASES {
            let time = end * phase as f64 / PHASES as f64;
            let Some(room) = room(stop, time, limits) else {
                continue;
            };
            let timed = match parts.last() {
                None => TimedPath::new(next, chain, &room)?,
                Some((begin, before)) => match before.retimed_from(time - begin, &room) {
                    Some(timed) => timed,
                    // It has arrived.
                    None => break,
                },
            };
            parts.push((time, timed));
            if end <= 0.0 {
                break;
            }
        }
        Ok(Self { parts })
    }

    /// Stop and new motion at `time`; where accelerations jump, those after the jump.
    fn sum(&self, stop: &Trajectory, time: f64) -> Option<TrajectoryPoint> {
        let mut sum = stop.sample(time)?;
        if time >= stop.duration() {
            sum.velocities.iter_mut().for_each(|v| *v = 0.0);
            sum.accelerations.iter_mut().for_each(|a| *a = 0.0);
        }
        let after = self.parts.partition_point(|(begin, _)| *begin <= time);
        let Some((begin, timed)) = after.checked_sub(1).and_then(|last| self.parts.get(last))
        else {
            return Some(sum);
        };
        let new = timed.state(time - begin);
        let rest = &stop.points.last()?.positions;
        for joint in 0..sum.positions.len() {
            sum.positions[joint] += new.positions.get(joint)? - rest.get(joint)?;
            sum.velocities[joint] += new.velocities.get(joint)?;
            sum.accelerations[joint] += new.accelerations.get(joint)?;
        }
        sum.time = time;
        Some(sum)
    }

    /// When to sample the sum \[s\]: evenly, and shortly before and after each jump of an acceleration,
    /// for an interpolation across a jump swings least where it is short; until shortly after
    /// the end of the stop. `None` if the period cannot be used; empty without a stop.
    fn times(&self, stop: &Trajectory, limits: &MotionLimits, period: f64) -> Option<Vec<f64>> {
        let joined = stop.duration();
        let mut times = sample_times(joined, period)?;
        if joined <= 0.0 {
            return Some(Vec::new());
        }
        let pad = (0.125 * period).min(0.125 * joined).max(2e-9);
        let mut candidates: Vec<f64> = stop.points.iter().map(|point| point.time).collect();
        for (begin, timed) in &self.parts {
            candidates.extend(timed.knots().iter().map(|knot| begin + knot.time));
        }
        let jumps = |time: &f64| {
            let near = 1e-7;
            let (Some(before), Some(after)) =
                (self.sum(stop, time - near), self.sum(stop, time + near))
            else {
                return false;
            };
            let pairs = before.accelerations.iter().zip(&after.accelerations);
            pairs
                .zip(limits.acceleration())
                .any(|((before, after), limit)| (before - after).abs() > 0.02 * limit)
        };
        candidates.retain(|time| *time > 0.0 && *time < joined && jumps(time));
        candidates.push(joined);
        candidates.sort_by(f64::total_cmp);
        let mut kept: Vec<f64> = Vec::new();
        for time in candidates {
            if kept.last().is_none_or(|&last| time > last + 2.0 * pad) {
                kept.push(time);
            }
        }
        times
            .retain(|time| *time == 0.0 || kept.iter().all(|jump| (jump - time).abs() > 1.5 * pad));
        times.extend(kept.iter().flat_map(|jump| [jump - pad, jump + pad]));
        let mut whole: Vec<f64> = times.iter().map(|t| (t * 1e9).round() / 1e9).collect();
        whole.retain(|time| *time >= 0.0);
        whole.sort_by(f64::total_cmp);
        whole.dedup();
        Some(whole)
    }
}

/// Stop and new motion at the same time where jerk is limited: the new motion begins at one of several
/// moments of the stop, from rest, within what that leaves from then on; once the stop is over it has
/// all of the limits. So no acceleration jumps, as it would where the room changes at once.
fn smoothly_superposed(
    chain: &Chain,
    stop: &Trajectory,
    next: &JointPath,
    limits: &MotionLimits,
    period: f64,
) -> Result<Option<Blend>, BlendError> {
    let joined = stop.duration();
    let mut best: Option<Blend> = None;
    for begin in BEGINS.map(|share| share * joined) {
        let Some(room) = smooth_room(stop, begin, limits).filter(|_| joined > 0.0) else {
            continue;
        };
        let timed = TimedPath::gentle_until(next, chain, limits, &room, joined - begin);
        let timed = match timed {
            Ok(Some(timed)) => timed,
            Ok(None) | Err(RetimeError::NoMotion) => continue,
            Err(error) => return Err(error.into()),
        };
        let duration = joined.max(begin + timed.duration());
        let phases = Phases {
            parts: vec![(begin, timed)],
        };
        let times = sample_times(duration, period);
        let times = times.ok_or(RetimeError::Period { period, duration })?;
        let points: Option<Vec<TrajectoryPoint>> = times
            .into_iter()
            .map(|time| phases.sum(stop, time))
            .collect();
        let Some(mut points) = points else {
            continue;
        };
        if let Some(last) = points.last_mut() {
            last.velocities.iter_mut().for_each(|v| *v = 0.0);
        }
        let trajectory = Trajectory {
            joint_names: chain.joint_names(),
            points,
        };
        let sooner = best
            .as_ref()
            .is_none_or(|best| trajectory.duration() < best.trajectory.duration());
        if sooner && keeps_limits(chain, &trajectory, limits, stop) {
            best = Some(Blend {
                trajectory,
                joined,
                rests_between: false,
            });
        }
    }
    Ok(best)
}

/// What a stop with limited jerk leaves of the limits from `time` on, a little less than all of it; `None`
/// if that is too little to move.
fn smooth_room(stop: &Trajectory, time: f64, limits: &MotionLimits) -> Option<MotionLimits> {
    let free = MotionLimits::new(limits.velocity().to_vec(), limits.acceleration().to_vec());
    let room = room(stop, time, &free.ok()?)?;
    let share = 1.0 - BLEND_STOP_SHARE;
    let jerk = limits.jerk()?.iter().map(|jerk| share * jerk).collect();
    let room = room.scaled(ROOM, ROOM).ok()?;
    room.with_jerk(jerk).ok()
}

/// What the stop leaves of the limits from `time` on; `None` if that is too little to move.
fn room(stop: &Trajectory, time: f64, limits: &MotionLimits) -> Option<MotionLimits> {
    if time >= stop.duration() {
        return Some(limits.clone());
    }
    let state = stop.sample(time)?;
    let (mut velocity, mut acceleration) = (Vec::new(), Vec::new());
    for (joint, (&v, &a)) in limits
        .velocity()
        .iter()
        .zip(limits.acceleration())
        .enumerate()
    {
        let speed = state.velocities.get(joint)?.abs();
        // Velocities fall until the end, decelerations are constant or end early.
        let braking = stop
            .points
            .windows(2)
            .filter(|pair| pair[1].time > time)
            .filter_map(|pair| pair[0].segment_to(&pair[1], joint))
            .fold(0.0_f64, |most, segment| {
                most.max(segment.max_acceleration())
            });
        if v - speed < LEAST_ROOM * v || a - braking < LEAST_ROOM * a {
            return None;
        }
        velocity.push(v - speed);
        acceleration.push(a - braking);
    }
    MotionLimits::new(velocity, acceleration).ok()
}

/// Stop and new motion at the same time, planned within `reduced`; `None` if the sum does not
/// stay within `limits` and the chain's position limits between samples.
fn superposed(
    chain: &Chain,
    stop: &Trajectory,
    next: &JointPath,
    limits: &MotionLimits,
    reduced: &MotionLimits,
    period: f64,
) -> Result<Option<Blend>, BlendError> {
    let joined = stop.duration();
    let phases = match Phases::new(chain, stop, next, reduced) {
        Ok(phases) => phases,
        Err(BlendError::Next(RetimeError::NoMotion)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some((begin, last)) = phases.parts.last() else {
        return Ok(None);
    };
    let times = phases.times(stop, limits, period);
    let times = times.ok_or_else(|| RetimeError::Period {
        period,
        duration: joined + last.duration(),
    })?;
    // Shortly beyond the end of the stop: the sum. From then on: the new motion alone.
    let until = times.last().copied().unwrap_or(0.0);
    let mut points = Vec::with_capacity(times.len());
    for time in times {
        let Some(point) = phases.sum(stop, time) else {
            return Ok(None);
        };
        points.push(point);
    }
    let sum = Trajectory {
        joint_names: chain.joint_names(),
        points,
    };
    let mut trajectory = sum;
    if let Some(after) = last.retimed_from(until - begin, limits) {
        let after = match after.trajectory(chain.joint_names(), period) {
            Ok(after) => after,
            Err(RetimeError::NoMotion | RetimeError::StartTooFast { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        trajectory = joined_up(trajectory, after);
    }
    if let Some(last) = trajectory.points.last_mut() {
        last.velocities.iter_mut().for_each(|v| *v = 0.0);
    }
    let keeps = keeps_limits(chain, &trajectory, limits, stop);
    Ok(keeps.then_some(Blend {
        trajectory,
        joined,
        rests_between: false,
    }))
}

/// `second` behind `first`, whose last point gives way to the first of `second`.
fn joined_up(mut first: Trajectory, second: Trajectory) -> Trajectory {
    let offset = first.duration();
    if !first.points.is_empty() {
        first.points.pop();
    }
    first
        .points
        .extend(second.points.into_iter().map(|mut point| {
            // On whole nanoseconds, as both are.
            point.time = ((point.time + offset) * 1e9).round() / 1e9;
            point
        }));
    first
}

fn concatenated(
    chain: &Chain,
    moving: &TrajectoryPoint,
    stop: &Trajectory,
    next: &JointPath,
    limits: &MotionLimits,
    period: f64,
) -> Result<Blend, BlendError> {
    let joined = stop.duration();
    let mut trajectory = Trajectory {
        joint_names: chain.joint_names(),
        points: Vec::new(),
    };
    if joined > 0.0 {
        trajectory = stop.resample(period).ok_or(RetimeError::Period {
            period,
            duration: joined,
        })?;
    }
    match TimedPath::new(next, chain, limits) {
        Ok(timed) => {
            let mut next = timed.trajectory(chain.joint_names(), period)?;
            // A moment of rest, so that what is interpolated up to and from it need not swing.
            if !trajectory.points.is_empty() {
                let pause = next.points.get(1).map_or(period, |point| point.time);
                let end = trajectory.duration();
                next.points.iter_mut().for_each(|point| {
                    point.time = ((point.time + end + pause) * 1e9).round() / 1e9;
                });
            }
            trajectory.points.extend(next.points);
        }
        // Nothing but the stop, or nothing at all.
        Err(RetimeError::NoMotion) if trajectory.points.is_empty() => {
            let still = vec![0.0; moving.positions.len()];
            trajectory.points.push(TrajectoryPoint {
                time: 0.0,
                positions: moving.positions.clone(),
                velocities: still.clone(),
                accelerations: still,
            });
        }
        Err(RetimeError::NoMotion) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(Blend {
        trajectory,
        joined,
        rests_between: joined > 0.0,
    })
}

/// Whether what a controller interpolates between the points stays within all limits, or within
/// what the arm does anyway when it comes to rest.
fn keeps_limits(
    chain: &Chain,
    trajectory: &Trajectory,
    limits: &MotionLimits,
    stop: &Trajectory,
) -> bool {
    let slack = 1.0 + SAMPLING_SLACK;
    chain.dofs.iter().enumerate().all(|(joint, dof)| {
        let (Some(&v), Some(&a)) = (
            limits.velocity().get(joint),
            limits.acceleration().get(joint),
        ) else {
            return false;
        };
        let first = stop.points.first();
        let speed = first
            .and_then(|p| p.velocities.get(joint))
            .map_or(0.0, |v| v.abs());
        let (mut lower, mut upper) = (dof.lower, dof.upper);
        for point in first.into_iter().chain(stop.points.last()) {
            if let Some(&position) = point.positions.get(joint) {
                lower = lower.min(position);
                upper = upper.max(position);
            }
        }
        trajectory.points.windows(2).all(|pair| {
            let inside = |segment: Segment| {
                let (low, high) = segment.position_range(1e-9);
                segment.speed_against(v * slack) <= v.max(speed) * slack
                    && segment.acceleration_against(a * slack) <= a * slack
                    && low >= lower - 1e-9
                    && high <= upper + 1e-9
            };
            pair[0].segment_to(&pair[1], joint).is_some_and(inside)
        })
    })
}
