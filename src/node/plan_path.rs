//! `~/plan_path`.

use std::sync::Arc;

use futures::StreamExt;
use r2r::arm_planner_msgs::srv::PlanPath;

use super::codes::{Code, Failure};
use super::context::{with_notes, Shared, View};
use super::convert::{duration_message, path_message, text, trajectory_message};
use super::execution::{blocking, in_background, send, show};
use super::ik_request::start_values;
use super::inputs::Requests;
use super::mover::Execution;
use super::obstacles::sent_from;
use super::planning_job::{check_order, Order, Unplanned};
use super::pursuit::{pursue, Going};
use super::shutdown::Cancel;
use super::tasks::respond;
use super::watching::{watch, Intent};
use crate::trajectory::OutgoingTrajectory;

/// Answers `~/plan_path`.
pub async fn plan_path(shared: Arc<Shared>, mut requests: Requests<PlanPath::Service>) {
    while let Some(request) = requests.next().await {
        let shared = Arc::clone(&shared);
        let ticket = shared.mover.ticket();
        tokio::spawn(async move {
            let message = request.message.clone();
            let result = serve(&shared, &message, ticket).await;
            let (response, going) = match result {
                Ok((response, going)) => (response, going),
                Err(unplanned) => (unplanned_response(&shared, &unplanned), None),
            };
            respond(request, response).await;
            if let Some((execution, intent)) = going {
                watch(
                    &shared,
                    "plan_path",
                    shared.goals.next(),
                    execution,
                    &intent,
                )
                .await;
            }
        });
    }
}

async fn serve(
    shared: &Arc<Shared>,
    request: &PlanPath::Request,
    ticket: u64,
) -> Result<(PlanPath::Response, Option<(Execution, Intent)>), Unplanned> {
    let given = !request.start.name.is_empty() || !request.start.position.is_empty();
    let view = shared.view()?;
    let (order, mut notes) = order_of(&view, request, None)?;
    let turns = &shared.request_turns;
    let (planned, sent, view, going) = if request.execute {
        // What cannot be done must not end what is going on.
        let (checked, with) = (order.clone(), view.clone());
        let shutdown = shared.shutdown.clone();
        blocking(move || check_order(&with, &checked, &|| shutdown.is_requested())).await??;
        let cancel = shared.mover.begin(ticket, &shared.shutdown)?;
        let going = if given {
            let planned = in_background(shared, order, &cancel, turns).await?;
            show(shared, &planned);
            let execution = send(shared, &planned, &cancel).await?;
            notes.extend(planned.notes.iter().chain(&execution.notes).cloned());
            Going {
                sent: planned.plan.trajectory.clone(),
                planned,
                execution,
                notes,
                view,
            }
        } else {
            // Anew for each place: frames may hang on moving links.
            let order_at = |view: &View, start| order_of(view, request, Some(start));
            let at_rest = view.frames().moves(&request.goal.header.frame_id);
            pursue(shared, &order_at, at_rest, &cancel, turns).await?
        };
        notes = going.notes;
        let intent = Intent {
            order: going.planned.order.clone(),
            cancel,
            turns: Arc::clone(turns),
        };
        let execution = Some((going.execution, intent));
        (going.planned, going.sent, going.view, execution)
    } else {
        let cancel = Cancel::new(&shared.shutdown);
        let planned = in_background(shared, order, &cancel, turns).await?;
        notes.extend(planned.notes.iter().cloned());
        show(shared, &planned);
        let trajectory = planned.plan.trajectory.clone();
        (planned, trajectory, view, None)
    };
    let state = if going.is_some() {
        "executing"
    } else {
        "planned"
    };
    let path = &planned.plan.path;
    let base = &view.robot.chain.base;
    let response = PlanPath::Response {
        code: Code::Success.message(),
        message: text(with_notes(
            format!("{state}: {}", planned.summary(&sent)),
            &notes,
        )),
        tip_path: path_message(&path.tip_path, base, &view.stamp),
        trajectory: trajectory_message(&OutgoingTrajectory::from(&sent), base),
        path_length: path.length,
        min_clearance: path.min_clearance,
        fraction: 1.0,
        planning_time: duration_message(planned.time),
    };
    Ok((response, going))
}

/// What a request asks for, and what is to be said about it; from `start`, or from where the request
/// says.
fn order_of(
    view: &View,
    request: &PlanPath::Request,
    start: Option<Vec<f64>>,
) -> Result<(Order, Vec<String>), Failure> {
    let mut notes = Vec::new();
    let goal = view
        .in_base(
            &request.goal.header.frame_id,
            &request.goal.pose,
            false,
            &mut notes,
        )
        .map_err(|failure| failure.of("goal"))?;
    let start = match start {
        Some(start) => start,
        None => start_values(view, &view.robot.chain, &request.start, &mut notes)?,
    };
    let order = Order {
        clearance: request.clearance,
        roadmap: request.roadmap.clone(),
        extra: request
            .extra_obstacles
            .iter()
            .map(|sent| sent_from(sent, ""))
            .collect(),
        leave_route: request.leave_route,
        partial: request.partial,
        velocity_scaling: request.velocity_scaling,
        acceleration_scaling: request.acceleration_scaling,
        ..Order::new(start, vec![goal])
    };
    Ok((order, notes))
}

fn unplanned_response(shared: &Shared, unplanned: &Unplanned) -> PlanPath::Response {
    let tip_path = match shared.view() {
        Ok(view) if !unplanned.tip_path.is_empty() => {
            path_message(&unplanned.tip_path, &view.robot.chain.base, &view.stamp)
        }
        _ => r2r::nav_msgs::msg::Path::default(),
    };
    let trajectory = match (shared.view(), &unplanned.trajectory) {
        (Ok(view), Some(trajectory)) => trajectory_message(
            &OutgoingTrajectory::from(trajectory),
            &view.robot.chain.base,
        ),
        _ => r2r::trajectory_msgs::msg::JointTrajectory::default(),
    };
    PlanPath::Response {
        trajectory,
        code: unplanned.failure.code.message(),
        message: text(unplanned.failure.message.as_str()),
        fraction: unplanned.fraction,
        tip_path,
        ..PlanPath::Response::default()
    }
}
