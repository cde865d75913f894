//! Watching the arm follow a trajectory: how far it is, what comes into its way, what became of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::codes::{Code, Failure};
use super::collisions::Checker;
use super::context::{Shared, View};
use super::controller::Phase;
use super::execution::{accepted, blocking, brake, LOOK, SETTLING};
use super::goals::executing;
use super::mover::{Execution, Guard};
use super::obstacles::ObstacleSet;
use super::planning_job::{with_extra, Order, Unplanned};
use super::progress::Reporter;
use super::pursuit::{gentle_limits, go_on, lead, on_the_move, pursue, Going, Moved, OrderAt};
use super::rest::Rest;
use super::shutdown::Cancel;
use super::status::Report;
use crate::collision::Obstacle as Met;
use crate::kinematics::{forward_kinematics, Pose};
use crate::motion::{violation_in, PATH_TOLERANCE};
use crate::trajectory::{stop_trajectory, MotionLimits, Trajectory};

/// The least and the greatest time to plan in while the arm moves on towards something in its way.
const THINKING: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(1));
/// When an arm that brakes for something begins to do so.
const BRAKE_LEAD: Duration = Duration::from_millis(40);
/// To spare when it is judged whether there is time for that \[s\].
const SPARE: f64 = 0.15;
/// Shares of the clearance that are tried from where the arm has stopped.
const CLEARANCE_SHARES: [f64; 3] = [1.0, 0.5, 0.0];
/// A goal is passed where the tip was this near to it \[m\].
const NEAR: f64 = 2e-3;

