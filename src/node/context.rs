//! What all tasks of the node share: the current state of everything as immutable snapshots,
//! and the way out to ROS.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use r2r::{builtin_interfaces, geometry_msgs};
use tokio::sync::{Notify, Semaphore};

use super::clocks::Clocks;
use super::codes::{Code, Failure};
use super::collisions::Collisions;
use super::convert;
use super::drawing::Drawing;
use super::frames::Frames;
use super::joint_states::{ChainState, JointStates, StateError};
use super::model_source::Robot;
use super::mover::Mover;
use super::obstacles::{ObstacleSet, Sent};
use super::outputs::Outputs;
use super::parameter_values::Values;
use super::parameters::Parameters;
use super::shutdown::Shutdown;
use super::status::{Counter, Counts, Report};
use super::tf_buffer::TfBuffer;
use crate::kinematics::Pose;
use crate::model::{Chain, Srdf};

/// Locks; a panic of another holder does not matter, since values are replaced as a whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A value that is replaced as a whole and read as an immutable snapshot; the lock is held for
/// the copy of a pointer.
#[derive(Debug, Default)]
pub struct Snapshot<T>(Mutex<Arc<T>>);

impl<T> Snapshot<T> {
    /// Starts with `value`.
    pub fn new(value: T) -> Self {
        Snapshot(Mutex::new(Arc::new(value)))
    }

    /// The value now.
    pub fn get(&self) -> Arc<T> {
        Arc::clone(&lock(&self.0))
    }

    /// Replaces the value.
    pub fn set(&self, value: T) {
        *lock(&self.0) = Arc::new(value);
    }
}

impl<T: Clone> Snapshot<T> {
    /// Changes the value, on a copy where somebody still looks at the old one.
    pub fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        change(Arc::make_mut(&mut lock(&self.0)))
    }
}

/// What is known of the robot.
#[derive(Debug, Clone)]
pub enum RobotState {
    /// Nothing yet, and why.
    Waiting(String),
    /// It is here.
    Ready(Arc<Robot>),
}

/// Shared by all tasks.
pub struct Shared {
    started: Instant,
    /// The node's full name.
    pub name: String,
    /// Whether the clock of ROS is simulated.
    pub sim_time: bool,
    clock: Arc<Mutex<r2r::Clock>>,
    /// Parameters as they are now.
    pub parameters: Snapshot<Parameters>,
    /// Their raw values, for those who ask ROS.
    pub values: Mutex<Values>,
    /// The robot.
    pub robot: Snapshot<RobotState>,
    /// The joint states.
    pub states: Snapshot<JointStates>,
    /// TF.
    pub tf: Snapshot<TfBuffer>,
    /// The obstacles.
    pub obstacles: Snapshot<ObstacleSet>,
    /// Publishers.
    pub outputs: Outputs,
    /// The way to the controller.
    pub mover: Mover,
    /// What is drawn.
    pub drawing: Drawing,
    /// Counts goals.
    pub goals: Counter,
    /// Counts what goes wrong.
    pub counts: Counts,
    /// Whether stamps of the controller's side can be compared with the node's.
    pub clocks: Clocks,
    /// Told whenever the obstacles change.
    pub obstacles_changed: Notify,
    /// The SRDF, empty without one.
    pub srdf: Snapshot<Srdf>,
    collisions: Arc<Collisions>,
    /// Goals that are planned at a time. A road map cannot be given up halfway, so with more of
    /// them a burst of goals would keep the newest one waiting for all the others.
    pub goal_turns: Arc<Semaphore>,
    /// Requests of the service that are planned at a time; goals need not wait for them.
    pub request_turns: Arc<Semaphore>,
    /// The end.
    pub shutdown: Shutdown,
    reports: Counter,
    said: Mutex<HashMap<String, Instant>>,
}

/// A warning that comes again is said at most this often.
const SAY_AGAIN: Duration = Duration::from_secs(5);
/// More different ones than this are not remembered.
const MOST_REMEMBERED: usize = 1000;

impl Shared {
    /// Nothing known yet.
    pub fn new(
        (name, sim_time): (String, bool),
        parameters: Parameters,
        values: Values,
        joint_states_topic: &str,
        clock: Arc<Mutex<r2r::Clock>>,
        outputs: Outputs,
        shutdown: Shutdown,
    ) -> Shared {
        Shared {
            started: Instant::now(),
            name,
            sim_time,
            clock,
            parameters: Snapshot::new(parameters),
            values: Mutex::new(values),
            robot: Snapshot::new(RobotState::Waiting(
                "the robot description is being read".into(),
            )),
            states: Snapshot::new(JointStates::new(joint_states_topic)),
            tf: Snapshot::new(TfBuffer::default()),
            obstacles: Snapshot::new(ObstacleSet::default()),
            outputs,
            mover: Mover::default(),
            drawing: Drawing::default(),
            goals: Counter::default(),
            counts: Counts::default(),
            clocks: Clocks::default(),
            obstacles_changed: Notify::new(),
            srdf: Snapshot::default(),
            collisions: Arc::default(),
            goal_turns: Arc::new(Semaphore::new(2)),
            request_turns: Arc::new(Semaphore::new(2)),
            shutdown,
            reports: Counter::default(),
            said: Mutex::new(HashMap::new()),
        }
    }

    /// Now, on a steady clock.
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Now, on the clock of ROS (simulated if `use_sim_time` is set), for stamps.
    pub fn stamp(&self) -> builtin_interfaces::msg::Time {
        let now = lock(&self.clock).get_now().unwrap_or_default();
        r2r::Clock::to_builtin_time(&now)
    }

