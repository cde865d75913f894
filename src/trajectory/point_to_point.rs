//! Moves and stops of all joints from any state, with limited jerk \[Berscheid2021\].

use rsruckig::prelude::{
    ControlInterface, InputParameter, Ruckig, RuckigResult, ThrowErrorHandler,
    Trajectory as RuckigTrajectory,
};

use super::sampled::{sample_times, Trajectory, TrajectoryPoint};
use super::MotionLimits;
use crate::model::Chain;

/// How far what comes back may exceed a limit (a share of it) or miss its goal \[rad, m\].
const SLACK: f64 = 1e-6;

/// Why there is no move.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PointToPointError {
    /// Lists of the wrong length, NaN or infinity.
    #[error("start, goal and limits must be {expected} finite numbers each, one a joint")]
    Input {
        /// Joints of the chain.
        expected: usize,
    },
    /// A goal outside the position limits, or a way that leaves them.
    #[error("the move would leave the limits of joint '{joint}': it would be at {position}")]
    Leaves {
        /// The joint.
        joint: String,
        /// Where it would be \[rad, m\].
        position: f64,
    },
    /// A sampling period that cannot be used.
    #[error("the sampling period is {period} s: it must be positive, and not too short")]
    Period {
        /// The period \[s\].
        period: f64,
    },
    /// No move was found, or none that keeps the limits.
    #[error("no move within the limits was found: {reason}")]
    Failed {
        /// What was wrong.
        reason: String,
    },
}

/// The fastest move of all joints from a state of motion to rest at `goal` \[rad, m\], within velocity and
/// acceleration limits and those of jerk if there are any; all joints arrive together. Sampled at
/// most `period` \[s\] apart, with velocities and accelerations.
///
/// `from` is a state as of [`Trajectory::sample`]; missing velocities and accelerations are zero.
///
/// # Errors
/// [`PointToPointError`].
pub fn point_to_point(
    chain: &Chain,
    from: &TrajectoryPoint,
    goal: &[f64],
    limits: &MotionLimits,
    period: f64,
) -> Result<Trajectory, PointToPointError> {
    let n = chain.dof();
    let fits = |values: &[f64]| values.len() == n && values.iter().all(|v| v.is_finite());
    let optional = |values: &[f64]| values.is_empty() || fits(values);
    let usable = fits(&from.positions)
        && fits(goal)
        && optional(&from.velocities)
        && optional(&from.accelerations)
        && limits.dof() == n;
    if !usable {
        return Err(PointToPointError::Input { expected: n });
    }
    let trajectory = run(from, Some(goal), limits, period, chain.joint_names())?;
    for point in &trajectory.points {
        for (dof, (&position, &start)) in chain
            .dofs
            .iter()
            .zip(point.positions.iter().zip(&from.positions))
        {
            // Where it starts outside it may come back.
            let (low, high) = (dof.lower.min(start), dof.upper.max(start));
            if position < low - SLACK || position > high + SLACK {
                return Err(PointToPointError::Leaves {
                    joint: dof.name.clone(),
                    position,
                });
            }
        }
    }
    Ok(trajectory)
}

/// Comes to rest as fast as the limits allow, wherever that is.
pub(super) fn come_to_rest(
    from: &TrajectoryPoint,
    limits: &MotionLimits,
    period: f64,
    joint_names: Vec<String>,
) -> Result<Trajectory, PointToPointError> {
    run(from, None, limits, period, joint_names)
}

