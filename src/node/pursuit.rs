//! From a goal to a motion under way: blended into the one that goes on, or from rest.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::codes::{Code, Failure};
use super::context::{Shared, View};
use super::execution::{
    accepted, blocking, brake, come_to_rest, guard, in_background, send, show, until_rest,
};
use super::mover::Execution;
use super::moves::Ahead;
use super::planning_job::{scaled_limits, with_extra, Order, Planned, Unplanned};
use super::shutdown::Cancel;
use crate::motion::{violation_in, PATH_TOLERANCE};
use crate::trajectory::{blend, stop_configuration, MotionLimits, Trajectory, BLEND_STOP_SHARE};

/// A trajectory that goes on from a moving state begins this much later than it is sent.
const SEND_LEAD: Duration = Duration::from_millis(20);
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

/// Sends what is left of the motion until `ahead`, and from there on the new one blended into it;
/// `None` if that does not go well without a stop.
fn go_over(
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
