"""Plans for the whole arm, in the planning plane and over it; and what limits the tip."""

from pathlib import Path

import numpy as np
import pytest
from arm import assert_code, assert_report
from harness import URDF_FOLDER
from messages import obstacle, obstacles, stamped, stamped_matrix
from motion import polynomials
from planar import box, distance
from std_msgs.msg import String

HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
LINKS = ["base_link", "shoulder_link", "upper_arm_link", "forearm_link", "wrist_1_link", "wrist_2_link", "wrist_3_link"]


@pytest.fixture
def six(starter):
    started = starter.arm("six_axis", {"mock_controller": True, "mock_initial_positions": HOME})
    started.joints()
    return started


def skeleton(arm, q):
    """Points along the lines from joint to joint: inside the arm, whatever its links look like."""
    frames = [arm.chain.forward(q)[:3, 3]]
    for link in LINKS[::-1]:
        chain = arm.chain_to("base_link", link)
        frames.append(chain.forward(q[: len(chain.names)])[:3, 3])
    return np.vstack([a + np.linspace(0.0, 1.0, 12)[:, None] * (b - a) for a, b in zip(frames, frames[1:])])


def check_free(arm, trajectory, polygon, low, high):
    """No point of the arm's skeleton is inside a prism at any time."""
    _, positions, _, _ = polynomials(trajectory)
    for q in positions[::10]:
        for x, y, z in skeleton(arm, q):
            assert not (low < z < high and distance((x, y), polygon) < 0.0), "a link goes through the obstacle"


def forearm_post(arm, goal):
    """A post in the middle of what the forearm sweeps on its way to the goal, out of the tip's way."""
    begin = arm.chain.forward(arm.joints())[:2, 3]
    return box(*(0.6 * (0.5 * begin + 0.5 * np.asarray(goal[:2]))), 0.04, 0.04)


GOAL = (0.40, 0.30, 0.26)


def test_a_way_that_only_the_tip_could_go_is_refused_with_the_link(six):
    post = forearm_post(six, GOAL)
    answer = six.plan_path(stamped(GOAL), extra_obstacles=[obstacle("post", post)])
    if answer.code.value == 1:
        check_free(six, answer.trajectory, post, -np.inf, np.inf)
        return
    assert "post" in answer.message and "link" in answer.message, answer.message
    assert 0.0 <= answer.fraction < 1.0 and not answer.trajectory.points


def test_the_part_that_is_possible_is_returned_when_asked_for(six):
    post = forearm_post(six, GOAL)
    answer = six.plan_path(stamped(GOAL), extra_obstacles=[obstacle("post", post)], partial=True)
    assert answer.code.value != 1 and 0.0 < answer.fraction < 1.0, answer.message
    _, positions, _ = six.check_trajectory(answer.trajectory)
    assert np.allclose(positions[0], HOME, atol=1e-6) and len(positions) > 5
    check_free(six, answer.trajectory, post, -np.inf, np.inf)


def test_leaving_the_route_finds_a_free_motion(six):
    """A low table edge under the forearm: over it there is a way, along the route there is none."""
    post = forearm_post(six, GOAL)
    low = obstacle("post", post, heights=(0.0, 0.45))
    refused = six.plan_path(stamped(GOAL), extra_obstacles=[low])
    answer = six.plan_path(stamped(GOAL), extra_obstacles=[low], leave_route=True)
    assert_code(answer, "SUCCESS")
    assert refused.code.value != 1 or refused.trajectory.points
    check_free(six, answer.trajectory, post, 0.0, 0.45)
    end = six.chain.forward(answer.trajectory.points[-1].positions)
    assert np.linalg.norm(end[:3, 3] - GOAL) < 1e-5


