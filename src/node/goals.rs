//! `~/goal_pose`, `~/goal_poses` and `~/stop`.

use std::sync::Arc;

use futures::stream::BoxStream;
use futures::StreamExt;
use r2r::{geometry_msgs, std_srvs};

use super::codes::{Code, Failure};
use super::context::{with_notes, Shared};
use super::convert::text;
use super::execution::{blocking, come_to_rest, in_background, send, show, watch};
use super::inputs::Requests;
use super::mover::Execution;
use super::planning_job::{Order, Planned, Unplanned};
use super::shutdown::Cancel;
use super::status::Report;
use super::tasks::respond;
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
        let cancel = shared.mover.begin(&shared.shutdown);
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let about = goal.about;
            match pursue(&shared, goal, number, &cancel).await {
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
    cancel: &Cancel,
) -> Result<Option<Execution>, Unplanned> {
    let execute = shared.parameters.get().execute_on_goal_pose;
    let poses = poses_in_base(shared, &goal)?;
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
    let planned = in_background(shared, order, cancel).await?;
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
    shared.report(&detailed(report, &planned, number, state));
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

<<<<<<< HEAD
=======
/// Stops an arm that moves and waits until it rests: a path can only be planned from rest.
async fn come_to_rest(shared: &Arc<Shared>, cancel: &Cancel) -> Result<(), Failure> {
    if !shared.mover.is_moving(shared.now()) && at_rest(shared)? {
        return Ok(());
    }
    let (execution, _) = blocking({
        let (shared, cancel) = (Arc::clone(shared), cancel.clone());
        move || shared.mover.come_to_rest(&shared, Some(&cancel))
    })
    .await??;
    loop {
        tokio::time::sleep(LOOK).await;
        if cancel.is_cancelled() {
            return Err(preempted());
        }
        let now = shared.now();
        if now >= execution.ends && at_rest(shared)? {
            return Ok(());
        }
        if now > execution.ends + SETTLING {
            return Err(Failure::new(
                Code::ControlFailed,
                "the arm did not come to rest before the new goal: is its controller following?",
            ));
        }
    }
}

/// Whether the arm rests, as far as it can be seen.
fn at_rest(shared: &Shared) -> Result<bool, Failure> {
    let view = shared.view()?;
    let state = view.state(&view.robot.chain)?;
    Ok(state
        .readings
        .iter()
        .all(|reading| reading.speed().unwrap_or(0.0).abs() <= REST_SPEED))
}

/// Runs a computation on a thread of its own kind.
async fn blocking<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R, Failure> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!("a computation failed: {error}");
        Failure::new(
            Code::Failure,
            "the computation failed inside; the node's log says more",
        )
    })
}

async fn in_background(
    shared: &Arc<Shared>,
    order: Order,
    cancel: &Cancel,
) -> Result<Planned, Unplanned> {
    let view = shared.view()?;
    let cancel = cancel.clone();
    blocking(move || plan_order(&view, &order, &|| cancel.is_cancelled())).await?
}

async fn send(
    shared: &Arc<Shared>,
    planned: &Planned,
    cancel: &Cancel,
) -> Result<Execution, Failure> {
    let (shared, cancel) = (Arc::clone(shared), cancel.clone());
    let (trajectory, limits) = (planned.plan.trajectory.clone(), planned.limits.clone());
    blocking(move || shared.mover.send(&shared, &trajectory, &limits, &cancel)).await?
}

/// Publishes the path and draws it.
fn show(shared: &Shared, planned: &Planned) {
    let Ok(view) = shared.view() else { return };
    let path = &planned.plan.path;
    shared.outputs.tip_path.publish(&path_message(
        &path.tip_path,
        &view.robot.chain.base,
        &view.stamp,
    ));
    shared.drawing.set_plan(path);
}

