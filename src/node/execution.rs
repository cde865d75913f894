//! Moving the arm for a goal: come to rest, plan in the background, send, and watch.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::codes::{Code, Failure};
use super::context::{Shared, View};
use super::convert::path_message;
use super::mover::{preempted, Execution, Guard};
use super::obstacles::ObstacleSet;
use super::planning_job::{plan_order, Order, Planned, Unplanned};
use super::rest::Rest;
use super::shutdown::Cancel;
use super::status::Report;
use crate::motion::{violation, PATH_TOLERANCE};

/// How often a moving arm is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// A computation that notices by itself that its time is over says more than a clock can.
const GRACE: Duration = Duration::from_millis(100);
/// How long an arm may take to come to rest after its trajectory has ended.
const SETTLING: Duration = Duration::from_secs(2);

/// Stops an arm that moves and waits until it rests: a path can only be planned from rest.
pub async fn come_to_rest(shared: &Arc<Shared>, cancel: &Cancel) -> Result<(), Failure> {
    let mut rest = Rest::default();
    while !shared.mover.is_moving(shared.now()) {
        if rest.look(shared)? {
            return Ok(());
        }
        if cancel.is_cancelled() {
            return Err(preempted());
        }
        if rest.is_sure() {
            break;
        }
        tokio::time::sleep(LOOK).await;
    }
    let (execution, _) = blocking({
        let (shared, cancel) = (Arc::clone(shared), cancel.clone());
        move || shared.mover.come_to_rest(&shared, Some(&cancel))
    })
    .await??;
    loop {
        tokio::time::sleep(LOOK).await;
        if cancel.is_cancelled() {
            return Err(preempted());
        }
        let now = shared.now();
        if rest.look(shared)? && now >= execution.ends {
            return Ok(());
        }
        if now > execution.ends + SETTLING {
            return Err(Failure::new(
                Code::ControlFailed,
                "the arm did not come to rest before the new goal: is its controller following?",
            ));
        }
    }
}

/// Runs a computation on a thread of its own kind.
pub async fn blocking<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, Failure> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!("a computation failed: {error}");
        Failure::new(
            Code::Failure,
            "the computation failed inside; the node's log says more",
        )
    })
}

/// Plans when there is a turn for it, within the time that the parameter allows.
///
/// # Errors
/// [`Code::TimedOut`], [`Code::Preempted`], or there is no plan.
pub async fn in_background(
    shared: &Arc<Shared>,
    order: Order,
    cancel: &Cancel,
    turns: &Arc<Semaphore>,
) -> Result<Planned, Unplanned> {
    let started = Instant::now();
    let timeout = shared.parameters.get().planning.timeout;
    let late = |while_what: &str| {
        let message = format!(
            "{:?} (the parameter planning.timeout) were over while {while_what}",
            timeout
        );
        Unplanned::from(Failure::new(Code::TimedOut, message))
    };
    let turn = tokio::select! {
        turn = Arc::clone(turns).acquire_owned() => turn,
        () = cancelled(cancel) => return Err(preempted().into()),
        () = tokio::time::sleep(timeout) => return Err(late("earlier plans were still being made")),
    };
    let Ok(turn) = turn else {
        return Err(preempted().into());
    };
    let view = shared.view()?;
    let stop = cancel.clone();
    let computing = blocking(move || {
        let _turn = turn;
        let expired = || started.elapsed() >= timeout;
        plan_order(&view, &order, &|| stop.is_cancelled(), &expired)
    });
    // A road map that is being built cannot be given up: its thread is left to end by itself, and
    // keeps its turn, so that there are never more of them.
    tokio::select! {
        planned = computing => planned?,
        () = cancelled(cancel) => Err(preempted().into()),
        () = tokio::time::sleep(timeout.saturating_sub(started.elapsed()) + GRACE) => {
            Err(late("the road map was being built"))
        }
    }
}

/// Returns once it is cancelled.
async fn cancelled(cancel: &Cancel) {
    while !cancel.is_cancelled() {
        tokio::time::sleep(LOOK).await;
    }
}

/// Sends a plan to the controller, unless obstacles that came while it was being made are in its way.
///
/// # Errors
/// [`Code::InvalidMotionPlan`] for such an obstacle, or the gate refuses.
pub async fn send(
    shared: &Arc<Shared>,
    planned: &Planned,
    cancel: &Cancel,
) -> Result<Execution, Failure> {
    still_free(&shared.view()?, planned)?;
    let (shared, cancel) = (Arc::clone(shared), cancel.clone());
    let (trajectory, limits) = (planned.plan.trajectory.clone(), planned.limits.clone());
    let guard = planned.known.as_ref().map(|known| Guard {
        known: Arc::clone(known),
        clearance: planned.clearance,
    });
    let mut execution =
        blocking(move || shared.mover.send(&shared, &trajectory, &limits, &cancel)).await??;
    execution.guard = guard;
    Ok(execution)
}

