//! The mock controller's side of `control_msgs/FollowJointTrajectory`: what it answers, reports
//! and ends goals with, as the real one does.
//!
//! An action is three services and two topics. They are offered as such: r2r's own server never
//! says that a canceled goal has ended.

use std::collections::HashMap;
use std::time::Duration;

use futures::stream::{select, BoxStream, StreamExt};
use r2r::action_msgs::msg::{GoalInfo, GoalStatus, GoalStatusArray};
use r2r::action_msgs::srv::CancelGoal;
use r2r::builtin_interfaces::msg::Time;
use r2r::control_msgs::action::FollowJointTrajectory as Action;
use r2r::trajectory_msgs::msg::JointTrajectoryPoint;
use r2r::{Node, ServiceRequest};

use super::context::Shared;
use super::controller::GoalId;
use super::convert::{header, nanoseconds_of, text, trajectory_from};
use super::follow_action::{goal_id, status, uuid_message};
use super::inputs::Pumps;
use super::outputs::{latched, Out, Refused};
use super::tasks::respond;
use crate::trajectory::{Commanded, ControllerParameters, Follower};

/// How long the result of a goal that has ended is kept for those who ask late.
const KEPT: Duration = Duration::from_secs(10);
/// Time between two reports about a goal: the controller's `action_monitor_rate` of 20 Hz.
const PERIOD: Duration = Duration::from_millis(50);
/// `CancelGoal` refuses with these.
const UNKNOWN_GOAL: i8 = 2;
const GOAL_ENDED: i8 = 3;

/// Its publishers.
pub struct MockOutputs {
    feedback: Out<Action::FeedbackMessage>,
    status: Out<GoalStatusArray>,
}

impl MockOutputs {
    /// Creates them for the action called `name`.
    ///
    /// # Errors
    /// With the topic that ROS refuses.
    pub fn create(node: &mut Node, name: &str) -> Result<MockOutputs, Refused> {
        let refused = |topic: &str| {
            let topic = topic.to_owned();
            move |error| (topic, error)
        };
        let (feedback, states) = (
            format!("{name}/_action/feedback"),
            format!("{name}/_action/status"),
        );
        Ok(MockOutputs {
            feedback: Out::create(node, &feedback, r2r::qos::QosProfile::default())
                .map_err(refused(&feedback))?,
            status: Out::create(node, &states, latched().keep_last(1)).map_err(refused(&states))?,
        })
    }
}

/// A request to the action.
pub enum Asked {
    /// To follow a trajectory.
    Goal(Box<ServiceRequest<Action::SendGoal::Service>>),
    /// To end goals.
    Cancel(ServiceRequest<CancelGoal::Service>),
    /// What a goal came to.
    Result(ServiceRequest<Action::GetResult::Service>),
}

/// Its services, as one stream of requests.
pub struct MockInputs(BoxStream<'static, Asked>);

impl MockInputs {
    /// Creates them for the action called `name`.
    ///
    /// # Errors
    /// With the service that ROS refuses.
    pub fn create(node: &mut Node, pumps: &mut Pumps, name: &str) -> Result<MockInputs, Refused> {
        let goals = pumps.service(node, &format!("{name}/_action/send_goal"))?;
        let cancels = pumps.service(node, &format!("{name}/_action/cancel_goal"))?;
        let results = pumps.service(node, &format!("{name}/_action/get_result"))?;
        let ends = select(cancels.map(Asked::Cancel), results.map(Asked::Result));
        let goals = goals.map(|goal| Asked::Goal(Box::new(goal)));
        Ok(MockInputs(select(goals, ends).boxed()))
    }

    /// The requests.
    pub fn requests(self) -> BoxStream<'static, Asked> {
        self.0
    }
}

/// A goal that was accepted.
struct Goal {
    accepted: Time,
    status: i8,
    result: Action::Result,
    /// Since when it has ended, on the steady clock.
    ended: Option<Duration>,
    /// Who wants to know its end.
    waiting: Vec<ServiceRequest<Action::GetResult::Service>>,
}

/// The goals of the action.
#[derive(Default)]
pub struct Goals {
    goals: HashMap<GoalId, Goal>,
    /// The one that is being followed.
    active: Option<GoalId>,
    due: Duration,
}

impl Goals {
    /// Answers a request.
    pub fn answer(&mut self, asked: Asked, follower: &mut Follower, shared: &Shared) {
        match asked {
            Asked::Goal(request) => self.goal(*request, follower, shared),
            Asked::Cancel(request) => self.cancel(request, follower, shared),
            Asked::Result(request) => self.result(request),
        }
    }

    fn goal(
        &mut self,
        request: ServiceRequest<Action::SendGoal::Service>,
        follower: &mut Follower,
        shared: &Shared,
    ) {
        let id = goal_id(&request.message.goal_id);
        let stamp = shared.stamp();
        let trajectory = trajectory_from(&request.message.goal.trajectory);
        let rules = ControllerParameters::default();
        let verdict = if self.goals.contains_key(&id) {
            Err("a goal of this number was there before".to_owned())
        } else {
            follower
                .accept(&trajectory, nanoseconds_of(&stamp), &rules)
                .map_err(|rejection| rejection.to_string())
        };
        let accepted = match verdict {
            Ok(()) => {
                self.end(
                    status::CANCELED,
                    -1,
                    "Current goal cancelled due to new incoming action.",
                    shared,
                );
                let goal = Goal {
                    accepted: stamp.clone(),
                    status: status::EXECUTING,
                    result: Action::Result::default(),
                    ended: None,
                    waiting: Vec::new(),
                };
                self.goals.insert(id, goal);
                self.active = Some(id);
                self.due = Duration::ZERO;
                true
            }
            Err(why) => {
                tracing::warn!("mock controller: rejected a goal: {why}");
                false
            }
        };
        tokio::spawn(respond(
            request,
            Action::SendGoal::Response { accepted, stamp },
        ));
        self.publish_status(shared);
    }