    /// Logs and publishes a report.
    pub fn report(&self, report: &Report) {
        let code = report.code.value();
        match report.level {
            super::status::Level::Ok => tracing::info!("{}: {}", report.about, report.message),
            _ => tracing::warn!("{}: {} (code {code})", report.about, report.message),
        }
        let robot = match &*self.robot.get() {
            RobotState::Ready(robot) => robot.model.name.clone(),
            RobotState::Waiting(_) => String::new(),
        };
        self.outputs
            .status
            .publish(&report.message(self.reports.next(), &robot));
    }

    /// Logs a warning, but not again and again.
    pub fn warn_now_and_then(&self, warning: &str) {
        let now = Instant::now();
        let mut said = lock(&self.said);
        if said
            .get(warning)
            .is_some_and(|last| now.duration_since(*last) < SAY_AGAIN)
        {
            return;
        }
        if said.len() >= MOST_REMEMBERED {
            said.clear();
        }
        said.insert(warning.to_owned(), now);
        drop(said);
        tracing::warn!("{warning}");
    }

    /// Everything as it is now.
    ///
    /// # Errors
    /// [`Code::NoModel`] while there is no robot.
    pub fn view(&self) -> Result<View, Failure> {
        let robot = match &*self.robot.get() {
            RobotState::Ready(robot) => Arc::clone(robot),
            RobotState::Waiting(why) => return Err(Failure::new(Code::NoModel, why.clone())),
        };
        Ok(View {
            parameters: self.parameters.get(),
            robot,
            states: self.states.get(),
            tf: cfg!(has_tf2_msgs).then(|| self.tf.get()),
            obstacles: self.obstacles.get(),
            srdf: self.srdf.get(),
            collisions: Arc::clone(&self.collisions),
            now: self.now(),
            stamp: self.stamp(),
        })
    }
}

/// Everything that is known at one moment; immutable.
#[derive(Clone)]
pub struct View {
    /// Parameters.
    pub parameters: Arc<Parameters>,
    /// The robot.
    pub robot: Arc<Robot>,
    /// Joint states.
    pub states: Arc<JointStates>,
    /// TF, where the node was built with it.
    pub tf: Option<Arc<TfBuffer>>,
    /// Obstacles.
    pub obstacles: Arc<ObstacleSet>,
    /// The SRDF, empty without one.
    pub srdf: Arc<Srdf>,
    /// What was prepared for checks of the whole arm.
    pub collisions: Arc<Collisions>,
    /// The moment, on the steady clock.
    pub now: Duration,
    /// The moment, on the clock of ROS.
    pub stamp: builtin_interfaces::msg::Time,
}

impl View {
    /// Where frames are looked up.
    pub fn frames(&self) -> Frames<'_> {
        Frames {
            model: &self.robot.model,
            base: &self.robot.chain.base,
            states: &self.states,
            now: self.now,
            max_age: self.parameters.joint_state_max_age,
            tf: self.tf.as_deref(),
        }
    }

    /// Where the frames of obstacles are looked up: in the planning plane.
    pub fn plane_frames(&self) -> Frames<'_> {
        let frame = self.parameters.planning.plane_frame.as_str();
        let frames = self.frames();
        Frames {
            base: if frame.is_empty() { frames.base } else { frame },
            ..frames
        }
    }

    /// Changes to obstacles as they were sent, with the frame named where it was left empty: that is
    /// the base link, whatever the planning plane is.
    pub fn named(&self, mut sent: Vec<Sent>) -> Vec<Sent> {
        if !self.parameters.planning.plane_frame.is_empty() {
            for one in sent.iter_mut().filter(|one| one.frame.is_empty()) {
                one.frame.clone_from(&self.robot.chain.base);
            }
        }
        sent
    }

    /// The planning plane: the pose of its frame in the base.
    ///
    /// # Errors
    /// [`Code::InvalidParameter`] if the frame is not known, or moves with the robot.
    pub fn plane(&self) -> Result<Pose, Failure> {
        let frame = self.parameters.planning.plane_frame.as_str();
        if frame.is_empty() {
            return Ok(Pose::identity());
        }
        let wrong = |why: String| {
            let message = format!("parameter planning.plane_frame: {why}");
            Failure::new(Code::InvalidParameter, message)
        };
        if self.frames().moves(frame) {
            return Err(wrong(format!(
                "frame \"{frame}\" moves with the robot, a plane must stand still"
            )));
        }
        let found = self.frames().resolve(frame);
        found
            .map(|frame| frame.pose)
            .map_err(|error| wrong(error.to_string()))
    }

    /// The state of a chain.
    ///
    /// # Errors
    /// See [`StateError`].
    pub fn state(&self, chain: &Chain) -> Result<ChainState, StateError> {
        self.states
            .chain_state(chain, self.now, self.parameters.joint_state_max_age)
    }

    /// A pose that was sent, in the base frame. What a user should know is added to `notes`.
    ///
    /// # Errors
    /// Not finite, a zero quaternion, or a frame that is not known.
    pub fn in_base(
        &self,
        frame: &str,
        pose: &geometry_msgs::msg::Pose,
        position_only: bool,
        notes: &mut Vec<String>,
    ) -> Result<Pose, Failure> {
        let pose = if position_only {
            convert::position_from(pose)?
        } else {
            convert::pose_from(pose)?
        };
        let frame = self.frames().resolve(frame)?;
        notes.extend(frame.note);
        let mut pose = frame.pose * pose;
        pose.rotation.renormalize();
        Ok(pose)
    }
}

/// A message with notes behind it.
pub fn with_notes(message: String, notes: &[String]) -> String {
    if notes.is_empty() {
        message
    } else {
        format!("{message} ({})", notes.join("; "))
    }
}
