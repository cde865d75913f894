"""The mock controller: accepts, rejects and follows as joint_trajectory_controller does."""

import math

import numpy as np
import pytest
from messages import trajectory
from rclpy.qos import QoSProfile, ReliabilityPolicy
from trajectory_msgs.msg import JointTrajectory

HOME = np.array([-0.6, -1.9, 2.0, -1.67, -1.57, 0.0])
ZERO = [0.0] * 6


HANDSHAKE = "handshake"


@pytest.fixture
def arm(starter):
    """An arm for one test."""
    return connected(starter)


@pytest.fixture(scope="module")
def standing(module_starter):
    """An arm that no test moves."""
    return connected(module_starter, namespace="/standing")


def connected(starter, **options):
    parameters = {"mock_controller": True, "mock_initial_positions": HOME.tolist(), "mock_publish_tf": False}
    started = starter.arm("six_axis", parameters, **options)
    started.joints()
    # The mock listens best effort, as the real controller does: what is sent before it has found this publisher is
    # lost. So something is sent that it must reject, until it does.
    publisher = started.client.publisher(JointTrajectory, started.controller_topic, readers=2)

    def heard():
        publisher.publish(trajectory([HANDSHAKE] * 6, [(0.1, HOME, ZERO)]))
        return HANDSHAKE in started.process.log()

    started.client.wait_until(heard, "the mock to hear this publisher")
    return started


def send(arm, message):
    arm.client.publish(JointTrajectory, arm.controller_topic, message)


def rejections(arm):
    """Lines of the log about trajectories of the test itself."""
    return [line for line in arm.process.log().splitlines() if "rejected" in line and HANDSHAKE not in line]


def rejected(arm, message, word):
    """Send a trajectory that must be rejected: the log says why and the arm stays."""
    before = len(rejections(arm))
    send(arm, message)
    arm.client.wait_until(lambda: rejections(arm)[before:], "the rejection")
    (line,) = rejections(arm)[before:]
    assert word in line, line
    assert np.allclose(arm.fresh_joints(), HOME, atol=1e-12)


def followed(arm, message, target):
    """Send a trajectory that must be accepted and wait until the arm is there."""
    send(arm, message)
    arm.wait_until_at(np.asarray(target))
    assert not rejections(arm)


def test_stands_where_it_was_told_and_has_no_effort_sensors(standing):
    message = standing.states.wait_for(start=len(standing.states.messages))
    assert np.allclose(standing.chain.values(message.name, message.position), HOME, atol=1e-12)
    assert np.allclose(message.velocity, 0.0)
    assert len(message.effort) == len(message.name) and all(math.isnan(value) for value in message.effort)
    assert message.header.stamp.sec > 0


def test_follows_in_time_through_the_points(arm):
    """Two points: it passes the first, moves with bounded speed, and rests at the last."""
    middle, end = HOME + 0.2, HOME + np.array([0.1, 0.3, 0.0, 0.2, 0.4, -0.2])
    start = len(arm.states.messages)
    speed = list((end - HOME) / 0.8)
    followed(arm, trajectory(arm.chain.names, [(0.4, middle, speed), (0.8, end, ZERO)]), end)
    seen = np.array([arm.chain.values(s.name, s.position) for s in arm.states.messages[start:]])
    # Joint states come at 100 Hz or so: some are near the middle point.
    assert np.min(np.max(np.abs(seen - middle), axis=1)) < 0.05
    assert np.max(np.abs(np.diff(seen, axis=0))) < 0.25, "the arm leapt"
    moving = [np.max(np.abs(s.velocity)) for s in arm.states.messages[start:]]
    assert max(moving) > 0.1, "joint states of a moving arm say that it rests"


def test_joints_in_another_order_are_followed(arm):
    end = HOME + np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.3])
    followed(arm, trajectory(arm.chain.names[::-1], [(0.3, end[::-1], ZERO)]), end)


def test_first_point_at_time_zero_is_followed(arm):
    end = HOME + 0.1
    followed(arm, trajectory(arm.chain.names, [(0.0, HOME, ZERO), (0.3, end, ZERO)]), end)


def test_positions_alone_are_followed(arm):
    end = HOME + 0.1
    followed(arm, trajectory(arm.chain.names, [(0.3, end, [])]), end)


