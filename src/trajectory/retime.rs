//! From a joint path to motion in time, as fast as the limits allow.

use super::jerk::SmoothLaw;
use super::profile::{Profile, Start};
use super::sampled::{sample_times, Trajectory, TrajectoryPoint};
use super::spline::{Spline, SplineError};
use super::tip::{TipLimits, TipUse};
use super::MotionLimits;
use crate::model::Chain;
use crate::planning::JointPath;

/// Rounds in which a sampled trajectory is slowed locally where its interpolation goes over a limit.
const REPAIRS: usize = 16;
/// How much more limits are lowered than the interpolation goes over them: a little saves rounds.
const LOWERED: f64 = 1.2;
/// How far the interpolation between samples may go over a limit (a share of it).
pub const SAMPLING_SLACK: f64 = 5e-4;

/// How far [`TimedPath::knots`] may be off the motion's accelerations (a share of the limits).
pub const KNOT_SLACK: f64 = 5e-4;

/// How often the way from rest is halved where an arm rests without ṡ being zero.
const HALVINGS: i32 = 16;

/// Why a path cannot be timed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RetimeError {
    /// The path's points make no curve.
    #[error(transparent)]
    Path(#[from] SplineError),
    /// All points are the same: there is nothing to do.
    #[error("all points of the joint path are the same: the arm is already there")]
    NoMotion,
    /// Limits for another number of joints.
    #[error("limits are given for {got} joints, the path has {expected}")]
    Limits {
        /// Joints with limits.
        got: usize,
        /// Joints of the path.
        expected: usize,
    },
    /// Stops that are not strictly inside the path or do not rise.
    #[error("stop {stop} is not a point inside the joint path of {points} points, after the stop before")]
    Stop {
        /// The index given.
        stop: usize,
        /// How many points there are.
        points: usize,
    },
    /// A sampling period that cannot be used.
    #[error("the sampling period is {period} s for a motion of {duration} s: it must be positive and not too short")]
    Period {
        /// The period \[s\].
        period: f64,
        /// Duration of the motion \[s\].
        duration: f64,
    },
    /// A velocity at the start that cannot be used.
    #[error(
        "the velocity at the start is {got:?}: it must be {expected} finite numbers, one a joint"
    )]
    StartVelocity {
        /// What was given.
        got: Vec<f64>,
        /// Joints of the chain.
        expected: usize,
    },
    /// The velocity at the start is not along the path.
    #[error("joint '{joint}' moves at {velocity} at the start, along the path it would be {along}: plan a path that starts in the direction of motion, or blend")]
    StartDirection {
        /// The joint that is farthest off.
        joint: String,
        /// Its velocity \[rad/s, m/s\].
        velocity: f64,
        /// What it would be along the path \[rad/s, m/s\].
        along: f64,
    },
    /// A limit of the tip that is none.
    #[error("the tip's speed or acceleration limit is {value}: it must be positive and finite")]
    TipLimit {
        /// What was given \[m/s, m/s²\].
        value: f64,
    },
    /// Jerk limits, but no rest at the start.
    #[error(
        "a motion with limited jerk has to start at rest: stop first, or leave jerk unlimited"
    )]
    JerkFromMotion,
    /// The arm cannot slow down in time along the path.
    #[error("the arm is too fast at the start to follow the path within its limits: {factor:.3} of the velocity would do; blend, or stop first")]
    StartTooFast {
        /// Share of the start velocity from which the path can be followed.
        factor: f64,
    },
    /// The numbers are so extreme that no finite profile results.
    #[error(
        "no finite motion results: the path ({length} long) and the limits do not fit together"
    )]
    NotFinite {
        /// Length of the path in joint space \[rad, m\].
        length: f64,
    },
}

/// What may be asked of a timed path beyond the joints' limits.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimingOptions {
    /// Velocity of the joints at the start \[rad/s, m/s\]; at rest if none. It must be along the path
    /// (within [`START_ANGLE_COSINE`]); where it is not, see [`blend`](super::blend()).
    pub start_velocity: Option<Vec<f64>>,
    /// Largest speed of the tip \[m/s\].
    pub tip_speed: Option<f64>,
    /// Largest acceleration of the tip \[m/s²\].
    pub tip_acceleration: Option<f64>,
}

