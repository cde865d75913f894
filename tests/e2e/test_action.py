"""The controller by action: what the node makes of what a controller answers, and what its mock answers."""

import contextlib

import numpy as np
import pytest
from action_msgs.msg import GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from arm import DEEP_LATCHED, assert_code, assert_report, values_of
from arm_planner_msgs.msg import Progress
from control_msgs.action import FollowJointTrajectory
from controllers import Puppet, Sender
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from messages import joint_state, stamped, trajectory
from sensor_msgs.msg import JointState

HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
GOAL = (0.42, 0.28, 0.26)
ZERO = [0.0] * 6
BY_ACTION = {"controller_interface": "action"}


@pytest.fixture
def arm(starter):
    """An arm whose mock controller is driven by action."""
    parameters = {"mock_controller": True, "mock_initial_positions": HOME, **BY_ACTION}
    started = starter.arm("six_axis", parameters)
    started.joints()
    return started


class Standing:
    """An arm that stands still whatever is sent, with a puppet for its controller."""

    def __init__(self, starter, parameters=None, **options):
        self.arm = starter.arm("six_axis", {**BY_ACTION, **(parameters or {})})
        self.client = self.arm.client
        self.puppet = Puppet(self.client, **options)
        self.states = self.client.publisher(JointState, self.arm.states_topic)
        self.at = list(HOME)
        self.timer = self.client.node.create_timer(0.02, self._publish)

    def _publish(self):
        self.states.publish(joint_state(self.arm.chain.names, self.at, ZERO))

    def close(self):
        self.client.node.destroy_timer(self.timer)
        self.puppet.close()

    def plan(self, **fields):
        return self.arm.plan_path(stamped(GOAL), execute=True, **fields)


@contextlib.contextmanager
def standing(starter, *arguments, **options):
    with contextlib.closing(Standing(starter, *arguments, **options)) as one:
        one.client.wait_until(lambda: one.arm.solve_ik(stamped(GOAL)).code.value == 1, "the node to know the state")
        yield one


@pytest.fixture
def sender(arm):
    with contextlib.closing(Sender(arm.client)) as one:
        yield one


# --- the node and a controller of another make ---


def test_plan_path_answers_when_the_controller_has_accepted_and_the_end_is_reported(starter):
    with standing(starter) as one:
        begin = len(one.arm.reports.messages)
        answer = one.plan()
        assert_code(answer, "SUCCESS", "executing")
        sent = one.puppet.goal()
        assert sent == answer.trajectory, "another trajectory than that of the answer was sent"
        one.arm.check_trajectory(sent)
        one.at = list(sent.points[-1].positions)
        one.puppet.end("succeed")
        assert_report(one.arm.state_report("plan_path", "reached", begin), "SUCCESS")


def test_a_refusal_is_an_error_and_is_counted(starter):
    with standing(starter, accept=False) as one:
        assert_code(one.plan(), "CONTROL_FAILED", "refused", "log")
        diagnostics = Diagnostics(one.client)
        diagnostics.wait_for("refused by the controller", 1)


def test_a_controller_that_is_not_there_is_named(starter):
    arm = starter.arm("six_axis", {**BY_ACTION, "controller_timeout": 0.3})
    publisher = arm.client.publisher(JointState, arm.states_topic)
    arm.client.node.create_timer(0.02, lambda: publisher.publish(joint_state(arm.chain.names, HOME, ZERO)))
    # The node may hear them later than this client does.
    arm.client.wait_until(lambda: arm.plan_path(stamped(GOAL)).code.value == 1, "the node to hear joint states")
    answer = arm.plan_path(stamped(GOAL), execute=True)
    assert_code(answer, "CONTROL_FAILED", "joint_trajectory_controller/follow_joint_trajectory", "controller_timeout")


@pytest.mark.parametrize(
    "code, word",
    [
        (FollowJointTrajectory.Result.PATH_TOLERANCE_VIOLATED, "left the path"),
        (FollowJointTrajectory.Result.GOAL_TOLERANCE_VIOLATED, "not at the goal"),
        (FollowJointTrajectory.Result.INVALID_JOINTS, "joints"),
        (FollowJointTrajectory.Result.OLD_HEADER_TIMESTAMP, "past"),
    ],
)
def test_error_codes_become_words(starter, code, word):
    with standing(starter) as one:
        begin = len(one.arm.reports.messages)
        one.plan()
        one.puppet.end("abort", code, "elbow_joint")
        report = one.arm.state_report("plan_path", "failed", begin)
        assert_report(report, "CONTROL_FAILED", word, "elbow_joint", str(code))


def test_a_goal_that_is_reached_by_the_controllers_word_alone_is_not_believed(starter):
    """It says "done" at once, but the joint states say that nothing has moved."""
    with standing(starter) as one:
        begin = len(one.arm.reports.messages)
        one.plan()
        one.puppet.end("succeed")
        assert_report(one.arm.state_report("plan_path", "failed", begin), "CONTROL_FAILED", "not followed")


