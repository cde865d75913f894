//! Watching the arm follow a trajectory: how far it is, what comes into its way, what became of it.

use std::sync::Arc;

use super::codes::{Code, Failure};
use super::collisions::Checker;
use super::context::Shared;
use super::controller::Phase;
use super::execution::{accepted, blocking, LOOK, SETTLING};
use super::mover::Execution;
use super::obstacles::ObstacleSet;
use super::planning_job::with_extra;
use super::progress::Reporter;
use super::rest::Rest;
use super::status::Report;
use crate::collision::Obstacle as Met;
use crate::motion::{violation, PATH_TOLERANCE};

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
}

/// Watches the arm follow a trajectory, and reports what came of it.
pub async fn watch(shared: &Arc<Shared>, about: &'static str, number: u64, execution: &Execution) {
    let Some(end) = until_the_end(shared, about, number, execution).await else {
        return;
    };
    let (report, state) = match end {
        End::Reached => (Report::ok(about, "the arm has reached the goal"), "reached"),
        End::Replaced(why) => {
            let failure = Failure::new(Code::Preempted, why);
            (Report::failed(about, &failure), "preempted")
        }
        End::Failed(failure) => {
            let state = match failure.code {
                Code::Preempted => "preempted",
                _ => "failed",
            };
            if failure.code == Code::ControlFailed {
                shared.counts.controller_failures.count();
            }
            (Report::failed(about, &failure), state)
        }
        End::Stop(failure) => {
            match failure.code {
                Code::InvalidMotionPlan => shared.counts.obstacle_stops.count(),
                _ => shared.counts.stale_stops.count(),
            }
            (
                Report::failed(about, &stopped_for(shared, failure).await),
                "failed",
            )
        }
    };
    shared.report(
        &report
            .with("goal", number)
            .with("state", state)
            .with("fraction", 1),
    );
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
            if let Some(failure) = in_the_way(shared, execution, &mut looked_at) {
                return Some(End::Stop(failure));
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
    // What was asked for with the goal went well with the obstacles then; a fault now is theirs.
    let (obstacles, _) = with_extra(&view, &guard.extra).ok()?;
    let chain = &view.robot.chain;
    let blocked = |what: String| {
        let message = format!("{what} came into the way of the motion: stopping");
        Failure::new(Code::InvalidMotionPlan, message)
    };
    match violation(chain, obstacles.list(), guard.clearance, &rest) {
        Some((missing, obstacle)) if missing > PATH_TOLERANCE => {
            return Some(blocked(format!("obstacle \"{obstacle}\"")));
        }
        _ => {}
    }
    if !view.parameters.check_motion {
        return None;
    }
    let checker = Checker::new(&view, chain, &obstacles, &mut Vec::new()).ok()?;
    let meeting = checker.meets(&rest)?;
    match &meeting.with {
        Met::Obstacle(id) => Some(blocked(format!(
            "obstacle \"{id}\", which link \"{}\" would meet in {:.2} s,",
            meeting.link, meeting.time
        ))),
        Met::Link(_) => None,
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