impl TimingOptions {
    /// Whether the tip's limits are limits, before anything is planned for them.
    ///
    /// # Errors
    /// [`RetimeError::TipLimit`].
    pub fn check(&self) -> Result<(), RetimeError> {
        tip_limits(self).map(|_| ())
    }
}

/// Cosine of the largest angle between the velocity at the start and the path's first step, in joint
/// space: within it the path leaves its start in the direction of motion exactly.
pub const START_ANGLE_COSINE: f64 = 0.999;

/// The tip's limits, if any is asked for.
fn tip_limits(options: &TimingOptions) -> Result<Option<TipLimits>, RetimeError> {
    let limit = |value: Option<f64>| match value {
        Some(value) if value > 0.0 && value.is_finite() => Ok(value),
        Some(value) => Err(RetimeError::TipLimit { value }),
        None => Ok(f64::INFINITY),
    };
    let tip = TipLimits {
        speed: limit(options.tip_speed)?,
        acceleration: limit(options.tip_acceleration)?,
    };
    Ok((tip.speed.is_finite() || tip.acceleration.is_finite()).then_some(tip))
}

/// Direction (unit length) and rate in which the path is entered; none from rest.
fn start_direction(
    path: &JointPath,
    chain: &Chain,
    velocity: &[f64],
) -> Result<Option<(Vec<f64>, f64)>, RetimeError> {
    if velocity.len() != chain.dof() || velocity.iter().any(|v| !v.is_finite()) {
        return Err(RetimeError::StartVelocity {
            got: velocity.to_vec(),
            expected: chain.dof(),
        });
    }
    let norm = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>().sqrt();
    let rate = norm(velocity);
    let steps = path.points.first().into_iter().flat_map(|first| {
        path.points.iter().map(move |point| {
            let step = point.iter().zip(first).map(|(to, from)| to - from);
            step.collect::<Vec<f64>>()
        })
    });
    let Some(step) = steps.into_iter().find(|step| norm(step) > 1e-6) else {
        return Ok(None);
    };
    if rate < 1e-9 || step.len() != velocity.len() {
        return Ok(None);
    }
    let length = norm(&step);
    let along = step.iter().zip(velocity).map(|(s, v)| s * v).sum::<f64>() / (length * length);
    if along * length >= START_ANGLE_COSINE * rate {
        return Ok(Some((velocity.iter().map(|v| v / rate).collect(), rate)));
    }
    let off = |joint: &usize| (velocity[*joint] - along * step[*joint]).abs();
    let joint = (0..step.len())
        .max_by(|a, b| off(a).total_cmp(&off(b)))
        .unwrap_or(0);
    Err(RetimeError::StartDirection {
        joint: chain.dofs[joint].name.clone(),
        velocity: velocity[joint],
        along: along * step[joint],
    })
}

/// A section of the path between two rests.
#[derive(Debug, Clone, PartialEq)]
struct Section {
    spline: Spline,
    profile: Profile,
    /// The law to follow instead of the profile where jerk is limited.
    smooth: Option<SmoothLaw>,
    /// When it begins \[s\].
    start: f64,
}

impl Section {
    fn duration(&self) -> f64 {
        let smooth = self.smooth.as_ref();
        smooth.map_or_else(|| self.profile.duration(), SmoothLaw::duration)
    }

    /// Whether the arm rests at the begin, and at the end, without ṡ being zero there.
    fn still_ends(&self) -> [bool; 2] {
        let [begin, end] = self.spline.rests_at_ends();
        let moving = |x: Option<&f64>| x.is_some_and(|x| *x > 0.0);
        [
            begin && !self.profile.starts_moving() && moving(self.profile.x.first()),
            end && moving(self.profile.x.last()),
        ]
    }

    /// Piece, s, ṡ and s̈ at `time` \[s\] from the section's begin.
    fn law(&self, time: f64) -> (usize, f64, f64, f64) {
        match &self.smooth {
            Some(smooth) => smooth.state(time),
            None => {
                let law = self.profile.law(time);
                let piece = self.profile.piece[law.interval];
                (piece, law.s, law.rate, law.acceleration)
            }
        }
    }
}

