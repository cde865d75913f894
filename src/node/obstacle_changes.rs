//! Changes to the obstacles, one after the other in the order in which they came.

use std::sync::Arc;

use r2r::arm_planner_msgs::msg::PolygonObstacleArray;
use r2r::{geometry_msgs, std_srvs, ServiceRequest};
use tokio::sync::mpsc::UnboundedReceiver;

use super::codes::Failure;
use super::context::{with_notes, Shared};
use super::convert::text;
use super::obstacles::{corners_from, failure, sent_from, ObstacleSet, Operation, Sent};
use super::status::{Level, Report};
use super::tasks::respond;

/// A change as it came.
pub enum Change {
    /// From `~/obstacles`.
    Array(PolygonObstacleArray),
    /// From `~/obstacle_polygon`.
    Polygon(geometry_msgs::msg::PolygonStamped),
    /// From `~/clear_obstacles`.
    Clear(ServiceRequest<std_srvs::srv::Trigger::Service>),
}

/// Applies changes. Checking a polygon with very many corners takes its time, so it is done on a
/// thread of its own kind; the next change waits for it, nothing else does.
pub async fn apply(shared: Arc<Shared>, mut changes: UnboundedReceiver<Change>) {
    while let Some(change) = changes.recv().await {
        let report = match change {
            Change::Clear(request) => {
                let report = cleared(&shared);
                shared.drawing.touch();
                shared.report(&report);
                let message = text(report.message);
                respond(
                    request,
                    std_srvs::srv::Trigger::Response {
                        success: true,
                        message,
                    },
                )
                .await;
                continue;
            }
            Change::Array(message) => {
                background(&shared, move |shared| array(shared, &message)).await
            }
            Change::Polygon(message) => {
                background(&shared, move |shared| polygon(shared, &message)).await
            }
        };
        shared.obstacles_changed.notify_waiters();
        shared.drawing.touch();
        if let Some(report) = report {
            shared.report(&report);
        }
    }
}

async fn background(
    shared: &Arc<Shared>,
    work: impl FnOnce(&Shared) -> Report + Send + 'static,
) -> Option<Report> {
    let shared = Arc::clone(shared);
    match tokio::task::spawn_blocking(move || work(&shared)).await {
        Ok(report) => Some(report),
        Err(error) => {
            tracing::error!("changing the obstacles failed: {error}");
            None
        }
    }
}

fn cleared(shared: &Shared) -> Report {
    let count = shared.obstacles.get().len();
    shared.obstacles.set(ObstacleSet::default());
    Report::ok("clear_obstacles", format!("{count} obstacle(s) removed")).with("count", 0)
}

fn array(shared: &Shared, message: &PolygonObstacleArray) -> Report {
    let frame = &message.header.frame_id;
    let changes: Vec<Sent> = message
        .obstacles
        .iter()
        .map(|sent| sent_from(sent, frame))
        .collect();
    changed(shared, "obstacles", &changes, message.replace_all)
}

fn polygon(shared: &Shared, message: &geometry_msgs::msg::PolygonStamped) -> Report {
    let about = "obstacle_polygon";
    let known = shared.obstacles.get();
    let sent = Sent {
        id: known.free_id("polygon"),
        frame: message.header.frame_id.clone(),
        operation: Operation::Add,
        corners: corners_from(&message.polygon),
        min_height: 0.0,
        max_height: 0.0,
    };
    // A sensor that sends the same polygon again and again must not fill the memory.
    if let Ok(view) = shared.view() {
        let options = &view.parameters.planning.polygon;
        let named = view.named(vec![sent.clone()]);
        let shape = named.first().unwrap_or(&sent);
        if let Some(id) = known.same_shape(shape, &view.plane_frames(), options) {
            return Report::ok(about, format!("this shape is already there as \"{id}\""))
                .with("id", id);
        }
    }
    changed(shared, about, std::slice::from_ref(&sent), false).with("id", sent.id)
}

fn changed(shared: &Shared, about: &'static str, changes: &[Sent], replace_all: bool) -> Report {
    let view = match shared.view() {
        Ok(view) => view,
        Err(failure) => {
            let message = format!("nothing was changed: {}", failure.message);
            return Report::failed(about, &Failure { message, ..failure });
        }
    };
    let options = &view.parameters.planning.polygon;
    // Nobody else changes the set: all changes come through this task.
    match view.obstacles.changed(
        &view.named(changes.to_vec()),
        replace_all,
        &view.plane_frames(),
        options,
    ) {
        Ok(applied) => {
            let ids = applied.set.ids();
            let message = format!("{} obstacle(s) known now", ids.len());
            let repaired = applied.repaired;
            shared.obstacles.set(applied.set);
            let mut report = Report::ok(about, with_notes(message, &applied.notes));
            if repaired {
                report.level = Level::Warn;
            }
            report.with("count", ids.len())
        }
        Err(errors) => {
            let failure = failure(&errors);
            let message = format!(
                "refused, nothing of the message was applied and the {} obstacle(s) from before are kept: {}",
                view.obstacles.len(),
                failure.message
            );
            Report::failed(about, &Failure { message, ..failure })
                .with("count", view.obstacles.len())
        }
    }
}
