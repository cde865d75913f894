//! The subscriptions and services, as streams.
//!
//! r2r's streams hold ten items and drop the newest when they are full: each is drained at once
//! by a task of its own, and the work is done elsewhere.

use futures::stream::{BoxStream, Stream, StreamExt};
use r2r::qos::QosProfile;
use r2r::{
    arm_planner_msgs, geometry_msgs, sensor_msgs, std_msgs, std_srvs, trajectory_msgs, Node,
    ServiceRequest, WrappedServiceTypeSupport, WrappedTypesupport,
};

use super::outputs::latched;
use super::parameters::Parameters;

/// Requests of a service.
pub type Requests<T> = BoxStream<'static, ServiceRequest<T>>;

/// Everything that comes in.
pub struct Inputs {
    /// `joint_states`
    pub joint_states: BoxStream<'static, sensor_msgs::msg::JointState>,
    /// `robot_description`, if the description is to come from there.
    pub robot_description: Option<BoxStream<'static, std_msgs::msg::String>>,
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

type Refused = (String, r2r::Error);

fn boxed<T: 'static>(
    topic: &str,
    stream: r2r::Result<impl Stream<Item = T> + Send + 'static>,
) -> Result<BoxStream<'static, T>, Refused> {
    stream
        .map(StreamExt::boxed)
        .map_err(|error| (topic.to_owned(), error))
}

fn topic<T: WrappedTypesupport + Send + 'static>(
    node: &mut Node,
    name: &str,
    qos: QosProfile,
) -> Result<BoxStream<'static, T>, Refused> {
    boxed(name, node.subscribe::<T>(name, qos))
}

fn service<T: WrappedServiceTypeSupport + Send + 'static>(
    node: &mut Node,
    name: &str,
) -> Result<Requests<T>, Refused>
where
    T::Request: Send,
{
    boxed(name, node.create_service::<T>(name, QosProfile::default()))
}

impl Inputs {
    /// Creates them all.
    ///
    /// # Errors
    /// With the topic or service that ROS refuses.
    pub fn create(
        node: &mut Node,
        parameters: &Parameters,
        description_from_topic: bool,
    ) -> Result<Inputs, Refused> {
        let reliable = || QosProfile::default().keep_last(10);
        // What a real controller and its broadcaster offer, best effort fits both.
        let best_effort = || QosProfile::default().keep_last(10).best_effort();
        Ok(Inputs {
            joint_states: topic(node, "joint_states", best_effort())?,
            robot_description: if description_from_topic {
                Some(topic(node, "robot_description", latched().keep_last(1))?)
            } else {
                None
            },
            obstacles: topic(node, "~/obstacles", reliable().keep_last(100))?,
            obstacle_polygon: topic(node, "~/obstacle_polygon", reliable().keep_last(100))?,
            goal_pose: topic(node, "~/goal_pose", reliable())?,
            goal_poses: topic(node, "~/goal_poses", reliable())?,
            tracking_pose: topic(node, "~/tracking_pose", best_effort())?,
            mock_trajectory: if parameters.mock.enabled {
                Some(topic(node, &parameters.controller_topic, best_effort())?)
            } else {
                None
            },
            #[cfg(has_tf2_msgs)]
            tf: topic(node, "/tf", reliable().keep_last(100))?,
            #[cfg(has_tf2_msgs)]
            tf_static: topic(node, "/tf_static", latched().keep_last(100))?,
            solve_ik: service(node, "~/solve_ik")?,
            plan_path: service(node, "~/plan_path")?,
            clear_obstacles: service(node, "~/clear_obstacles")?,
            stop: service(node, "~/stop")?,
        })
    }
}