def test_over_a_wall_that_cannot_be_gone_around(starter):
    wall = obstacle("wall", box(0.0, 0.0, 4.0, 0.03), heights=(0.0, 0.30))
    around = {"mock_controller": True, "mock_initial_positions": HOME, "planning.whole_arm": False}
    arm = starter.arm("six_axis", around, name="around")
    arm.joints()
    assert arm.plan_path(stamped(GOAL), extra_obstacles=[wall]).code.value != 1
    over = {**around, "planning.over": True, "planning.safe_height": 0.38}
    arm = starter.arm("six_axis", over, name="over", namespace="/over")
    arm.joints()
    answer = arm.plan_path(stamped(GOAL), extra_obstacles=[wall])
    assert_code(answer, "SUCCESS")
    _, positions, _, _ = polynomials(answer.trajectory)
    tips = arm.tips(positions)
    crossing = tips[np.abs(tips[:, 1]) < 0.02]
    assert len(crossing) and np.min(crossing[:, 2]) > 0.30 + 0.03 - 1e-3
    begin = arm.chain.forward(HOME)[2, 3]
    assert np.max(tips[:, 2]) <= max(begin, 0.38) + 2e-3


def test_the_tip_keeps_its_limits(starter):
    limits = {"trajectory.max_tip_speed": 0.12, "trajectory.max_tip_acceleration": 0.5}
    arm = starter.arm("six_axis", {"mock_controller": True, "mock_initial_positions": HOME, **limits})
    arm.joints()
    answer = arm.plan_path(stamped(GOAL))
    assert_code(answer, "SUCCESS")
    times, positions, _, _ = polynomials(answer.trajectory)
    step = np.diff(times)
    keep = np.concatenate([[True], step > 1e-6])
    times, tips = times[keep], arm.tips(positions[keep])
    speed = np.linalg.norm(np.diff(tips, axis=0), axis=1) / np.diff(times)
    assert np.max(speed) < 0.12 * 1.01 and np.max(speed) > 0.1


def test_a_plane_that_moves_with_the_arm_is_refused(starter):
    parameters = {"mock_controller": True, "mock_initial_positions": HOME, "planning.plane_frame": "wrist_3_link"}
    arm = starter.arm("six_axis", parameters)
    arm.joints()
    assert_code(arm.plan_path(stamped(GOAL)), "INVALID_PARAMETER", "planning.plane_frame", "wrist_3_link")


def test_obstacles_stand_upright_on_the_planning_plane(starter, robots):
    """The real UR5's "base" is its base link turned by half a turn about z: the way is the same in both planes."""
    ways = []
    for frame in ("", "base"):
        parameters = {
            "base_link": "base_link",
            "tip_link": "tool0",
            "mock_controller": True,
            "mock_initial_positions": HOME,
            "planning.plane_frame": frame,
            "planning.clearance": 0.06,
        }
        file = robots / "ur_description/urdf/ur5_robot.urdf"
        arm = starter.arm(file, parameters, namespace=f"/plane_{frame or 'none'}")
        begin = arm.chain.forward(arm.joints())
        goal = begin.copy()
        outward = begin[:2, 3] / np.linalg.norm(begin[:2, 3])
        goal[:2, 3] += 0.3 * np.array([-outward[1], outward[0]])
        post = box(*(0.5 * (begin[:2, 3] + goal[:2, 3])), 0.05, 0.05)
        heights = (begin[2, 3] - 0.3, begin[2, 3] + 0.01)
        assert_report(arm.send_obstacles(obstacles(obstacle("post", post, heights=heights))), "SUCCESS")
        answer = arm.plan_path(stamped_matrix(goal))
        assert_code(answer, "SUCCESS")
        _, positions, _, _ = polynomials(answer.trajectory)
        tips = arm.tips(positions)
        assert min(distance(tip[:2], post) for tip in tips) > 0.06 - 1e-3
        ways.append(answer.path_length)
    assert abs(ways[0] - ways[1]) < 1e-4


