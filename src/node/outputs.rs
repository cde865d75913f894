//! The publishers.

use std::sync::{Mutex, PoisonError};

use r2r::qos::QosProfile;
use r2r::{
    arm_planner_msgs, diagnostic_msgs, nav_msgs, rcl_interfaces, sensor_msgs, visualization_msgs,
    Node, Publisher, WrappedTypesupport,
};

use super::controller::Controller;
#[cfg(has_control_msgs)]
use super::mock_action::MockOutputs;
use super::parameters::Parameters;

/// A topic, service or action that ROS refuses, and what it says.
pub type Refused = (String, r2r::Error);

/// A publisher that all tasks may use.
pub struct Out<T: WrappedTypesupport>(Mutex<Publisher<T>>);

impl<T: WrappedTypesupport + 'static> Out<T> {
    /// Creates it.
    ///
    /// # Errors
    /// What ROS says against the topic.
    pub fn create(node: &mut Node, topic: &str, qos: QosProfile) -> r2r::Result<Self> {
        Ok(Out(Mutex::new(node.create_publisher(topic, qos)?)))
    }

    /// Publishes; whether it went out. It does not once the node is ending.
    pub fn publish(&self, message: &T) -> bool {
        let publisher = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        publisher.publish(message).is_ok()
    }
}

/// Reliable and kept for those who come later. More than one is kept, or reports in quick
/// succession would push each other out before they are delivered.
pub fn latched() -> QosProfile {
    QosProfile::default()
        .keep_last(10)
        .reliable()
        .transient_local()
}

/// Everything that the node publishes.
pub struct Outputs {
    /// `~/status`
    pub status: Out<diagnostic_msgs::msg::DiagnosticStatus>,
    /// `/diagnostics`
    pub diagnostics: Out<diagnostic_msgs::msg::DiagnosticArray>,
    /// `~/progress`
    pub progress: Out<arm_planner_msgs::msg::Progress>,
    /// The way to the controller.
    pub controller: Controller,
    /// `~/tip_path`
    pub tip_path: Out<nav_msgs::msg::Path>,
    /// `~/markers`
    pub markers: Out<visualization_msgs::msg::MarkerArray>,
    /// `/parameter_events`
    pub parameter_events: Out<rcl_interfaces::msg::ParameterEvent>,
    /// The mock controller's joint states.
    pub mock_joint_states: Option<Out<sensor_msgs::msg::JointState>>,
    /// The mock controller's side of the action.
    #[cfg(has_control_msgs)]
    pub mock_action: Option<MockOutputs>,
    /// The mock controller's TF.
    #[cfg(has_tf2_msgs)]
    pub mock_tf: Option<Out<r2r::tf2_msgs::msg::TFMessage>>,
    /// The mock controller's TF that does not change.
    #[cfg(has_tf2_msgs)]
    pub mock_tf_static: Option<Out<r2r::tf2_msgs::msg::TFMessage>>,
}

impl Outputs {
    /// Creates them all.
    ///
    /// # Errors
    /// With the topic that ROS refuses.
    pub fn create(node: &mut Node, parameters: &Parameters) -> Result<Outputs, Refused> {
        fn out<T: WrappedTypesupport + 'static>(
            node: &mut Node,
            topic: &str,
            qos: QosProfile,
        ) -> Result<Out<T>, Refused> {
            Out::create(node, topic, qos).map_err(|error| (topic.to_owned(), error))
        }
        let mock = parameters.mock.enabled;
        #[cfg(has_tf2_msgs)]
        let tf = mock && parameters.mock.publish_tf;
        Ok(Outputs {
            status: out(node, "~/status", latched().keep_last(50))?,
            diagnostics: out(node, "/diagnostics", QosProfile::default())?,
            progress: out(node, "~/progress", QosProfile::default())?,
            controller: Controller::create(node, parameters)?,
            tip_path: out(node, "~/tip_path", latched().keep_last(1))?,
            markers: out(node, "~/markers", latched().keep_last(1))?,
            parameter_events: out(
                node,
                "/parameter_events",
                QosProfile::default().keep_last(1000),
            )?,
            mock_joint_states: if mock {
                Some(out(node, "joint_states", latched())?)
            } else {
                None
            },
            #[cfg(has_control_msgs)]
            mock_action: if mock {
                Some(MockOutputs::create(node, &parameters.controller.action)?)
            } else {
                None
            },
            #[cfg(has_tf2_msgs)]
            mock_tf: if tf {
                Some(out(node, "/tf", QosProfile::default().keep_last(100))?)
            } else {
                None
            },
            #[cfg(has_tf2_msgs)]
            mock_tf_static: if tf {
                Some(out(node, "/tf_static", latched())?)
            } else {
                None
            },
        })
    }
}
