"""Two arms in one ROS graph, each with its node in a namespace: neither hears the other."""

import numpy as np
import pytest
from arm import assert_code, assert_report
from geometry_msgs.msg import PoseStamped
from messages import obstacle, obstacles, stamped
from planar import box

HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
OTHER_HOME = [0.8, -1.4, 1.7, -1.8, -1.5, 0.2]
GOAL = (0.42, 0.28, 0.26)


@pytest.fixture(scope="module")
def pair(module_starter):
    """The same arm twice: the joints have the same names, only the namespaces differ."""
    both = []
    for namespace, home in (("/left", HOME), ("/right", OTHER_HOME)):
        parameters = {"mock_controller": True, "mock_initial_positions": home, "mock_publish_tf": False}
        both.append(module_starter.arm("six_axis", parameters, namespace=namespace))
    for arm in both:
        arm.joints()
    return both


def test_each_knows_its_own_joint_states(pair):
    for arm, home in zip(pair, (HOME, OTHER_HOME)):
        answer = arm.plan_path(stamped(GOAL))
        assert_code(answer, "SUCCESS")
        assert np.allclose(answer.trajectory.points[0].positions, home, atol=1e-6)


def test_each_has_its_own_obstacles(pair):
    left, right = pair
    left.send_obstacles(obstacles(obstacle("crate", box(GOAL[0], GOAL[1], 0.1, 0.1))))
    assert_code(left.plan_path(stamped(GOAL)), "GOAL_IN_COLLISION", "crate")
    assert_code(right.plan_path(stamped(GOAL)), "SUCCESS")
    assert left.trigger("clear_obstacles").success


def test_goal_of_one_does_not_move_the_other(pair):
    left, right = pair
    start = len(left.reports.messages)
    assert_report(left.send(PoseStamped, "goal_pose", stamped(GOAL)), "SUCCESS")
    left.state_report("goal_pose", "reached", start)
    assert np.linalg.norm(left.chain.forward(left.fresh_joints())[:3, 3] - GOAL) < 1e-4
    assert np.allclose(right.fresh_joints(), OTHER_HOME, atol=1e-9)
    assert not right.sent.messages and not right.reports.messages