def test_what_the_controller_says_about_errors_is_published(starter):
    with standing(starter) as one:
        progress = one.client.listen(Progress, one.arm.process.topic("progress"))
        one.plan(velocity_scaling=0.1)
        one.puppet.goal()
        names = one.arm.chain.names

        def told():
            one.puppet.feedback(names, [0.0, -0.25, 0.125, float("nan"), 0.0, 0.0])
            return any(m.worst_joint == names[1] and m.worst_error == 0.25 for m in progress.messages)

        one.client.wait_until(told, "the error in the progress")


def test_a_stop_that_the_controller_refuses_is_said_and_the_goal_is_canceled(starter):
    with standing(starter) as one:
        one.plan(velocity_scaling=0.1)
        one.puppet.goal()
        one.puppet.accept = False
        answer = one.arm.trigger("stop")
        assert not answer.success and "refused" in answer.message and "hold" in answer.message
        one.client.wait_until(lambda: one.puppet.canceled, "the goal to be canceled")


def test_a_refused_motion_leaves_the_one_before_it_in_charge(starter):
    """The controller goes on with what it has, and so does the node's watch over it."""
    with standing(starter) as one:
        begin = len(one.arm.reports.messages)
        first = one.plan()
        assert_code(first, "SUCCESS")
        one.puppet.goal()
        one.puppet.accept = False
        refused = one.arm.plan_path(stamped((0.40, 0.20, 0.30)), execute=True)
        assert_code(refused, "CONTROL_FAILED", "refused")
        one.at = list(first.trajectory.points[-1].positions)
        one.puppet.end("succeed")
        one.arm.state_report("plan_path", "reached", begin)


# --- the node and its mock controller ---


def test_goal_pose_moves_the_arm_by_action(arm):
    begin = len(arm.reports.messages)
    progress = arm.client.listen(Progress, arm.process.topic("progress"))
    arm.client.publish(PoseStamped, arm.process.topic("goal_pose"), stamped(GOAL))
    assert_report(arm.state_report("goal_pose", "executing", begin), "SUCCESS")
    assert_report(arm.state_report("goal_pose", "reached", begin), "SUCCESS")
    assert np.linalg.norm(arm.chain.forward(arm.joints())[:3, 3] - GOAL) < 1e-4
    assert not arm.sent.messages, "something was sent by topic too"
    fractions = [message.fraction for message in progress.messages]
    assert len(fractions) >= 3 and fractions == sorted(fractions)
    assert 0.0 <= fractions[0] < 0.3 and 0.7 < fractions[-1] <= 1.0
    whole = [m.elapsed.sec + 1e-9 * m.elapsed.nanosec + m.left.sec + 1e-9 * m.left.nanosec for m in progress.messages]
    assert np.ptp(whole) < 1e-6
    assert all((m.about, m.worst_error < 0.05) == ("goal_pose", True) for m in progress.messages)


def test_a_newer_goal_preempts(arm):
    begin = len(arm.reports.messages)
    arm.client.publish(PoseStamped, arm.process.topic("goal_pose"), stamped(GOAL))
    arm.client.wait_until(lambda: np.max(np.abs(arm.joints() - HOME)) > 0.02, "the arm to move")
    arm.client.publish(PoseStamped, arm.process.topic("goal_pose"), stamped((0.40, -0.20, 0.30)))
    assert_report(arm.state_report("goal_pose", "preempted", begin), "PREEMPTED")
    arm.state_report("goal_pose", "reached", begin)
    assert np.linalg.norm(arm.chain.forward(arm.joints())[:3, 3] - (0.40, -0.20, 0.30)) < 1e-4


def test_stop_brings_to_rest_by_action(arm):
    begin = len(arm.reports.messages)
    arm.client.publish(PoseStamped, arm.process.topic("goal_pose"), stamped(GOAL))
    arm.client.wait_until(lambda: np.max(np.abs(arm.joints() - HOME)) > 0.02, "the arm to move")
    assert arm.trigger("stop").success
    assert_report(arm.state_report("goal_pose", "preempted", begin), "PREEMPTED", "stopped")
    arm.states.wait_for(lambda s: np.max(np.abs(s.velocity)) < 1e-9, "the arm at rest", len(arm.states.messages))


def test_somebody_else_who_cancels_is_named(arm):
    """A person who cancels the goal at the controller: the arm holds, and the goal is reported as preempted."""
    begin = len(arm.reports.messages)
    arm.client.publish(PoseStamped, arm.process.topic("goal_pose"), stamped(GOAL))
    arm.client.wait_until(lambda: np.max(np.abs(arm.joints() - HOME)) > 0.02, "the arm to move")
    name = "/joint_trajectory_controller/follow_joint_trajectory/_action/cancel_goal"
    answer = arm.client.call(CancelGoal, name, CancelGoal.Request())
    assert answer.return_code == CancelGoal.Response.ERROR_NONE and len(answer.goals_canceling) == 1
    assert_report(arm.state_report("goal_pose", "preempted", begin), "PREEMPTED", "canceled")