/// The fastest trajectory along `path` within `limits`, sampled at most `sample_period` \[s\] apart:
/// [`TimedPath::new`] and [`TimedPath::trajectory`] in one.
///
/// # Errors
/// [`RetimeError`].
pub fn retime(
    chain: &Chain,
    path: &JointPath,
    limits: &MotionLimits,
    sample_period: f64,
) -> Result<Trajectory, RetimeError> {
    TimedPath::new(path, chain, limits)?.trajectory(chain.joint_names(), sample_period)
}

/// Motion along a joint path in time: rest to rest, with rest at each stop, at every instant
/// within the limits it was made with.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedPath {
    sections: Vec<Section>,
    limits: MotionLimits,
    /// Times are stretched by this factor, 1 or more.
    stretch: f64,
}

/// A point of a timed path; between two of one section s̈ is constant, or s⃛ where jerk is limited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimingKnot {
    /// Which section between stops.
    pub section: usize,
    /// Time from the start of the motion \[s\].
    pub time: f64,
    /// Path parameter of the section.
    pub s: f64,
    /// Its rate \[1/s\].
    pub rate: f64,
    /// s̈ \[1/s²\] from here on: until the next point, or at this one where jerk is limited.
    pub acceleration: f64,
}

impl TimedPath {
    /// The fastest motion along `path` within `limits`. Between points the arm follows a smooth
    /// curve that stays inside the chain's position limits wherever the points do.
    ///
    /// # Errors
    /// [`RetimeError`].
    pub fn new(
        path: &JointPath,
        chain: &Chain,
        limits: &MotionLimits,
    ) -> Result<Self, RetimeError> {
        Self::with_options(path, chain, limits, &TimingOptions::default())
    }

    /// As [`TimedPath::new`], with what is not usual.
    ///
    /// # Errors
    /// [`RetimeError`].
    pub fn with_options(
        path: &JointPath,
        chain: &Chain,
        limits: &MotionLimits,
        options: &TimingOptions,
    ) -> Result<Self, RetimeError> {
        let start = match &options.start_velocity {
            Some(velocity) => start_direction(path, chain, velocity)?,
            None => None,
        };
        let bounds: Vec<(f64, f64)> = chain.dofs.iter().map(|d| (d.lower, d.upper)).collect();
        let mut splines = Vec::with_capacity(path.stops.len() + 1);
        let mut from = 0;
        let last = path.points.len().saturating_sub(1);
        for &stop in path.stops.iter().chain(std::iter::once(&last)) {
            let inside = path.points.len() == 1 || (stop > from && stop <= last);
            let section = path.points.get(from..=stop).filter(|_| inside);
            let section = match section {
                Some(section) => section,
                None if path.points.is_empty() => return Err(SplineError::Empty.into()),
                None => {
                    let points = path.points.len();
                    return Err(RetimeError::Stop { stop, points });
                }
            };
            let direction = start.as_ref().filter(|_| from == 0);
            let direction = direction.map(|(direction, _)| direction.as_slice());
            splines.push(Spline::through_from(section, &bounds, direction)?);
            from = stop;
        }
        let tip = tip_limits(options)?.map(|tip| (chain, tip));
        Self::along_from(splines, limits, start.map(|(_, rate)| rate), tip)
    }

    /// The fastest motion along splines, one after the other, at rest in between.
    ///
    /// # Errors
    /// [`RetimeError`], not for stops.
    pub fn along(splines: Vec<Spline>, limits: &MotionLimits) -> Result<Self, RetimeError> {
        Self::along_from(splines, limits, None, None)
    }

