//! `~/tracking_pose`: follow poses by inverse kinematics alone, the newest wins.
//!
//! Each pose gives one short motion from the arm's state now, velocity included, to the joint
//! values of the pose. There is no search around obstacles here; a pose inside one is refused.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::StreamExt;
use r2r::geometry_msgs::msg::PoseStamped;

use super::codes::{Code, Failure};
use super::context::{Shared, View};
use super::ik_request::from_parameters;
use super::mover::{Execution, REST_SPEED};
use super::shutdown::Cancel;
use super::status::Report;
use crate::ik::{solver, IkRequest};
use crate::kinematics::Pose;
use crate::model::Chain;
use crate::trajectory::{JointState, MotionLimits, Segment, Trajectory, TrajectoryPoint};

/// Without a pose for this long, the next one is compared with where the arm is.
const PAUSE: Duration = Duration::from_secs(1);
/// The same failure is reported at most this often.
const REPORT_AGAIN: Duration = Duration::from_secs(1);
/// A motion smaller than this is none \[rad or m\].
const NO_MOTION: f64 = 1e-7;
/// Shortest motion \[s\].
const SHORTEST: f64 = 0.02;

/// What was last asked for.
struct Last {
    goal: Vec<f64>,
    when: Duration,
    execution: Option<Execution>,
}

/// Follows poses as they come.
pub async fn follow(shared: Arc<Shared>, mut poses: BoxStream<'static, PoseStamped>) {
    let (sender, mut newest) = tokio::sync::watch::channel(None);
    tokio::spawn(async move {
        while let Some(pose) = poses.next().await {
            if sender.send(Some(pose)).is_err() {
                return;
            }
        }
    });
    let mut last: Option<Last> = None;
    let mut cancel: Option<Cancel> = None;
    let mut reported: Option<(Code, Duration)> = None;
    while newest.changed().await.is_ok() {
        let Some(pose) = newest.borrow_and_update().clone() else {
            continue;
        };
        let continues = last.as_ref().filter(|last| {
            let recent = shared.now().saturating_sub(last.when) < PAUSE;
            recent
                && last
                    .execution
                    .as_ref()
                    .is_none_or(|sent| shared.mover.is_current(sent))
        });
        let begins = continues.is_none();
        let from = continues.map(|last| last.goal.clone());
        if begins || cancel.as_ref().is_none_or(Cancel::is_cancelled) {
            cancel = Some(shared.mover.begin(&shared.shutdown));
        }
        let Some(running) = cancel.clone() else {
            continue;
        };
        let working = Arc::clone(&shared);
        let work = tokio::task::spawn_blocking(move || track(&working, &pose, from, &running));
        let result = work.await.unwrap_or_else(|error| {
            tracing::error!("tracking failed: {error}");
            Err(Failure::new(
                Code::Failure,
                "tracking failed inside; the node's log says more",
            ))
        });
        let now = shared.now();
        match result {
            Ok((goal, execution)) => {
                let before = last.take().and_then(|last| last.execution);
                last = Some(Last {
                    goal,
                    when: now,
                    execution: execution.or(before),
                });
                if begins || reported.is_some() {
                    shared.report(
                        &Report::ok("tracking_pose", "following").with("state", "tracking"),
                    );
                }
                reported = None;
            }
            Err(failure) => {
                let again = reported.is_some_and(|(code, when)| {
                    code == failure.code && now.saturating_sub(when) < REPORT_AGAIN
                });
                if !again {
                    reported = Some((failure.code, now));
                    shared.report(
                        &Report::failed("tracking_pose", &failure).with("state", "refused"),
                    );
                }
            }
        }
    }
}

type Tracked = (Vec<f64>, Option<Execution>);

