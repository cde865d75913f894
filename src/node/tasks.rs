//! The tasks that take what comes in.

use std::sync::Arc;

use futures::stream::BoxStream;
use futures::StreamExt;
use r2r::{sensor_msgs, ServiceRequest, WrappedServiceTypeSupport};
use tokio::sync::Semaphore;

use super::codes::{Code, Failure};
use super::context::{Shared, View};
use super::convert::nanoseconds_of;
use super::inputs::{Inputs, Requests};
use super::joint_states::Reported;
use super::run::Tasks;
use super::shutdown::Cancel;
use super::{
    description, diagnostics, goals, markers, mock, obstacle_changes, plan_path, solve_ik, tracking,
};

/// Starts them all.
pub fn start(tasks: &mut Tasks, shared: &Arc<Shared>, inputs: Inputs) {
    let share = || Arc::clone(shared);
    tasks.spawn("joint_states", joint_states(share(), inputs.joint_states));
    if let Some(stream) = inputs.robot_description {
        tasks.spawn("robot_description", description::follow(share(), stream));
    }
    if let Some(stream) = inputs.semantic {
        let task = description::follow_semantic(share(), stream);
        tasks.spawn("robot_description_semantic", task);
    }
    #[cfg(has_tf2_msgs)]
    {
        tasks.spawn("tf", tf(share(), inputs.tf));
        tasks.spawn("tf_static", tf(share(), inputs.tf_static));
    }
    let (sender, changes) = tokio::sync::mpsc::unbounded_channel();
    let polygons = inputs
        .obstacle_polygon
        .map(obstacle_changes::Change::Polygon)
        .boxed();
    let arrays = inputs
        .obstacles
        .map(obstacle_changes::Change::Array)
        .boxed();
    let clearing = inputs
        .clear_obstacles
        .map(obstacle_changes::Change::Clear)
        .boxed();
    tasks.spawn("obstacles", queue(arrays, sender.clone()));
    tasks.spawn("obstacle_polygon", queue(polygons, sender.clone()));
    tasks.spawn("clear_obstacles", queue(clearing, sender));
    tasks.spawn(
        "obstacle changes",
        obstacle_changes::apply(share(), changes),
    );
    tasks.spawn(
        "goals",
        goals::goals(share(), inputs.goal_pose, inputs.goal_poses),
    );
    tasks.spawn("plan_path", plan_path::plan_path(share(), inputs.plan_path));
    tasks.spawn("stop", goals::stop(share(), inputs.stop));
    tasks.spawn("tracking", tracking::follow(share(), inputs.tracking_pose));
    tasks.spawn("markers", markers::publish(share()));
    tasks.spawn("diagnostics", diagnostics::publish(share()));
    #[cfg(has_control_msgs)]
    if let Some(stream) = inputs.feedback {
        tasks.spawn("feedback", feedback(share(), stream));
    }
    if let Some(trajectories) = inputs.mock_trajectory {
        let heard = trajectories.map(mock::Heard::Trajectory);
        #[cfg(has_control_msgs)]
        let heard = {
            let asked = inputs.mock_action.map(|action| action.requests());
            let asked = futures::stream::iter(asked).flatten();
            futures::stream::select(heard, asked.map(mock::Heard::Action))
        };
        tasks.spawn("mock controller", mock::control(share(), heard.boxed()));
    }
    tasks.spawn(
        "solve_ik",
        compute(
            share(),
            inputs.solve_ik,
            |view, request, cancel| solve_ik::solve_ik(view, request, &|| cancel.is_cancelled()),
            solve_ik::failed,
        ),
    );
}

/// Passes on what comes in as fast as it comes in.
async fn queue<T>(
    mut stream: BoxStream<'static, T>,
    sender: tokio::sync::mpsc::UnboundedSender<T>,
) {
    while let Some(item) = stream.next().await {
        if sender.send(item).is_err() {
            return;
        }
    }
}

#[cfg(has_tf2_msgs)]
async fn tf(shared: Arc<Shared>, mut messages: BoxStream<'static, r2r::tf2_msgs::msg::TFMessage>) {
    while let Some(message) = messages.next().await {
        let mut faults = Vec::new();
        shared.tf.change(|tf| {
            for sent in &message.transforms {
                let (parent, child) = (&sent.header.frame_id, &sent.child_frame_id);
                match super::convert::transform_from(&sent.transform) {
                    Ok(pose) => {
                        if let Err(fault) = tf.insert(parent, child, pose) {
                            faults.push(fault.to_string());
                        }
                    }
                    Err(error) => faults.push(format!(
                        "TF from \"{parent}\" to \"{child}\": {error}; ignored"
                    )),
                }
            }
        });
        for fault in faults {
            shared.warn_now_and_then(&fault);
        }
    }
}