    /// As [`TimedPath::along`], where the first spline is entered with a rate ṡ \[1/s\], if it is given.
    fn along_from(
        splines: Vec<Spline>,
        limits: &MotionLimits,
        rate: Option<f64>,
        tip: Option<(&Chain, TipLimits)>,
    ) -> Result<Self, RetimeError> {
        if rate.is_some() && limits.jerk().is_some() {
            return Err(RetimeError::JerkFromMotion);
        }
        let mut sections = Vec::with_capacity(splines.len());
        for spline in splines {
            if spline.dof() != limits.dof() {
                return Err(RetimeError::Limits {
                    got: limits.dof(),
                    expected: spline.dof(),
                });
            }
            // A section without motion takes no time.
            if spline.pieces() == 0 || spline.is_constant() {
                continue;
            }
            let start = rate
                .filter(|_| sections.is_empty())
                .and_then(|rate| Some((rate, *spline.knots().first()?)))
                .map(|(rate, s)| Start { s, rate });
            let mut profile = Profile::fastest_from(&spline, limits, start);
            if let Some((chain, tip)) = &tip {
                tip.lower(chain, &spline, limits, &mut profile);
            }
            profile
                .fits_start()
                .map_err(|factor| RetimeError::StartTooFast { factor })?;
            let smooth = limits
                .jerk()
                .map(|jerk| SmoothLaw::new(&spline, &profile, limits, jerk));
            sections.push(Section {
                spline,
                profile,
                smooth,
                start: 0.0,
            });
        }
        if sections.is_empty() {
            return Err(RetimeError::NoMotion);
        }
        let mut timed = Self {
            sections,
            limits: limits.clone(),
            stretch: 1.0,
        };
        timed.line_up();
        if let Some((chain, tip)) = &tip {
            let factor = timed.tip_use(chain, tip).stretch();
            if factor > 1.0 && rate.is_some() {
                let factor = 1.0 / factor;
                return Err(RetimeError::StartTooFast { factor });
            }
            timed.stretch = factor.max(1.0);
        }
        if timed.duration().is_finite() && timed.duration() > 0.0 {
            Ok(timed)
        } else {
            let length = timed.sections.iter().map(|s| s.spline.length()).sum();
            Err(RetimeError::NotFinite { length })
        }
    }

    /// The fastest motion along `path` within `limits`, and within `room` at first: until that `time` \[s\]
    /// at least. Limits of jerk have to be among both; none where there is no such motion.
    pub(super) fn gentle_until(
        path: &JointPath,
        chain: &Chain,
        limits: &MotionLimits,
        room: &MotionLimits,
        time: f64,
    ) -> Result<Option<Self>, RetimeError> {
        let mut timed = Self::new(path, chain, limits)?;
        let (Some(jerk), Some(jerk_room)) = (limits.jerk(), room.jerk()) else {
            return Ok(None);
        };
        let share = |room: &[f64], limits: &[f64]| {
            let each = room.iter().zip(limits).map(|(room, limit)| room / limit);
            // Joints without a limit give NaN.
            each.fold(1.0_f64, f64::min)
        };
        let shares = [
            share(room.velocity(), limits.velocity()),
            share(room.acceleration(), limits.acceleration()),
            share(jerk_room, jerk),
        ];
        for section in &mut timed.sections {
            let rest = time - section.start;
            let Some(smooth) = section.smooth.as_ref().filter(|_| rest > 0.0) else {
                break;
            };
            // With all of the limits it gets farther in that time; checked below.
            let (_, until, _, _) = smooth.state(rest);
            let (spline, profile) = (&section.spline, &section.profile);
            let gentle = (until, shares);
            let Some(law) = SmoothLaw::gentle_until(spline, profile, limits, jerk, gentle) else {
                return Ok(None);
            };
            if law.state(rest).1 > until {
                return Ok(None);
            }
            section.smooth = Some(law);
        }
        timed.line_up();
        Ok(Some(timed))
    }