/// Watches the arm follow a trajectory, and reports what came of it.
async fn watch(shared: &Arc<Shared>, about: &'static str, number: u64, execution: &Execution) {
    let report = |report: Report, state: &'static str| {
        shared.report(
            &report
                .with("goal", number)
                .with("state", state)
                .with("fraction", 1),
        );
    };
    loop {
        tokio::time::sleep(LOOK).await;
        if shared.shutdown.is_requested() {
            return;
        }
        if !shared.mover.is_current(execution) {
            let why = if shared.mover.was_stopped() {
                "stopped"
            } else {
                "replaced by a newer motion"
            };
            report(
                Report::failed(about, &Failure::new(Code::Preempted, why)),
                "preempted",
            );
            return;
        }
        let now = shared.now();
        if now < execution.ends {
            continue;
        }
        let Err(reason) = arrived(shared, execution) else {
            report(Report::ok(about, "the arm has reached the goal"), "reached");
            return;
        };
        if now > execution.ends + SETTLING {
            let message =
                format!("the trajectory was sent, but the arm has not followed it: {reason}");
            report(
                Report::failed(about, &Failure::new(Code::ControlFailed, message)),
                "failed",
            );
            return;
        }
    }
}

/// Whether the arm is where the trajectory ends, and at rest.
fn arrived(shared: &Shared, execution: &Execution) -> Result<(), String> {
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
            return Err(format!(
                "joint \"{name}\" is at {position:.4}, {off:.4} from the end of the trajectory; is a controller of these joints listening on \"{}\"?",
                view.parameters.controller_topic
            ));
        }
    }
    match at_rest(shared) {
        Ok(true) => Ok(()),
        Ok(false) => Err("the arm still moves".to_owned()),
        Err(failure) => Err(failure.message),
    }
}

/// Answers `~/plan_path`.
pub async fn plan_path(shared: Arc<Shared>, mut requests: Requests<PlanPath::Service>) {
    let permits = Arc::new(tokio::sync::Semaphore::new(at_a_time()));
    while let Some(request) = requests.next().await {
        let (shared, permits) = (Arc::clone(&shared), Arc::clone(&permits));
        tokio::spawn(async move {
            let Ok(_permit) = permits.acquire_owned().await else {
                return;
            };
            let message = request.message.clone();
            let execute = message.execute;
            let cancel = if execute {
                shared.mover.begin(&shared.shutdown)
            } else {
                Cancel::new(&shared.shutdown)
            };
            let result = serve(&shared, &message, &cancel).await;
            let (response, execution) = match result {
                Ok((response, execution)) => (response, execution),
                Err(unplanned) => (unplanned_response(&shared, &unplanned), None),
            };
            respond(request, response);
            if let Some(execution) = execution {
                watch(&shared, "plan_path", shared.goals.next(), &execution).await;
            }
        });
    }
}

async fn serve(
    shared: &Arc<Shared>,
    request: &PlanPath::Request,
    cancel: &Cancel,
) -> Result<(PlanPath::Response, Option<Execution>), Unplanned> {
    let given = !request.start.name.is_empty() || !request.start.position.is_empty();
    if request.execute && !given {
        come_to_rest(shared, cancel).await?;
    }
    let view = shared.view()?;
    let mut notes = Vec::new();
    let goal = view
        .in_base(
            &request.goal.header.frame_id,
            &request.goal.pose,
            false,
            &mut notes,
        )
        .map_err(|failure| failure.of("goal"))?;
    let start = joint_values(
        "the start",
        &view,
        &view.robot.chain,
        &request.start,
        &mut notes,
    )?;
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
    let planned = in_background(shared, order, cancel).await?;
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

>>>>>>> ik
/// Answers `~/stop`.
pub async fn stop(shared: Arc<Shared>, mut requests: Requests<std_srvs::srv::Trigger::Service>) {
    while let Some(request) = requests.next().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let stopping = Arc::clone(&shared);
            let result = blocking(move || stopping.mover.stop(&stopping)).await;
            let report = match result.and_then(|inner| inner) {
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
                    let message = format!(
                        "planning was given up, but no stop was sent: {}",
                        failure.message
                    );
                    Report::failed("stop", &Failure { message, ..failure })
                }
            };
            shared.report(&report);
            let success = report.code == Code::Success;
<<<<<<< HEAD
            let message = text(report.message);
            respond(
                request,
                std_srvs::srv::Trigger::Response { success, message },
            )
            .await;
=======
            respond(
                request,
                std_srvs::srv::Trigger::Response {
                    success,
                    message: text(report.message),
                },
            );
>>>>>>> ik
        });
    }
}
