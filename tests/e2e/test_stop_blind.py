"""~/stop when the arm's state is not known any more, or is one that should not be."""

import numpy as np
import pytest
from arm import assert_code
from messages import joint_state, stamped
from sensor_msgs.msg import JointState

HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
GOAL = stamped((0.42, 0.28, 0.26))


@pytest.fixture
def arm(starter):
    """The six-axis arm without a mock: nobody says where it is unless the test does."""
    return starter.arm("six_axis", {"joint_state_max_age": 0.3})


def keep_saying(arm, positions, velocities, condition, what):
    """Publish the same joint state again and again until the condition holds."""
    publisher = arm.client.publisher(JointState, arm.states_topic)

    def step():
        publisher.publish(joint_state(arm.chain.names, positions, velocities))
        return condition()

    return arm.client.wait_until(step, what)


def test_stop_needs_no_fresh_joint_states(arm):
    """Joint states that stop coming are a reason to stop, not one to go on."""
    still = [0.0] * 6
    keep_saying(arm, HOME, still, lambda: arm.solve_ik(GOAL).code.value == 1, "the state to be known")
    keep_saying(
        arm,
        HOME,
        still,
        lambda: arm.plan_path(GOAL, execute=True, velocity_scaling=0.05).code.value == 1,
        "the arm to be sent off",
    )
    motion = arm.sent.wait_for()
    arm.client.wait_until(lambda: arm.solve_ik(GOAL).code.value != 1, "the state to be stale")
    assert_code(arm.solve_ik(GOAL), "ROBOT_STATE_STALE")
    answer = arm.trigger("stop")
    assert answer.success, answer.message
    assert "where the arm should be" in answer.message
    stop = arm.sent.wait_for(start=1)
    _, positions, velocities = arm.check_trajectory(stop)
    assert np.allclose(velocities[-1], 0.0)
    # It begins on the way that was sent, away from its start, and ends near there.
    path = np.array([point.positions for point in motion.points])
    off = np.min(np.max(np.abs(path - positions[0]), axis=1))
    assert off < 0.02 and np.max(np.abs(positions[0] - HOME)) > 1e-3
    assert np.max(np.abs(positions[-1] - positions[0])) < 0.1


def test_stop_without_a_motion_and_without_states_says_so(arm):
    answer = arm.trigger("stop")
    assert not answer.success and "joint_states" in answer.message


def test_an_arm_beyond_its_limit_can_be_stopped(arm):
    elbow = 2
    beyond = list(HOME)
    beyond[elbow] = np.pi + 0.2
    speeds = [0.0] * 6
    speeds[elbow] = 0.2
    keep_saying(arm, beyond, speeds, lambda: arm.trigger("stop").success, "the stop to be accepted")
    stop = arm.sent.wait_for()
    index = list(stop.joint_names).index(arm.chain.names[elbow])
    first, last = stop.points[0], stop.points[-1]
    assert abs(first.positions[index] - beyond[elbow]) < 1e-6
    assert abs(first.velocities[index] - 0.2) < 1e-6 and last.velocities[index] == 0.0
    assert last.positions[index] - beyond[elbow] < 0.02