async fn joint_states(
    shared: Arc<Shared>,
    mut messages: BoxStream<'static, sensor_msgs::msg::JointState>,
) {
    while let Some(message) = messages.next().await {
        let now = shared.now();
        let age_ns = nanoseconds_of(&shared.stamp()) - nanoseconds_of(&message.header.stamp);
        shared.clocks.note(age_ns);
        if let Some(when) = then(&shared, now, age_ns) {
            let position = |name: &str| value_of(name, &message.name, &message.position);
            shared.mover.observe(when, &position, false);
        }
        let reported = Reported {
            names: &message.name,
            positions: &message.position,
            velocities: &message.velocity,
        };
        match shared.states.change(|states| states.update(reported, now)) {
            Ok(oddities) => {
                for oddity in oddities {
                    shared.warn_now_and_then(&oddity.to_string());
                }
            }
            Err(rejected) => {
                shared.counts.bad_states.count();
                shared.warn_now_and_then(&rejected.to_string());
            }
        }
    }
}

/// When a message of that age was made, on the steady clock; `None` if its stamp says nothing.
fn then(shared: &Shared, now: std::time::Duration, age_ns: i64) -> Option<std::time::Duration> {
    if !shared.clocks.agree() {
        return None;
    }
    now.checked_sub(std::time::Duration::from_nanos(
        u64::try_from(age_ns.max(0)).ok()?,
    ))
}

fn value_of(name: &str, names: &[String], values: &[f64]) -> Option<f64> {
    let index = names.iter().position(|one| one == name)?;
    values.get(index).copied()
}

/// Takes note of what the controller says about where the arm is.
#[cfg(has_control_msgs)]
async fn feedback(
    shared: Arc<Shared>,
    mut messages: BoxStream<
        'static,
        r2r::control_msgs::action::FollowJointTrajectory::FeedbackMessage,
    >,
) {
    while let Some(message) = messages.next().await {
        let feedback = &message.feedback;
        let off = feedback.joint_names.iter().zip(&feedback.error.positions);
        let sizes = off.map(|(name, error)| (name, error.abs()));
        // NaN says nothing.
        let worst = sizes
            .filter(|(_, error)| !error.is_nan())
            .max_by(|one, other| one.1.total_cmp(&other.1));
        let goal = super::follow_action::goal_id(&message.goal_id);
        if let Some((joint, error)) = worst {
            shared.mover.off(&goal, joint, error);
        }
        let age_ns = nanoseconds_of(&shared.stamp()) - nanoseconds_of(&feedback.header.stamp);
        if let Some(when) = then(&shared, shared.now(), age_ns) {
            let desired = &feedback.desired.positions;
            let position = |name: &str| value_of(name, &feedback.joint_names, desired);
            shared.mover.observe(when, &position, true);
        }
    }
}

/// How many requests of one service are computed at a time.
fn at_a_time() -> usize {
    std::thread::available_parallelism()
        .map_or(2, std::num::NonZero::get)
        .max(2)
}

/// Answers a service whose answers take computing: each on a blocking thread, with the state of
/// things as they were when its turn came.
async fn compute<T>(
    shared: Arc<Shared>,
    mut requests: Requests<T>,
    answer: fn(&View, &T::Request, &Cancel) -> T::Response,
    failed: fn(&Failure) -> T::Response,
) where
    T: WrappedServiceTypeSupport + 'static,
    T::Request: Send + Sync,
    T::Response: Send,
{
    let permits = Arc::new(Semaphore::new(at_a_time()));
    while let Some(request) = requests.next().await {
        let (shared, permits) = (Arc::clone(&shared), Arc::clone(&permits));
        tokio::spawn(async move {
            let Ok(_permit) = permits.acquire_owned().await else {
                return;
            };
            let response = computed::<T>(&shared, request.message.clone(), answer, failed).await;
            respond(request, response).await;
        });
    }
}

async fn computed<T>(
    shared: &Arc<Shared>,
    message: T::Request,
    answer: fn(&View, &T::Request, &Cancel) -> T::Response,
    failed: fn(&Failure) -> T::Response,
) -> T::Response
where
    T: WrappedServiceTypeSupport + 'static,
    T::Request: Send + Sync,
    T::Response: Send,
{
    let view = match shared.view() {
        Ok(view) => view,
        Err(failure) => return failed(&failure),
    };
    let cancel = Cancel::new(&shared.shutdown);
    let computing = tokio::task::spawn_blocking(move || answer(&view, &message, &cancel));
    computing.await.unwrap_or_else(|error| {
        tracing::error!("a computation failed: {error}");
        failed(&Failure::new(
            Code::Failure,
            "the computation failed inside; the node's log says more",
        ))
    })
}

/// Sends a response; a client that has gone is no fault. ROS waits a little for a client that it
/// has not found yet, so this is done where it holds nothing up.
pub async fn respond<T>(request: ServiceRequest<T>, response: T::Response)
where
    T: WrappedServiceTypeSupport + 'static,
    T::Response: Send,
{
    let sent = tokio::task::spawn_blocking(move || request.respond(response));
    match sent.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!("a response could not be sent: {error}"),
        Err(error) => tracing::error!("sending a response failed: {error}"),
    }
}
