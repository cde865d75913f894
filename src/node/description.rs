//! The robot: at the start, and whenever a new description comes.

use std::sync::Arc;

use futures::stream::BoxStream;
use futures::StreamExt;
use r2r::std_msgs;

use super::codes::{Code, Failure};
use super::collisions::Checker;
use super::context::{RobotState, Shared};
use super::model_source::{Robot, Source, SourceError};
use super::obstacles::ObstacleSet;
use super::status::Report;
use crate::model::Srdf;

/// Reads the robot, or says that it is waited for.
///
/// # Errors
/// A description that was given with the parameters and cannot be used.
pub fn start(shared: &Shared, source: &Source, topic: &str) -> Result<(), SourceError> {
    match source {
        Source::Text { text, origin, file } => {
            let parameters = shared.parameters.get();
            let robot = Robot::new(text, origin, &parameters)?;
            accept(shared, robot.with_meshes(&parameters, file.as_deref()));
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
    prepare(shared);
}

/// Prepares the checks of the whole arm in the background, so that the first goal need not wait for
/// it, and says what they lack.
fn prepare(shared: &Shared) {
    let Ok(view) = shared.view() else { return };
    let work = move || {
        let mut notes = Vec::new();
        if let Err(failure) = Checker::new(&view, &view.robot.chain, &view.obstacles, &mut notes) {
            notes.push(failure.message);
        }
        for note in notes {
            tracing::warn!("collision checks: {note}");
        }
    };
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(work)),
        Err(_) => work(),
    }
}

/// Takes SRDFs from the topic as they come.
pub async fn follow_semantic(
    shared: Arc<Shared>,
    mut descriptions: BoxStream<'static, std_msgs::msg::String>,
) {
    while let Some(description) = descriptions.next().await {
        match Srdf::parse(&description.data) {
            Ok(srdf) => {
                if shared.srdf.get().as_ref() != &srdf {
                    shared.srdf.set(srdf);
                    prepare(&shared);
                    shared.report(&Report::ok(
                        "robot_description_semantic",
                        "the SRDF was read: its pairs of links are not checked against each other",
                    ));
                }
            }
            Err(error) => {
                let message = format!("the SRDF cannot be used and is left out: {error}");
                let failure = Failure::new(Code::NoModel, message);
                shared.report(&Report::failed("robot_description_semantic", &failure));
            }
        }
    }
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
                .map(|robot| robot.with_meshes(&parameters, None))
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
