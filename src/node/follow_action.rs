//! The controller's action, as seen from its client.
//!
//! An action is three services and two topics. They are used as such: r2r's own client never
//! forgets a goal, and drops feedback when ten messages wait.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use r2r::action_msgs::srv::CancelGoal;
use r2r::control_msgs::action::FollowJointTrajectory as Action;
use r2r::qos::QosProfile;
use r2r::{trajectory_msgs, unique_identifier_msgs, uuid, Client, Node, WrappedServiceTypeSupport};
use tokio::sync::watch;

use super::codes::{Code, Failure};
use super::controller::{GoalId, Phase, Phases, Sending};
use super::outputs::Refused;

/// `action_msgs/GoalStatus`
pub mod status {
    use r2r::action_msgs::msg::GoalStatus;
    /// Being followed.
    pub const EXECUTING: i8 = GoalStatus::STATUS_EXECUTING as i8;
    /// At its end.
    pub const SUCCEEDED: i8 = GoalStatus::STATUS_SUCCEEDED as i8;
    /// Ended by a client.
    pub const CANCELED: i8 = GoalStatus::STATUS_CANCELED as i8;
    /// Not known.
    pub const UNKNOWN: i8 = GoalStatus::STATUS_UNKNOWN as i8;
}

/// The action's client.
pub struct FollowAction {
    name: String,
    timeout: Duration,
    goals: Service<Action::SendGoal::Service>,
    cancels: Service<CancelGoal::Service>,
    results: Service<Action::GetResult::Service>,
}

/// A client that all tasks may use.
struct Service<T: WrappedServiceTypeSupport>(Arc<Client<T>>);

impl<T: WrappedServiceTypeSupport> Clone for Service<T> {
    fn clone(&self) -> Self {
        Service(Arc::clone(&self.0))
    }
}

impl<T: WrappedServiceTypeSupport + 'static> Service<T> {
    fn create(node: &mut Node, name: String) -> Result<Self, Refused> {
        let qos = QosProfile::default().keep_last(100);
        match node.create_client::<T>(&name, qos) {
            Ok(client) => Ok(Service(Arc::new(client))),
            Err(error) => Err((name, error)),
        }
    }

    /// Sends a request; the answer comes later, `None` if the node ends before.
    fn request(
        &self,
        request: &T::Request,
    ) -> Option<impl Future<Output = Option<T::Response>> + Send>
    where
        T::Response: Send,
    {
        let answer = self.0.request(request).ok()?;
        Some(async move { answer.await.ok() })
    }
}

/// A goal's number as a message.
pub fn uuid_message(goal: &GoalId) -> unique_identifier_msgs::msg::UUID {
    unique_identifier_msgs::msg::UUID {
        uuid: goal.to_vec(),
    }
}

/// A goal's number from a message; zeros if it has not 16 bytes.
pub fn goal_id(message: &unique_identifier_msgs::msg::UUID) -> GoalId {
    GoalId::try_from(message.uuid.as_slice()).unwrap_or_default()
}

/// What the codes of the action's result mean.
fn in_words(result: &Action::Result) -> String {
    let known = match i64::from(result.error_code) {
        0 => "no error is named",
        -1 => "the goal was invalid",
        -2 => "the joints are not the controller's",
        -3 => "the trajectory's time stamp was in the past",
        -4 => "a joint left the path by more than the controller's tolerance",
        -5 => "a joint was not at the goal in time, by the controller's tolerances",
        _ => "an error that is not part of the action's definition",
    };
    let code = result.error_code;
    match result.error_string.trim() {
        "" => format!("{known} (error code {code})"),
        text => format!("{known} (error code {code}: {text})"),
    }
}

/// What the end of a goal means.
fn ended(goal_status: i8, result: &Action::Result) -> Phase {
    match goal_status {
        status::SUCCEEDED if result.error_code == 0 => Phase::Reached,
        status::CANCELED => Phase::Canceled(match result.error_string.trim() {
            "" => "the controller canceled the motion".to_owned(),
            text => format!("the controller canceled the motion: {text}"),
        }),
        status::UNKNOWN => {
            Phase::Aborted("the controller no longer knows the motion: was it restarted?".into())
        }
        _ => Phase::Aborted(format!("the controller gave up: {}", in_words(result))),
    }
}

impl FollowAction {
    /// Creates the client.
    ///
    /// # Errors
    /// With the name that ROS refuses.
    pub fn create(node: &mut Node, name: &str, timeout: Duration) -> Result<FollowAction, Refused> {
        Ok(FollowAction {
            name: name.to_owned(),
            timeout,
            goals: Service::create(node, format!("{name}/_action/send_goal"))?,
            cancels: Service::create(node, format!("{name}/_action/cancel_goal"))?,
            results: Service::create(node, format!("{name}/_action/get_result"))?,
        })
    }

    fn silent(&self, what: &str) -> String {
        format!(
            "{what} on the action \"{}\" within {:?} (parameter controller_timeout): is the controller running and active, and is this its name?",
            self.name, self.timeout
        )
    }

