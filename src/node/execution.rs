//! Moving the arm for a goal: come to rest, plan in the background, and send.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::codes::{Code, Failure};
use super::context::{Shared, View};
use super::convert::path_message;
use super::mover::{preempted, Execution, Guard};
use super::obstacles::ObstacleSet;
use super::planning_job::{plan_order, with_extra, Order, Planned, Unplanned};
use super::rest::Rest;
use super::shutdown::Cancel;
use crate::motion::{violation_in, PATH_TOLERANCE};
use crate::trajectory::{MotionLimits, Trajectory};

/// How often a moving arm is looked at.
pub const LOOK: Duration = Duration::from_millis(10);
/// A computation that notices by itself that its time is over says more than a clock can.
const GRACE: Duration = Duration::from_millis(100);
/// How long an arm may take to come to rest after its trajectory has ended.
pub const SETTLING: Duration = Duration::from_secs(2);

/// Stops an arm that moves and waits until it rests.
pub async fn come_to_rest(shared: &Arc<Shared>, cancel: &Cancel) -> Result<(), Failure> {
    match brake(shared, cancel, None).await? {
        Some(execution) => until_rest(shared, &execution, cancel).await,
        None => Ok(()),
    }
}

/// Begins to stop an arm that moves, with limits of its own where they are given and will do; `None` if it
/// rests.
pub async fn brake(
    shared: &Arc<Shared>,
    cancel: &Cancel,
    gentle: Option<MotionLimits>,
) -> Result<Option<Execution>, Failure> {
    let mut rest = Rest::default();
    while !shared.mover.is_moving(shared.now()) {
        if rest.look(shared)? {
            return Ok(None);
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
        move || {
            let gentle = gentle.as_ref();
            shared.mover.come_to_rest(&shared, Some(&cancel), gentle)
        }
    })
    .await??;
    accepted(shared, &execution).await?;
    Ok(Some(execution))
}

/// Waits until the arm rests at the end of a stop.
pub async fn until_rest(
    shared: &Arc<Shared>,
    execution: &Execution,
    cancel: &Cancel,
) -> Result<(), Failure> {
    let mut rest = Rest::default();
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

/// Says so when nobody waits any more for what is computed: a plan that comes too late would take the
/// processor from the next one.
#[derive(Default)]
struct Unwanted(Arc<AtomicBool>);

impl Drop for Unwanted {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
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
    let unwanted = Unwanted::default();
    let gone = Arc::clone(&unwanted.0);
    let taking_note = Arc::clone(shared);
    let computing = blocking(move || {
        let _turn = turn;
        let began = Instant::now();
        let expired = || started.elapsed() >= timeout;
        let cancelled = || stop.is_cancelled() || gone.load(Ordering::Relaxed);
        let planned = plan_order(&view, &order, &cancelled, &expired);
        if planned.is_ok() {
            taking_note.mover.planning_took(began.elapsed());
        }
        planned
    });
    // The merging of a world and its triangulation cannot be given up: such a thread is left to end by
    // itself, and keeps its turn, so that there are never more of them.
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

/// Sends a plan to the controller and waits until it is accepted, unless obstacles that came while
/// it was being made are in its way.
///
/// # Errors
/// [`Code::InvalidMotionPlan`] for such an obstacle, the gate refuses, or the controller does.
pub async fn send(
    shared: &Arc<Shared>,
    planned: &Planned,
    cancel: &Cancel,
) -> Result<Execution, Failure> {
    shared.outputs.controller.ready().await?;
    let (trajectory, limits) = (planned.plan.trajectory.clone(), planned.limits.clone());
    let obstacles = still_free(&shared.view()?, planned, &trajectory)?;
    let (sending, cancel) = (Arc::clone(shared), cancel.clone());
    let mut execution = blocking(move || {
        let obstacles = Some(obstacles);
        sending
            .mover
            .send(&sending, &trajectory, &limits, obstacles, None, &cancel)
    })
    .await??;
    execution.guard = Some(guard(planned));
    accepted(shared, &execution).await?;
    Ok(execution)
}

/// What a plan went around, for those who watch it.
pub fn guard(planned: &Planned) -> Guard {
    Guard {
        known: Arc::clone(&planned.known),
        extra: planned.order.extra.clone(),
        clearance: planned.clearance,
        on_route: planned.plan.path.left_route.is_empty(),
    }
}

/// Waits until the controller has accepted what was sent.
///
/// # Errors
/// [`Code::ControlFailed`] if it refuses, or does not answer in time.
pub async fn accepted(shared: &Shared, execution: &Execution) -> Result<(), Failure> {
    execution.phases.accepted().await.inspect_err(|_| {
        shared.counts.controller_refusals.count();
    })
}

/// Whether the obstacles that are known now leave the tip's way free; the gate looks at the rest of
/// the arm.
fn still_free(
    view: &View,
    planned: &Planned,
    trajectory: &Trajectory,
) -> Result<Arc<ObstacleSet>, Failure> {
    let (obstacles, _) = with_extra(view, &planned.order.extra)?;
    // Off its route the tip keeps no clearance of its own; the arm keeps the links', see the gate.
    let on_route = planned.plan.path.left_route.is_empty();
    if Arc::ptr_eq(&planned.known, &view.obstacles) || !on_route {
        return Ok(obstacles);
    }
    let (chain, plane) = (&view.robot.chain, view.plane()?);
    match violation_in(
        &plane,
        chain,
        obstacles.list(),
        planned.clearance,
        trajectory,
    ) {
        Some((missing, obstacle)) if missing > PATH_TOLERANCE => {
            let message = format!(
                "obstacle \"{obstacle}\" came while the path was being planned and is in its way: send the goal again"
            );
            Err(Failure::new(Code::InvalidMotionPlan, message))
        }
        _ => Ok(obstacles),
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
