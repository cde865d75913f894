//! The subscriptions and services, as streams.
//!
//! r2r's streams hold ten items and drop the newest when they are full. So the thread that spins
//! ROS itself empties them after each spin, which brings one item a stream at most, into channels
//! without a bound: nothing is lost, however busy the tasks are.

use futures::channel::mpsc::unbounded;
use futures::stream::{BoxStream, Stream, StreamExt};
use futures::FutureExt;
use r2r::qos::QosProfile;
use r2r::{
    arm_planner_msgs, geometry_msgs, sensor_msgs, std_msgs, std_srvs, trajectory_msgs, Node,
    ServiceRequest, WrappedServiceTypeSupport, WrappedTypesupport,
};

use super::outputs::{latched, Refused};
use super::parameters::Parameters;

/// Requests of a service.
pub type Requests<T> = BoxStream<'static, ServiceRequest<T>>;

/// Everything that comes in.
pub struct Inputs {
    /// `joint_states`
    pub joint_states: BoxStream<'static, sensor_msgs::msg::JointState>,
    /// `robot_description`, if the description is to come from there.
    pub robot_description: Option<BoxStream<'static, std_msgs::msg::String>>,
    /// `robot_description_semantic`, unless a file is to be read.
    pub semantic: Option<BoxStream<'static, std_msgs::msg::String>>,
    /// `~/obstacles`
    pub obstacles: BoxStream<'static, arm_planner_msgs::msg::PolygonObstacleArray>,
    /// `~/obstacle_polygon`
    pub obstacle_polygon: BoxStream<'static, geometry_msgs::msg::PolygonStamped>,
    /// `~/goal_pose`
    pub goal_pose: BoxStream<'static, geometry_msgs::msg::PoseStamped>,
    /// `~/goal_poses`
    pub goal_poses: BoxStream<'static, geometry_msgs::msg::PoseArray>,
    /// `~/tracking_pose`
    pub tracking_pose: BoxStream<'static, geometry_msgs::msg::PoseStamped>,
    /// The controller's topic, for the mock controller.
    pub mock_trajectory: Option<BoxStream<'static, trajectory_msgs::msg::JointTrajectory>>,
    /// The mock controller's side of the action.
    #[cfg(has_control_msgs)]
    pub mock_action: Option<super::mock_action::MockInputs>,
    /// How far the controller is with a trajectory that was sent by action.
    #[cfg(has_control_msgs)]
    pub feedback: Option<
        BoxStream<'static, r2r::control_msgs::action::FollowJointTrajectory::FeedbackMessage>,
    >,
    /// `/tf`
    #[cfg(has_tf2_msgs)]
    pub tf: BoxStream<'static, r2r::tf2_msgs::msg::TFMessage>,
    /// `/tf_static`
    #[cfg(has_tf2_msgs)]
    pub tf_static: BoxStream<'static, r2r::tf2_msgs::msg::TFMessage>,
    /// `~/solve_ik`
    pub solve_ik: Requests<arm_planner_msgs::srv::SolveIk::Service>,
    /// `~/plan_path`
    pub plan_path: Requests<arm_planner_msgs::srv::PlanPath::Service>,
    /// `~/clear_obstacles`
    pub clear_obstacles: Requests<std_srvs::srv::Trigger::Service>,
    /// `~/stop`
    pub stop: Requests<std_srvs::srv::Trigger::Service>,
}

/// Empties one stream of r2r into its channel.
type Pump = Box<dyn FnMut() + Send>;

/// Creates subscriptions and services, and empties their streams.
#[derive(Default)]
pub struct Pumps(Vec<Pump>);

impl Pumps {
    /// Empties all streams; to be called after each spin.
    pub fn empty(&mut self) {
        for pump in &mut self.0 {
            pump();
        }
    }

