"""~/tracking_pose: the arm follows poses by inverse kinematics alone, in small steps, and never leaps."""

import math

import numpy as np
import pytest
from arm import assert_report, values_of
from geometry_msgs.msg import PoseStamped
from messages import DOWN, obstacle, obstacles, stamped, stamped_matrix
from planar import box
from rclpy.qos import qos_profile_sensor_data

HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]


@pytest.fixture
def arm(starter):
    return connected(starter)


def connected(starter, **parameters):
    """An arm whose node hears this test's poses."""
    parameters = {name.replace("__", "."): value for name, value in parameters.items()}
    started = starter.arm("six_axis", {"mock_controller": True, "mock_initial_positions": HOME, **parameters})
    started.joints()
    # Poses are heard best effort: what is sent before the node has found this publisher is lost. So the pose that the
    # arm has is sent until the node follows it, which moves nothing.
    publisher = started.client.publisher(PoseStamped, started.process.topic("tracking_pose"))

    def heard():
        publisher.publish(stamped_matrix(started.chain.forward(started.joints())))
        return any(values_of(report).get("state") == "tracking" for report in started.reports.messages)

    started.client.wait_until(heard, "the node to hear this publisher")
    assert not started.sent.messages
    return started


def send_pose(arm, message):
    arm.client.publish(PoseStamped, arm.process.topic("tracking_pose"), message)


def tip(arm):
    return arm.chain.forward(arm.joints())


def follow(arm, target, tolerance=1e-3):
    """Send the same pose until the arm is there, as a source of poses would: once every few joint states."""
    due = 0

    def there():
        nonlocal due
        if len(arm.states.messages) >= due:
            due = len(arm.states.messages) + 3
            send_pose(arm, stamped_matrix(target))
        return np.linalg.norm(tip(arm)[:3, 3] - target[:3, 3]) < tolerance

    arm.client.wait_until(there, "the arm to follow")


def test_arm_follows_a_moving_pose(arm):
    begin = tip(arm)
    for step in range(1, 16):
        target = begin.copy()
        target[:3, 3] += np.array([0.004, 0.006, -0.003]) * step
        follow(arm, target, 2e-3)
    follow(arm, target, 1e-4)
    assert np.allclose(tip(arm)[:3, :3], begin[:3, :3], atol=1e-3), "the orientation was lost"
    assert_report(arm.state_report("tracking_pose", "tracking", 0), "SUCCESS", "following")
    for message in arm.sent.messages:
        arm.check_trajectory(message)


def test_each_motion_begins_with_the_velocity_that_the_arm_has(arm):
    """While the arm moves the next pose comes: what is sent does not begin with a jolt."""
    begin = tip(arm)
    target = begin.copy()
    for step in range(40):
        target = begin.copy()
        target[1, 3] += 0.002 * step
        send_pose(arm, stamped_matrix(target))
        seen = len(arm.states.messages)
        arm.states.wait_for(start=seen + 2, what="the next joint states")
    follow(arm, target)
    assert len(arm.sent.messages) >= 3
    moving = [m for m in arm.sent.messages if np.max(np.abs(m.points[0].velocities)) > 0.01]
    assert moving, "every motion began at rest although the arm was moving"


def test_far_jump_is_refused_and_the_arm_stays(arm):
    far = tip(arm)
    far[:3, 3] = [0.42, 0.28, 0.3]
    start = len(arm.reports.messages)
    send_pose(arm, stamped_matrix(far))
    report = arm.state_report("tracking_pose", "refused", start)
    assert_report(report, "JOINT_JUMP", "tracking.max_step", "0.1")
    assert any(name in report.message for name in arm.chain.names), report.message
    assert np.allclose(arm.fresh_joints(), HOME, atol=1e-6)
    assert not arm.sent.messages


