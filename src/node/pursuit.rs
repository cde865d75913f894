//! From a goal to a motion under way: blended into the one that goes on, or from rest.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::codes::{Code, Failure};
use super::context::{Shared, View};
use super::execution::{
    accepted, blocking, brake, come_to_rest, guard, in_background, send, show, until_rest,
};
use super::joining::{go_over, SEND_LEAD};
use super::mover::Execution;
use super::planning_job::{scaled_limits, Order, Planned, Unplanned};
use super::shutdown::Cancel;
use crate::trajectory::{stop_configuration, MotionLimits, Trajectory, BLEND_STOP_SHARE};

/// What checking and sending takes after planning.
const FINISH: Duration = Duration::from_millis(40);
/// The least and the greatest time that is given to planning while the arm moves on.
const LEADS: (Duration, Duration) = (Duration::from_millis(150), Duration::from_secs(2));

/// Makes an order from where the arm will be, with what is to be said about it.
pub type OrderAt<'a> =
    dyn Fn(&View, Vec<f64>) -> Result<(Order, Vec<String>), Failure> + Send + Sync + 'a;

/// A motion under way.
pub struct Going {
    /// What it follows.
    pub planned: Planned,
    /// Its execution.
    pub execution: Execution,
    /// What was sent.
    pub sent: Trajectory,
    /// What a user should know.
    pub notes: Vec<String>,
    /// Things as they were when it was ordered.
    pub view: View,
}

/// How often planning is tried while the arm goes on as before: each time with what is known then of how
/// long it takes.
const TRIES: usize = 3;

/// Plans for the arm wherever it is and sends what was planned: a moving arm goes over from what it
/// does now without a stop where that is possible, otherwise it brakes meanwhile. `at_rest` asks for an
/// arm that rests before anything is planned. Where nothing can be planned, what goes on is left alone, unless
/// that was found out only after the arm had to brake.
///
/// # Errors
/// See [`Unplanned`].
pub async fn pursue(
    shared: &Arc<Shared>,
    order_at: &OrderAt<'_>,
    at_rest: bool,
    cancel: &Cancel,
    turns: &Arc<Semaphore>,
) -> Result<Going, Unplanned> {
    if at_rest {
        come_to_rest(shared, cancel).await?;
        return from_rest(shared, order_at, cancel, turns).await;
    }
    let mut lead = lead(shared);
    for _ in 0..TRIES {
        match on_the_move(shared, order_at, lead, cancel, turns).await? {
            Moved::Going(going) => return Ok(*going),
            Moved::Late(took) => lead = (2 * took + FINISH).clamp(LEADS.0, LEADS.1),
            Moved::Not => break,
        }
    }
    let gentle = gentle_limits(shared, order_at).ok();
    let braking = brake(shared, cancel, gentle).await?;
    go_on(shared, braking.as_ref(), order_at, cancel, turns).await
}

/// Plans for an arm that rests, and sends that.
async fn from_rest(
    shared: &Arc<Shared>,
    order_at: &OrderAt<'_>,
    cancel: &Cancel,
    turns: &Arc<Semaphore>,
) -> Result<Going, Unplanned> {
    let view = shared.view()?;
    let state = view.state(&view.robot.chain).map_err(Failure::from)?;
    let (order, notes) = order_at(&view, state.q())?;
    let planned = in_background(shared, order, cancel, turns).await?;
    sent(shared, planned, notes, view, cancel).await
}

/// Sends a plan to an arm that rests where it begins.
async fn sent(
    shared: &Arc<Shared>,
    planned: Planned,
    mut notes: Vec<String>,
    view: View,
    cancel: &Cancel,
) -> Result<Going, Unplanned> {
    show(shared, &planned);
    let execution = send(shared, &planned, cancel).await?;
    notes.extend(planned.notes.iter().cloned());
    notes.extend(execution.notes.iter().cloned());
    Ok(Going {
        sent: planned.plan.trajectory.clone(),
        planned,
        execution,
        notes,
        view,
    })
}