# --- the mock controller and a client of another make ---


def test_the_mock_accepts_reports_and_succeeds(arm, sender):
    end = np.array(HOME) + 0.2
    handle = sender.send(trajectory(arm.chain.names, [(0.6, end, ZERO)]))
    assert handle.accepted and handle.stamp.sec > 0
    status, result = sender.result(handle)
    assert (status, result.error_code) == (GoalStatus.STATUS_SUCCEEDED, FollowJointTrajectory.Result.SUCCESSFUL)
    assert np.allclose(arm.fresh_joints(), end, atol=1e-9)
    assert len(sender.feedback) >= 3
    for message in sender.feedback:
        feedback = message.feedback
        assert list(feedback.joint_names) == arm.chain.names
        assert np.allclose(np.array(feedback.desired.positions) - feedback.actual.positions, feedback.error.positions)
    moved = [message.feedback.actual.positions[0] for message in sender.feedback]
    assert moved == sorted(moved) and HOME[0] - 1e-9 <= moved[0] and moved[-1] <= end[0] + 1e-9
    # Asked again, it still knows.
    assert sender.result(handle)[0] == GoalStatus.STATUS_SUCCEEDED


@pytest.mark.parametrize("fault", ["partial", "empty", "end velocity", "times", "name", "past"])
def test_the_mock_rejects_what_the_real_one_rejects(arm, sender, fault):
    names, end = arm.chain.names, np.array(HOME) + 0.1
    message = {
        "partial": lambda: trajectory(names[:5], [(0.5, end[:5], ZERO[:5])]),
        "empty": lambda: trajectory(names, []),
        "end velocity": lambda: trajectory(names, [(0.5, end, [0.1] * 6)]),
        "times": lambda: trajectory(names, [(0.5, HOME, ZERO), (0.5, end, ZERO)]),
        "name": lambda: trajectory([*names[:5], "other"], [(0.5, end, ZERO)]),
        "past": lambda: trajectory(names, [(0.5, end, ZERO)], stamp_seconds=1000),
    }[fault]()
    assert not sender.send(message).accepted
    assert np.allclose(arm.fresh_joints(), HOME, atol=1e-12)


def test_the_mock_cancels_and_holds(arm, sender):
    handle = sender.send(trajectory(arm.chain.names, [(5.0, np.array(HOME) + 1.0, ZERO)]))
    arm.client.wait_until(lambda: arm.joints()[0] > HOME[0] + 0.02, "the arm to move")
    answer = sender.cancel(handle)
    assert answer.return_code == CancelGoal.Response.ERROR_NONE and len(answer.goals_canceling) == 1
    assert sender.result(handle)[0] == GoalStatus.STATUS_CANCELED
    first, later = arm.fresh_joints(), None
    for _ in range(5):
        later = arm.fresh_joints()
    assert np.array_equal(first, later), "it does not hold"
    assert sender.cancel(handle).return_code == CancelGoal.Response.ERROR_GOAL_TERMINATED


def test_in_the_mock_a_newer_goal_ends_the_older(arm, sender):
    old = sender.send(trajectory(arm.chain.names, [(5.0, np.array(HOME) + 1.0, ZERO)]))
    arm.client.wait_until(lambda: arm.joints()[0] > HOME[0] + 0.02, "the arm to move")
    end = np.array(HOME) - 0.1
    new = sender.send(trajectory(arm.chain.names, [(0.5, end, ZERO)]))
    status, result = sender.result(old)
    assert status == GoalStatus.STATUS_CANCELED and "new" in result.error_string
    assert sender.result(new)[0] == GoalStatus.STATUS_SUCCEEDED
    assert np.allclose(arm.fresh_joints(), end, atol=1e-9)


def test_an_unknown_goal_is_unknown(arm):
    name = "/joint_trajectory_controller/follow_joint_trajectory/_action/cancel_goal"
    request = CancelGoal.Request()
    request.goal_info.goal_id.uuid = [7] * 16
    assert arm.client.call(CancelGoal, name, request).return_code == CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID


def test_states_of_the_goals_are_there_for_those_who_come_late(arm, sender):
    handle = sender.send(trajectory(arm.chain.names, [(0.1, np.array(HOME) + 0.02, ZERO)]))
    sender.result(handle)
    states = arm.client.listen(
        GoalStatusArray, "/joint_trajectory_controller/follow_joint_trajectory/_action/status", DEEP_LATCHED
    )
    states.wait_for(
        lambda array: [s.status for s in array.status_list] == [GoalStatus.STATUS_SUCCEEDED], "the goal's last state"
    )


class Diagnostics:
    """Counters on /diagnostics."""

    def __init__(self, client):
        self.record = client.listen(DiagnosticArray, "/diagnostics")

    def wait_for(self, counter, least, start=0):
        def holds(array):
            values = values_of(array.status[0])
            return int(values[counter]) >= least

        return self.record.wait_for(holds, f"{counter} of at least {least}", start).status[0]