    fn cancel(
        &mut self,
        request: ServiceRequest<CancelGoal::Service>,
        follower: &mut Follower,
        shared: &Shared,
    ) {
        let asked = &request.message.goal_info;
        let (id, before) = (goal_id(&asked.goal_id), nanoseconds_of(&asked.stamp));
        let all = id == GoalId::default();
        // By number, by age, or all of them.
        let meant = |goal: &GoalId, accepted: &Time| {
            *goal == id || all && (before == 0 || nanoseconds_of(accepted) <= before)
        };
        let mut response = CancelGoal::Response::default();
        match self.active {
            Some(active)
                if self
                    .goals
                    .get(&active)
                    .is_some_and(|goal| meant(&active, &goal.accepted)) =>
            {
                let stamp = shared.stamp();
                follower.hold(nanoseconds_of(&stamp));
                response.goals_canceling.push(GoalInfo {
                    goal_id: uuid_message(&active),
                    stamp,
                });
                self.end(status::CANCELED, 0, "", shared);
                tracing::info!("mock controller: a goal was canceled");
            }
            _ if all => {}
            _ if self.goals.contains_key(&id) => response.return_code = GOAL_ENDED,
            _ => response.return_code = UNKNOWN_GOAL,
        }
        tokio::spawn(respond(request, response));
        self.publish_status(shared);
    }

    fn result(&mut self, request: ServiceRequest<Action::GetResult::Service>) {
        let response = match self.goals.get_mut(&goal_id(&request.message.goal_id)) {
            Some(goal) if goal.ended.is_none() => {
                goal.waiting.push(request);
                return;
            }
            Some(goal) => Action::GetResult::Response {
                status: goal.status,
                result: goal.result.clone(),
            },
            None => Action::GetResult::Response {
                status: status::UNKNOWN,
                ..Action::GetResult::Response::default()
            },
        };
        tokio::spawn(respond(request, response));
    }

    /// Ends the goal that is being followed, and answers those who wait for that.
    fn end(&mut self, state: i8, error_code: i32, error: &str, shared: &Shared) {
        let active = self.active.take();
        let Some(goal) = active.and_then(|id| self.goals.get_mut(&id)) else {
            return;
        };
        goal.status = state;
        goal.ended = Some(shared.now());
        goal.result = Action::Result {
            error_code,
            error_string: text(error),
        };
        for request in goal.waiting.drain(..) {
            let response = Action::GetResult::Response {
                status: state,
                result: goal.result.clone(),
            };
            tokio::spawn(respond(request, response));
        }
    }

    /// Ends the goal where the follower is at its end, and reports about it from time to time.
    pub fn tick(&mut self, follower: &Follower, shared: &Shared) {
        let now = shared.now();
        self.goals.retain(|_, goal| {
            goal.ended
                .is_none_or(|ended| now.saturating_sub(ended) < KEPT)
        });
        let Some(active) = self.active else { return };
        let stamp = shared.stamp();
        let at = nanoseconds_of(&stamp);
        if now >= self.due {
            self.due = now + PERIOD;
            let feedback = feedback(follower, &follower.at(at), stamp);
            if let Some(out) = &shared.outputs.mock_action {
                out.feedback.publish(&Action::FeedbackMessage {
                    goal_id: uuid_message(&active),
                    feedback,
                });
            }
        }
        if !follower.is_moving(at) {
            self.end(status::SUCCEEDED, 0, "Goal successfully reached!", shared);
            self.publish_status(shared);
        }
    }

    fn publish_status(&self, shared: &Shared) {
        let Some(out) = &shared.outputs.mock_action else {
            return;
        };
        let status_list = self.goals.iter().map(|(id, goal)| GoalStatus {
            goal_info: GoalInfo {
                goal_id: uuid_message(id),
                stamp: goal.accepted.clone(),
            },
            status: goal.status,
        });
        out.status.publish(&GoalStatusArray {
            status_list: status_list.collect(),
        });
    }
}

/// It follows exactly: where it is, is where it should be.
fn feedback(follower: &Follower, commanded: &Commanded, stamp: Time) -> Action::Feedback {
    let point = JointTrajectoryPoint {
        positions: commanded.positions.clone(),
        velocities: commanded.velocities.clone(),
        accelerations: commanded.accelerations.clone(),
        ..JointTrajectoryPoint::default()
    };
    let zeros = vec![0.0; commanded.positions.len()];
    Action::Feedback {
        header: header("", stamp),
        joint_names: follower
            .joints()
            .iter()
            .map(|name| text(name.as_str()))
            .collect(),
        desired: point.clone(),
        actual: JointTrajectoryPoint {
            accelerations: Vec::new(),
            ..point
        },
        error: JointTrajectoryPoint {
            positions: zeros.clone(),
            velocities: zeros,
            ..JointTrajectoryPoint::default()
        },
        ..Action::Feedback::default()
    }
}
