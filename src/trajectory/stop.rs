//! Coming to rest at once.

use super::point_to_point::come_to_rest;
use super::sampled::{Trajectory, TrajectoryPoint};
use super::MotionLimits;
use crate::model::Chain;

/// Spacing of the points of a stop with limited jerk \[s\].
const SMOOTH_PERIOD: f64 = 4e-3;

/// Why no stop can be planned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StopError {
    /// Lists of the wrong length.
    #[error("{positions} positions, {velocities} velocities and {limits} limits were given, the chain has {expected} joints")]
    Length {
        /// Number of positions.
        positions: usize,
        /// Number of velocities.
        velocities: usize,
        /// Number of joints with limits.
        limits: usize,
        /// Joints of the chain.
        expected: usize,
    },
    /// NaN or infinity.
    #[error("joint '{joint}' is at {position}, moving at {velocity}: both must be finite")]
    NotFinite {
        /// The joint.
        joint: String,
        /// Its position.
        position: f64,
        /// Its velocity.
        velocity: f64,
    },
}

/// How the arm comes to rest.
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    /// Positions and velocities, exact for a controller that puts cubics between them.
    pub trajectory: Trajectory,
    /// Joints that come to rest outside their position limits although they slow down as hard as
    /// they may.
    pub outside: Vec<String>,
}

/// Brings the arm to rest from positions `q` \[rad, m\] and velocities `qd` \[rad/s, m/s\], each joint
/// by constant deceleration within `limits`. All joints take as long as the one that needs
/// longest, so that the arm goes straight on in joint space; only a joint that would leave its
/// position limits slows down harder, as far as it may.
///
/// With jerk limits the deceleration is built up and taken back within them; only where the arm
/// would then leave its position limits, and would not by constant deceleration, it stops as
/// without.
///
/// # Errors
/// [`StopError`].
pub fn stop_trajectory(
    chain: &Chain,
    q: &[f64],
    qd: &[f64],
    limits: &MotionLimits,
) -> Result<Stop, StopError> {
    let hard = hard_stop(chain, q, qd, limits)?;
    if limits.jerk().is_none() || hard.trajectory.duration() <= 0.0 {
        return Ok(hard);
    }
    let from = TrajectoryPoint {
        time: 0.0,
        positions: q.to_vec(),
        velocities: qd.to_vec(),
        accelerations: Vec::new(),
    };
    // Not reached with what was checked above; the arm has to stop all the same.
    let Ok(trajectory) = come_to_rest(&from, limits, SMOOTH_PERIOD, chain.joint_names()) else {
        return Ok(hard);
    };
    let outside = chain.dofs.iter().enumerate().filter(|(joint, dof)| {
        let mut positions = trajectory.points.iter();
        let start = q[*joint];
        positions.any(|point| {
            point.positions.get(*joint).is_some_and(|&position| {
                !dof.contains(position) && (dof.contains(start) || position != start)
            })
        })
    });
    let outside: Vec<String> = outside.map(|(_, dof)| dof.name.clone()).collect();
    if outside.len() > hard.outside.len() {
        return Ok(hard);
    }
    Ok(Stop {
        trajectory,
        outside,
    })
}

