//! The node's life: set up, run, end.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use r2r::ParameterValue;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::context::Shared;
use super::inputs::{Inputs, Pumps};
use super::model_source::{Source, SourceError};
use super::outputs::Outputs;
use super::parameter_server::ParameterServices;
use super::parameter_values::{from_overrides, in_words, ParameterError};
use super::parameters::{Interface, Parameters};
use super::shutdown::Shutdown;
use super::{description, model_source, tasks};
use crate::resource::ResourcePaths;

/// Why the node ended with an error.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// A parameter cannot be used.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The robot description cannot be used.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// ROS does not understand its own arguments.
    #[error("ROS refused its arguments: {0}")]
    Arguments(String),
    /// ROS refuses a name.
    #[error("ROS refused the topic or service \"{name}\": {error}")]
    Refused {
        /// The name.
        name: String,
        /// What it says.
        error: r2r::Error,
    },
    /// Something in ROS failed.
    #[error("ROS failed: {0}")]
    Ros(#[from] r2r::Error),
    /// The system failed.
    #[error("{0}")]
    System(#[from] std::io::Error),
    /// A part of the node failed while it ran.
    #[error("the task \"{name}\" failed: {reason}")]
    Task {
        /// The task.
        name: &'static str,
        /// What happened.
        reason: String,
    },
}

impl NodeError {
    /// 2 for input that cannot be used, 1 for everything else.
    pub fn exit_code(&self) -> u8 {
        match self {
            NodeError::Parameter(_)
            | NodeError::Source(_)
            | NodeError::Arguments(_)
            | NodeError::Refused { .. } => 2,
            NodeError::Ros(_) | NodeError::System(_) | NodeError::Task { .. } => 1,
        }
    }
}

/// How long one spin waits for something to come in; also how late an ending is noticed.
const SPIN: Duration = Duration::from_millis(20);
/// How long the end waits for ROS to be left in order.
const FAREWELL: Duration = Duration::from_millis(500);

/// What runs as long as the node: ending, for whatever reason, ends the node.
pub struct Tasks(JoinSet<&'static str>);

impl Tasks {
    /// Starts a task.
    pub fn spawn(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(async move {
            task.await;
            name
        });
    }
}

/// Runs the node until `shutdown` is requested.
///
/// # Errors
/// See [`NodeError`].
pub async fn run(shutdown: Shutdown) -> Result<(), NodeError> {
    let mut node = create_node()?;
    let given: HashMap<String, ParameterValue> = {
        let given = node.params.lock().unwrap_or_else(PoisonError::into_inner);
        given
            .iter()
            .map(|(name, one)| (name.clone(), one.value.clone()))
            .collect()
    };
    let (values, foreign) = from_overrides(&given)?;
    let sim_time = simulated_time(&given)?;
    if sim_time {
        use_simulated_time(&mut node)?;
    }
    for name in foreign {
        tracing::warn!("parameter {name} was given but does not exist in this node; ignored");
    }
    let parameters = Parameters::new(&values);
    if parameters.controller.interface == Interface::Action && !cfg!(has_control_msgs) {
        return Err(NodeError::Parameter(ParameterError::NotAllowed {
            name: "controller_interface".to_owned(),
            value: "\"action\"".to_owned(),
            allowed: "\"topic\": the node was built without control_msgs; install that package (ros-jazzy-control-msgs) and build the node anew".to_owned(),
        }));
    }
    let places = ResourcePaths::from_environment(&[], None);
    let source = Source::find(&parameters, &places)?;

    let mut pumps = Pumps::default();
    let refused = |(name, error)| NodeError::Refused { name, error };
    let outputs = Outputs::create(&mut node, &parameters).map_err(refused)?;
    let inputs = Inputs::create(&mut node, &mut pumps, &parameters, source == Source::Topic)
        .map_err(refused)?;
    let topic = absolute(&node, "joint_states");
    let clock = node.get_ros_clock();
    let shared = Arc::new(Shared::new(
        (node.fully_qualified_name()?, sim_time),
        parameters,
        values,
        &topic,
        clock,
        outputs,
        shutdown.clone(),
    ));
    if let Some(srdf) = model_source::srdf(&shared.parameters.get(), &places)? {
        shared.srdf.set(srdf);
    }
    description::start(&shared, &source, &absolute(&node, "robot_description"))?;
    let services = ParameterServices::create(&mut node, &mut pumps).map_err(refused)?;

    let mut running = Tasks(JoinSet::new());
    running.spawn("parameters", services.serve(Arc::clone(&shared)));
    tasks::start(&mut running, &shared, inputs);
    tracing::info!("{} is ready", node.fully_qualified_name()?);
    let spinning = Spinning::start(node, pumps)?;
    let result = until_the_end(&shutdown, running, spinning).await;
    tracing::info!("ended");
    result
}

/// Whether `use_sim_time` was set.
fn simulated_time(given: &HashMap<String, ParameterValue>) -> Result<bool, ParameterError> {
    match given.get("use_sim_time") {
        None | Some(ParameterValue::NotSet) => Ok(false),
        Some(ParameterValue::Bool(simulated)) => Ok(*simulated),
        Some(other) => Err(ParameterError::WrongType {
            name: "use_sim_time".to_owned(),
            found: in_words(other),
            expected: "true or false",
        }),
    }
}

#[cfg(has_rosgraph_msgs)]
fn use_simulated_time(node: &mut r2r::Node) -> Result<(), NodeError> {
    Ok(node.get_time_source().enable_sim_time(node)?)
}

#[cfg(not(has_rosgraph_msgs))]
fn use_simulated_time(_node: &mut r2r::Node) -> Result<(), NodeError> {
    Err(NodeError::Parameter(ParameterError::NotAllowed {
        name: "use_sim_time".to_owned(),
        value: "true".to_owned(),
        allowed: "false: the node was built without rosgraph_msgs".to_owned(),
    }))
}

/// The name of a relative topic as others see it, remapping aside.
fn absolute(node: &r2r::Node, topic: &str) -> String {
    let namespace = node.namespace().unwrap_or_default();
    format!("{}/{topic}", namespace.trim_end_matches('/'))
}

fn create_node() -> Result<r2r::Node, NodeError> {
    // r2r panics on arguments that rcl refuses, e.g. a parameter file that is not there.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let created = std::panic::catch_unwind(|| {
        let context = r2r::Context::create()?;
        r2r::Node::create(context, "arm_planner", "")
    });
    std::panic::set_hook(hook);
    match created {
        Ok(node) => Ok(node?),
        Err(panic) => {
            let words = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("no reason given");
            Err(NodeError::Arguments(
                words.lines().next().unwrap_or(words).to_owned(),
            ))
        }
    }
}

