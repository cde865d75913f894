"""An arm of three joints in a plane: paths in its plane, and what it says of places off it."""

import math

import numpy as np
import pytest
from arm import TIP_ALONE, assert_code
from geometry_msgs.msg import PoseStamped
from messages import obstacle, obstacles, stamped
from planar import box, clearance
from robot import angle_between, pose_matrix

HOME = [-0.9, 0.8, 0.6]
CRATE = box(0.62, 0.0, 0.12, 0.12)


def heading(angle):
    """Quaternion of a turn about z."""
    return (0.0, 0.0, math.sin(0.5 * angle), math.cos(0.5 * angle))


@pytest.fixture(scope="module")
def arm(module_starter):
    started = module_starter.arm("planar_3r", {"mock_controller": True, "mock_initial_positions": HOME, **TIP_ALONE})
    started.joints()
    started.send_obstacles(obstacles(obstacle("crate", CRATE)))
    return started


# The tip at the start: 0.69 m out, on the other side of the crate.
GOAL = stamped((0.60, 0.25, 0.1), heading(0.5))


def test_path_around_an_obstacle_keeps_position_heading_and_clearance(arm):
    answer = arm.plan_path(GOAL)
    assert_code(answer, "SUCCESS")
    _, positions, _ = arm.check_trajectory(answer.trajectory)
    assert np.allclose(positions[0], HOME, atol=1e-6)
    end = arm.chain.forward(positions[-1])
    target = pose_matrix(GOAL.pose)
    assert np.linalg.norm(end[:3, 3] - target[:3, 3]) < 1e-5
    assert angle_between(end[:3, :3], target[:3, :3]) < 1e-5
    tips = arm.tips(positions)
    assert clearance(tips[:, :2], [CRATE]) >= 0.03 - 1e-4
    assert np.allclose(tips[:, 2], 0.1, atol=1e-6), "the tip left its plane"


def test_arm_goes_there(arm):
    start = len(arm.reports.messages)
    arm.send(PoseStamped, "goal_pose", GOAL)
    arm.state_report("goal_pose", "reached", start)
    assert np.linalg.norm(arm.chain.forward(arm.fresh_joints())[:3, 3] - [0.60, 0.25, 0.1]) < 1e-4


@pytest.mark.parametrize(
    "goal, words",
    [
        (stamped((0.5, 0.2, 0.3), heading(0.5)), ["out of reach", "0.2000 m"]),
        (stamped((0.5, 0.2, 0.1), (math.sin(0.2), 0.0, 0.0, math.cos(0.2))), ["out of reach", "0.4000 rad"]),
        (stamped((1.2, 0.0, 0.1), heading(0.0)), ["out of reach", "too far"]),
    ],
    ids=["above the plane", "tilted", "too far"],
)
def test_what_the_plane_does_not_hold_is_refused_with_how_far_it_is_off(arm, goal, words):
    assert_code(arm.plan_path(goal), "UNREACHABLE", *words)
    assert_code(arm.solve_ik(goal), "UNREACHABLE", *words)


def test_positions_alone_leave_one_joint_over_for_the_posture(arm):
    target = stamped((0.5, 0.2, 0.1))
    found = []
    for wish in (-1.2, 1.2):
        q = [0.2, 0.6, wish]
        answer = arm.solve_ik(target, position_only=True, seed=arm.seed([0.2, 0.6, 0.0]), preferred_posture=arm.seed(q))
        assert_code(answer, "SUCCESS")
        arm.check_solution(answer.solutions[0], target, orientation=None)
        found.append(answer.solutions[0].position[2])
    assert found[0] < found[1] - 0.5, found
