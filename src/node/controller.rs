//! The controller: how trajectories get to it, and what it says about them.
//!
//! By topic it says nothing: what was published counts as accepted. By action
//! (`control_msgs/FollowJointTrajectory`) it accepts or refuses, reports how it goes on, and how
//! it ended.

use r2r::{trajectory_msgs, Node};
use tokio::sync::watch;

use super::codes::{Code, Failure};
#[cfg(has_control_msgs)]
use super::follow_action::FollowAction;
use super::outputs::{Out, Refused};
#[cfg(has_control_msgs)]
use super::parameters::Interface;
use super::parameters::Parameters;

/// How far a trajectory is that was sent; by topic alone less is heard of it.
#[cfg_attr(not(has_control_msgs), allow(dead_code))]
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// Sent, no answer yet.
    Sent,
    /// It is being followed; by topic, as far as can be known.
    Accepted,
    /// It was not taken: what went on before goes on.
    Refused(String),
    /// The controller says that it is at the end.
    Reached,
    /// Ended by somebody, or by something newer.
    Canceled(String),
    /// Given up by the controller, which says why.
    Aborted(String),
}

impl Phase {
    /// Whether nothing more will come.
    pub fn is_last(&self) -> bool {
        !matches!(self, Phase::Sent | Phase::Accepted)
    }
}

/// Follows what becomes of one trajectory.
#[derive(Debug, Clone)]
pub struct Phases(watch::Receiver<Phase>);

impl Phases {
    /// A trajectory that is just being sent, and the end through which its phases are told.
    #[cfg_attr(not(has_control_msgs), allow(dead_code))]
    pub fn begin() -> (watch::Sender<Phase>, Phases) {
        let (sender, receiver) = watch::channel(Phase::Sent);
        (sender, Phases(receiver))
    }

    /// One of whose fate nothing will be heard.
    fn unheard() -> Phases {
        Phases(watch::channel(Phase::Accepted).1)
    }

    /// The phase now.
    pub fn now(&self) -> Phase {
        self.0.borrow().clone()
    }

    /// Waits until the controller has accepted or refused it.
    ///
    /// # Errors
    /// [`Code::ControlFailed`] if it has not accepted it, with the reason.
    pub async fn accepted(&self) -> Result<(), Failure> {
        let mut receiver = self.0.clone();
        let phase = match receiver.wait_for(|phase| *phase != Phase::Sent).await {
            Ok(phase) => phase.clone(),
            // Whoever drove it is gone: the node ends.
            Err(_) => Phase::Canceled("the node ends".to_owned()),
        };
        match phase {
            Phase::Refused(why) => Err(Failure::new(Code::ControlFailed, why)),
            // What has ended already was accepted before; who watches it hears of its end.
            _ => Ok(()),
        }
    }
}

/// A number by which the controller and the node know a trajectory.
pub type GoalId = [u8; 16];

/// A trajectory that was sent.
#[derive(Debug, Clone)]
pub struct Sending {
    /// Its number, by action.
    pub goal: Option<GoalId>,
    /// What becomes of it.
    pub phases: Phases,
}

/// The way to the controller.
pub enum Controller {
    /// Its topic.
    Topic(Out<trajectory_msgs::msg::JointTrajectory>),
    /// Its action.
    #[cfg(has_control_msgs)]
    Action(FollowAction),
}

impl Controller {
    /// Creates what the parameters ask for.
    ///
    /// # Errors
    /// With the topic or action that ROS refuses.
    pub fn create(node: &mut Node, parameters: &Parameters) -> Result<Controller, Refused> {
        match parameters.controller.interface {
            #[cfg(has_control_msgs)]
            Interface::Action => Ok(Controller::Action(FollowAction::create(
                node,
                &parameters.controller.action,
                parameters.controller.timeout,
            )?)),
            _ => {
                let topic = &parameters.controller.topic;
                Out::create(node, topic, r2r::qos::QosProfile::default())
                    .map(Controller::Topic)
                    .map_err(|error| (topic.clone(), error))
            }
        }
    }

    /// Waits until the controller can be talked to; by topic that cannot be known.
    ///
    /// # Errors
    /// [`Code::ControlFailed`] if it does not come within the time that the parameter gives it.
    pub async fn ready(&self) -> Result<(), Failure> {
        match self {
            Controller::Topic(_) => Ok(()),
            #[cfg(has_control_msgs)]
            Controller::Action(action) => action.ready().await,
        }
    }

    /// Sends a trajectory that has passed the gate, without waiting for anything; what was sent
    /// before is replaced. Call it inside a Tokio runtime.
    ///
    /// # Errors
    /// [`Code::Failure`] if it does not go out: the node is ending.
    pub fn send(&self, message: trajectory_msgs::msg::JointTrajectory) -> Result<Sending, Failure> {
        let lost = || Failure::new(Code::Failure, "the trajectory could not be published");
        match self {
            Controller::Topic(topic) => {
                if !topic.publish(&message) {
                    return Err(lost());
                }
                Ok(Sending {
                    goal: None,
                    phases: Phases::unheard(),
                })
            }
            #[cfg(has_control_msgs)]
            Controller::Action(action) => action.send(message).ok_or_else(lost),
        }
    }

    /// Asks the controller to give up whatever it follows, and to hold where it is. By topic there
    /// is no such thing; `false` then.
    pub fn cancel_all(&self) -> bool {
        match self {
            Controller::Topic(_) => false,
            #[cfg(has_control_msgs)]
            Controller::Action(action) => action.cancel(None),
        }
    }

    /// For messages: where the controller is expected.
    pub fn whereabouts(&self, parameters: &Parameters) -> String {
        match self {
            Controller::Topic(_) => format!("the topic \"{}\"", parameters.controller.topic),
            #[cfg(has_control_msgs)]
            Controller::Action(_) => format!("the action \"{}\"", parameters.controller.action),
        }
    }
}