/// By constant decelerations.
fn hard_stop(
    chain: &Chain,
    q: &[f64],
    qd: &[f64],
    limits: &MotionLimits,
) -> Result<Stop, StopError> {
    let n = chain.dof();
    if q.len() != n || qd.len() != n || limits.dof() != n {
        return Err(StopError::Length {
            positions: q.len(),
            velocities: qd.len(),
            limits: limits.dof(),
            expected: n,
        });
    }
    for (dof, (&position, &velocity)) in chain.dofs.iter().zip(q.iter().zip(qd)) {
        if !position.is_finite() || !velocity.is_finite() {
            return Err(StopError::NotFinite {
                joint: dof.name.clone(),
                position,
                velocity,
            });
        }
    }
    // Rounded up to whole nanoseconds: decelerations only get smaller.
    let shortest: Vec<f64> = qd
        .iter()
        .zip(limits.acceleration())
        .map(|(v, a)| (v.abs() / a * 1e9).ceil() / 1e9)
        .collect();
    let longest = shortest.iter().fold(0.0_f64, |most, &t| most.max(t));
    let durations: Vec<f64> = chain
        .dofs
        .iter()
        .zip(q.iter().zip(qd))
        .zip(&shortest)
        .map(|((dof, (&q, &v)), &shortest)| {
            let room = if v > 0.0 {
                dof.upper - q
            } else {
                q - dof.lower
            };
            // The way to rest is v T / 2. Rounded down, to stay inside.
            let fits = (2.0 * room.max(0.0) / v.abs() * 1e9).floor() / 1e9;
            // A joint at rest gives NaN or infinity: it takes as long as the others.
            if fits < longest {
                fits.max(shortest)
            } else {
                longest
            }
        })
        .collect();
    let mut times = durations.clone();
    times.push(0.0);
    times.sort_by(f64::total_cmp);
    times.dedup_by(|later, earlier| (*later * 1e9).round() <= (*earlier * 1e9).round());
    let at = |time: f64, joint: usize| -> (f64, f64) {
        let (q, v, duration) = (q[joint], qd[joint], durations[joint]);
        if time >= duration {
            (q + 0.5 * v * duration, 0.0)
        } else {
            let left = 1.0 - time / duration;
            (
                q + 0.5 * v * (2.0 * time - time * time / duration),
                v * left,
            )
        }
    };
    let points = times
        .iter()
        .map(|&time| {
            let (positions, velocities) = (0..n).map(|joint| at(time, joint)).unzip();
            TrajectoryPoint {
                time,
                positions,
                velocities,
                accelerations: Vec::new(),
            }
        })
        .collect();
    let outside = chain
        .dofs
        .iter()
        .enumerate()
        .filter(|(joint, dof)| !dof.contains(at(longest, *joint).0))
        .map(|(_, dof)| dof.name.clone())
        .collect();
    Ok(Stop {
        trajectory: Trajectory {
            joint_names: chain.joint_names(),
            points,
        },
        outside,
    })
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
                    lower: -1.0,
                    upper: 1.0,
                    velocity: None,
                })
                .collect(),
            joints: vec![],
            tip_offset: nalgebra::Isometry3::identity(),
            links: vec![],
        }
    }

    fn limits(n: usize, a: f64) -> MotionLimits {
        MotionLimits::new(vec![1.0; n], vec![a; n]).unwrap()
    }

    #[test]
    fn all_joints_stop_together_along_a_line() {
        let stop = stop_trajectory(&chain(2), &[0.0, 0.0], &[0.4, -0.2], &limits(2, 2.0)).unwrap();
        assert_eq!(stop.trajectory.points.len(), 2);
        let last = &stop.trajectory.points[1];
        assert!((last.time - 0.2).abs() < 1e-8);
        assert!((last.positions[0] - 0.04).abs() < 1e-8);
        assert!((last.positions[1] + 0.02).abs() < 1e-8);
        assert!(stop.outside.is_empty());
    }

    #[test]
    fn a_joint_near_its_limit_slows_down_harder_than_the_others() {
        // Together with joint 0 it would need 0.5 s and 0.05 rad; it has 0.02 rad.
        let stop = stop_trajectory(&chain(2), &[0.0, 0.98], &[1.0, 0.2], &limits(2, 2.0)).unwrap();
        let last = stop.trajectory.points.last().unwrap();
        assert!(last.positions[1] <= 1.0 && last.positions[1] > 0.9999);
        assert!(stop.outside.is_empty());
    }

    #[test]
    fn a_joint_that_cannot_stop_in_time_is_named() {
        let stop = stop_trajectory(&chain(1), &[0.999], &[1.0], &limits(1, 2.0)).unwrap();
        assert_eq!(stop.outside, ["j0"]);
        assert!((stop.trajectory.duration() - 0.5).abs() < 1e-8);
    }

    #[test]
    fn an_arm_at_rest_stays_where_it_is() {
        let stop = stop_trajectory(&chain(1), &[0.3], &[0.0], &limits(1, 2.0)).unwrap();
        assert_eq!(stop.trajectory.points.len(), 1);
        assert_eq!(stop.trajectory.points[0].positions, [0.3]);
    }

    #[test]
    fn a_jerk_limit_is_honoured_unless_the_arm_would_hit_its_end() {
        let limits = limits(1, 2.0).with_jerk(vec![10.0]).unwrap();
        // v/a + a/j
        let stop = stop_trajectory(&chain(1), &[0.0], &[1.0], &limits).unwrap();
        assert!((stop.trajectory.duration() - 0.7).abs() < 1e-6);
        for pair in stop.trajectory.points.windows(2) {
            let change = pair[1].accelerations[0] - pair[0].accelerations[0];
            assert!(change.abs() <= 10.0 * (pair[1].time - pair[0].time) + 1e-9);
        }
        // 0.25 rad by constant deceleration, 0.35 rad with limited jerk.
        let close = stop_trajectory(&chain(1), &[0.7], &[1.0], &limits).unwrap();
        assert!(close.outside.is_empty());
        assert!(close.trajectory.points.last().unwrap().positions[0] <= 1.0);
    }

    #[test]
    fn bad_input_is_refused() {
        assert!(stop_trajectory(&chain(2), &[0.0], &[0.0, 0.0], &limits(2, 1.0)).is_err());
        assert!(stop_trajectory(&chain(1), &[f64::NAN], &[0.0], &limits(1, 1.0)).is_err());
        assert!(stop_trajectory(&chain(1), &[0.0], &[f64::INFINITY], &limits(1, 1.0)).is_err());
    }

    proptest! {
        #[test]
        fn decelerations_hold_and_the_start_is_met(
            q in prop::array::uniform4(-1.0..1.0f64),
            qd in prop::array::uniform4(-2.0..2.0f64),
            a in 0.1..20.0f64,
        ) {
            let stop = stop_trajectory(&chain(4), &q, &qd, &limits(4, a)).unwrap();
            let points = &stop.trajectory.points;
            prop_assert_eq!(&points[0].positions[..], &q[..]);
            prop_assert_eq!(&points[0].velocities[..], &qd[..]);
            prop_assert!(points[points.len() - 1].velocities.iter().all(|v| *v == 0.0));
            for pair in points.windows(2) {
                for joint in 0..4 {
                    let segment = pair[0].segment_to(&pair[1], joint).unwrap();
                    // Pieces of a few nanoseconds have few digits.
                    if pair[1].time - pair[0].time > 1e-6 {
                        prop_assert!(segment.max_acceleration() <= a * (1.0 + 1e-4));
                    }
                }
            }
            for (joint, value) in points[points.len() - 1].positions.iter().enumerate() {
                let named = stop.outside.contains(&format!("j{joint}"));
                prop_assert_eq!(named, value.abs() > 1.0);
                // Outside only if there was no way to stop inside.
                let needed = qd[joint] * qd[joint] / (2.0 * a);
                let room = 1.0 - qd[joint].signum() * q[joint];
                prop_assert!(!named || needed > room - 1e-6);
            }
        }
    }
}
