"""Frames of goals and obstacles: links of the robot, and whatever is on /tf and /tf_static."""

import math

import numpy as np
import pytest
from arm import TIP_ALONE, assert_code, assert_report
from harness import LATCHED
from messages import DOWN, obstacle, obstacles, stamped, stamped_matrix, transform_message
from planar import box
from robot import pose_matrix, rotation_quaternion, transform
from tf2_msgs.msg import TFMessage

HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
# A camera beside the arm, turned by 120 degrees about z; and a table above it that is known by /tf.
CAMERA = ((0.5, -0.4, 0.1), (0.0, 0.0, math.sin(math.pi / 3), math.cos(math.pi / 3)))
TABLE = ((0.1, 0.2, 0.05), (0.0, 0.0, math.sin(0.3), math.cos(0.3)))


def matrix_of(placed):
    translation, quaternion = placed
    return transform(rotation_quaternion(*quaternion), translation)


@pytest.fixture(scope="module")
def arm(module_starter):
    started = module_starter.arm("six_axis", {"mock_controller": True, "mock_initial_positions": HOME, **TIP_ALONE})
    started.joints()
    client = started.client
    client.publisher(TFMessage, "/tf_static", LATCHED).publish(transform_message("base_link", "camera", *CAMERA))
    client.publish(TFMessage, "/tf", transform_message("camera", "table", *TABLE), 100)
    client.wait_until(lambda: started.solve_ik(stamped((0, 0, 0), DOWN, "table")).code.value != -21, "the table on TF")
    return started


@pytest.fixture(autouse=True)
def no_obstacles(arm):
    yield
    arm.trigger("clear_obstacles")


def in_frame(frame_in_base, target):
    """The target, which is given in the base, as a pose in another frame."""
    return np.linalg.inv(frame_in_base) @ target


@pytest.mark.parametrize("frame", ["camera", "table"])
def test_goal_in_a_frame_of_tf_is_reached_in_the_base(arm, frame):
    placed = matrix_of(CAMERA) if frame == "camera" else matrix_of(CAMERA) @ matrix_of(TABLE)
    target = arm.chain.forward([-0.5, -1.8, 1.9, -1.5, -1.4, 0.2])
    message = stamped_matrix(in_frame(placed, target), frame)
    answer = arm.solve_ik(message)
    assert_code(answer, "SUCCESS")
    arm.check_solution(answer.solutions[0], target)
    plan = arm.plan_path(message)
    assert_code(plan, "SUCCESS")
    last = plan.tip_path.poses[-1]
    assert last.header.frame_id == "base_link"
    assert np.linalg.norm(pose_matrix(last.pose)[:3, 3] - target[:3, 3]) < 1e-5


def test_newest_transform_on_tf_holds(arm):
    publisher = arm.client.publisher(TFMessage, "/tf", 100)
    target = arm.chain.forward([-0.5, -1.8, 1.9, -1.5, -1.4, 0.2])
    for lift in (0.0, 0.07):
        place = (0.1, 0.2, lift)
        publisher.publish(transform_message("base_link", "conveyor", place))
        message = stamped_matrix(in_frame(matrix_of((place, (0, 0, 0, 1))), target), "conveyor")

        def reached(message=message):
            answer = arm.solve_ik(message)
            if answer.code.value != 1:
                return False
            reached = arm.chain.forward(answer.solutions[0].position)
            return np.linalg.norm(reached[:3, 3] - target[:3, 3]) < 2e-6

        arm.client.wait_until(reached, f"the conveyor at {lift} m to be used")


def test_obstacle_in_another_frame_is_where_it_belongs(arm):
    placed = matrix_of(CAMERA) @ matrix_of(TABLE)
    corners = [in_frame(placed, transform(np.eye(3), (x, y, 0.0)))[:2, 3] for x, y in box(0.42, 0.28, 0.1, 0.1)]
    assert_report(arm.send_obstacles(obstacles(obstacle("crate", corners, frame="table"))), "SUCCESS")
    assert_code(arm.plan_path(stamped((0.42, 0.28, 0.3)), clearance=0.0), "GOAL_IN_COLLISION", "crate")
    # Just beside each side it is free: it lies exactly there.
    for dx, dy in [(0.055, 0), (-0.055, 0), (0, 0.055), (0, -0.055)]:
        beside = stamped((0.42 + dx, 0.28 + dy, 0.3))
        assert_code(arm.plan_path(beside, clearance=0.0), "SUCCESS")


def test_frame_of_the_message_holds_for_obstacles_without_one(arm):
    placed = matrix_of(CAMERA)
    corners = [in_frame(placed, transform(np.eye(3), (x, y, 0.0)))[:2, 3] for x, y in box(0.42, 0.28, 0.1, 0.1)]
    own = obstacle("own", box(0.55, 0.0, 0.1, 0.1), frame="base_link")
    assert_report(arm.send_obstacles(obstacles(obstacle("bare", corners), own, frame="camera")), "SUCCESS")
    assert_code(arm.plan_path(stamped((0.42, 0.28, 0.3)), clearance=0.0), "GOAL_IN_COLLISION", "bare")
    assert_code(arm.plan_path(stamped((0.55, 0.0, 0.3)), clearance=0.0), "GOAL_IN_COLLISION", "own")