/// The limits with which an arm brakes for a blend: from wherever it is on such a stop, it can go over to a
/// path that begins where the stop ends.
///
/// # Errors
/// There is no order, or its factors are no fractions.
pub fn gentle_limits(shared: &Shared, order_at: &OrderAt<'_>) -> Result<MotionLimits, Failure> {
    let view = shared.view()?;
    let state = view.state(&view.robot.chain).map_err(Failure::from)?;
    let (order, _) = order_at(&view, state.q())?;
    let (limits, _) = scaled_limits(&view, &order)?;
    limits.scaled(1.0, BLEND_STOP_SHARE).map_err(Failure::from)
}

/// Plans from where an arm that brakes comes to rest (none: it rests), while it still does, and goes over as
/// soon as that is planned: from the midst of a gentle stop, or when it rests. Where there is no plan it
/// returns when the arm rests.
///
/// # Errors
/// See [`Unplanned`].
pub async fn go_on(
    shared: &Arc<Shared>,
    braking: Option<&Execution>,
    order_at: &OrderAt<'_>,
    cancel: &Cancel,
    turns: &Arc<Semaphore>,
) -> Result<Going, Unplanned> {
    let Some(stop) = braking else {
        return from_rest(shared, order_at, cancel, turns).await;
    };
    let view = shared.view()?;
    let Some(end) = end_of(&view, stop) else {
        until_rest(shared, stop, cancel).await?;
        return from_rest(shared, order_at, cancel, turns).await;
    };
    let (order, notes) = order_at(&view, end)?;
    match in_background(shared, order, cancel, turns).await {
        Ok(planned) => {
            if let Some(joined) = while_braking(shared, stop, &planned, cancel).await? {
                return going(shared, joined, planned, notes, view).await;
            }
            until_rest(shared, stop, cancel).await?;
            match sent(shared, planned, notes, view, cancel).await {
                // It has come to rest too far beside where it was to.
                Err(unplanned) if unplanned.failure.code == Code::GateRejected => {
                    from_rest(shared, order_at, cancel, turns).await
                }
                going => going,
            }
        }
        Err(unplanned) if unplanned.failure.code == Code::Preempted => Err(unplanned),
        Err(unplanned) => {
            until_rest(shared, stop, cancel).await?;
            // A little beside where it was to rest there may be a way.
            if is_about_the_start(&unplanned) {
                return from_rest(shared, order_at, cancel, turns).await;
            }
            Err(unplanned)
        }
    }
}

/// Joint values of the arm at the end of what was sent.
fn end_of(view: &View, execution: &Execution) -> Option<Vec<f64>> {
    let joints = view.robot.chain.dofs.iter();
    let ends = joints.map(|dof| {
        let mut targets = execution.target.iter();
        targets
            .find(|(name, _)| *name == dof.name)
            .map(|(_, value)| *value)
    });
    ends.collect()
}

/// Goes over to a plan from the midst of the stop at whose end it begins; `None` where the stop is over
/// before that can be, or is not of the kind.
async fn while_braking(
    shared: &Arc<Shared>,
    stop: &Execution,
    planned: &Planned,
    cancel: &Cancel,
) -> Result<Option<(Execution, Trajectory)>, Failure> {
    let view = shared.view()?;
    if limits_of_the_tip(&view) {
        return Ok(None);
    }
    let lead = SEND_LEAD + 2 * shared.mover.going_over().max(FINISH);
    let ahead = shared.mover.ahead(shared, &view, lead);
    let Some(ahead) = ahead.filter(|ahead| ahead.id == stop.id && ahead.when < stop.ends) else {
        return Ok(None);
    };
    let (shared, planned) = (Arc::clone(shared), planned.clone());
    let cancel = cancel.clone();
    blocking(move || go_over(&shared, &planned, &ahead, &cancel)).await?
}

