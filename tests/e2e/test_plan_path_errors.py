"""~/plan_path refuses what cannot be had with one code and words that help; a path that breaks says how far it goes."""

import math

import numpy as np
import pytest
from arm import TIP_ALONE, assert_code
from arm_planner_msgs.msg import ErrorCode
from messages import DOWN, obstacle, obstacles, removal, stamped
from planar import box
from robot import pose_matrix

HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
GOAL = stamped((0.42, 0.28, 0.26))
CRATE = box(0.50, 0.08, 0.12, 0.12)


@pytest.fixture(scope="module")
def arm(module_starter):
    started = module_starter.arm("six_axis", {"mock_controller": True, "mock_initial_positions": HOME, **TIP_ALONE})
    started.joints()
    return started


@pytest.fixture(autouse=True)
def still_answers(arm):
    """Whatever was wrong, the next request is answered, and the obstacles are as they were."""
    yield
    assert arm.trigger("clear_obstacles").success
    assert_code(arm.plan_path(GOAL), "SUCCESS")
    assert not arm.sent.messages, "a refused or merely planned motion was sent"


def refused(answer, code, *words):
    assert_code(answer, code, *words)
    assert not answer.trajectory.points, "an answer that is no success carries a trajectory"
    assert answer.fraction < 1.0


def tip(arm):
    return arm.chain.forward(arm.fresh_joints())[:3, 3]


def test_goal_inside_an_obstacle_names_it(arm):
    arm.send_obstacles(obstacles(obstacle("crate", CRATE), obstacle("far", box(-0.5, -0.5, 0.1, 0.1))))
    answer = arm.plan_path(stamped((0.50, 0.08, 0.35)))
    refused(answer, "GOAL_IN_COLLISION", "goal", "crate")
    assert "far" not in answer.message


def test_goal_nearer_than_the_clearance_names_the_obstacle_and_the_distance(arm):
    arm.send_obstacles(obstacles(obstacle("crate", CRATE)))
    # 1 cm beside the crate, 3 cm are to be kept.
    answer = arm.plan_path(stamped((0.57, 0.08, 0.35)))
    refused(answer, "GOAL_IN_COLLISION", "goal", "crate", "0.01", "0.03")
    near = arm.plan_path(stamped((0.57, 0.08, 0.35)), clearance=0.005)
    assert_code(near, "SUCCESS")


def test_start_inside_an_obstacle_names_it(arm):
    x, y, _ = tip(arm)
    arm.send_obstacles(obstacles(obstacle("box around the tool", box(x, y, 0.1, 0.1))))
    refused(arm.plan_path(GOAL), "START_STATE_IN_COLLISION", "start", "box around the tool")


def test_enclosed_goal_names_what_encloses_it(arm):
    x, y = 0.42, 0.28
    ring = [
        obstacle("north", box(x, y + 0.12, 0.36, 0.05)),
        obstacle("south", box(x, y - 0.12, 0.36, 0.05)),
        obstacle("east", box(x + 0.12, y, 0.05, 0.36)),
        obstacle("west", box(x - 0.12, y, 0.05, 0.36)),
        obstacle("elsewhere", box(-0.6, -0.6, 0.05, 0.05)),
    ]
    arm.send_obstacles(obstacles(*ring))
    answer = arm.plan_path(GOAL)
    refused(answer, "NO_PATH", "north", "south", "east", "west")
    assert "elsewhere" not in answer.message


def test_gap_narrower_than_twice_the_clearance_is_closed(arm):
    """Two walls with a gap of 4 cm: passable with 1 cm of clearance, not with 3."""
    walls = [obstacle("left", box(0.0, 0.52, 3.0, 1.0)), obstacle("right", box(0.0, -0.52, 3.0, 1.0))]
    start = arm.solve_ik(stamped((0.35, 0.0, 0.35)))
    assert_code(start, "SUCCESS")
    start = arm.seed(start.solutions[0].position)
    goal = stamped((0.55, 0.0, 0.35))
    assert_code(arm.plan_path(goal, start=start, extra_obstacles=walls, clearance=0.01), "SUCCESS")
    answer = arm.plan_path(goal, start=start, extra_obstacles=walls, clearance=0.03)
    refused(answer, "START_STATE_IN_COLLISION", "left", "right")


def test_unreachable_goal_says_by_how_much(arm):
    refused(arm.plan_path(stamped((2.5, 0.0, 0.3))), "UNREACHABLE", "goal", "out of reach", "too far")


def test_goal_that_no_joint_values_reach_is_told_apart_from_one_out_of_reach(arm):
    refused(arm.plan_path(stamped((0.0, 0.02, 0.3), (0.0, 0.0, 0.0, 1.0))), "NO_IK_SOLUTION", "goal")