def test_heights_are_along_the_z_of_the_frame(arm):
    """The camera's frame is 0.1 m above the base: 0 to 0.15 there is 0.1 to 0.25 here."""
    placed = matrix_of(CAMERA)
    corners = [in_frame(placed, transform(np.eye(3), (x, y, 0.0)))[:2, 3] for x, y in box(0.42, 0.28, 0.1, 0.1)]
    arm.send_obstacles(obstacles(obstacle("low", corners, frame="camera", heights=(0.0, 0.15))))
    assert_code(arm.plan_path(stamped((0.42, 0.28, 0.23)), clearance=0.0), "GOAL_IN_COLLISION", "low")
    assert_code(arm.plan_path(stamped((0.42, 0.28, 0.28)), clearance=0.0), "SUCCESS")


def test_obstacle_keeps_its_place_when_its_frame_moves_on(arm):
    """Obstacles are taken where they are when they come in."""
    publisher = arm.client.publisher(TFMessage, "/tf", 100)
    publisher.publish(transform_message("base_link", "cart", (0.42, 0.28, 0.0)))
    square = box(0, 0, 0.1, 0.1)

    def accepted():
        report = arm.send_obstacles(obstacles(obstacle("load", square, frame="cart")))
        return report.level == b"\x00"

    arm.client.wait_until(accepted, "the cart on TF")
    publisher.publish(transform_message("base_link", "cart", (-0.9, 0.28, 0.0)))
    publisher.publish(transform_message("base_link", "marker_frame", (0.0, 0.0, 0.0)))
    arm.client.wait_until(
        lambda: arm.solve_ik(stamped((0.4, 0.2, 0.4), DOWN, "marker_frame")).code.value == 1, "the later transform"
    )
    assert_code(arm.plan_path(stamped((0.42, 0.28, 0.3)), clearance=0.0), "GOAL_IN_COLLISION", "load")


def test_tilted_frame_is_refused_for_obstacles_but_not_for_goals(arm):
    tilted = ((0.3, 0.0, 0.2), (math.sin(0.1), 0.0, 0.0, math.cos(0.1)))
    arm.client.publisher(TFMessage, "/tf", 100).publish(transform_message("base_link", "ramp", *tilted))
    target = arm.chain.forward([-0.5, -1.8, 1.9, -1.5, -1.4, 0.2])
    message = stamped_matrix(in_frame(matrix_of(tilted), target), "ramp")
    arm.client.wait_until(lambda: arm.solve_ik(message).code.value == 1, "the ramp on TF")
    arm.check_solution(arm.solve_ik(message).solutions[0], target)
    report = arm.send_obstacles(obstacles(obstacle("slab", box(0, 0, 0.1, 0.1), frame="ramp")))
    # 0.2 rad are 11 degrees; what matters is that it says so.
    assert_report(report, "INVALID_OBSTACLE", "slab", "ramp")


def test_leading_slash_is_forgiven_and_said(arm):
    answer = arm.solve_ik(stamped((0.4, 0.2, 0.4), DOWN, "/base_link"))
    assert_code(answer, "SUCCESS", "slash")


def test_frame_that_is_not_connected_says_where_its_tree_ends(arm):
    arm.client.publisher(TFMessage, "/tf", 100).publish(transform_message("island", "hut", (1.0, 0.0, 0.0)))
    target = stamped((0.4, 0.2, 0.4), DOWN, "hut")
    arm.client.wait_until(lambda: "island" in arm.solve_ik(target).message, "the hut on TF")
    assert_code(arm.solve_ik(target), "FRAME_TRANSFORM_FAILURE", '"hut"', '"island"', "base_link")


@pytest.mark.parametrize(
    "message",
    [
        transform_message("base_link", "broken", (math.nan, 0.0, 0.0)),
        transform_message("base_link", "broken", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
        transform_message("", "broken", (0.0, 0.0, 0.0)),
        transform_message("broken", "broken", (0.0, 0.0, 0.0)),
    ],
    ids=["NaN", "zero quaternion", "no parent", "own parent"],
)
def test_bad_transforms_are_passed_over(arm, message):
    publisher = arm.client.publisher(TFMessage, "/tf", 100)
    publisher.publish(message)
    # In order on one topic: when this one is known, the one before has been looked at.
    publisher.publish(transform_message("base_link", "after", (0.0, 0.0, 0.01)))
    after = stamped((0.4, 0.2, 0.4), DOWN, "after")
    arm.client.wait_until(lambda: arm.solve_ik(after).code.value == 1, "the transform after the bad one")
    assert_code(arm.solve_ik(stamped((0.4, 0.2, 0.4), DOWN, "broken")), "FRAME_TRANSFORM_FAILURE", '"broken"')
