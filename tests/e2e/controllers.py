"""Controllers and clients of the action FollowJointTrajectory, by rclpy's own implementation of actions."""

import rclpy.task
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse

ACTION = "joint_trajectory_controller/follow_joint_trajectory"


class Puppet:
    """A controller that does as the test tells it: accepts or refuses, and ends its goals when told to."""

    def __init__(self, client, name=f"/{ACTION}", accept=True):
        self.client = client
        self.accept = accept
        self.goals = []
        self.ends = []
        self.canceled = 0
        self.server = ActionServer(
            client.node,
            FollowJointTrajectory,
            name,
            execute_callback=self._execute,
            goal_callback=self._goal,
            cancel_callback=self._cancel,
        )

    def close(self):
        for end in self.ends:
            if not end.done():
                end.set_result(("abort", 0, ""))
        self.client.wait_until(lambda: not any(goal.is_active for goal in self.goals), "the puppet's goals to end")
        self.server.destroy()

    def _goal(self, request):
        return GoalResponse.ACCEPT if self.accept else GoalResponse.REJECT

    def _cancel(self, handle):
        self.canceled += 1
        self.ends[self.goals.index(handle)].set_result(("canceled", 0, ""))
        return CancelResponse.ACCEPT

    async def _execute(self, handle):
        self.goals.append(handle)
        end = rclpy.task.Future()
        self.ends.append(end)
        how, code, text = await end
        if how == "canceled" and not handle.is_cancel_requested:
            how = "abort"
        getattr(handle, how)()
        return FollowJointTrajectory.Result(error_code=code, error_string=text)

    def goal(self, number=0):
        """The trajectory of a goal, once it is here."""
        self.client.wait_until(lambda: len(self.goals) > number, "a goal")
        return self.goals[number].request.trajectory

    def end(self, how, code=0, text="", number=0):
        """End a goal: `succeed`, `abort`; with the error code and text of its result."""
        self.client.wait_until(lambda: len(self.ends) > number, "a goal")
        self.ends[number].set_result((how, code, text))

    def feedback(self, names, errors, number=0):
        message = FollowJointTrajectory.Feedback(joint_names=names)
        message.error.positions = errors
        self.goals[number].publish_feedback(message)


class Sender:
    """A client of a controller's action."""

    def __init__(self, client, name=f"/{ACTION}"):
        self.client = client
        self.action = ActionClient(client.node, FollowJointTrajectory, name)
        client.wait_until(self.action.server_is_ready, "the controller's action")
        self.feedback = []

    def close(self):
        self.action.destroy()

    def send(self, trajectory):
        """Send a goal; returns its handle once it is accepted or rejected."""
        goal = FollowJointTrajectory.Goal(trajectory=trajectory)
        future = self.action.send_goal_async(goal, feedback_callback=lambda message: self.feedback.append(message))
        self.client.wait_until(future.done, "an answer to the goal")
        return future.result()

    def result(self, handle):
        """Status and result of a goal, once it has ended."""
        future = handle.get_result_async()
        self.client.wait_until(future.done, "the result of the goal")
        return future.result().status, future.result().result

    def cancel(self, handle):
        future = handle.cancel_goal_async()
        self.client.wait_until(future.done, "an answer to the cancel request")
        return future.result()