def test_new_trajectory_replaces_the_old(arm):
    far = HOME + 1.0
    send(arm, trajectory(arm.chain.names, [(30.0, far, ZERO)]))
    arm.client.wait_until(lambda: np.max(np.abs(arm.joints() - HOME)) > 1e-3, "the arm to move")
    followed(arm, trajectory(arm.chain.names, [(0.3, HOME - 0.1, ZERO)]), HOME - 0.1)


def test_best_effort_publishers_are_heard(arm):
    qos = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
    publisher = arm.client.node.create_publisher(JointTrajectory, arm.controller_topic, qos)
    end = HOME + 0.1

    def there():
        publisher.publish(trajectory(arm.chain.names, [(0.1, end, ZERO)]))
        return np.max(np.abs(arm.joints() - end)) < 1e-3

    arm.client.wait_until(there, "the arm to follow")


def test_rejected_trajectory_does_not_end_the_one_under_way(arm):
    end = HOME + 0.3
    send(arm, trajectory(arm.chain.names, [(1.0, end, ZERO)]))
    arm.client.wait_until(lambda: np.max(np.abs(arm.joints() - HOME)) > 1e-3, "the arm to move")
    send(arm, trajectory(["nobody"] * 6, [(0.1, HOME, ZERO)]))
    arm.wait_until_at(end)
    assert len(rejections(arm)) == 1


def bad_trajectories():
    names = [f"joint_{i}" for i in range(6)]
    return {
        "wrong name": (lambda n: trajectory([*n[:5], names[5]], [(0.5, HOME, ZERO)]), "joint_5"),
        "partial": (lambda n: trajectory(n[:5], [(0.5, HOME[:5], ZERO[:5])]), "5"),
        "no names": (lambda n: trajectory([], [(0.5, [], [])]), "joints"),
        "no points": (lambda n: trajectory(n, []), "empty"),
        "end velocity": (lambda n: trajectory(n, [(0.5, HOME + 0.1, [0.0, 0.2, 0.0, 0.0, 0.0, 0.0])]), "velocity"),
        "times equal": (lambda n: trajectory(n, [(0.5, HOME, ZERO), (0.5, HOME + 0.1, ZERO)]), "later"),
        "times falling": (lambda n: trajectory(n, [(0.5, HOME, ZERO), (0.4, HOME + 0.1, ZERO)]), "later"),
        "too few positions": (lambda n: trajectory(n, [(0.5, HOME[:4], [])]), "4"),
        "too many velocities": (lambda n: trajectory(n, [(0.5, HOME, [0.0] * 7)]), "7"),
        "no positions": (lambda n: trajectory(n, [(0.5, [], ZERO)]), "positions"),
        "ended long ago": (lambda n: trajectory(n, [(0.5, HOME + 0.1, ZERO)], stamp_seconds=1000), "past"),
    }


@pytest.mark.parametrize("name", bad_trajectories())
def test_what_the_real_one_rejects_is_rejected(standing, name):
    make, word = bad_trajectories()[name]
    rejected(standing, make(standing.chain.names), word)


def test_effort_is_rejected_without_an_effort_interface(standing):
    message = trajectory(standing.chain.names, [(0.5, HOME + 0.1, ZERO)])
    message.points[0].effort = [1.0] * 6
    rejected(standing, message, "effort")


def test_initial_position_outside_the_limits_is_moved_onto_them_and_said(starter):
    parameters = {"mock_controller": True, "mock_initial_positions": [0.0, 0.0, 4.0, 0.0, 0.0, 0.0]}
    arm = starter.arm("six_axis", parameters)
    assert abs(arm.joints()[2] - math.pi) < 1e-9
    assert "elbow_joint" in arm.process.log()


def test_joints_that_cannot_be_at_zero_start_in_the_middle(starter):
    """The fourth joint of the seven-axis arm reaches from -3.07 to -0.07."""
    arm = starter.arm("seven_axis", {"mock_controller": True})
    assert not arm.chain.outside(arm.joints())
    assert abs(arm.joints()[3] - 0.5 * (arm.chain.lower[3] + arm.chain.upper[3])) < 1e-9


def test_no_mock_publishes_nothing(starter):
    """Beside a real arm the node must not speak for it."""
    arm = starter.arm("six_axis", {})
    node = arm.client.node
    assert node.count_publishers(arm.states_topic) == 0
    assert node.count_publishers("/tf") == 0
