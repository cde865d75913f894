"""What happens while the arm moves, and arms whose sensors are never still."""

import itertools

import numpy as np
import pytest
from arm import assert_report, values_of
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from messages import joint_state, obstacle, obstacles, stamped
from planar import box, clearance
from sensor_msgs.msg import JointState

HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
START, GOAL = (0.40, -0.30, 0.26), (0.40, 0.30, 0.26)


@pytest.fixture
def arm(starter):
    # What there is for the tip alone; test_on_the_move.py has the rest.
    parameters = {
        "mock_controller": True,
        "mock_initial_positions": HOME,
        "trajectory.velocity_scaling": 0.3,
        "planning.whole_arm": False,
        "collision.check_motion": False,
        "execution.replan": False,
    }
    started = starter.arm("six_axis", parameters)
    started.joints()
    begin = len(started.reports.messages)
    started.send(PoseStamped, "goal_pose", stamped(START))
    started.state_report("goal_pose", "reached", begin)
    return started


def test_an_obstacle_in_the_way_of_a_moving_arm_stops_it(arm):
    begin = len(arm.reports.messages)
    arm.send(PoseStamped, "goal_pose", stamped(GOAL))
    arm.client.wait_until(lambda: arm.chain.forward(arm.joints())[1, 3] > -0.28, "the arm to move")
    shape = box(0.40, 0.10, 0.10, 0.04)
    arm.send_obstacles(obstacles(obstacle("late", shape)))
    report = arm.state_report("goal_pose", "failed", begin)
    assert_report(report, "INVALID_MOTION_PLAN", "late", "way")
    seen = arm.states.wait_for(
        lambda state: np.max(np.abs(arm.chain.values(state.name, state.velocity))) < 1e-6,
        "the arm at rest",
        len(arm.states.messages),
    )
    tip = arm.chain.forward(arm.chain.values(seen.name, seen.position))[:2, 3]
    assert clearance(np.array([tip]), [shape]) > 0.0 and tip[1] < 0.06


def test_an_obstacle_elsewhere_does_not(arm):
    begin = len(arm.reports.messages)
    arm.send(PoseStamped, "goal_pose", stamped(GOAL))
    arm.send_obstacles(obstacles(obstacle("far", box(-0.6, 0.0, 0.1, 0.1)), obstacle("low", box(0.4, 0.0, 0.1, 0.1), heights=(-1.0, 0.1))))
    arm.state_report("goal_pose", "reached", begin)


def test_a_link_that_meets_an_obstacle_is_a_warning(arm):
    begin = len(arm.reports.messages)
    arm.send_obstacles(obstacles(obstacle("post", box(0.2, -0.15, 0.03, 0.03))))
    arm.client.publish(PoseStamped, arm.process.topic("goal_pose"), stamped((0.40, -0.2, 0.26)))
    report = arm.report("goal_pose", begin, lambda report: values_of(report).get("state") == "executing")
    assert ("post" in report.message) == (report.level == DiagnosticStatus.WARN), report.message
    assert report.level == DiagnosticStatus.WARN, report.message


def test_an_arm_with_noisy_velocities_can_move(starter):
    """Reported: noise in the velocities was taken for motion, and no goal was ever planned."""
    arm = starter.arm("six_axis", {})
    publisher = arm.client.publisher(JointState, arm.states_topic)
    signs = itertools.cycle([0.03, -0.03])

    def noisy(condition, what):
        def step():
            publisher.publish(joint_state(arm.chain.names, HOME, [next(signs)] * 6))
            return condition()

        arm.client.wait_until(step, what)

    noisy(lambda: arm.solve_ik(stamped(GOAL)).code.value == 1, "the state to be known")
    arm.client.publish(PoseStamped, arm.process.topic("goal_pose"), stamped(GOAL))
    noisy(lambda: arm.sent.messages and len(arm.sent.messages[-1].points) > 30, "a trajectory to the goal")