    /// Waits until there is a controller.
    ///
    /// # Errors
    /// [`Code::ControlFailed`] if none comes in time.
    pub async fn ready(&self) -> Result<(), Failure> {
        let missing = || Failure::new(Code::ControlFailed, self.silent("no controller was found"));
        let there = async {
            let goals = Node::is_available(&*self.goals.0);
            let results = Node::is_available(&*self.results.0);
            match (goals, results) {
                (Ok(goals), Ok(results)) => goals.await.is_ok() && results.await.is_ok(),
                _ => false,
            }
        };
        match tokio::time::timeout(self.timeout, there).await {
            Ok(true) => Ok(()),
            _ => Err(missing()),
        }
    }

    /// Sends a goal and follows it in the background; `None` if it could not be sent.
    pub fn send(&self, trajectory: trajectory_msgs::msg::JointTrajectory) -> Option<Sending> {
        let goal: GoalId = *uuid::Uuid::new_v4().as_bytes();
        let request = Action::SendGoal::Request {
            goal_id: uuid_message(&goal),
            goal: Action::Goal {
                trajectory,
                ..Action::Goal::default()
            },
        };
        let answer = self.goals.request(&request)?;
        let (sender, phases) = Phases::begin();
        let late = Phase::Refused(self.silent("the trajectory was sent, but there was no answer"));
        let (timeout, cancels, results) =
            (self.timeout, self.cancels.clone(), self.results.clone());
        tokio::spawn(async move {
            follow(goal, answer, late, timeout, &cancels, &results, &sender).await;
        });
        Some(Sending {
            goal: Some(goal),
            phases,
        })
    }

    /// Asks to cancel one goal, or all; whether the request went out.
    pub fn cancel(&self, goal: Option<GoalId>) -> bool {
        match cancel(&self.cancels, goal) {
            Some(answer) => {
                tokio::spawn(answer);
                true
            }
            None => false,
        }
    }
}

fn cancel(
    cancels: &Service<CancelGoal::Service>,
    goal: Option<GoalId>,
) -> Option<impl Future<Output = Option<CancelGoal::Response>> + Send> {
    let mut request = CancelGoal::Request::default();
    // All zero, with a stamp of zero, means all goals.
    request.goal_info.goal_id = uuid_message(&goal.unwrap_or_default());
    cancels.request(&request)
}

/// Tells what becomes of a goal, to its end.
async fn follow(
    goal: GoalId,
    answer: impl Future<Output = Option<Action::SendGoal::Response>> + Send,
    late: Phase,
    timeout: Duration,
    cancels: &Service<CancelGoal::Service>,
    results: &Service<Action::GetResult::Service>,
    phase: &watch::Sender<Phase>,
) {
    let mut answer = std::pin::pin!(answer);
    match tokio::time::timeout(timeout, &mut answer).await {
        Ok(Some(answer)) if answer.accepted => {}
        Ok(Some(_)) => {
            let why = "the controller refused the trajectory, and the action has no way to say why: its log does";
            phase.send_replace(Phase::Refused(why.to_owned()));
            return;
        }
        Ok(None) => return,
        Err(_) => {
            phase.send_replace(late);
            // Should it be taken after all, nobody here reckons with it any more.
            let taken = answer.await.is_some_and(|answer| answer.accepted);
            if taken {
                tracing::warn!("the controller took a trajectory that was given up: canceling it");
                if let Some(answer) = cancel(cancels, Some(goal)) {
                    answer.await;
                }
            }
            return;
        }
    }
    phase.send_replace(Phase::Accepted);
    let request = Action::GetResult::Request {
        goal_id: uuid_message(&goal),
    };
    let Some(result) = results.request(&request) else {
        return;
    };
    if let Some(response) = result.await {
        phase.send_replace(ended(response.status, &response.result));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(error_code: i32, error_string: &str) -> Action::Result {
        Action::Result {
            error_code,
            error_string: error_string.to_owned(),
        }
    }

    #[test]
    fn every_end_has_its_meaning() {
        assert_eq!(ended(status::SUCCEEDED, &result(0, "")), Phase::Reached);
        for (code, word) in [
            (-1, "invalid"),
            (-2, "joints"),
            (-3, "past"),
            (-4, "left the path"),
            (-5, "at the goal"),
            (7, "not part"),
        ] {
            let Phase::Aborted(text) = ended(6, &result(code, "wrist_2 off by 0.1")) else {
                panic!("{code}");
            };
            assert!(text.contains(word) && text.contains("wrist_2"), "{text}");
            assert!(text.contains(&code.to_string()), "{text}");
        }
        let canceled = ended(status::CANCELED, &result(-1, "newer goal"));
        assert!(matches!(canceled, Phase::Canceled(text) if text.contains("newer goal")));
        // "Succeeded" with an error is none.
        let odd = ended(status::SUCCEEDED, &result(-5, ""));
        assert!(matches!(odd, Phase::Aborted(_)));
        assert!(matches!(
            ended(status::UNKNOWN, &result(0, "")),
            Phase::Aborted(_)
        ));
    }

    #[test]
    fn numbers_of_goals_survive_the_way_out_and_back() {
        let goal: GoalId = *uuid::Uuid::new_v4().as_bytes();
        assert_eq!(goal_id(&uuid_message(&goal)), goal);
        assert_eq!(
            goal_id(&unique_identifier_msgs::msg::UUID::default()),
            [0; 16]
        );
    }
}