fn track(
    shared: &Shared,
    pose: &PoseStamped,
    from: Option<Vec<f64>>,
    cancel: &Cancel,
) -> Result<Tracked, Failure> {
    let view = shared.view()?;
    let chain = &view.robot.chain;
    let target = view.in_base(&pose.header.frame_id, &pose.pose, false, &mut Vec::new())?;
    outside_obstacles(&view, &target)?;
    let state = view.state(chain)?;
    let q = state.q();
    let seed = from
        .filter(|from| from.len() == chain.dof())
        .unwrap_or_else(|| q.clone());
    let goal = joint_goal(&view, target, &seed, cancel)?;
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
    let there = goal
        .iter()
        .zip(&q)
        .all(|(goal, q)| (goal - q).abs() < NO_MOTION);
    if there && speeds.iter().all(|speed| *speed == 0.0) {
        return Ok((goal, None));
    }
    let limits = view.parameters.motion_limits(chain)?;
    let timing = &view.parameters.timing;
    let scaled = limits.scaled(timing.velocity_scaling, timing.acceleration_scaling)?;
    let trajectory = short_motion(chain, &q, &speeds, &goal, &scaled).ok_or_else(|| {
        let message = "the arm moves too fast to reach the pose within its limits: stop first";
        Failure::new(Code::InvalidMotionPlan, message)
    })?;
    let execution = shared.mover.send(shared, &trajectory, &limits, cancel)?;
    Ok((goal, Some(execution)))
}

/// The tip must not be led into an obstacle, or nearer to one than the clearance.
fn outside_obstacles(view: &View, target: &Pose) -> Result<(), Failure> {
    let clearance = view.parameters.planning.clearance;
    let tip = target.translation.vector;
    let shadow = nalgebra::Point2::new(tip.x, tip.y);
    for obstacle in view.obstacles.list() {
        let distance = obstacle.polygon.distance(&shadow);
        // Single-precision messages cost a little.
        if obstacle.blocks((tip.z, tip.z), clearance) && distance < clearance - 1e-6 {
            let message = format!(
                "the pose lies {distance:.3} m from obstacle \"{}\", the clearance is {clearance} m: not followed",
                obstacle.id
            );
            return Err(Failure::new(Code::GoalInCollision, message));
        }
    }
    Ok(())
}

fn joint_goal(
    view: &View,
    target: Pose,
    seed: &[f64],
    cancel: &Cancel,
) -> Result<Vec<f64>, Failure> {
    let chain = &view.robot.chain;
    let parameters = &view.parameters;
    let started = std::time::Instant::now();
    let timeout = Duration::from_secs_f64(parameters.ik.timeout.min(1e9));
    let give_up = || cancel.is_cancelled() || started.elapsed() >= timeout;
    let most = parameters.tracking_max_step;
    let mut request = IkRequest {
        // Neither another branch nor a drift towards a posture: that would not be following.
        restarts: false,
        posture: None,
        max_move: Some(vec![most; chain.dof()]),
        ..from_parameters(parameters, chain, chain, target, &give_up)
    };
    let solver = solver(&parameters.ik.solver)?;
    if let Ok(solution) = solver.solve(chain, &request, seed) {
        return Ok(solution.q);
    }
    // Once more without the bound, to say why.
    request.max_move = None;
    let far = solver
        .solve(chain, &request, seed)
        .map_err(|error| Failure::from(&error))?;
    let steps = chain.dofs.iter().zip(far.q.iter().zip(seed));
    let (step, joint) = steps
        .map(|(dof, (to, from))| ((to - from).abs(), dof.name.as_str()))
        .fold(
            (0.0, ""),
            |most, one| if one.0 > most.0 { one } else { most },
        );
    let message = format!(
        "joint \"{joint}\" would have to move by {step:.3} for one pose, tracking.max_step is {most}: send poses closer together, or use ~/goal_pose"
    );
    Err(Failure::new(Code::JointJump, message))
}

