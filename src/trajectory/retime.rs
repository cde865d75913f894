//! From a joint path to motion in time, as fast as the limits allow.

use super::profile::Profile;
use super::sampled::{sample_times, Trajectory, TrajectoryPoint};
use super::spline::{Spline, SplineError};
use super::MotionLimits;
use crate::model::Chain;
use crate::planning::JointPath;

/// Rounds in which a sampled trajectory is slowed locally where its interpolation goes over a limit.
const REPAIRS: usize = 16;
/// How far the interpolation between samples may go over a limit (a share of it).
pub const SAMPLING_SLACK: f64 = 5e-4;

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
    /// The numbers are so extreme that no finite profile results.
    #[error(
        "no finite motion results: the path ({length} long) and the limits do not fit together"
    )]
    NotFinite {
        /// Length of the path in joint space \[rad, m\].
        length: f64,
    },
}

/// A section of the path between two rests.
#[derive(Debug, Clone, PartialEq)]
struct Section {
    spline: Spline,
    profile: Profile,
    /// When it begins \[s\].
    start: f64,
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

/// A grid point of a timed path; between two of one section s̈ is constant.
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
            splines.push(Spline::through(section, &bounds)?);
            from = stop;
        }
        Self::along(splines, limits)
    }

    /// The fastest motion along splines, one after the other, at rest in between.
    ///
    /// # Errors
    /// [`RetimeError`], not for stops.
    pub fn along(splines: Vec<Spline>, limits: &MotionLimits) -> Result<Self, RetimeError> {
        let mut sections = Vec::with_capacity(splines.len());
        for spline in splines {
            if spline.dof() != limits.dof() {
                return Err(RetimeError::Limits {
                    got: limits.dof(),
                    expected: spline.dof(),
                });
            }
            // A section without motion takes no time.
            if spline.pieces() == 0 {
                continue;
            }
            let profile = Profile::fastest(&spline, limits);
            sections.push(Section {
                spline,
                profile,
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
        if timed.duration().is_finite() && timed.duration() > 0.0 {
            Ok(timed)
        } else {
            let length = timed.sections.iter().map(|s| s.spline.length()).sum();
            Err(RetimeError::NotFinite { length })
        }
    }

    /// Sets the sections' start times.
    fn line_up(&mut self) {
        let mut start = 0.0;
        for section in &mut self.sections {
            section.start = start;
            start += section.profile.duration();
        }
    }

    /// How long the motion takes \[s\].
    pub fn duration(&self) -> f64 {
        self.sections
            .last()
            .map_or(0.0, |s| s.start + s.profile.duration())
            * self.stretch
    }

    /// The grid of the speed profile.
    pub fn knots(&self) -> Vec<TimingKnot> {
        let mut knots = Vec::new();
        for (number, section) in self.sections.iter().enumerate() {
            let profile = &section.profile;
            for ((&s, &x), &t) in profile.s.iter().zip(&profile.x).zip(&profile.t) {
                knots.push(TimingKnot {
                    section: number,
                    time: (section.start + t) * self.stretch,
                    s,
                    rate: x.sqrt() / self.stretch,
                });
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
        let Some(Section {
            spline,
            profile,
            start,
        }) = self.sections.get(number)
        else {
            return point;
        };
        let local = own - start;
        let outside = time < 0.0 || time > self.duration();
        let last = profile.piece.len().saturating_sub(1);
        let i = profile
            .t
            .partition_point(|&t| t <= local)
            .saturating_sub(1)
            .min(last);
        let h = profile.s[i + 1] - profile.s[i];
        let u = (profile.x[i + 1] - profile.x[i]) / (2.0 * h);
        let rate = profile.x[i].sqrt();
        let step = profile.t[i + 1] - profile.t[i];
        let since = (local - profile.t[i]).clamp(0.0, step);
        // From the nearer end, so that both ends are met exactly.
        let (s, rate) = if since <= 0.5 * step {
            (
                profile.s[i] + since * (rate + 0.5 * u * since),
                rate + u * since,
            )
        } else {
            let back = step - since;
            let rate = profile.x[i + 1].sqrt();
            (
                profile.s[i + 1] - back * (rate - 0.5 * u * back),
                rate - u * back,
            )
        };
        for joint in 0..spline.dof() {
            let [q, d, dd] = spline.evaluate(profile.piece[i], joint, s);
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
        for _ in 0..REPAIRS {
            if excess.iter().all(Excess::is_small) {
                break;
            }
            timed.slow_down(&points, &excess);
            points = timed.sampled(period).ok_or_else(unusable)?;
            excess = timed.excess(&points);
        }
        if !excess.iter().all(Excess::is_small) {
            let factor = excess.iter().fold(1.0_f64, |most, e| {
                most.max(e.velocity).max(e.acceleration.sqrt())
            });
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
                        excess.velocity = excess
                            .velocity
                            .max(segment.speed_against(velocity) / velocity);
                        excess.acceleration = excess
                            .acceleration
                            .max(segment.acceleration_against(acceleration) / acceleration);
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
            let share = |excess: f64| (1.0 / (excess + 0.2 * SAMPLING_SLACK)).clamp(0.7, 1.0);
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