    /// The motion from `time` \[s\] on, timed anew within `limits`, which must not be tighter than
    /// those it was made with (else the rate at its start may be too high, and is cut). `None`
    /// if it has arrived by then.
    pub(super) fn retimed_from(&self, time: f64, limits: &MotionLimits) -> Option<Self> {
        let own = (time / self.stretch).max(0.0);
        if own >= self.duration() / self.stretch {
            return None;
        }
        let number = self
            .sections
            .partition_point(|section| section.start <= own)
            .saturating_sub(1);
        let mut sections = Vec::with_capacity(self.sections.len() - number);
        for (index, section) in self.sections.iter().enumerate().skip(number) {
            let start = (index == number).then(|| {
                let (_, s, rate, _) = section.law(own - section.start);
                Start {
                    s,
                    rate: rate / self.stretch,
                }
            });
            // At the very start the rules of the start apply: rest, or a derivative of zero.
            let start = start.filter(|_| own > section.start);
            sections.push(Section {
                spline: section.spline.clone(),
                profile: Profile::fastest_from(&section.spline, limits, start),
                smooth: None,
                start: 0.0,
            });
        }
        let mut timed = Self {
            sections,
            limits: limits.clone(),
            stretch: 1.0,
        };
        timed.line_up();
        (timed.duration().is_finite() && timed.duration() > 0.0).then_some(timed)
    }

    /// Largest use of the tip's limits, looked at several times an interval or a millisecond.
    fn tip_use(&self, chain: &Chain, tip: &TipLimits) -> TipUse {
        let mut most = TipUse::default();
        for section in &self.sections {
            let grid = match &section.smooth {
                Some(smooth) => smooth.knots.iter().map(|knot| knot.time).collect(),
                None => section.profile.t.clone(),
            };
            for pair in grid.windows(2) {
                let parts = ((pair[1] - pair[0]) / 1e-3).ceil().clamp(4.0, 64.0);
                for part in 0..=parts as usize {
                    let time = pair[0] + (pair[1] - pair[0]) * part as f64 / parts;
                    let (piece, s, rate, u) = section.law(time);
                    most = most.max(tip.usage(chain, &section.spline, piece, s, rate, u));
                }
            }
        }
        most
    }

    /// Sets the sections' start times.
    fn line_up(&mut self) {
        let mut start = 0.0;
        for section in &mut self.sections {
            section.start = start;
            start += section.duration();
        }
    }

    /// How long the motion takes \[s\].
    pub fn duration(&self) -> f64 {
        self.sections.last().map_or(0.0, |s| s.start + s.duration()) * self.stretch
    }

    /// The motion as points between which s̈ is constant, or s⃛ where jerk is limited. Where s̈ is
    /// not constant, points are put so close to each other that no joint's acceleration is off by
    /// more than [`KNOT_SLACK`] of its limit.
    pub fn knots(&self) -> Vec<TimingKnot> {
        let mut knots = Vec::new();
        for (number, section) in self.sections.iter().enumerate() {
            let knot = |time: f64, s: f64, rate: f64, acceleration: f64| TimingKnot {
                section: number,
                time: (section.start + time) * self.stretch,
                s,
                rate: rate / self.stretch,
                acceleration: acceleration / (self.stretch * self.stretch),
            };
            if let Some(smooth) = &section.smooth {
                let all = smooth.knots.iter();
                knots.extend(all.map(|k| knot(k.time, k.s, k.rate, k.acceleration)));
                continue;
            }
            let (profile, spline) = (&section.profile, &section.spline);
            let mut time = 0.0;
            let still = section.still_ends();
            let first = profile.x.first().copied().filter(|_| !still[0]);
            let mut rate = first.map_or(0.0, f64::sqrt);
            let (mut from, count) = (
                profile.s.first().copied().unwrap_or(0.0),
                profile.piece.len(),
            );
            knots.push(knot(time, from, rate, 0.0));
            for interval in 0..count {
                let parts = profile.parts(interval, spline, &self.limits, KNOT_SLACK);
                let still = [still[0] && interval == 0, still[1] && interval + 1 == count];
                for (part, share) in marks(parts, still) {
                    let (s, x) = profile.inside(interval, part);
                    let next = (share * x).sqrt();
                    let span = 2.0 * (s - from) / (rate + next);
                    if let Some(last) = knots.last_mut().filter(|_| span > 0.0) {
                        last.acceleration = (next - rate) / span / (self.stretch * self.stretch);
                    }
                    time += span;
                    (from, rate) = (s, next);
                    knots.push(knot(time, s, rate, 0.0));
                }
            }
        }
        knots
    }

