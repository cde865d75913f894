//! `~/goal_pose`, `~/goal_poses` and `~/stop`.

use std::sync::Arc;

use futures::stream::BoxStream;
use futures::StreamExt;
use r2r::{geometry_msgs, std_srvs};

use super::codes::{Code, Failure};
use super::context::{with_notes, Shared};
use super::convert::text;
use super::execution::{accepted, blocking, come_to_rest, in_background, send, show};
use super::inputs::Requests;
use super::mover::Execution;
use super::planning_job::{check_order, Order, Planned, Unplanned};
use super::status::{Level, Report};
use super::tasks::respond;
use super::watching::watch;
use crate::kinematics::Pose;

/// A goal as it was sent.
struct Goal {
    about: &'static str,
    frame: String,
    poses: Vec<geometry_msgs::msg::Pose>,
}

/// Takes goals as they come; a newer one replaces one that is still being planned or executed.
pub async fn goals(
    shared: Arc<Shared>,
    one: BoxStream<'static, geometry_msgs::msg::PoseStamped>,
    many: BoxStream<'static, geometry_msgs::msg::PoseArray>,
) {
    let one = one.map(|goal| Goal {
        about: "goal_pose",
        frame: goal.header.frame_id,
        poses: vec![goal.pose],
    });
    let many = many.map(|goals| Goal {
        about: "goal_poses",
        frame: goals.header.frame_id,
        poses: goals.poses,
    });
    let mut goals = futures::stream::select(one, many);
    while let Some(goal) = goals.next().await {
        let number = shared.goals.next();
        let ticket = shared.mover.ticket();
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let about = goal.about;
            match pursue(&shared, goal, number, ticket).await {
                Ok(Some(execution)) => watch(&shared, about, number, &execution).await,
                Ok(None) => {}
                Err(unplanned) => {
                    let state = match unplanned.failure.code {
                        Code::Preempted => "preempted",
                        _ => "failed",
                    };
                    let report = Report::failed(about, &unplanned.failure)
                        .with("goal", number)
                        .with("state", state)
                        .with("fraction", unplanned.fraction);
                    shared.report(&report);
                }
            }
        });
    }
}

async fn pursue(
    shared: &Arc<Shared>,
    goal: Goal,
    number: u64,
    ticket: u64,
) -> Result<Option<Execution>, Unplanned> {
    let execute = shared.parameters.get().execute_on_goal_pose;
    let poses = poses_in_base(shared, &goal)?;
    if execute {
        // A goal that cannot be reached must not end what is going on.
        let view = shared.view()?;
        let state = view.state(&view.robot.chain).map_err(Failure::from)?;
        let order = Order::new(state.q(), poses.0.clone());
        let shutdown = shared.shutdown.clone();
        blocking(move || check_order(&view, &order, &|| shutdown.is_requested())).await??;
    }
    let cancel = &shared.mover.begin(ticket, &shared.shutdown)?;
    if execute {
        come_to_rest(shared, cancel).await?;
    }
    let view = shared.view()?;
    // Again, now that the arm is at rest: frames may hang on moving links.
    let (poses, mut notes) = if execute {
        poses_in_base(shared, &goal)?
    } else {
        poses
    };
    let state = view.state(&view.robot.chain).map_err(Failure::from)?;
    let order = Order::new(state.q(), poses);
    let planned = in_background(shared, order, cancel, &shared.goal_turns).await?;
    notes.extend(planned.notes.iter().cloned());
    show(shared, &planned);
    let (state, execution) = if execute {
        let execution = send(shared, &planned, cancel).await?;
        notes.extend(execution.notes.iter().cloned());
        ("executing", Some(execution))
    } else {
        ("planned", None)
    };
    let report = Report::ok(
        goal.about,
        with_notes(format!("{state}: {}", planned.summary()), &notes),
    );
    let mut report = detailed(report, &planned, number, state);
    if planned.beware {
        report.level = Level::Warn;
    }
    shared.report(&report);
    Ok(execution)
}

fn detailed(report: Report, planned: &Planned, number: u64, state: &'static str) -> Report {
    report
        .with("goal", number)
        .with("state", state)
        .with("fraction", 1)
        .with("path_length", planned.plan.path.length)
        .with("duration", planned.plan.trajectory.duration())
        .with("min_clearance", planned.plan.path.min_clearance)
        .with("planning_time", planned.time.as_secs_f64())
}

fn poses_in_base(shared: &Shared, goal: &Goal) -> Result<(Vec<Pose>, Vec<String>), Failure> {
    let view = shared.view()?;
    if goal.poses.is_empty() {
        return Err(Failure::new(
            Code::InvalidRequest,
            "there is no pose in the message",
        ));
    }
    let mut notes = Vec::new();
    let mut poses = Vec::with_capacity(goal.poses.len());
    for (index, pose) in goal.poses.iter().enumerate() {
        let mut said = Vec::new();
        let pose = view.in_base(&goal.frame, pose, false, &mut said);
        poses.push(pose.map_err(|failure| failure.of(&format!("goal {}", index + 1)))?);
        if index == 0 {
            notes = said;
        }
    }
    Ok((poses, notes))
}

/// Answers `~/stop`.
pub async fn stop(shared: Arc<Shared>, mut requests: Requests<std_srvs::srv::Trigger::Service>) {
    while let Some(request) = requests.next().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            shared.counts.stops.count();
            let stopping = Arc::clone(&shared);
            let result = blocking(move || stopping.mover.stop(&stopping)).await;
            let result = match result.and_then(|inner| inner) {
                Ok(sent) => accepted(&shared, &sent.0).await.map(|()| sent),
                Err(failure) => Err(failure),
            };
            let report = match result {
                Ok((execution, outside)) => {
                    let seconds = execution.ends.saturating_sub(shared.now()).as_secs_f64();
                    let mut notes = execution.notes;
                    if !outside.is_empty() {
                        notes.push(format!(
                            "beyond their limits when at rest: {}",
                            outside.join(", ")
                        ));
                    }
                    let message =
                        format!("stopping, at rest within {seconds:.2} s; planning was given up");
                    Report::ok("stop", with_notes(message, &notes))
                }
                Err(failure) => {
                    // The last resort: a controller that is talked to by action can hold by itself.
                    let held = if shared.outputs.controller.cancel_all() {
                        "; the controller was told to hold where it is"
                    } else {
                        ""
                    };
                    let message = format!(
                        "planning was given up, but no stop was sent: {}{held}",
                        failure.message
                    );
                    Report::failed("stop", &Failure { message, ..failure })
                }
            };
            shared.report(&report);
            let success = report.code == Code::Success;
            let message = text(report.message);
            respond(
                request,
                std_srvs::srv::Trigger::Response { success, message },
            )
            .await;
        });
    }
}
