//! The robot: at the start, and whenever a new description comes.

use std::sync::Arc;

use futures::stream::BoxStream;
use futures::StreamExt;
use r2r::std_msgs;

use super::codes::{Code, Failure};
use super::context::{RobotState, Shared};
use super::model_source::{Robot, Source, SourceError};
use super::obstacles::ObstacleSet;
use super::status::Report;

/// Reads the robot, or says that it is waited for.
///
/// # Errors
/// A description that was given with the parameters and cannot be used.
pub fn start(shared: &Shared, source: &Source, topic: &str) -> Result<(), SourceError> {
    match source {
        Source::Text { text, origin } => {
            let robot = Robot::new(text, origin, &shared.parameters.get())?;
            accept(shared, robot);
        }
        Source::Topic => {
            let why = format!(
                "no robot description yet: waiting for one on {topic} (or set the parameter urdf_file or robot_description)"
            );
            tracing::warn!("{why}");
            shared.robot.set(RobotState::Waiting(why));
        }
    }
    Ok(())
}

fn accept(shared: &Shared, robot: Robot) {
    for warning in &robot.model.warnings {
        tracing::warn!("robot description: {warning}");
    }
    let chain = &robot.chain;
    tracing::info!(
        "robot \"{}\": arm from \"{}\" to \"{}\" with {} joints: {}",
        robot.model.name,
        chain.base,
        chain.tip,
        chain.dof(),
        chain.joint_names().join(", ")
    );
    shared.robot.set(RobotState::Ready(Arc::new(robot)));
    shared.drawing.touch();
}

/// Takes descriptions from the topic as they come.
pub async fn follow(
    shared: Arc<Shared>,
    mut descriptions: BoxStream<'static, std_msgs::msg::String>,
) {
    while let Some(description) = descriptions.next().await {
        let parameters = shared.parameters.get();
        let read = tokio::task::spawn_blocking(move || {
            Robot::new(&description.data, "topic robot_description", &parameters)
        });
        let result = match read.await {
            Ok(result) => result,
            Err(error) => {
                tracing::error!("reading the robot description failed: {error}");
                continue;
            }
        };
        match (result, &*shared.robot.get()) {
            (Ok(new), RobotState::Ready(old)) if new == **old => {}
            (Ok(new), old) => {
                if let RobotState::Ready(old) = old {
                    // Obstacles are kept in the base frame, which may be another one now.
                    if old.chain.base != new.chain.base && !shared.obstacles.get().is_empty() {
                        shared.obstacles.set(ObstacleSet::default());
                        tracing::warn!("the base link changed from \"{}\" to \"{}\": all obstacles were dropped, send them anew", old.chain.base, new.chain.base);
                    }
                }
                let report = Report::ok(
                    "robot_description",
                    format!("robot \"{}\" was read", new.model.name),
                );
                accept(&shared, new);
                shared.report(&report);
            }
            (Err(error), old) => {
                let kept = match old {
                    RobotState::Ready(old) => format!("; the robot \"{}\" is kept", old.model.name),
                    RobotState::Waiting(_) => "; waiting for a better one".to_owned(),
                };
                let message = format!("the robot description cannot be used: {error}{kept}");
                if let RobotState::Waiting(_) = old {
                    shared.robot.set(RobotState::Waiting(message.clone()));
                }
                shared.report(&Report::failed(
                    "robot_description",
                    &Failure::new(Code::NoModel, message),
                ));
            }
        }
    }
}
