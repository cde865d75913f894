//! A timed trajectory as points, in the way a trajectory controller reads it.

use serde::{Deserialize, Serialize};

use super::polynomial::{JointState, Segment};

/// One point of a trajectory.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TrajectoryPoint {
    /// Time from the start \[s\].
    pub time: f64,
    /// Positions \[rad or m\], one a joint.
    pub positions: Vec<f64>,
    /// Velocities \[rad/s or m/s\], one a joint or none.
    #[serde(default)]
    pub velocities: Vec<f64>,
    /// Accelerations \[rad/s² or m/s²\], one a joint or none.
    #[serde(default)]
    pub accelerations: Vec<f64>,
}

/// Points in time, between which a controller interpolates: with quintics where both ends have
/// accelerations, with cubics where both have velocities, else linearly.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Trajectory {
    /// Names of the joints in the order of the values.
    pub joint_names: Vec<String>,
    /// Points, times strictly rising.
    pub points: Vec<TrajectoryPoint>,
}

/// Which polynomial a controller puts between two points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interpolation {
    /// Positions alone are known at one of the ends.
    Linear,
    /// Positions and velocities are known at both ends.
    Cubic,
    /// Accelerations too.
    Quintic,
}

impl TrajectoryPoint {
    /// What is interpolated between `self` and `next`.
    pub fn interpolation_to(&self, next: &Self) -> Interpolation {
        let velocities = !self.velocities.is_empty() && !next.velocities.is_empty();
        let accelerations = !self.accelerations.is_empty() && !next.accelerations.is_empty();
        match (velocities, accelerations) {
            (true, true) => Interpolation::Quintic,
            (true, false) => Interpolation::Cubic,
            (false, _) => Interpolation::Linear,
        }
    }

    /// State of one joint; what is not given is zero. `None` without a position.
    pub fn joint(&self, joint: usize) -> Option<JointState> {
        Some(JointState {
            position: *self.positions.get(joint)?,
            velocity: self.velocities.get(joint).copied().unwrap_or(0.0),
            acceleration: self.accelerations.get(joint).copied().unwrap_or(0.0),
        })
    }

    /// The polynomial of one joint from `self` to `next`; `None` if a position is missing or time
    /// does not rise.
    pub fn segment_to(&self, next: &Self, joint: usize) -> Option<Segment> {
        let (from, to) = (self.joint(joint)?, next.joint(joint)?);
        let duration = next.time - self.time;
        if !(duration > 0.0 && duration.is_finite()) {
            return None;
        }
        Some(match self.interpolation_to(next) {
            Interpolation::Linear => Segment::linear(from.position, to.position, duration),
            Interpolation::Cubic => Segment::cubic(from, to, duration),
            Interpolation::Quintic => Segment::quintic(from, to, duration),
        })
    }
}

impl Trajectory {
    /// Time of the last point \[s\]; zero without points.
    pub fn duration(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.time)
    }

    /// The point at `time` \[s\], as a controller interpolates it; before the first point and after
    /// the last one the arm rests there. `None` without points, or if points do not fit together.
    pub fn sample(&self, time: f64) -> Option<TrajectoryPoint> {
        let (first, last) = (self.points.first()?, self.points.last()?);
        let resting = |point: &TrajectoryPoint| TrajectoryPoint {
            time,
            positions: point.positions.clone(),
            velocities: vec![0.0; point.positions.len()],
            accelerations: vec![0.0; point.positions.len()],
        };
        if time < first.time || time.is_nan() {
            return Some(resting(first));
        }
        if time > last.time {
            return Some(resting(last));
        }
        let after = self.points.partition_point(|point| point.time <= time);
        let Some(to) = self.points.get(after) else {
            let mut point = last.clone();
            point.time = time;
            point.velocities.resize(last.positions.len(), 0.0);
            point.accelerations.resize(last.positions.len(), 0.0);
            return Some(point);
        };
        let from = self.points.get(after.checked_sub(1)?)?;
        let mut point = TrajectoryPoint {
            time,
            ..Default::default()
        };
        for joint in 0..from.positions.len() {
            let state = from.segment_to(to, joint)?.at(time - from.time);
            point.positions.push(state.position);
            point.velocities.push(state.velocity);
            point.accelerations.push(state.acceleration);
        }
        Some(point)
    }

    /// This trajectory at evenly spaced times, at most `period` \[s\] apart, on whole nanoseconds,
    /// with velocities and accelerations; the first and last points are kept. `None` if `period`
    /// is not positive and finite, or if points do not fit together.
    pub fn resample(&self, period: f64) -> Option<Trajectory> {
        let start = self.points.first()?.time;
        let times = sample_times(self.duration() - start, period)?;
        let points = times
            .into_iter()
            .map(|time| self.sample((start + time).min(self.duration())))
            .collect::<Option<Vec<_>>>()?;
        Some(Trajectory {
            joint_names: self.joint_names.clone(),
            points,
        })
    }
}