/// The thread that spins ROS.
struct Spinning {
    stop: Arc<AtomicBool>,
    ended: oneshot::Receiver<()>,
}

impl Spinning {
    fn start(mut node: r2r::Node, mut pumps: Pumps) -> Result<Spinning, NodeError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, ended) = oneshot::channel();
        let stopping = Arc::clone(&stop);
        std::thread::Builder::new()
            .name("ros-spin".to_owned())
            .spawn(move || {
                while !stopping.load(Ordering::Relaxed) {
                    node.spin_once(SPIN);
                    pumps.empty();
                }
                drop(node);
                // If this thread panics the sender is dropped, which is told apart.
                let _ = sender.send(());
            })?;
        Ok(Spinning { stop, ended })
    }
}

async fn until_the_end(
    shutdown: &Shutdown,
    mut running: Tasks,
    mut spinning: Spinning,
) -> Result<(), NodeError> {
    let failed = |name, reason: &str| {
        Err(NodeError::Task {
            name,
            reason: reason.to_owned(),
        })
    };
    let result = tokio::select! {
        () = shutdown.requested() => Ok(()),
        ended = running.0.join_next() => match ended {
            _ if shutdown.is_requested() => Ok(()),
            Some(Ok(name)) => failed(name, "it ended by itself"),
            Some(Err(error)) => failed("unknown", &error.to_string()),
            None => failed("all", "there is nothing to do"),
        },
        _ = &mut spinning.ended => failed("ros-spin", "it ended by itself"),
    };
    shutdown.request();
    // Tasks first: nobody must publish while the node is taken down.
    running.0.abort_all();
    spinning.stop.store(true, Ordering::Relaxed);
    if !spinning.ended.is_terminated() {
        let _ = tokio::time::timeout(FAREWELL, spinning.ended).await;
    }
    result
}
