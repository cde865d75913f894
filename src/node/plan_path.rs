//! `~/plan_path`.

use std::sync::Arc;

use futures::StreamExt;
use r2r::arm_planner_msgs::srv::PlanPath;

use super::codes::{Code, Failure};
use super::context::{with_notes, Shared, View};
use super::convert::{duration_message, path_message, text, trajectory_message};
use super::execution::{blocking, come_to_rest, in_background, send, show};
use super::ik_request::start_values;
use super::inputs::Requests;
use super::mover::Execution;
use super::obstacles::sent_from;
use super::planning_job::{check_order, Order, Unplanned};
use super::shutdown::Cancel;
use super::tasks::respond;
use super::watching::watch;
use crate::trajectory::OutgoingTrajectory;

/// Answers `~/plan_path`.
pub async fn plan_path(shared: Arc<Shared>, mut requests: Requests<PlanPath::Service>) {
    while let Some(request) = requests.next().await {
        let shared = Arc::clone(&shared);
        let ticket = shared.mover.ticket();
        tokio::spawn(async move {
            let message = request.message.clone();
            let result = serve(&shared, &message, ticket).await;
            let (response, execution) = match result {
                Ok((response, execution)) => (response, execution),
                Err(unplanned) => (unplanned_response(&shared, &unplanned), None),
            };
            respond(request, response).await;
            if let Some(execution) = execution {
                watch(&shared, "plan_path", shared.goals.next(), &execution).await;
            }
        });
    }
}

async fn serve(
    shared: &Arc<Shared>,
    request: &PlanPath::Request,
    ticket: u64,
) -> Result<(PlanPath::Response, Option<Execution>), Unplanned> {
    let given = !request.start.name.is_empty() || !request.start.position.is_empty();
    let mut view = shared.view()?;
    let (mut order, mut notes) = order_of(&view, request)?;
    let cancel = if request.execute {
        // What cannot be done must not end what is going on.
        let (checked, with) = (order.clone(), view.clone());
        let shutdown = shared.shutdown.clone();
        blocking(move || check_order(&with, &checked, &|| shutdown.is_requested())).await??;
        let cancel = shared.mover.begin(ticket, &shared.shutdown)?;
        if !given {
            come_to_rest(shared, &cancel).await?;
            // Again, now that the arm is at rest: frames may hang on moving links.
            view = shared.view()?;
            (order, notes) = order_of(&view, request)?;
        }
        cancel
    } else {
        Cancel::new(&shared.shutdown)
    };
    let cancel = &cancel;
    let planned = in_background(shared, order, cancel, &shared.request_turns).await?;
    notes.extend(planned.notes.iter().cloned());
    show(shared, &planned);
    let execution = if request.execute {
        Some(send(shared, &planned, cancel).await?)
    } else {
        None
    };
    notes.extend(
        execution
            .iter()
            .flat_map(|execution| execution.notes.iter().cloned()),
    );
    let state = if execution.is_some() {
        "executing"
    } else {
        "planned"
    };
    let path = &planned.plan.path;
    let base = &view.robot.chain.base;
    let response = PlanPath::Response {
        code: Code::Success.message(),
        message: text(with_notes(
            format!("{state}: {}", planned.summary()),
            &notes,
        )),
        tip_path: path_message(&path.tip_path, base, &view.stamp),
        trajectory: trajectory_message(&OutgoingTrajectory::from(&planned.plan.trajectory), base),
        path_length: path.length,
        min_clearance: path.min_clearance,
        fraction: 1.0,
        planning_time: duration_message(planned.time),
    };
    Ok((response, execution))
}

/// What a request asks for, and what is to be said about it.
fn order_of(view: &View, request: &PlanPath::Request) -> Result<(Order, Vec<String>), Failure> {
    let mut notes = Vec::new();
    let goal = view
        .in_base(
            &request.goal.header.frame_id,
            &request.goal.pose,
            false,
            &mut notes,
        )
        .map_err(|failure| failure.of("goal"))?;
    let start = start_values(view, &view.robot.chain, &request.start, &mut notes)?;
    let order = Order {
        clearance: request.clearance,
        roadmap: request.roadmap.clone(),
        extra: request
            .extra_obstacles
            .iter()
            .map(|sent| sent_from(sent, ""))
            .collect(),
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
    PlanPath::Response {
        code: unplanned.failure.code.message(),
        message: text(unplanned.failure.message.as_str()),
        fraction: unplanned.fraction,
        tip_path,
        ..PlanPath::Response::default()
    }
}