def test_pose_inside_an_obstacle_is_not_followed(arm):
    x, y, z = tip(arm)[:3, 3]
    arm.send_obstacles(obstacles(obstacle("wall", box(x + 0.06, y, 0.04, 0.4))))
    ahead = tip(arm)
    ahead[0, 3] += 0.02
    start = len(arm.reports.messages)
    send_pose(arm, stamped_matrix(ahead))
    assert_report(arm.state_report("tracking_pose", "refused", start), "GOAL_IN_COLLISION", "wall")
    assert np.allclose(arm.fresh_joints(), HOME, atol=1e-6)


def test_pose_behind_a_thin_wall_is_not_followed_through_it(starter):
    """Both ends are free and one step apart; the way between them is not."""
    arm = connected(starter, tracking__max_step=0.5, planning__clearance=0.005)
    x, y, _ = tip(arm)[:3, 3]
    arm.send_obstacles(obstacles(obstacle("wall", box(x + 0.02, y, 0.001, 0.4))))
    behind = tip(arm)
    behind[0, 3] += 0.04
    start = len(arm.reports.messages)
    send_pose(arm, stamped_matrix(behind))
    assert_report(arm.state_report("tracking_pose", "refused", start), "GOAL_IN_COLLISION", "wall")
    assert np.allclose(arm.fresh_joints(), HOME, atol=1e-6)
    # Without the wall it is an ordinary step.
    assert arm.trigger("clear_obstacles").success
    follow(arm, behind)


@pytest.mark.parametrize(
    "message, code, words",
    [
        (stamped((math.nan, 0.0, 0.3)), "INVALID_REQUEST", ["not finite"]),
        (stamped((0.4, 0.0, 0.3), (0, 0, 0, 0)), "INVALID_REQUEST", ["quaternion is zero"]),
        (stamped((0.4, 0.0, 0.3), DOWN, "wrold"), "FRAME_TRANSFORM_FAILURE", ["wrold"]),
        (stamped((3.0, 0.0, 0.3)), "UNREACHABLE", ["out of reach"]),
    ],
    ids=["NaN", "zero quaternion", "unknown frame", "out of reach"],
)
def test_pose_that_cannot_be_had_is_refused_and_the_next_one_followed(arm, message, code, words):
    start = len(arm.reports.messages)
    send_pose(arm, message)
    assert_report(arm.state_report("tracking_pose", "refused", start), code, *words)
    target = tip(arm)
    target[2, 3] += 0.01
    follow(arm, target)
    assert_report(arm.state_report("tracking_pose", "tracking", start), "SUCCESS")


def test_same_failure_again_and_again_does_not_flood_the_status(arm):
    start = len(arm.reports.messages)
    seen = len(arm.states.messages)
    for _ in range(30):
        send_pose(arm, stamped((3.0, 0.0, 0.3)))
        seen += 1
        arm.states.wait_for(start=seen, what="a joint state")
    arm.state_report("tracking_pose", "refused", start)
    # 30 poses within about a second.
    assert len(arm.reports.messages) - start < 15


def test_best_effort_sources_are_heard(arm):
    """A joystick or a tracker publishes best effort."""
    name = arm.process.topic("tracking_pose")
    publisher = arm.client.node.create_publisher(PoseStamped, name, qos_profile_sensor_data)
    arm.client.wait_until(lambda: publisher.get_subscription_count() > 0, "the node to match")
    target = tip(arm)
    target[2, 3] += 0.01

    def there():
        publisher.publish(stamped_matrix(target))
        return np.linalg.norm(tip(arm)[:3, 3] - target[:3, 3]) < 1e-3

    arm.client.wait_until(there, "the arm to follow")


def test_tracking_takes_over_from_a_goal_under_way_and_says_so(arm):
    start = len(arm.reports.messages)
    arm.send(PoseStamped, "goal_pose", stamped((0.42, 0.28, 0.26)))
    arm.client.wait_until(lambda: np.max(np.abs(arm.joints() - HOME)) > 0.1, "the arm to move")

    def preempted():
        send_pose(arm, stamped_matrix(tip(arm)))
        return any(values_of(r).get("state") == "preempted" for r in arm.reports.messages[start:])

    arm.client.wait_until(preempted, "the goal to be given up")
    report = arm.state_report("goal_pose", "preempted", start)
    assert_report(report, "PREEMPTED")