def test_path_that_breaks_says_how_far_it_can_be_followed(arm):
    """Across the column above the shoulder, which the arm cannot enter, there is no straight motion."""
    start = arm.solve_ik(stamped((0.35, 0.0, 0.35)))
    assert_code(start, "SUCCESS")
    start = np.array(start.solutions[0].position)
    goal = stamped((-0.35, 0.02, 0.35))
    assert_code(arm.solve_ik(goal), "SUCCESS")
    answer = arm.plan_path(goal, start=arm.seed(start))
    assert answer.code.value in (ErrorCode.PLANNING_FAILED, ErrorCode.JOINT_JUMP), answer.message
    assert "%" in answer.message
    assert 0.0 < answer.fraction < 1.0
    assert not answer.trajectory.points
    # What can be followed is shown: it begins at the start and ends at that share of the way.
    poses = [pose_matrix(p.pose)[:3, 3] for p in answer.tip_path.poses]
    begin = arm.chain.forward(start)[:3, 3]
    assert np.linalg.norm(poses[0] - begin) < 1e-5
    share = np.linalg.norm(poses[-1] - begin) / np.linalg.norm([-0.70, 0.02, 0.0])
    assert abs(share - answer.fraction) < 0.03


@pytest.mark.parametrize(
    "goal, words",
    [
        (stamped((math.nan, 0.2, 0.3)), ["goal", "position", "not finite"]),
        (stamped((0.4, 0.2, 0.3), (0.0, 0.0, math.inf, 0.0)), ["goal", "quaternion", "not finite"]),
        (stamped((0.4, 0.2, 0.3), (0.0, 0.0, 0.0, 0.0)), ["goal", "quaternion is zero"]),
    ],
    ids=["NaN", "infinite quaternion", "zero quaternion"],
)
def test_goal_that_is_malformed(arm, goal, words):
    refused(arm.plan_path(goal), "INVALID_REQUEST", *words)


def test_goal_that_was_never_filled_in_is_not_a_place_to_go(arm):
    """An untouched request asks for the origin of the base, inside the arm's own foot."""
    answer = arm.plan_path(stamped((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)))
    assert answer.code.value != 1 and answer.message
    assert not answer.trajectory.points


def test_unknown_frame_of_the_goal(arm):
    refused(arm.plan_path(stamped((0.4, 0.2, 0.3), DOWN, "wrold")), "FRAME_TRANSFORM_FAILURE", "goal", '"wrold"')


def test_unknown_road_map_is_named_with_those_that_are_known(arm):
    refused(arm.plan_path(GOAL, roadmap="voronoi"), "UNKNOWN_ROADMAP", "voronoi", "visibility_graph")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_clearance_that_is_not_finite(arm, value):
    refused(arm.plan_path(GOAL, clearance=value), "INVALID_REQUEST", "clearance")


def test_clearance_that_covers_everything_is_no_crash(arm):
    arm.send_obstacles(obstacles(obstacle("crate", CRATE)))
    answer = arm.plan_path(GOAL, clearance=1e6)
    refused(answer, "START_STATE_IN_COLLISION", "crate")


@pytest.mark.parametrize("field", ["velocity_scaling", "acceleration_scaling"])
@pytest.mark.parametrize("value", [-0.5, 1.5, math.nan, math.inf])
def test_scaling_outside_zero_to_one(arm, field, value):
    refused(arm.plan_path(GOAL, **{field: value}), "INVALID_REQUEST", field.split("_")[0], "1")


@pytest.mark.parametrize(
    "extra, code, words",
    [
        (obstacle("", CRATE), "INVALID_OBSTACLE", ["id"]),
        (obstacle("two", CRATE[:2]), "INVALID_OBSTACLE", ["two", "three"]),
        (obstacle("flat", [(0, 0), (1, 1), (2, 2)]), "INVALID_OBSTACLE", ["flat", "no area"]),
        (obstacle("bow", [(0, 0), (1, 1), (1, 0), (0, 1)]), "INVALID_OBSTACLE", ["bow", "crosses itself"]),
        (obstacle("lost", CRATE, frame="mars"), "FRAME_TRANSFORM_FAILURE", ["lost", "mars"]),
        (removal("ghost"), "INVALID_OBJECT_NAME", ["ghost"]),
    ],
    ids=["no id", "two corners", "no area", "self-crossing", "unknown frame", "unknown id"],
)
def test_bad_obstacle_of_one_request(arm, extra, code, words):
    refused(arm.plan_path(GOAL, extra_obstacles=[extra]), code, "extra_obstacles", *words)