/// What a motion came to.
enum End {
    /// The arm is where it was to go.
    Reached,
    /// Something else took its place.
    Replaced(&'static str),
    /// It ended early; the arm has been left alone.
    Failed(Failure),
    /// It cannot go on; the arm must be stopped.
    Stop(Failure),
    /// Something is in its way.
    Blocked(Blocked),
}

/// What is in the way of a motion.
struct Blocked {
    what: String,
    /// Whether there is time to think before the arm must come to rest.
    far: bool,
}

/// What a motion is for, so that it can be planned anew.
pub struct Intent {
    /// What was ordered.
    pub order: Order,
    /// Whether it is still wanted.
    pub cancel: Cancel,
    /// Whose turn it is to plan.
    pub turns: Arc<Semaphore>,
}

/// Watches the arm follow a trajectory, plans anew where something comes into its way, and reports
/// what came of it.
pub async fn watch(
    shared: &Arc<Shared>,
    about: &'static str,
    number: u64,
    mut execution: Execution,
    intent: &Intent,
) {
    let report = loop {
        let Some(end) = until_the_end(shared, about, number, &execution).await else {
            return;
        };
        let failed = |failure: Failure| {
            let state = match failure.code {
                Code::Preempted => "preempted",
                _ => "failed",
            };
            Report::failed(about, &failure).with("state", state)
        };
        break match end {
            End::Reached => {
                Report::ok(about, "the arm has reached the goal").with("state", "reached")
            }
            End::Replaced(why) => failed(Failure::new(Code::Preempted, why)),
            End::Failed(failure) => {
                if failure.code == Code::ControlFailed {
                    shared.counts.controller_failures.count();
                }
                failed(failure)
            }
            End::Stop(failure) => {
                shared.counts.stale_stops.count();
                failed(stopped_for(shared, failure).await)
            }
            End::Blocked(blocked) => {
                match around(shared, about, number, &execution, intent, blocked).await {
                    Ok(next) => {
                        execution = next;
                        continue;
                    }
                    Err(failure) => failed(failure),
                }
            }
        };
    };
    shared.report(&report.with("goal", number).with("fraction", 1));
}

/// Plans anew for something in the way, or stops for it.
///
/// # Errors
/// The arm was stopped, or something newer took over.
async fn around(
    shared: &Arc<Shared>,
    about: &'static str,
    number: u64,
    execution: &Execution,
    intent: &Intent,
    blocked: Blocked,
) -> Result<Execution, Failure> {
    let failure = |rest: &str| {
        let message = format!("{} came into the way of the motion: {rest}", blocked.what);
        Failure::new(Code::InvalidMotionPlan, message)
    };
    let view = shared.view()?;
    if !view.parameters.replan {
        shared.counts.obstacle_stops.count();
        return Err(stopped_for(shared, failure("stopping")).await);
    }
    let goals = goals_ahead(shared, &view, execution, &intent.order.goals);
    let order_at = |_: &View, start: Vec<f64>| {
        let (goals, order) = (goals.clone(), intent.order.clone());
        Ok((
            Order {
                start,
                goals,
                ..order
            },
            Vec::new(),
        ))
    };
    let (cancel, turns) = (&intent.cancel, &intent.turns);
    let mut going = None;
    let mut far = blocked.far;
    while far && going.is_none() {
        let thinking = thinking(shared);
        let moving = on_the_move(shared, &order_at, thinking, cancel, turns);
        // What is late is too late: the arm must come to rest in time.
        match tokio::time::timeout(thinking, moving).await {
            Ok(Ok(Moved::Going(moved))) => going = Some(*moved),
            Ok(Err(unplanned)) if unplanned.failure.code == Code::Preempted => {
                return Err(unplanned.failure)
            }
            // Too late: more time, if there still is so much, and it would be more.
            Err(_) | Ok(Ok(Moved::Late(_))) => {
                shared.mover.planning_took(2 * thinking);
                far = thinking < THINKING.1 && is_far(shared, execution);
            }
            // Impossible, or not without a stop: brake, and see from there.
            _ => far = false,
        }
    }
    let going = match going {
        Some(going) => going,
        None => {
            let braking = match brake_for(shared, execution, &order_at, cancel).await {
                Ok(braking) => braking,
                Err(why) if why.code == Code::Preempted => return Err(why),
                Err(_) => {
                    shared.counts.obstacle_stops.count();
                    return Err(stopped_for(shared, failure("stopping")).await);
                }
            };
            let braking = braking.as_ref();
            let mut gone = go_on(shared, braking, &order_at, cancel, turns).await;
            if matches!(&gone, Err(unplanned) if unplanned.failure.code == Code::StartStateInCollision)
            {
                gone = from_rest(shared, &view, &goals, intent).await;
            }
            match gone.map_err(|unplanned| unplanned.failure) {
                Ok(going) => going,
                Err(why) if why.code == Code::Preempted => return Err(why),
                Err(why) => {
                    shared.counts.obstacle_stops.count();
                    let message =
                        failure(&format!("stopped, there is no other way: {}", why.message));
                    return Err(Failure {
                        code: why.code,
                        ..message
                    });
                }
            }
        }
    };
    shared.counts.replans.count();
    let mut notes = vec![format!("{} came into the way", blocked.what)];
    notes.extend(going.notes);
    let report = executing(
        about,
        &going.planned,
        &going.sent,
        &notes,
        number,
        "replanned",
    );
    shared.report(&report);
    Ok(going.execution)
}

/// Begins to stop an arm for something in its way: gently, so that it may go over to another way from the
/// midst of it, where such a stop stays clear of what is in the way; else as hard as it can.
async fn brake_for(
    shared: &Arc<Shared>,
    execution: &Execution,
    order_at: &OrderAt<'_>,
    cancel: &Cancel,
) -> Result<Option<Execution>, Failure> {
    let gentle = gentle_limits(shared, order_at).ok();
    let gentle = gentle.filter(|limits| stops_before(shared, execution, limits));
    brake(shared, cancel, gentle).await
}

/// Whether an arm that begins to brake now with these limits keeps clear of all obstacles.
fn stops_before(shared: &Shared, execution: &Execution, limits: &MotionLimits) -> bool {
    let (Some(guard), Ok(view)) = (execution.guard.as_ref(), shared.view()) else {
        return false;
    };
    let chain = &view.robot.chain;
    let Some(ahead) = shared.mover.ahead(shared, &view, BRAKE_LEAD) else {
        return false;
    };
    let ahead = ahead.point;
    let Ok(stop) = stop_trajectory(chain, &ahead.positions, &ahead.velocities, limits) else {
        return false;
    };
    stop.outside.is_empty() && in_the_way_of(&view, guard, &stop.trajectory).is_none()
}

/// Plans anew from where the arm has come to rest. That may be nearer to an obstacle than the tip
/// is to keep: it went straight on there. Then the clearance gives way; that of the links does so by itself, near
/// the start.
///
/// # Errors
/// There is no way.
async fn from_rest(
    shared: &Arc<Shared>,
    view: &View,
    goals: &[Pose],
    intent: &Intent,
) -> Result<Going, Unplanned> {
    let wanted = match intent.order.clearance {
        sent if sent < 0.0 => view.parameters.planning.clearance,
        sent => sent,
    };
    let mut last = Unplanned::from(Failure::new(Code::Failure, "nothing was tried"));
    for share in CLEARANCE_SHARES {
        let order_at = |_: &View, start: Vec<f64>| {
            let order = Order {
                start,
                goals: goals.to_vec(),
                clearance: share * wanted,
                ..intent.order.clone()
            };
            let nearer = format!(
                "with a clearance of {:.3} m from where it stopped",
                order.clearance
            );
            Ok((order, (share < 1.0).then_some(nearer).into_iter().collect()))
        };
        match pursue(shared, &order_at, true, &intent.cancel, &intent.turns).await {
            Ok(going) => return Ok(going),
            Err(unplanned) => last = unplanned,
        }
        if last.failure.code != Code::StartStateInCollision {
            break;
        }
    }
    Err(last)
}

/// The goals that the arm has not passed yet; the last one in any case.
fn goals_ahead(shared: &Shared, view: &View, execution: &Execution, goals: &[Pose]) -> Vec<Pose> {
    let chain = &view.robot.chain;
    let mut ahead = goals;
    let passed = shared.mover.passed(execution, view.now);
    for point in passed.iter().flatten() {
        let [next, _, ..] = ahead else { break };
        let Ok(tip) = forward_kinematics(chain, &point.positions) else {
            break;
        };
        if (tip.translation.vector - next.translation.vector).norm() < NEAR {
            ahead = ahead.get(1..).unwrap_or_default();
        }
    }
    ahead.to_vec()
}

/// `None` when the node ends.
async fn until_the_end(
    shared: &Arc<Shared>,
    about: &'static str,
    number: u64,
    execution: &Execution,
) -> Option<End> {
    let mut rest = Rest::default();
    let mut progress = Reporter::new(about, number);
    let mut looked_at = execution
        .guard
        .as_ref()
        .map(|guard| Arc::clone(&guard.known));
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = shared.obstacles_changed.notified() => {}
        }
        if shared.shutdown.is_requested() {
            return None;
        }
        if !shared.mover.is_current(execution) {
            return Some(End::Replaced(if shared.mover.was_stopped() {
                "stopped"
            } else {
                "replaced by a newer motion"
            }));
        }
        progress.tell(shared, execution);
        match execution.phases.now() {
            Phase::Canceled(why) => return Some(End::Failed(Failure::new(Code::Preempted, why))),
            Phase::Aborted(why) | Phase::Refused(why) => {
                return Some(End::Failed(Failure::new(Code::ControlFailed, why)))
            }
            Phase::Sent | Phase::Accepted | Phase::Reached => {}
        }
        let now = shared.now();
        // Kept up to date on the way, so that its window is full at the end.
        let resting = rest.look(shared);
        if now < execution.ends {
            if let Err(failure) = resting {
                let message = format!("stopped in mid-motion: {}", failure.message);
                return Some(End::Stop(Failure { message, ..failure }));
            }
            if let Some(blocked) = in_the_way(shared, execution, &mut looked_at) {
                return Some(End::Blocked(blocked));
            }
            continue;
        }
        let Err(reason) = arrived(shared, execution, resting) else {
            return Some(End::Reached);
        };
        if now > execution.ends + SETTLING {
            let message =
                format!("the trajectory was sent, but the arm has not followed it: {reason}");
            return Some(End::Failed(Failure::new(Code::ControlFailed, message)));
        }
    }
}