    /// Positions, velocities and accelerations at `time` \[s\], exactly on the path; before the start
    /// and after the end the arm rests there. Where the acceleration jumps, that after the jump.
    pub fn state(&self, time: f64) -> TrajectoryPoint {
        let own = (time / self.stretch).max(0.0);
        let number = self
            .sections
            .partition_point(|section| section.start <= own)
            .saturating_sub(1);
        let mut point = TrajectoryPoint {
            time,
            ..Default::default()
        };
        let Some(section) = self.sections.get(number) else {
            return point;
        };
        let outside = time < 0.0 || time > self.duration();
        let (piece, s, rate, u) = section.law(own - section.start);
        let spline = &section.spline;
        for joint in 0..spline.dof() {
            let [q, d, dd] = spline.evaluate(piece, joint, s);
            let (velocity, acceleration) = if outside {
                (0.0, 0.0)
            } else {
                (
                    d * rate / self.stretch,
                    (d * u + dd * rate * rate) / (self.stretch * self.stretch),
                )
            };
            point.positions.push(q);
            point.velocities.push(velocity);
            point.accelerations.push(acceleration);
        }
        point
    }

    /// Whether the motion does not begin at rest.
    fn starts_moving(&self) -> bool {
        let first = self.sections.first();
        first.is_some_and(|section| section.profile.starts_moving())
    }

    fn sampled(&self, period: f64) -> Option<Vec<TrajectoryPoint>> {
        let duration = self.duration();
        let times = sample_times(duration, period)?;
        let mut points: Vec<_> = times
            .into_iter()
            .map(|time| {
                // The end is rounded up to a whole nanosecond, and must be the end.
                let mut point = self.state(time.min(duration));
                point.time = time;
                point
            })
            .collect();
        if let Some(last) = points.last_mut() {
            last.velocities.iter_mut().for_each(|v| *v = 0.0);
        }
        Some(points)
    }

    /// Samples at most `period` \[s\] apart, evenly, on whole nanoseconds, with velocities and
    /// accelerations, for a controller that puts quintics between them. Those too keep the limits
    /// (within [`SAMPLING_SLACK`]): where an acceleration that jumps between two samples would make
    /// them swing over, the motion is made a little slower around that place, and at last, if that
    /// is not enough, as a whole (the samples are then up to that factor further apart).
    ///
    /// # Errors
    /// [`RetimeError::Period`].
    pub fn trajectory(
        &self,
        joint_names: Vec<String>,
        period: f64,
    ) -> Result<Trajectory, RetimeError> {
        let unusable = || RetimeError::Period {
            period,
            duration: self.duration(),
        };
        let mut timed = self.clone();
        let mut points = timed.sampled(period).ok_or_else(unusable)?;
        let mut excess = timed.excess(&points);
        // What was smoothed cannot be slowed down in places.
        let repairs = if self.limits.jerk().is_some() {
            0
        } else {
            REPAIRS
        };
        for _ in 0..repairs {
            if excess.iter().all(Excess::is_small) {
                break;
            }
            timed.slow_down(&points, &excess);
            points = timed.sampled(period).ok_or_else(unusable)?;
            excess = timed.excess(&points);
        }
        // The velocity at the start is given: what was slowed down must still begin with it.
        let fits = |timed: &Self| {
            let first = timed.sections.first();
            first.map_or(Ok(()), |section| section.profile.fits_start())
        };
        fits(&timed).map_err(|factor| RetimeError::StartTooFast { factor })?;
        if !excess.iter().all(Excess::is_small) {
            let factor = excess.iter().fold(1.0_f64, |most, e| {
                most.max(e.velocity).max(e.acceleration.sqrt())
            });
            if timed.starts_moving() {
                let factor = 1.0 / factor;
                return Err(RetimeError::StartTooFast { factor });
            }
            timed.stretch *= factor;
            points = timed.sampled(period * factor).ok_or_else(unusable)?;
        }
        Ok(Trajectory {
            joint_names,
            points,
        })
    }