def test_the_whole_arm_counts_in_a_plane_that_leans(starter, tmp_path):
    """A post that stands on a ramp, where the forearm is."""
    angle = 0.4
    ramp = f'<link name="ramp"/><joint name="leans" type="fixed"><parent link="base_link"/><child link="ramp"/>'
    ramp += f'<origin xyz="0 0 0" rpy="{angle} 0 0"/></joint></robot>'
    file = tmp_path / "on_a_ramp.urdf"
    file.write_text((URDF_FOLDER / "six_axis.urdf").read_text().replace("</robot>", ramp))
    parameters = {"mock_controller": True, "mock_initial_positions": HOME, "planning.plane_frame": "ramp"}
    arm = starter.arm(file, {"base_link": "base_link", "tip_link": "tool0", **parameters})
    q = arm.joints()
    goal = arm.chain.forward(q)
    goal[2, 3] += 0.05
    answer = arm.plan_path(goal)
    assert_code(answer, "SUCCESS")
    turn = np.array([[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]])
    ends = [arm.chain_to("base_link", link) for link in ("forearm_link", "wrist_1_link")]
    x, y, z = turn.T @ np.mean([chain.forward(q[: len(chain.names)])[:3, 3] for chain in ends], axis=0)
    here = obstacle("post", box(x, y, 0.08, 0.08), frame="ramp", heights=(z - 0.04, z + 0.04))
    assert_report(arm.send_obstacles(obstacles(here)), "SUCCESS")
    assert_code(arm.plan_path(goal), "START_STATE_IN_COLLISION", "post", "link")
    # Farther up along the plane's own normal it is out of the way.
    away = obstacle("post", box(x, y, 0.08, 0.08), frame="ramp", heights=(z + 0.6, z + 0.68))
    assert_report(arm.send_obstacles(obstacles(away)), "SUCCESS")
    answer = arm.plan_path(goal)
    assert_code(answer, "SUCCESS")
    assert "only the tip" not in answer.message, answer.message


def test_meshes_are_found_and_the_srdf_is_heeded(starter, robots):
    """The real Panda: its collision geometry is meshes, and its SRDF names pairs that need no look."""
    parameters = {"base_link": "panda_link0", "tip_link": "panda_hand_tcp", "mock_controller": True}
    arm = starter.arm(robots / "panda_description/urdf/panda.urdf", parameters)
    arm.joints()
    begin = len(arm.reports.messages)
    pairs = '<disable_collisions link1="panda_link0" link2="panda_link1" reason="Adjacent"/>'
    srdf = f'<robot name="panda">{pairs}</robot>'
    arm.client.publish_latched(String, "/robot_description_semantic", String(data=srdf))
    assert_report(arm.report("robot_description_semantic", begin), "SUCCESS", "SRDF")
    arm.client.wait_until(lambda: arm.solve_ik(stamped((0.4, 0.0, 0.4)), avoid_collisions=True).code.value == 1, "ik")
    assert "cannot be used" not in arm.process.log(), "a mesh was not found"


def test_an_srdf_that_is_none_is_said(starter):
    arm = starter.arm("six_axis", {"mock_controller": True})
    begin = len(arm.reports.messages)
    arm.client.publish_latched(String, "/robot_description_semantic", String(data="<robot"))
    assert_report(arm.report("robot_description_semantic", begin), "NO_MODEL", "SRDF")


def test_an_srdf_file_that_is_not_there_ends_the_node(starter):
    process = starter.process({"urdf_file": "urdf/none", "srdf_file": "/nowhere/arm.srdf"})
    assert process.wait_for_exit() == 2
    assert "srdf_file" in process.log() or "urdf_file" in process.log()
    assert Path("/nowhere").exists() is False


def test_the_ground_is_not_met(starter):
    parameters = {"mock_controller": True, "mock_initial_positions": HOME, "collision.ground": True}
    arm = starter.arm("six_axis", {**parameters, "collision.ground_height": -0.02})
    arm.joints()
    goal = stamped((0.40, 0.20, -0.10))
    answer = arm.plan_path(goal)
    assert answer.code.value != 1 and "ground" in answer.message, answer.message
    assert_code(arm.plan_path(stamped((0.40, 0.20, 0.26))), "SUCCESS")
