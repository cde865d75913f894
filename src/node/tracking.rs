//! `~/tracking_pose`: follow poses by inverse kinematics alone, the newest wins.
//!
//! Each pose gives one short motion from the arm's state now, velocity included, to the joint
//! values of the pose. There is no search around obstacles here; a pose inside one is refused.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::StreamExt;
use r2r::geometry_msgs::msg::PoseStamped;

use super::codes::{Code, Failure};
use super::context::{Shared, View};
use super::execution::accepted;
use super::ik_request::from_parameters;
use super::mover::{Execution, REST_SPEED};
use super::shutdown::Cancel;
use super::status::Report;
use crate::ik::{solver, IkRequest};
use crate::kinematics::Pose;
use crate::model::Chain;
use crate::motion::{violation_in, PATH_TOLERANCE};
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
    let mut told = Told::default();
    let mut stream = Stream::default();
    while newest.changed().await.is_ok() {
        let Some(pose) = newest.borrow_and_update().clone() else {
            continue;
        };
        if stream.was_stopped(shared.mover.stops(), shared.now()) {
            let message = format!(
                "stopped: poses are followed again after {} s without one",
                PAUSE.as_secs()
            );
            let failure = Failure::new(Code::Preempted, message);
            told.failure(&shared, &failure);
            last = None;
            continue;
        }
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
            // A pose that cannot be read must not end what is going on.
            let readable = shared.view().and_then(|view| {
                view.in_base(&pose.header.frame_id, &pose.pose, false, &mut Vec::new())
            });
            let ticket = shared.mover.ticket();
            match readable.and_then(|_| shared.mover.begin(ticket, &shared.shutdown)) {
                Ok(begun) => cancel = Some(begun),
                Err(failure) => {
                    told.failure(&shared, &failure);
                    continue;
                }
            }
        }
        let Some(running) = cancel.clone() else {
            continue;
        };
        let working = Arc::clone(&shared);
        let work = tokio::task::spawn_blocking(move || track(&working, &pose, from, &running));
        let mut result = work.await.unwrap_or_else(|error| {
            tracing::error!("tracking failed: {error}");
            Err(Failure::new(
                Code::Failure,
                "tracking failed inside; the node's log says more",
            ))
        });
        if let Ok((_, Some(execution))) = &result {
            if let Err(failure) = accepted(&shared, execution).await {
                result = Err(failure);
            }
        }
        let now = shared.now();
        match result {
            Ok((goal, execution)) => {
                let before = last.take().and_then(|last| last.execution);
                last = Some(Last {
                    goal,
                    when: now,
                    execution: execution.or(before),
                });
                if told.is_news(None, begins, now) {
                    shared.report(
                        &Report::ok("tracking_pose", "following").with("state", "tracking"),
                    );
                }
            }
            Err(failure) => told.failure(&shared, &failure),
        }
    }
}

/// What was reported, so that poses that come a hundred times a second do not flood the reports,
/// even where good and bad ones alternate.
#[derive(Debug, Default)]
struct Told {
    /// What was told last; no code means that all is well.
    last: Option<Option<Code>>,
    /// When each was told last.
    when: HashMap<Option<Code>, Duration>,
}

impl Told {
    /// Whether to tell this now. A failure is told again while it lasts, but never too often; that
    /// all is well, always where a failure was the last that was told.
    fn is_news(&mut self, what: Option<Code>, begins: bool, now: Duration) -> bool {
        let before = self.when.get(&what);
        let due = before.is_none_or(|when| now.saturating_sub(*when) >= REPORT_AGAIN);
        let news = match (what, self.last) {
            (None, Some(Some(_))) => true,
            (None, Some(None)) => due && begins,
            _ => due,
        };
        if !news {
            return false;
        }
        self.last = Some(what);
        self.when.insert(what, now);
        true
    }

    fn failure(&mut self, shared: &Shared, failure: &Failure) {
        if self.is_news(Some(failure.code), false, shared.now()) {
            shared.report(&Report::failed("tracking_pose", failure).with("state", "refused"));
        }
    }
}

/// Poses that come without a pause belong together: a stop ends all of them.
#[derive(Debug, Default)]
struct Stream {
    /// How often the stop service had been called when it began, and when its newest pose came.
    since: Option<(u64, Duration)>,
}

impl Stream {
    /// Takes note of a pose; whether the stop service was called since its stream began.
    fn was_stopped(&mut self, stops: u64, now: Duration) -> bool {
        let begun = match self.since {
            Some((begun, newest)) if now.saturating_sub(newest) < PAUSE => begun,
            _ => stops,
        };
        self.since = Some((begun, now));
        begun != stops
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
    let state = view.state(chain)?;
    let q = state.q();
    let seed = from
        .filter(|from| from.len() == chain.dof())
        .unwrap_or_else(|| q.clone());
    let goal = joint_goal(&view, target, &seed, cancel)?;
    let speeds = state.speeds(REST_SPEED);
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
    outside_obstacles(&view, &trajectory)?;
    let execution = shared
        .mover
        .send(shared, &trajectory, &limits, None, None, cancel)?;
    Ok((goal, Some(execution)))
}

/// The tip must not be led into an obstacle, or nearer to one than the clearance, anywhere on its
/// way; where it is too near already, not nearer.
fn outside_obstacles(view: &View, trajectory: &Trajectory) -> Result<(), Failure> {
    let (chain, obstacles) = (&view.robot.chain, view.obstacles.list());
    let clearance = view.parameters.planning.clearance;
    let plane = view.plane()?;
    let violation =
        |trajectory: &Trajectory| violation_in(&plane, chain, obstacles, clearance, trajectory);
    let Some((missing, obstacle)) = violation(trajectory) else {
        return Ok(());
    };
    let standing = Trajectory {
        joint_names: trajectory.joint_names.clone(),
        points: trajectory.points.iter().take(1).cloned().collect(),
    };
    let already = violation(&standing).map_or(0.0, |(now, _)| now);
    if missing <= already + PATH_TOLERANCE {
        return Ok(());
    }
    let message = format!(
        "the way to the pose comes {missing:.4} m closer to obstacle \"{obstacle}\" than the clearance of {clearance} m: not followed"
    );
    Err(Failure::new(Code::GoalInCollision, message))
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
#[path = "tracking_tests.rs"]
mod tests;
