"""SIGINT and SIGTERM end the node with 0, whatever it is doing."""

import signal
import time

import numpy as np
import pytest
from arm import assert_code
from arm_planner_msgs.msg import ErrorCode
from arm_planner_msgs.srv import PlanPath, SolveIk
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PoseArray, PoseStamped
from harness import URDF_FOLDER
from messages import obstacle, poses, stamped
from planar import box

HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
GOAL = stamped((0.42, 0.28, 0.26))
# It is to take a second at most; a busy machine is granted more.
SOON = 10.0
SIGNALS = [signal.SIGINT, signal.SIGTERM]


def pins():
    """More obstacles than the naive road map is done with in any short time."""
    return [obstacle(f"pin {i}", box(0.6 + 0.02 * (i % 30), -1.5 + 0.02 * (i // 30), 0.01, 0.01)) for i in range(900)]


@pytest.fixture
def arm(starter):
    started = starter.arm("six_axis", {"mock_controller": True, "mock_initial_positions": HOME})
    started.joints()
    return started


@pytest.mark.parametrize("with_signal", SIGNALS)
def test_node_at_rest_ends(arm, with_signal):
    arm.process.stop(with_signal, SOON)
    assert with_signal.name in arm.process.log()


@pytest.mark.parametrize("with_signal", SIGNALS)
def test_node_without_a_robot_ends(starter, with_signal):
    starter.node().stop(with_signal, SOON)


@pytest.mark.parametrize("with_signal", SIGNALS)
def test_node_ends_while_the_arm_moves(arm, with_signal):
    arm.send(PoseStamped, "goal_pose", GOAL)
    arm.client.wait_until(lambda: np.max(np.abs(arm.joints() - HOME)) > 0.05, "the arm to move")
    arm.process.stop(with_signal, SOON)


@pytest.mark.parametrize("with_signal", SIGNALS)
def test_node_ends_in_the_middle_of_planning(arm, with_signal):
    """A request that would take far longer than the end may: many bodies, the naive road map."""
    request = PlanPath.Request(goal=GOAL, roadmap="visibility_naive", clearance=0.002, extra_obstacles=pins())
    future = arm.client.call_async(PlanPath, arm.process.topic("plan_path"), request)
    # Another question is answered meanwhile: by then the first one has been taken in.
    arm.solve_ik(GOAL)
    assert not future.done(), "planning took no time, the test shows nothing"
    began = time.monotonic()
    arm.process.stop(with_signal, SOON)
    assert time.monotonic() - began < SOON


def test_node_ends_in_the_middle_of_a_search(arm):
    """An hour's time for joint values that do not exist."""
    request = SolveIk.Request(target=stamped((0.0, 0.02, 0.3), (0, 0, 0, 1)), timeout=Duration(sec=3600))
    request.max_solutions = 1000
    arm.client.call_async(SolveIk, arm.process.topic("solve_ik"), request)
    arm.send(PoseArray, "goal_poses", poses([]))
    arm.process.stop(signal.SIGINT, SOON)


def test_second_signal_does_no_harm(arm):
    arm.process.process.send_signal(signal.SIGINT)
    arm.process.process.send_signal(signal.SIGTERM)
    assert arm.process.wait_for_exit(SOON) == 0


def test_long_planning_holds_up_neither_services_nor_obstacles(arm):
    """While one client waits for a large problem, others are answered."""
    request = PlanPath.Request(goal=GOAL, roadmap="visibility_naive", clearance=0.002, extra_obstacles=pins())
    future = arm.client.call_async(PlanPath, arm.process.topic("plan_path"), request)
    assert arm.solve_ik(GOAL).code.value == ErrorCode.SUCCESS
    assert arm.trigger("clear_obstacles").success
    assert arm.plan_path(GOAL).code.value == ErrorCode.SUCCESS
    assert not future.done(), "planning took no time, the test shows nothing"


def test_planning_ends_when_its_time_is_up(starter):
    parameters = {"mock_controller": True, "mock_initial_positions": HOME, "planning.timeout": 0.2}
    arm = starter.arm("six_axis", parameters)
    arm.joints()
    answer = arm.plan_path(GOAL, roadmap="visibility_naive", clearance=0.002, extra_obstacles=pins())
    assert_code(answer, "TIMED_OUT", "planning.timeout")
    assert not answer.trajectory.points
    assert_code(arm.plan_path(GOAL), "SUCCESS")


def test_node_that_was_ended_can_be_started_again(starter):
    parameters = {"urdf_file": str(URDF_FOLDER / "six_axis.urdf"), "mock_controller": True}
    starter.node(parameters).stop()
    starter.node(parameters)