    /// What comes out of `stream`, without loss.
    fn carry<T: Send + 'static>(
        &mut self,
        mut stream: impl Stream<Item = T> + Send + Unpin + 'static,
    ) -> BoxStream<'static, T> {
        let (sender, receiver) = unbounded();
        self.0.push(Box::new(move || {
            while let Some(Some(item)) = stream.next().now_or_never() {
                // Nobody listens any more only while the node ends.
                let _ = sender.unbounded_send(item);
            }
        }));
        receiver.boxed()
    }

    /// Subscribes to a topic.
    fn topic<T: WrappedTypesupport + Send + 'static>(
        &mut self,
        node: &mut Node,
        name: &str,
        qos: QosProfile,
    ) -> Result<BoxStream<'static, T>, Refused> {
        let stream = node
            .subscribe::<T>(name, qos)
            .map_err(|error| (name.to_owned(), error))?;
        Ok(self.carry(stream))
    }

    /// Offers a service.
    ///
    /// # Errors
    /// With the name that ROS refuses.
    pub fn service<T: WrappedServiceTypeSupport + Send + 'static>(
        &mut self,
        node: &mut Node,
        name: &str,
    ) -> Result<Requests<T>, Refused>
    where
        T::Request: Send,
    {
        let qos = QosProfile::default().keep_last(100);
        let stream = node
            .create_service::<T>(name, qos)
            .map_err(|error| (name.to_owned(), error))?;
        Ok(self.carry(stream))
    }
}

impl Inputs {
    /// Creates them all.
    ///
    /// # Errors
    /// With the topic or service that ROS refuses.
    pub fn create(
        node: &mut Node,
        pumps: &mut Pumps,
        parameters: &Parameters,
        description_from_topic: bool,
    ) -> Result<Inputs, Refused> {
        let reliable = || QosProfile::default().keep_last(500);
        // What a real controller and its broadcaster offer, best effort fits both.
        let best_effort = || QosProfile::default().keep_last(10).best_effort();
        Ok(Inputs {
            joint_states: pumps.topic(node, "joint_states", best_effort())?,
            robot_description: if description_from_topic {
                Some(pumps.topic(node, "robot_description", latched().keep_last(1))?)
            } else {
                None
            },
            semantic: if parameters.collision.srdf_file.is_empty() {
                let qos = latched().keep_last(1);
                Some(pumps.topic(node, "robot_description_semantic", qos)?)
            } else {
                None
            },
            obstacles: pumps.topic(node, "~/obstacles", reliable())?,
            obstacle_polygon: pumps.topic(node, "~/obstacle_polygon", reliable())?,
            goal_pose: pumps.topic(node, "~/goal_pose", reliable())?,
            goal_poses: pumps.topic(node, "~/goal_poses", reliable())?,
            tracking_pose: pumps.topic(node, "~/tracking_pose", best_effort())?,
            mock_trajectory: if parameters.mock.enabled {
                Some(pumps.topic(node, &parameters.controller.topic, best_effort())?)
            } else {
                None
            },
            #[cfg(has_control_msgs)]
            mock_action: if parameters.mock.enabled {
                let action = &parameters.controller.action;
                Some(super::mock_action::MockInputs::create(node, pumps, action)?)
            } else {
                None
            },
            #[cfg(has_control_msgs)]
            feedback: if parameters.controller.interface == super::parameters::Interface::Action {
                let topic = format!("{}/_action/feedback", parameters.controller.action);
                Some(pumps.topic(node, &topic, QosProfile::default().keep_last(10))?)
            } else {
                None
            },
            #[cfg(has_tf2_msgs)]
            tf: pumps.topic(node, "/tf", reliable())?,
            #[cfg(has_tf2_msgs)]
            tf_static: pumps.topic(node, "/tf_static", latched().keep_last(100))?,
            solve_ik: pumps.service(node, "~/solve_ik")?,
            plan_path: pumps.service(node, "~/plan_path")?,
            clear_obstacles: pumps.service(node, "~/clear_obstacles")?,
            stop: pumps.service(node, "~/stop")?,
        })
    }
}