    /// What the interpolation between each two samples uses of the limits.
    fn excess(&self, points: &[TrajectoryPoint]) -> Vec<Excess> {
        points
            .windows(2)
            .map(|pair| {
                let mut excess = Excess::default();
                let limits = self
                    .limits
                    .velocity()
                    .iter()
                    .zip(self.limits.acceleration());
                for (joint, (&velocity, &acceleration)) in limits.enumerate() {
                    if let Some(segment) = pair[0].segment_to(&pair[1], joint) {
                        // Up to the slack any bound will do.
                        let enough = 1.0 + SAMPLING_SLACK;
                        let speed = segment.speed_against(enough * velocity);
                        excess.velocity = excess.velocity.max(speed / velocity);
                        let most = segment.acceleration_against(enough * acceleration);
                        excess.acceleration = excess.acceleration.max(most / acceleration);
                    }
                }
                excess
            })
            .collect()
    }

    /// Lowers the limits of all intervals near samples that went over, and times again.
    fn slow_down(&mut self, points: &[TrajectoryPoint], excess: &[Excess]) {
        for (pair, excess) in points.windows(2).zip(excess) {
            if excess.is_small() {
                continue;
            }
            let pad = 0.5 * (pair[1].time - pair[0].time);
            let (from, to) = (
                (pair[0].time - pad) / self.stretch,
                (pair[1].time + pad) / self.stretch,
            );
            // A little more than needed, and never much at once: the profile around shifts too.
            let share = |excess: f64| {
                let over = (excess - 1.0).max(0.0);
                (1.0 / (1.0 + LOWERED * over + 0.2 * SAMPLING_SLACK)).clamp(0.7, 1.0)
            };
            for section in &mut self.sections {
                let profile = &mut section.profile;
                for i in 0..profile.piece.len() {
                    let (begin, end) = (
                        section.start + profile.t[i],
                        section.start + profile.t[i + 1],
                    );
                    if begin < to && end > from {
                        profile.velocity_share[i] *= share(excess.velocity);
                        profile.acceleration_share[i] *= share(excess.acceleration);
                    }
                }
            }
        }
        for section in &mut self.sections {
            section.profile.solve(&section.spline, &self.limits);
        }
        self.line_up();
    }
}

/// Where an interval is divided into `parts` (as shares of it, without its begin), and which share of ṡ²
/// is left there if ṡ comes to rest at its begin, or its end.
///
/// Where all q' are zero the arm rests whatever ṡ is, and the profile passes at full speed; knots begin
/// and end at rest all the same. There q' grows with the distance σ, so that with ṡ² lowered by a share of
/// ε/(3σ), and linear below ε, the acceleration q'' ṡ² + q' s̈ nowhere becomes larger, as
/// s̈ grows by no more than what ṡ² loses; and ε is so small that no time is lost.
fn marks(parts: usize, still: [bool; 2]) -> Vec<(f64, f64)> {
    let mut all: Vec<f64> = (1..=parts).map(|part| part as f64 / parts as f64).collect();
    let halves = |from_end: bool| {
        (1..=HALVINGS).map(move |k| {
            let part = 0.5_f64.powi(k);
            if from_end {
                1.0 - part
            } else {
                part
            }
        })
    };
    for (side, still) in still.into_iter().enumerate() {
        if still {
            all.extend(halves(side == 1));
        }
    }
    all.sort_by(f64::total_cmp);
    all.dedup();
    let least = 0.5_f64.powi(HALVINGS);
    let left = |way: f64, still: bool| {
        if !still || way >= 1.0 {
            1.0
        } else if way <= 0.0 {
            0.0
        } else {
            1.0 - least / (3.0 * way.max(least))
        }
    };
    let share = |part: f64| left(part, still[0]) * left(1.0 - part, still[1]);
    all.into_iter().map(|part| (part, share(part))).collect()
}

/// Largest shares of the limits that are used between two samples; above 1 is over.
#[derive(Debug, Clone, Copy, Default)]
struct Excess {
    velocity: f64,
    acceleration: f64,
}

impl Excess {
    fn is_small(&self) -> bool {
        self.velocity <= 1.0 + SAMPLING_SLACK && self.acceleration <= 1.0 + SAMPLING_SLACK
    }
}