/// The obstacle, if one that came after the motion began is in the way of what is left of it: of the
/// tip, or of any other link.
fn in_the_way(
    shared: &Shared,
    execution: &Execution,
    looked_at: &mut Option<Arc<ObstacleSet>>,
) -> Option<Blocked> {
    let guard = execution.guard.as_ref()?;
    let view = shared.view().ok()?;
    if looked_at
        .as_ref()
        .is_some_and(|known| Arc::ptr_eq(known, &view.obstacles))
    {
        return None;
    }
    *looked_at = Some(Arc::clone(&view.obstacles));
    let rest = shared.mover.rest_of_the_motion(view.now)?;
    let what = in_the_way_of(&view, guard, &rest)?;
    let soon = beginning(&rest, horizon(shared, &view, &rest));
    Some(Blocked {
        what,
        far: in_the_way_of(&view, guard, &soon).is_none(),
    })
}

/// Whether the way is still free for as long as it takes to plan while the arm moves on.
fn is_far(shared: &Shared, execution: &Execution) -> bool {
    let (Some(guard), Ok(view)) = (execution.guard.as_ref(), shared.view()) else {
        return false;
    };
    let Some(rest) = shared.mover.rest_of_the_motion(view.now) else {
        return false;
    };
    let soon = beginning(&rest, horizon(shared, &view, &rest));
    in_the_way_of(&view, guard, &soon).is_none()
}