/// Evenly spaced times \[s\] from 0 to `duration`, at most `period` apart, on whole nanoseconds,
/// strictly rising. `None` if either is not usable or there would be more than ten million.
pub(super) fn sample_times(duration: f64, period: f64) -> Option<Vec<f64>> {
    let usable = period > 0.0 && period.is_finite() && duration >= 0.0 && duration.is_finite();
    if !usable || duration / period > 1e7 {
        return None;
    }
    // Rounded up, so that the end is never cut off.
    let total = (duration * 1e9).ceil();
    let steps = (duration / period).ceil().max(1.0).min(total.max(1.0));
    let mut times = Vec::with_capacity(steps as usize + 1);
    for k in 0..=(steps as usize) {
        let time = (total * k as f64 / steps).round() / 1e9;
        if times.last().is_none_or(|&last| time > last) {
            times.push(time);
        }
    }
    Some(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(time: f64, q: f64, v: Option<f64>, a: Option<f64>) -> TrajectoryPoint {
        TrajectoryPoint {
            time,
            positions: vec![q],
            velocities: v.into_iter().collect(),
            accelerations: a.into_iter().collect(),
        }
    }

    fn trajectory(points: Vec<TrajectoryPoint>) -> Trajectory {
        Trajectory {
            joint_names: vec!["joint".into()],
            points,
        }
    }

    #[test]
    fn the_fields_choose_the_polynomial() {
        let linear = trajectory(vec![
            point(0.0, 0.0, None, None),
            point(2.0, 1.0, None, None),
        ]);
        let middle = linear.sample(0.5).unwrap();
        assert_eq!((middle.positions[0], middle.velocities[0]), (0.25, 0.5));
        let rest = Some(0.0);
        let cubic = trajectory(vec![
            point(0.0, 0.0, rest, None),
            point(2.0, 1.0, rest, None),
        ]);
        // 3u² − 2u³ at u = 1/4.
        assert!((cubic.sample(0.5).unwrap().positions[0] - 0.15625).abs() < 1e-12);
        let quintic = trajectory(vec![
            point(0.0, 0.0, rest, rest),
            point(2.0, 1.0, rest, rest),
        ]);
        // 10u³ − 15u⁴ + 6u⁵ at u = 1/4.
        assert!((quintic.sample(0.5).unwrap().positions[0] - 0.103_515_625).abs() < 1e-12);
    }

    #[test]
    fn outside_its_time_a_trajectory_rests_at_its_ends() {
        let t = trajectory(vec![
            point(0.0, 1.0, Some(0.0), None),
            point(1.0, 2.0, Some(0.0), None),
        ]);
        assert_eq!(t.sample(-1.0).unwrap().positions, [1.0]);
        assert_eq!(t.sample(9.0).unwrap().positions, [2.0]);
        assert_eq!(t.sample(9.0).unwrap().velocities, [0.0]);
        assert!(Trajectory::default().sample(0.0).is_none());
    }

    #[test]
    fn resampling_is_even_and_keeps_the_ends() {
        let t = trajectory(vec![
            point(0.0, 0.0, Some(0.0), Some(0.0)),
            point(1.2345, 2.0, Some(0.0), Some(0.0)),
        ]);
        let fine = t.resample(0.01).unwrap();
        assert_eq!(fine.points.len(), 125);
        assert_eq!(fine.points[0].positions, [0.0]);
        assert_eq!(fine.points[124].positions, [2.0]);
        for pair in fine.points.windows(2) {
            let step = pair[1].time - pair[0].time;
            assert!(step > 0.0 && step <= 0.01 + 1e-9);
        }
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-12] {
            assert!(t.resample(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn times_rise_strictly_in_nanoseconds() {
        for (duration, period) in [(0.0, 0.1), (3e-9, 1e-9), (2.5e-9, 1e-9), (1.0, 0.3)] {
            let times = sample_times(duration, period).unwrap();
            let whole: Vec<i64> = times.iter().map(|t| (t * 1e9).round() as i64).collect();
            assert!(whole.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
            assert!(times[times.len() - 1] >= duration);
        }
    }

    #[test]
    fn json_round_trip() {
        let t = trajectory(vec![
            point(0.0, 0.1, None, None),
            point(0.3, 0.2, Some(0.0), None),
        ]);
        let text = serde_json::to_string(&t).unwrap();
        assert_eq!(serde_json::from_str::<Trajectory>(&text).unwrap(), t);
    }
}