/// Whether the obstacles that are known now leave the plan free.
fn still_free(view: &View, planned: &Planned) -> Result<(), Failure> {
    let Some(known) = &planned.known else {
        return Ok(());
    };
    if Arc::ptr_eq(known, &view.obstacles) {
        return Ok(());
    }
    let (chain, obstacles) = (&view.robot.chain, view.obstacles.list());
    match violation(
        chain,
        obstacles,
        planned.clearance,
        &planned.plan.trajectory,
    ) {
        Some((missing, obstacle)) if missing > PATH_TOLERANCE => {
            let message = format!(
                "obstacle \"{obstacle}\" came while the path was being planned and is in its way: send the goal again"
            );
            Err(Failure::new(Code::InvalidMotionPlan, message))
        }
        _ => Ok(()),
    }
}

/// Publishes the path and draws it.
pub fn show(shared: &Shared, planned: &Planned) {
    let Ok(view) = shared.view() else { return };
    let path = &planned.plan.path;
    shared.outputs.tip_path.publish(&path_message(
        &path.tip_path,
        &view.robot.chain.base,
        &view.stamp,
    ));
    shared.drawing.set_plan(path);
}

/// Watches the arm follow a trajectory, and reports what came of it.
pub async fn watch(shared: &Arc<Shared>, about: &'static str, number: u64, execution: &Execution) {
    let report = |report: Report, state: &'static str| {
        shared.report(
            &report
                .with("goal", number)
                .with("state", state)
                .with("fraction", 1),
        );
    };
    let mut rest = Rest::default();
    let mut looked_at = execution
        .guard
        .as_ref()
        .map(|guard| Arc::clone(&guard.known));
    loop {
        tokio::time::sleep(LOOK).await;
        if shared.shutdown.is_requested() {
            return;
        }
        if !shared.mover.is_current(execution) {
            let why = if shared.mover.was_stopped() {
                "stopped"
            } else {
                "replaced by a newer motion"
            };
            report(
                Report::failed(about, &Failure::new(Code::Preempted, why)),
                "preempted",
            );
            return;
        }
        let now = shared.now();
        // Kept up to date on the way, so that its window is full at the end.
        let resting = rest.look(shared);
        if now < execution.ends {
            if let Some(failure) = in_the_way(shared, execution, &mut looked_at) {
                stop_for(shared, about, number, failure).await;
                return;
            }
            continue;
        }
        let Err(reason) = arrived(shared, execution, resting) else {
            report(Report::ok(about, "the arm has reached the goal"), "reached");
            return;
        };
        if now > execution.ends + SETTLING {
            let message =
                format!("the trajectory was sent, but the arm has not followed it: {reason}");
            report(
                Report::failed(about, &Failure::new(Code::ControlFailed, message)),
                "failed",
            );
            return;
        }
    }
}

/// The obstacle, if one that came after the motion began is in the way of what is left of it.
fn in_the_way(
    shared: &Shared,
    execution: &Execution,
    looked_at: &mut Option<Arc<ObstacleSet>>,
) -> Option<Failure> {
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
    let (chain, obstacles) = (&view.robot.chain, view.obstacles.list());
    let (missing, obstacle) = violation(chain, obstacles, guard.clearance, &rest)?;
    (missing > PATH_TOLERANCE).then(|| {
        let message = format!("obstacle \"{obstacle}\" came into the way of the motion: stopping");
        Failure::new(Code::InvalidMotionPlan, message)
    })
}

/// Stops the arm for a reason, and reports it.
async fn stop_for(shared: &Arc<Shared>, about: &'static str, number: u64, failure: Failure) {
    let stopping = Arc::clone(shared);
    let stopped = blocking(move || stopping.mover.stop(&stopping)).await;
    let message = match stopped.and_then(|inner| inner) {
        Ok(_) => failure.message,
        Err(why) => format!("{}, but no stop was sent: {}", failure.message, why.message),
    };
    let report = Report::failed(about, &Failure { message, ..failure });
    shared.report(
        &report
            .with("goal", number)
            .with("state", "failed")
            .with("fraction", 1),
    );
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
            return Err(format!(
                "joint \"{name}\" is at {position:.4}, {off:.4} from the end of the trajectory; is a controller of these joints listening on \"{}\"?",
                view.parameters.controller_topic
            ));
        }
    }
    match resting {
        Ok(true) => Ok(()),
        Ok(false) => Err("the arm still moves".to_owned()),
        Err(failure) => Err(failure.message),
    }
}