/// Whether the tip has limits of its own: a blend knows none.
fn limits_of_the_tip(view: &View) -> bool {
    let tip = &view.parameters.timing.tip;
    tip.tip_speed.is_some() || tip.tip_acceleration.is_some()
}

/// How long planning while the arm moves on is likely to take, and to spare.
pub fn lead(shared: &Shared) -> Duration {
    (shared.mover.took() * 3 / 2 + FINISH).clamp(LEADS.0, LEADS.1)
}

/// What came of planning for an arm on the move.
pub enum Moved {
    /// It goes over to the new motion.
    Going(Box<Going>),
    /// Planning took so long that it is past the place to go over.
    Late(Duration),
    /// It is at rest, or cannot go over without a stop.
    Not,
}

/// Plans from where the arm will be after `lead`, and goes over to that without a stop.
///
/// # Errors
/// There is no plan; what goes on is left alone.
pub async fn on_the_move(
    shared: &Arc<Shared>,
    order_at: &OrderAt<'_>,
    lead: Duration,
    cancel: &Cancel,
    turns: &Arc<Semaphore>,
) -> Result<Moved, Unplanned> {
    let began = Instant::now();
    let view = shared.view()?;
    let ahead = if limits_of_the_tip(&view) {
        None
    } else {
        shared.mover.ahead(shared, &view, lead)
    };
    let Some(ahead) = ahead else {
        let clocks = shared.clocks.agree();
        tracing::debug!(
            "not gone over: it cannot be said where the arm will be (clocks agree: {clocks})"
        );
        return Ok(Moved::Not);
    };
    let chain = &view.robot.chain;
    // Any order will do: only its factors on the limits count here.
    let (order, _) = order_at(&view, ahead.point.positions.clone())?;
    let (limits, _) = scaled_limits(&view, &order)?;
    let Ok(start) = stop_configuration(chain, &ahead.point, &limits) else {
        return Ok(Moved::Not);
    };
    let (order, notes) = order_at(&view, start)?;
    let planned = match in_background(shared, order, cancel, turns).await {
        Ok(planned) => planned,
        // From another place there may be a way.
        Err(unplanned) if is_about_the_start(&unplanned) => return Ok(Moved::Not),
        Err(unplanned) => return Err(unplanned),
    };
    if shared.now() + SEND_LEAD >= ahead.when {
        let took = began.elapsed();
        tracing::debug!("planning took {took:?} of {lead:?}: too late to go over");
        return Ok(Moved::Late(took));
    }
    let joined = {
        let (shared, planned) = (Arc::clone(shared), planned.clone());
        let (ahead, cancel) = (ahead.clone(), cancel.clone());
        blocking(move || go_over(&shared, &planned, &ahead, &cancel)).await??
    };
    let took = began.elapsed();
    let Some(joined) = joined else {
        let late = shared.now() + SEND_LEAD >= ahead.when;
        tracing::debug!("not gone over: {took:?} of {lead:?} were taken, late: {late}");
        return Ok(if late { Moved::Late(took) } else { Moved::Not });
    };
    let going = going(shared, joined, planned, notes, view).await?;
    Ok(Moved::Going(Box::new(going)))
}

/// What came of going over to a plan, once the controller has accepted it.
async fn going(
    shared: &Arc<Shared>,
    (mut execution, sent): (Execution, Trajectory),
    planned: Planned,
    mut notes: Vec<String>,
    view: View,
) -> Result<Going, Unplanned> {
    execution.guard = Some(guard(&planned));
    accepted(shared, &execution).await?;
    show(shared, &planned);
    notes.extend(planned.notes.iter().cloned());
    notes.extend(execution.notes.iter().cloned());
    Ok(Going {
        planned,
        execution,
        sent,
        notes,
        view,
    })
}

fn is_about_the_start(unplanned: &Unplanned) -> bool {
    matches!(
        unplanned.failure.code,
        Code::StartStateInCollision | Code::StartStateInvalid
    )
}
