"""~/stop in mid-motion: the arm comes to rest inside its limits, and stays there."""

import numpy as np
import pytest
from arm import assert_report, values_of
from geometry_msgs.msg import PoseArray, PoseStamped
from messages import poses, stamped, stamped_matrix

HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
GOAL = stamped((0.42, 0.28, 0.26))
# The parameter trajectory.default_max_acceleration [rad/s^2].
ACCELERATION = 3.0


@pytest.fixture
def arm(starter):
    started = starter.arm("six_axis", {"mock_controller": True, "mock_initial_positions": HOME})
    started.joints()
    return started


def speeds(arm, state):
    return arm.chain.values(state.name, state.velocity)


def moving(arm, least=0.2):
    """Wait until some joint is faster than that [rad/s]."""
    arm.client.wait_until(lambda: np.max(np.abs(speeds(arm, arm.states.messages[-1]))) > least, "the arm to move")


def at_rest(arm):
    """Wait for a joint state at rest; returns the joint values."""
    state = arm.states.wait_for(
        lambda state: np.max(np.abs(speeds(arm, state))) < 1e-6, "the arm at rest", len(arm.states.messages)
    )
    return arm.chain.values(state.name, state.position)


def test_stop_brings_the_arm_to_rest_and_says_so(arm):
    start = len(arm.reports.messages)
    arm.send(PoseStamped, "goal_pose", GOAL)
    goal = np.array(arm.sent.wait_for().points[-1].positions)
    moving(arm)
    answer = arm.trigger("stop")
    assert answer.success and "rest" in answer.message
    assert_report(arm.report("stop", start), "SUCCESS", "rest")
    preempted = arm.state_report("goal_pose", "preempted", start)
    assert_report(preempted, "PREEMPTED", "stopped")
    q = at_rest(arm)
    assert np.max(np.abs(q - goal)) > 0.05, "the arm was not stopped, it arrived"
    assert not arm.chain.outside(q)
    # It stays: the old goal does not come back.
    later = arm.states.wait_for(start=len(arm.states.messages) + 30, what="later joint states")
    assert np.allclose(arm.chain.values(later.name, later.position), q, atol=1e-6)


def test_stop_is_as_gentle_as_the_limits_ask(arm):
    arm.send(PoseStamped, "goal_pose", GOAL)
    moving(arm, 0.5)
    assert arm.trigger("stop").success
    at_rest(arm)
    stop = arm.sent.messages[-1]
    times, positions, velocities = arm.check_trajectory(stop)
    assert np.max(np.abs(velocities[0])) > 0.1, "the stop does not begin with the velocity that the arm has"
    steps = np.abs(np.diff(velocities, axis=0)) / np.diff(times)[:, None]
    assert np.max(steps) <= ACCELERATION * 1.01
    # And as short as they allow: a joint at 3 rad/s needs a second, none of these was as fast.
    assert times[-1] < 1.5


def test_stop_gives_up_a_goal_that_is_still_being_planned(arm):
    start = len(arm.reports.messages)
    many = [(0.40 + 0.002 * (i % 50), 0.28 - 0.56 * (i % 2), 0.26) for i in range(300)]
    arm.client.publish(PoseArray, arm.process.topic("goal_poses"), poses(many))
    assert arm.trigger("stop").success
    report = arm.report("goal_poses", start, lambda r: values_of(r).get("state") in ("failed", "preempted"))
    assert_report(report, "PREEMPTED")
    at_rest(arm)


def test_stop_ends_a_stream_of_poses_until_it_pauses(arm):
    """A source that goes on sending after the stop must not set the arm in motion again."""
    publisher = arm.client.publisher(PoseStamped, arm.process.topic("tracking_pose"))
    begin = arm.chain.forward(arm.joints())
    due, step = 0, 0

    def send_next():
        """One pose further up for every few joint states."""
        nonlocal due, step
        if len(arm.states.messages) >= due:
            due, step = len(arm.states.messages) + 5, step + 1
            pose = begin.copy()
            pose[2, 3] += min(0.002 * step, 0.1)
            publisher.publish(stamped_matrix(pose))

    def raised(height):
        send_next()
        return arm.chain.forward(arm.joints())[2, 3] - begin[2, 3] > height

    arm.client.wait_until(lambda: raised(0.01), "the arm to follow")
    start = len(arm.reports.messages)
    assert arm.trigger("stop").success
    q = at_rest(arm)
    end = len(arm.states.messages) + 60

    def kept_sending():
        send_next()
        return len(arm.states.messages) > end

    arm.client.wait_until(kept_sending, "joint states while poses go on")
    assert np.allclose(arm.joints(), q, atol=1e-6), "the arm moved on after the stop"
    report = arm.state_report("tracking_pose", "refused", start)
    assert_report(report, "PREEMPTED", "stopped")
    # No poses for longer than a second: then they are followed again.
    now = arm.client.node.get_clock().now
    paused = now().nanoseconds
    arm.client.wait_until(lambda: now().nanoseconds - paused > 1_300_000_000, "a pause")
    step = round((arm.chain.forward(q)[2, 3] - begin[2, 3]) / 0.002)
    higher = arm.chain.forward(q)[2, 3] - begin[2, 3] + 0.01
    arm.client.wait_until(lambda: raised(higher), "the arm to follow again")


def test_stop_at_rest_is_no_fault(arm):
    assert arm.trigger("stop").success
    assert np.allclose(at_rest(arm), HOME, atol=1e-6)


def test_goal_after_a_stop_is_gone_to(arm):
    arm.send(PoseStamped, "goal_pose", GOAL)
    moving(arm)
    assert arm.trigger("stop").success
    start = len(arm.reports.messages)
    arm.send(PoseStamped, "goal_pose", GOAL)
    arm.state_report("goal_pose", "reached", start)
    tip = arm.chain.forward(arm.fresh_joints())[:3, 3]
    assert np.linalg.norm(tip - [0.42, 0.28, 0.26]) < 1e-4


def test_stop_without_joint_states_says_why_nothing_was_sent(starter):
    arm = starter.arm("six_axis", {})
    answer = arm.trigger("stop")
    assert not answer.success
    assert "no joint states" in answer.message and "no stop was sent" in answer.message
