"""Inverse kinematics and paths on real robots' descriptions (PyPI: example-robot-data)."""

from pathlib import Path

import numpy as np
import pytest
from arm import TIP_ALONE, assert_code
from builtin_interfaces.msg import Duration
from messages import obstacle, stamped_matrix
from planar import box, clearance
from robot import angle_between, pose_matrix

# File, base, tip, and joint values from which there is room to move.
ROBOTS = {
    "ur5": (
        Path("ur_description/urdf/ur5_robot.urdf"),
        ("base_link", "tool0"),
        [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0],
    ),
    "panda": (
        Path("panda_description/urdf/panda.urdf"),
        ("panda_link0", "panda_hand_tcp"),
        [-0.6, 0.2, 0.0, -2.3, 0.0, 2.5, 0.3],
    ),
    "tiago": (
        Path("tiago_description/robots/tiago.urdf"),
        ("base_footprint", "arm_tool_link"),
        [0.2, 1.0, 0.2, -1.2, 1.6, 0.6, 0.4, 0.5],
    ),
}


@pytest.fixture(scope="module", params=ROBOTS)
def arm(request, module_starter, robots):
    file, (base, tip), home = ROBOTS[request.param]
    parameters = {
        "base_link": base,
        "tip_link": tip,
        "mock_controller": True,
        "mock_initial_positions": home,
        "mock_publish_tf": False,
        **TIP_ALONE,
    }
    started = module_starter.arm(robots / file, parameters, namespace=f"/{request.param}")
    assert len(started.chain.names) == len(home)
    started.joints()
    return started


def test_the_mock_arm_stands_where_it_was_told(arm, request):
    home = ROBOTS[request.node.callspec.params["arm"]][2]
    assert np.allclose(arm.fresh_joints(), home, atol=1e-9)


def test_reachable_poses_are_reached(arm):
    generator = np.random.default_rng(11)
    for _ in range(15):
        target = arm.chain.forward(arm.chain.random(generator))
        answer = arm.solve_ik(target, timeout=Duration(sec=5))
        assert_code(answer, "SUCCESS")
        arm.check_solution(answer.solutions[0], target)


def test_several_solutions_are_within_limits_and_exact(arm):
    target = arm.chain.forward(arm.chain.random(np.random.default_rng(12), margin=0.2))
    answer = arm.solve_ik(target, max_solutions=4, timeout=Duration(sec=5))
    assert_code(answer, "SUCCESS")
    assert len(answer.solutions) >= 2
    for solution in answer.solutions:
        arm.check_solution(solution, target)


def test_path_leads_around_an_obstacle(arm):
    """From where the arm is, sideways by 25 cm, with a post half-way."""
    start = arm.fresh_joints()
    pose = arm.chain.forward(start)
    goal = pose.copy()
    # Across the line from the base to the tip.
    outward = pose[:2, 3] / np.linalg.norm(pose[:2, 3])
    goal[:2, 3] += 0.25 * np.array([-outward[1], outward[0]])
    post = box(*(0.5 * (pose[:2, 3] + goal[:2, 3])), 0.06, 0.06)
    answer = arm.plan_path(stamped_matrix(goal), extra_obstacles=[obstacle("post", post)])
    assert_code(answer, "SUCCESS")
    _, positions, _ = arm.check_trajectory(answer.trajectory)
    assert np.allclose(positions[0], start, atol=1e-6)
    end = arm.chain.forward(positions[-1])
    assert np.linalg.norm(end[:3, 3] - goal[:3, 3]) < 1e-5
    assert angle_between(end[:3, :3], goal[:3, :3]) < 1e-5
    path = np.array([pose_matrix(stamped.pose)[:2, 3] for stamped in answer.tip_path.poses])
    tips = arm.tips(positions)[:, :2]
    assert clearance(path, [post]) >= 0.03 - 1e-4
    assert clearance(tips, [post]) >= 0.03 - 1e-4


def test_arm_moves_where_it_was_sent(arm):
    pose = arm.chain.forward(arm.fresh_joints())
    goal = pose.copy()
    goal[2, 3] += 0.05
    answer = arm.plan_path(stamped_matrix(goal), execute=True)
    assert_code(answer, "SUCCESS")
    arm.wait_until_at(np.array(answer.trajectory.points[-1].positions))
    assert np.linalg.norm(arm.chain.forward(arm.fresh_joints())[:3, 3] - goal[:3, 3]) < 1e-4


def test_out_of_reach_is_said(arm):
    far = np.eye(4)
    far[0, 3] = 4.0
    assert_code(arm.solve_ik(far), "UNREACHABLE", "out of reach")