/// From a state to rest at a goal, or anywhere.
fn run(
    from: &TrajectoryPoint,
    goal: Option<&[f64]>,
    limits: &MotionLimits,
    period: f64,
    joint_names: Vec<String>,
) -> Result<Trajectory, PointToPointError> {
    let failed = |reason: String| PointToPointError::Failed { reason };
    let n = from.positions.len();
    let mut input = InputParameter::<0>::new(Some(n));
    for joint in 0..n {
        let state = from.joint(joint).unwrap_or_default();
        input.current_position[joint] = state.position;
        input.current_velocity[joint] = state.velocity;
        input.current_acceleration[joint] = state.acceleration;
        input.target_position[joint] = goal.map_or(state.position, |goal| goal[joint]);
        input.target_velocity[joint] = 0.0;
        input.target_acceleration[joint] = 0.0;
        input.max_velocity[joint] = limits.velocity()[joint];
        input.max_acceleration[joint] = limits.acceleration()[joint];
        input.max_jerk[joint] = limits.jerk().map_or(f64::INFINITY, |jerk| jerk[joint]);
    }
    if goal.is_none() {
        input.control_interface = ControlInterface::Velocity;
    }
    let mut generator = Ruckig::<0, ThrowErrorHandler>::new(Some(n), 1e-3);
    let mut law = RuckigTrajectory::<0>::new(Some(n));
    match generator.calculate(&input, &mut law) {
        Ok(RuckigResult::Working | RuckigResult::Finished) => {}
        Ok(other) => return Err(failed(format!("{other:?}"))),
        Err(error) => return Err(failed(error.to_string())),
    }
    let duration = law.get_duration();
    let times = sample_times(duration, period).ok_or(PointToPointError::Period { period })?;
    let mut points = Vec::with_capacity(times.len());
    let (mut q, mut v, mut a) = (
        input.current_position.clone(),
        input.current_position.clone(),
        input.current_position.clone(),
    );
    for time in times {
        law.at_time(
            time.min(duration),
            &mut Some(&mut q),
            &mut Some(&mut v),
            &mut Some(&mut a),
            &mut None,
            &mut None,
        );
        points.push(TrajectoryPoint {
            time,
            positions: (0..n).map(|joint| q[joint]).collect(),
            velocities: (0..n).map(|joint| v[joint]).collect(),
            accelerations: (0..n).map(|joint| a[joint]).collect(),
        });
    }
    let Some(last) = points.last_mut() else {
        return Err(failed("nothing came back".into()));
    };
    let rests = last.velocities.iter().all(|v| v.abs() <= SLACK)
        && goal.is_none_or(|goal| {
            let pairs = last.positions.iter().zip(goal);
            pairs.into_iter().all(|(q, goal)| (q - goal).abs() <= SLACK)
        });
    if !rests {
        return Err(failed("it does not end at rest at the goal".into()));
    }
    if let Some(goal) = goal {
        last.positions = goal.to_vec();
    }
    last.velocities = vec![0.0; n];
    last.accelerations = vec![0.0; n];
    let trajectory = Trajectory {
        joint_names,
        points,
    };
    // Who begins beyond a limit may come back to it.
    let keeps = (0..n).all(|joint| {
        let start = from.joint(joint).unwrap_or_default();
        let speed = limits.velocity()[joint].max(start.velocity.abs());
        let rate = limits.acceleration()[joint].max(start.acceleration.abs());
        // A jerk may carry the speed a little on before it turns.
        let jerk = limits.jerk().map_or(f64::INFINITY, |jerk| jerk[joint]);
        let speed = speed + 0.5 * start.acceleration * start.acceleration / jerk;
        trajectory.points.iter().all(|point| {
            let state = point.joint(joint).unwrap_or_default();
            state.position.is_finite()
                && state.velocity.abs() <= speed * (1.0 + SLACK) + SLACK
                && state.acceleration.abs() <= rate * (1.0 + SLACK) + SLACK
        })
    });
    if keeps {
        Ok(trajectory)
    } else {
        Err(failed("it does not keep the limits".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Dof, DofKind};
    use proptest::prelude::*;

    fn chain(n: usize) -> Chain {
        Chain {
            base: "base".into(),
            tip: "tip".into(),
            dofs: (0..n)
                .map(|i| Dof {
                    name: format!("j{i}"),
                    kind: DofKind::Revolute,
                    lower: -3.0,
                    upper: 3.0,
                    velocity: None,
                })
                .collect(),
            joints: vec![],
            tip_offset: nalgebra::Isometry3::identity(),
            links: vec![],
        }
    }

    fn state(positions: Vec<f64>, velocities: Vec<f64>) -> TrajectoryPoint {
        TrajectoryPoint {
            time: 0.0,
            positions,
            velocities,
            accelerations: vec![],
        }
    }

    #[test]
    fn a_move_from_rest_takes_the_time_of_seven_phases() {
        // 1 rad at 1 rad/s, 2 rad/s², 4 rad/s³: d/v + v/a + a/j.
        let limits = MotionLimits::new(vec![1.0], vec![2.0]).unwrap();
        let limits = limits.with_jerk(vec![4.0]).unwrap();
        let start = state(vec![0.0], vec![0.0]);
        let t = point_to_point(&chain(1), &start, &[1.5], &limits, 0.01).unwrap();
        assert!((t.duration() - 2.5).abs() < 1e-8, "{}", t.duration());
    }

    #[test]
    fn bad_input_and_goals_outside_are_refused() {
        let limits = MotionLimits::new(vec![1.0], vec![2.0]).unwrap();
        let start = state(vec![0.0], vec![]);
        for goal in [&[][..], &[f64::NAN], &[1.0, 2.0], &[4.0]] {
            assert!(point_to_point(&chain(1), &start, goal, &limits, 0.01).is_err());
        }
        assert!(point_to_point(&chain(1), &start, &[1.0], &limits, 0.0).is_err());
        let still = point_to_point(&chain(1), &start, &[0.0], &limits, 0.01).unwrap();
        assert_eq!(still.points.last().unwrap().positions, [0.0]);
    }

    proptest! {
        #[test]
        fn moves_and_stops_end_at_rest_within_all_limits(
            q in prop::array::uniform3(-1.0..1.0f64),
            qd in prop::array::uniform3(-0.9..0.9f64),
            goal in prop::array::uniform3(-1.0..1.0f64),
            v in 0.9..2.0f64,
            a in 1.0..10.0f64,
            j in 5.0..100.0f64,
        ) {
            let limits = MotionLimits::new(vec![v; 3], vec![a; 3]).unwrap();
            let limits = limits.with_jerk(vec![j; 3]).unwrap();
            let start = state(q.to_vec(), qd.to_vec());
            let names = chain(3).joint_names();
            let stop = come_to_rest(&start, &limits, 0.002, names).unwrap();
            let moved = run(&start, Some(&goal), &limits, 0.002, vec![]).unwrap();
            for t in [&stop, &moved] {
                prop_assert_eq!(&t.points[0].positions[..], &q[..]);
                for pair in t.points.windows(2) {
                    let span = pair[1].time - pair[0].time;
                    for joint in 0..3 {
                        let (from, to) = (pair[0].joint(joint).unwrap(), pair[1].joint(joint).unwrap());
                        prop_assert!(to.acceleration.abs() <= a * 1.0001);
                        prop_assert!((to.acceleration - from.acceleration).abs() <= j * span * 1.001 + 1e-6);
                        prop_assert!((to.velocity - from.velocity).abs() <= a * span * 1.001 + 1e-6);
                    }
                }
            }
            let end = moved.points.last().unwrap();
            prop_assert_eq!(&end.positions[..], &goal[..]);
        }
    }
}
