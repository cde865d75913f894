//! Two motions become one: what is left of the one under way, and from a moment on the new one blended
//! into it.

use std::time::{Duration, Instant};

use super::codes::{Code, Failure};
use super::context::Shared;
use super::mover::Execution;
use super::moves::Ahead;
use super::planning_job::{with_extra, Planned};
use super::shutdown::Cancel;
use crate::motion::{violation_in, PATH_TOLERANCE};
use crate::trajectory::{blend, Trajectory};

/// A trajectory that goes on from a moving state begins this much later than it is sent.
pub const SEND_LEAD: Duration = Duration::from_millis(20);

/// Sends what is left of the motion until `ahead`, and from there on the new one blended into it;
/// `None` if that does not go well without a stop.
pub fn go_over(
    shared: &Shared,
    planned: &Planned,
    ahead: &Ahead,
    cancel: &Cancel,
) -> Result<Option<(Execution, Trajectory)>, Failure> {
    let began = Instant::now();
    let view = shared.view()?;
    let chain = &view.robot.chain;
    let path = &planned.plan.path.joint_path;
    let Ok(joined) = blend(chain, &ahead.point, path, &planned.scaled, planned.period) else {
        return Ok(None);
    };
    // A short way from what is sent to its begin is best, for until then a controller goes its own. A busy machine
    // may take longer than the last time; then there is mostly time for another try.
    for more in [1, 2, 4] {
        let lead = more * (SEND_LEAD + 2 * shared.mover.checking());
        let next = joined.trajectory.clone();
        let sent = join(shared, planned, ahead, next, lead, cancel)?;
        shared.mover.going_over_took(began.elapsed());
        match sent {
            Joined::Sent(execution, trajectory) => return Ok(Some((*execution, trajectory))),
            Joined::Late => {}
            Joined::Not => return Ok(None),
        }
    }
    Ok(None)
}

/// What came of joining two motions.
enum Joined {
    /// It was sent.
    Sent(Box<Execution>, Trajectory),
    /// When it was checked it was past the moment to begin.
    Late,
    /// It cannot be, or not any more.
    Not,
}

/// Sends what is left of the motion under way from `lead` on until `ahead`, and from there on `next`.
fn join(
    shared: &Shared,
    planned: &Planned,
    ahead: &Ahead,
    next: Trajectory,
    lead: Duration,
    cancel: &Cancel,
) -> Result<Joined, Failure> {
    let view = shared.view()?;
    let chain = &view.robot.chain;
    let Some(first) = shared.mover.ahead(shared, &view, lead) else {
        return Ok(Joined::Not);
    };
    if first.id != ahead.id || first.when >= ahead.when {
        tracing::debug!("not gone over: another motion, or too late");
        return Ok(Joined::Not);
    }
    let stretch = shared.mover.stretch(ahead.id, first.when, ahead.when);
    let Some(trajectory) = stretch.and_then(|stretch| {
        let offset = ahead.when.saturating_sub(first.when).as_secs_f64();
        together(stretch, next, offset)
    }) else {
        return Ok(Joined::Not);
    };
    let (obstacles, _) = with_extra(&view, &planned.order.extra)?;
    let plane = view.plane()?;
    // Off its route the tip keeps no clearance of its own; the arm keeps the links', see the gate.
    if planned.plan.path.left_route.is_empty() {
        match violation_in(
            &plane,
            chain,
            obstacles.list(),
            planned.clearance,
            &trajectory,
        ) {
            Some((missing, obstacle)) if missing > PATH_TOLERANCE => {
                tracing::debug!("not gone over: {missing:.4} m too close to \"{obstacle}\"");
                return Ok(Joined::Not);
            }
            _ => {}
        }
    }
    let sent = shared.mover.send(
        shared,
        &trajectory,
        &planned.limits,
        Some(obstacles),
        Some(&first),
        cancel,
    );
    match sent {
        Ok(execution) => Ok(Joined::Sent(Box::new(execution), trajectory)),
        Err(failure) if matches!(failure.code, Code::GateRejected | Code::TimedOut) => {
            let late = shared.now() >= first.when;
            tracing::debug!("not gone over (late: {late}): {}", failure.message);
            Ok(if late { Joined::Late } else { Joined::Not })
        }
        Err(failure) => Err(failure),
    }
}

/// One trajectory from two, the second one beginning at `offset` \[s\]; `None` where the first has no
/// accelerations, which the second one needs.
fn together(first: Trajectory, second: Trajectory, offset: f64) -> Option<Trajectory> {
    if first
        .points
        .iter()
        .any(|point| point.accelerations.is_empty())
    {
        return None;
    }
    let mut whole = first;
    for (index, mut point) in second.points.into_iter().enumerate() {
        point.time = ((point.time + offset) * 1e9).round() / 1e9;
        if index == 0 {
            // The acceleration jumps here. With one of its two values a quintic would swing over
            // before or after the jump; without it cubics meet here, which do not.
            point.accelerations.clear();
        }
        whole.points.push(point);
    }
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trajectory::TrajectoryPoint;

    #[test]
    fn two_trajectories_become_one_with_rising_times() {
        let point = |time: f64, at: f64, acceleration: &[f64]| TrajectoryPoint {
            time,
            positions: vec![at],
            velocities: vec![1.0],
            accelerations: acceleration.to_vec(),
        };
        let trajectory = |points| Trajectory {
            joint_names: vec!["j".into()],
            points,
        };
        let first = trajectory(vec![point(0.0, 0.0, &[0.0]), point(0.02, 0.02, &[0.0])]);
        let second = trajectory(vec![point(0.0, 0.04, &[-1.0]), point(0.02, 0.06, &[-1.0])]);
        let whole = together(first.clone(), second.clone(), 0.04).unwrap();
        let times: Vec<f64> = whole.points.iter().map(|point| point.time).collect();
        assert_eq!(times, [0.0, 0.02, 0.04, 0.06]);
        assert!(whole.points[2].accelerations.is_empty());
        assert_eq!(whole.points[3].accelerations, [-1.0]);
        let without = trajectory(vec![point(0.0, 0.0, &[])]);
        assert!(together(without, second, 0.04).is_none());
    }
}
