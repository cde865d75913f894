//! `~/goal_pose`, `~/goal_poses` and `~/stop`.

use std::sync::Arc;

use futures::stream::BoxStream;
use futures::StreamExt;
use r2r::{geometry_msgs, std_srvs};

use super::codes::{Code, Failure};
use super::context::{with_notes, Shared, View};
use super::convert::text;
use super::execution::{accepted, blocking, in_background, show};
use super::inputs::Requests;
use super::mover::Execution;
use super::planning_job::{check_order, Order, Planned, Unplanned};
use super::pursuit::pursue;
use super::status::{Level, Report};
use super::tasks::respond;
use super::watching::{watch, Intent};
use crate::kinematics::Pose;
use crate::trajectory::Trajectory;

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
            match take_up(&shared, goal, number, ticket).await {
                Ok(Some((execution, intent))) => {
                    watch(&shared, about, number, execution, &intent).await;
                }
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

async fn take_up(
    shared: &Arc<Shared>,
    goal: Goal,
    number: u64,
    ticket: u64,
) -> Result<Option<(Execution, Intent)>, Unplanned> {
    let execute = shared.parameters.get().execute_on_goal_pose;
    let poses = poses_in_base(&shared.view()?, &goal)?;
    if execute {
        // A goal that cannot be reached must not end what is going on.
        let view = shared.view()?;
        let state = view.state(&view.robot.chain).map_err(Failure::from)?;
        let order = Order::new(state.q(), poses.0.clone());
        let shutdown = shared.shutdown.clone();
        blocking(move || check_order(&view, &order, &|| shutdown.is_requested())).await??;
    }
    let cancel = shared.mover.begin(ticket, &shared.shutdown)?;
    if !execute {
        let view = shared.view()?;
        let state = view.state(&view.robot.chain).map_err(Failure::from)?;
        let order = Order::new(state.q(), poses.0);
        let planned = in_background(shared, order, &cancel, &shared.goal_turns).await?;
        show(shared, &planned);
        let notes: Vec<String> = poses.1.into_iter().chain(planned.notes.clone()).collect();
        shared.report(&executing(
            goal.about,
            &planned,
            &planned.plan.trajectory,
            &notes,
            number,
            "planned",
        ));
        return Ok(None);
    }
    let frame = goal.frame.as_str();
    let order_at = |view: &View, start: Vec<f64>| {
        // Anew for each place: frames may hang on moving links.
        let (poses, notes) = poses_in_base(view, &goal)?;
        Ok((Order::new(start, poses), notes))
    };
    let at_rest = shared.view()?.frames().moves(frame);
    let going = pursue(shared, &order_at, at_rest, &cancel, &shared.goal_turns).await?;
    shared.report(&executing(
        goal.about,
        &going.planned,
        &going.sent,
        &going.notes,
        number,
        "executing",
    ));
    let intent = Intent {
        order: going.planned.order.clone(),
        cancel,
        turns: Arc::clone(&shared.goal_turns),
    };
    Ok(Some((going.execution, intent)))
}

/// The report about a motion that was planned.
pub fn executing(
    about: &'static str,
    planned: &Planned,
    sent: &Trajectory,
    notes: &[String],
    number: u64,
    state: &'static str,
) -> Report {
    let message = with_notes(format!("{state}: {}", planned.summary(sent)), notes);
    let mut report = Report::ok(about, message)
        .with("goal", number)
        .with("state", state)
        .with("fraction", 1)
        .with("path_length", planned.plan.path.length)
        .with("duration", sent.duration())
        .with("min_clearance", planned.plan.path.min_clearance)
        .with("planning_time", planned.time.as_secs_f64());
    if planned.beware {
        report.level = Level::Warn;
    }
    report
}

fn poses_in_base(view: &View, goal: &Goal) -> Result<(Vec<Pose>, Vec<String>), Failure> {
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
