//! The tasks that drain the streams.

use std::sync::Arc;

use futures::stream::BoxStream;
use futures::StreamExt;
use r2r::{sensor_msgs, ServiceRequest, WrappedServiceTypeSupport};
use tokio::sync::Semaphore;

use super::codes::{Code, Failure};
use super::context::{Shared, View};
use super::inputs::{Inputs, Requests};
use super::joint_states::Reported;
use super::run::Tasks;
use super::shutdown::Cancel;
use super::{description, solve_ik};

/// Starts them all.
pub fn start(tasks: &mut Tasks, shared: &Arc<Shared>, inputs: Inputs) {
    let share = || Arc::clone(shared);
    tasks.spawn("joint_states", joint_states(share(), inputs.joint_states));
    match inputs.robot_description {
        Some(stream) => tasks.spawn("robot_description", description::follow(share(), stream)),
        None => {}
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

async fn joint_states(
    shared: Arc<Shared>,
    mut messages: BoxStream<'static, sensor_msgs::msg::JointState>,
) {
    while let Some(message) = messages.next().await {
        let now = shared.now();
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
            Err(rejected) => shared.warn_now_and_then(&rejected.to_string()),
        }
    }
}

/// How many requests of one service are computed at a time.
fn at_a_time() -> usize {
    std::thread::available_parallelism().map_or(2, std::num::NonZero::get).max(2)
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
            let Ok(_permit) = permits.acquire_owned().await else { return };
            let response = computed::<T>(&shared, request.message.clone(), answer, failed).await;
            respond(request, response);
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
        failed(&Failure::new(Code::Failure, "the computation failed inside; the node's log says more"))
    })
}

/// Sends a response; a client that has gone is no fault.
pub fn respond<T: WrappedServiceTypeSupport + 'static>(
    request: ServiceRequest<T>,
    response: T::Response,
) {
    if let Err(error) = request.respond(response) {
        tracing::debug!("a response could not be sent: {error}");
    }
}