/// The shortest motion (to a few percent) from a moving state to rest at `goal` that is one cubic
/// a joint and keeps the limits; `None` if there is none.
fn short_motion(
    chain: &Chain,
    q: &[f64],
    speeds: &[f64],
    goal: &[f64],
    limits: &MotionLimits,
) -> Option<Trajectory> {
    let fits = |duration: f64| {
        (0..chain.dof()).all(|joint| {
            let (Some(dof), Some(&from), Some(&speed), Some(&to), Some(&fastest), Some(&hardest)) = (
                chain.dofs.get(joint),
                q.get(joint),
                speeds.get(joint),
                goal.get(joint),
                limits.velocity().get(joint),
                limits.acceleration().get(joint),
            ) else {
                return false;
            };
            let state = |position, velocity| JointState { position, velocity, acceleration: 0.0 };
            let segment = Segment::cubic(state(from, speed), state(to, 0.0), duration);
            let (low, high) = segment.position_range(1e-9);
            segment.max_speed() <= fastest.max(speed.abs())
                && segment.max_acceleration() <= hardest
                && low >= dof.lower.min(from)
                && high <= dof.upper.max(from)
        })
    };
    // What fits is not an interval: an arm that moves away needs time to turn, one that must
    // not overshoot must not have too much. So the durations are tried from the shortest.
    let mut duration = SHORTEST;
    while !fits(duration) {
        duration *= 1.05;
        if duration > 60.0 {
            return None;
        }
    }
    let point = |time, positions: &[f64], velocities: Vec<f64>| TrajectoryPoint {
        time,
        positions: positions.to_vec(),
        velocities,
        accelerations: Vec::new(),
    };
    Some(Trajectory {
        joint_names: chain.joint_names(),
        points: vec![
            point(0.0, q, speeds.to_vec()),
            point(duration, goal, vec![0.0; goal.len()]),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::test_data::{fault, fault_urdf};

    #[test]
    fn short_motions_keep_the_limits_from_any_velocity() {
        let model = fault_urdf(&fault("frame_target_other"));
        let chain = model.chain("base", "tip", false).unwrap();
        let limits = MotionLimits::new(vec![1.0, 1.0], vec![3.0, 3.0]).unwrap();
        for (speeds, goal) in [
            ([0.0, 0.0], [0.05, -0.05]),
            ([0.5, 0.0], [0.1, 0.0]),
            ([-0.5, 0.4], [0.1, 0.1]),
            ([0.9, -0.9], [0.0, 0.0]),
            ([0.0, 0.0], [2.0, -1.5]),
        ] {
            let trajectory = short_motion(&chain, &[0.0, 0.0], &speeds, &goal, &limits).unwrap();
            let duration = trajectory.duration();
            assert!(duration < 4.0, "{speeds:?} {goal:?}: {duration}");
            let mut before = speeds.to_vec();
            for step in 0..=1000 {
                let point = trajectory
                    .sample(duration * f64::from(step) / 1000.0)
                    .unwrap();
                for (joint, speed) in point.velocities.iter().enumerate() {
                    assert!(speed.abs() <= 1.0 + 1e-9, "{speeds:?} {goal:?}");
                    let change = (speed - before[joint]).abs();
                    assert!(
                        change <= 3.0 * duration / 1000.0 + 1e-9,
                        "{speeds:?} {goal:?}"
                    );
                }
                before = point.velocities;
            }
            assert_eq!(trajectory.sample(duration).unwrap().positions, goal);
            assert_eq!(before, [0.0, 0.0]);
        }
    }

    #[test]
    fn there_is_no_short_motion_through_a_limit() {
        let model = fault_urdf(&fault("frame_target_other"));
        let chain = model.chain("base", "tip", false).unwrap();
        let limits = MotionLimits::new(vec![2.0, 2.0], vec![1.0, 1.0]).unwrap();
        // Half a radian from the limit of 3.14 at 2 rad/s with 1 rad/s²: it cannot turn in time.
        let q = [2.64, 0.0];
        assert_eq!(
            short_motion(&chain, &q, &[2.0, 0.0], &[2.7, 0.0], &limits),
            None
        );
    }
}