/// The obstacle that is in the way of a trajectory, in words: of the tip, or of any other link.
fn in_the_way_of(view: &View, guard: &Guard, trajectory: &Trajectory) -> Option<String> {
    // What was asked for with the goal went well with the obstacles then; a fault now is theirs.
    let (obstacles, _) = with_extra(view, &guard.extra).ok()?;
    let (chain, plane) = (&view.robot.chain, view.plane().ok()?);
    let for_the_tip = if guard.on_route {
        obstacles.list()
    } else {
        &[]
    };
    match violation_in(&plane, chain, for_the_tip, guard.clearance, trajectory) {
        Some((missing, obstacle)) if missing > PATH_TOLERANCE => {
            return Some(format!("obstacle \"{obstacle}\""));
        }
        _ => {}
    }
    if !view.parameters.collision.check_motion {
        return None;
    }
    let checker = Checker::new(view, chain, &obstacles, &mut Vec::new()).ok()?;
    let meeting = checker.meets(trajectory)?;
    match &meeting.with {
        Met::Obstacle(id) => Some(format!("obstacle \"{id}\" (for link \"{}\")", meeting.link)),
        Met::Link(_) => None,
    }
}

/// How long the arm may plan while it moves on towards something in its way.
fn thinking(shared: &Shared) -> Duration {
    lead(shared).clamp(THINKING.0, THINKING.1)
}

/// How far ahead the way must be free if the arm is to plan while it moves on \[s\]: planning, and
/// coming to rest as hard as it can, should nothing come of it.
fn horizon(shared: &Shared, view: &View, rest: &Trajectory) -> f64 {
    let thinking = thinking(shared).as_secs_f64();
    let Ok(limits) = view.parameters.motion_limits(&view.robot.chain) else {
        return f64::INFINITY;
    };
    let speeds = rest
        .points
        .iter()
        .take_while(|point| point.time <= thinking);
    let stop = speeds
        .flat_map(|point| point.velocities.iter().zip(limits.acceleration()))
        .fold(0.0_f64, |most, (speed, acceleration)| {
            most.max(speed.abs() / acceleration)
        });
    thinking + stop + SPARE
}

/// The part of a trajectory before `until` \[s\].
fn beginning(trajectory: &Trajectory, until: f64) -> Trajectory {
    let before = trajectory.points.iter().filter(|point| point.time < until);
    let end = trajectory.sample(until.min(trajectory.duration()));
    Trajectory {
        joint_names: trajectory.joint_names.clone(),
        points: before.cloned().chain(end).collect(),
    }
}

/// Stops the arm for a reason; the reason, and what came of the stop if that went wrong.
async fn stopped_for(shared: &Arc<Shared>, failure: Failure) -> Failure {
    let stopping = Arc::clone(shared);
    let sent = blocking(move || stopping.mover.stop(&stopping)).await;
    let stopped = match sent.and_then(|inner| inner) {
        Ok((execution, _)) => accepted(shared, &execution).await,
        Err(why) => Err(why),
    };
    match stopped {
        Ok(()) => failure,
        Err(why) => {
            // The last resort: a controller that is talked to by action can hold by itself.
            let held = if shared.outputs.controller.cancel_all() {
                "; the controller was told to hold where it is"
            } else {
                ""
            };
            let message = format!(
                "{}, but no stop was sent: {}{held}",
                failure.message, why.message
            );
            Failure { message, ..failure }
        }
    }
}

/// Whether the arm is where the trajectory ends, and at rest.
fn arrived(
    shared: &Shared,
    execution: &Execution,
    resting: Result<bool, Failure>,
) -> Result<(), String> {
    let view = shared.view().map_err(|failure| failure.message)?;
    let tolerance = view.parameters.start_tolerance;
    for (name, target) in &execution.target {
        let Some(index) = view.robot.model.joint_index(name) else {
            continue;
        };
        let max_age = view.parameters.joint_state_max_age;
        let position = view
            .states
            .fresh_position(&view.robot.model, index, view.now, max_age)
            .map_err(|error| error.to_string())?;
        let off = (position - target).abs();
        if off > tolerance {
            let controller = shared.outputs.controller.whereabouts(&view.parameters);
            return Err(format!(
                "joint \"{name}\" is at {position:.4}, {off:.4} from the end of the trajectory; is a controller of these joints listening on {controller}?"
            ));
        }
    }
    match resting {
        Ok(true) => Ok(()),
        Ok(false) => Err("the arm still moves".to_owned()),
        Err(failure) => Err(failure.message),
    }
}
