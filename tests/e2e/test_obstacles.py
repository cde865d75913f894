"""~/obstacles, ~/obstacle_polygon and ~/clear_obstacles: what is kept, and that bad messages change nothing."""

import math

import pytest
from arm import TIP_ALONE, assert_code, assert_report, values_of
from arm_planner_msgs.msg import PolygonObstacle
from geometry_msgs.msg import PolygonStamped
from messages import obstacle, obstacles, polygon_stamped, removal, stamped
from planar import box

HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
# Where the probe looks whether there is an obstacle.
PLACE, OTHER, THIRD = (0.42, 0.28), (0.55, 0.0), (0.2, 0.5)
SQUARE = box(*PLACE, 0.1, 0.1)


@pytest.fixture(scope="module")
def arm(module_starter):
    started = module_starter.arm("six_axis", {"mock_controller": True, "mock_initial_positions": HOME, **TIP_ALONE})
    started.joints()
    return started


@pytest.fixture(autouse=True)
def no_obstacles(arm):
    yield
    assert arm.trigger("clear_obstacles").success


def found_at(arm, place, height=0.3):
    """Whether the node takes a place for the inside of an obstacle, and the answer: it must plan by what it shows."""
    answer = arm.plan_path(stamped((*place, height)), clearance=0.0)
    if answer.code.value == 1:
        return None
    assert_code(answer, "GOAL_IN_COLLISION")
    return answer.message


def test_added_obstacle_is_there_for_planning(arm):
    assert found_at(arm, PLACE) is None
    report = arm.send_obstacles(obstacles(obstacle("crate", SQUARE)))
    assert_report(report, "SUCCESS", "1 obstacle")
    assert values_of(report)["count"] == "1"
    assert "crate" in found_at(arm, PLACE)
    assert found_at(arm, OTHER) is None


def test_corners_may_go_either_way_round(arm):
    arm.send_obstacles(obstacles(obstacle("one", SQUARE), obstacle("other", box(*OTHER, 0.1, 0.1)[::-1])))
    assert found_at(arm, PLACE) and found_at(arm, OTHER)


def test_corner_that_is_sent_twice_does_no_harm(arm):
    closed = [*SQUARE, SQUARE[0]]
    assert_report(arm.send_obstacles(obstacles(obstacle("closed", closed))), "SUCCESS")
    assert found_at(arm, PLACE)


def test_obstacle_with_a_dent_is_not_filled_up(arm):
    """A U around the place: inside its walls there is an obstacle, between them there is none."""
    x, y = PLACE
    cup = [(x - 0.1, y - 0.1), (x + 0.1, y - 0.1), (x + 0.1, y + 0.1), (x + 0.06, y + 0.1)]
    cup += [(x + 0.06, y - 0.06), (x - 0.06, y - 0.06), (x - 0.06, y + 0.1), (x - 0.1, y + 0.1)]
    assert_report(arm.send_obstacles(obstacles(obstacle("cup", cup))), "SUCCESS")
    assert found_at(arm, (x, y - 0.08))
    assert found_at(arm, (x, y + 0.02)) is None


def test_same_name_replaces(arm):
    arm.send_obstacles(obstacles(obstacle("crate", SQUARE)))
    report = arm.send_obstacles(obstacles(obstacle("crate", box(*OTHER, 0.1, 0.1))))
    assert values_of(report)["count"] == "1"
    assert found_at(arm, PLACE) is None and found_at(arm, OTHER)


def test_removed_obstacle_is_gone_and_the_others_stay(arm):
    arm.send_obstacles(obstacles(obstacle("crate", SQUARE), obstacle("post", box(*OTHER, 0.1, 0.1))))
    report = arm.send_obstacles(obstacles(removal("crate")))
    assert values_of(report)["count"] == "1"
    assert found_at(arm, PLACE) is None and found_at(arm, OTHER)


def test_changes_of_one_message_are_applied_in_order(arm):
    report = arm.send_obstacles(obstacles(obstacle("crate", SQUARE), removal("crate"), obstacle("post", SQUARE)))
    assert_report(report, "SUCCESS")
    assert "post" in found_at(arm, PLACE)


def test_replace_all_forgets_what_is_not_in_the_message(arm):
    arm.send_obstacles(obstacles(obstacle("crate", SQUARE), obstacle("post", box(*OTHER, 0.1, 0.1))))
    report = arm.send_obstacles(obstacles(obstacle("new", box(*THIRD, 0.1, 0.1)), replace_all=True))
    assert values_of(report)["count"] == "1"
    assert found_at(arm, PLACE) is None and found_at(arm, OTHER) is None and found_at(arm, THIRD)
    assert values_of(arm.send_obstacles(obstacles(replace_all=True)))["count"] == "0"
    assert found_at(arm, THIRD) is None


def test_clear_removes_all_and_says_how_many(arm):
    arm.send_obstacles(obstacles(obstacle("crate", SQUARE), obstacle("post", box(*OTHER, 0.1, 0.1))))
    answer = arm.trigger("clear_obstacles")
    assert answer.success and "2" in answer.message
    assert found_at(arm, PLACE) is None and found_at(arm, OTHER) is None
    assert arm.trigger("clear_obstacles").success, "nothing to clear is no fault"


def test_height_range_counts(arm):
    arm.send_obstacles(obstacles(obstacle("table", SQUARE, heights=(0.0, 0.2))))
    assert found_at(arm, PLACE, 0.1)
    assert found_at(arm, PLACE, 0.3) is None
    arm.send_obstacles(obstacles(obstacle("table", SQUARE, heights=(0.25, 0.6))))
    assert found_at(arm, PLACE, 0.3)


def test_no_heights_mean_unbounded(arm):
    arm.send_obstacles(obstacles(obstacle("column", SQUARE)))
    assert found_at(arm, PLACE, 0.1) and found_at(arm, PLACE, 0.5)


BAD = {
    "no id": (obstacle("", SQUARE), "INVALID_OBSTACLE", ["no id"]),
    "no corners": (obstacle("bad", []), "INVALID_OBSTACLE", ["bad", "three"]),
    "two corners": (obstacle("bad", SQUARE[:2]), "INVALID_OBSTACLE", ["bad", "2", "three"]),
    "one corner thrice": (obstacle("bad", [SQUARE[0]] * 3), "INVALID_OBSTACLE", ["bad", "three"]),
    "no area": (obstacle("bad", [(0, 0), (0.5, 0.5), (1, 1)]), "INVALID_OBSTACLE", ["bad", "no area"]),
    "self-crossing": (obstacle("bad", [(0, 0), (1, 1), (1, 0), (0, 1)]), "INVALID_OBSTACLE", ["bad", "crosses itself"]),
    "NaN": (obstacle("bad", [(math.nan, 0), (1, 0), (1, 1)]), "INVALID_OBSTACLE", ["bad", "not finite"]),
    "infinite": (obstacle("bad", [(0, math.inf), (1, 0), (1, 1)]), "INVALID_OBSTACLE", ["bad", "not finite"]),
    "huge": (obstacle("bad", [(0, 0), (1e30, 0), (1, 1)]), "INVALID_OBSTACLE", ["bad", "out of range"]),
    "heights upside down": (obstacle("bad", SQUARE, heights=(0.5, 0.1)), "INVALID_OBSTACLE", ["bad", "0.5", "0.1"]),
    "no height": (obstacle("bad", SQUARE, heights=(0.3, 0.3)), "INVALID_OBSTACLE", ["bad", "heights"]),
    "NaN height": (obstacle("bad", SQUARE, heights=(math.nan, 1.0)), "INVALID_OBSTACLE", ["bad", "heights"]),
    "unknown frame": (obstacle("bad", SQUARE, frame="moon"), "FRAME_TRANSFORM_FAILURE", ["bad", '"moon"']),
    # The tool points down and aslant while the arm is at its start.
    "tilted frame": (obstacle("bad", SQUARE, frame="forearm_link"), "INVALID_OBSTACLE", ["bad", "forearm_link"]),
    "unknown id": (removal("bad"), "INVALID_OBJECT_NAME", ["bad", "kept"]),
    "unknown operation": (PolygonObstacle(id="bad", operation=7), "INVALID_OBSTACLE", ["bad", "7"]),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("replace_all", [False, True])
def test_bad_obstacle_is_refused_and_those_from_before_stay(arm, name, replace_all):
    bad, code, words = BAD[name]
    arm.send_obstacles(obstacles(obstacle("crate", SQUARE)))
    good = obstacle("good", box(*OTHER, 0.1, 0.1))
    report = arm.send_obstacles(obstacles(good, bad, replace_all=replace_all))
    if replace_all and name == "unknown id":
        words = ["bad"]
    assert_report(report, code, *words)
    assert report.level == b"\x02" and values_of(report)["count"] == "1"
    assert "crate" in found_at(arm, PLACE), "an obstacle from before is lost"
    assert found_at(arm, OTHER) is None, "a part of a bad message was applied"


def test_everything_that_is_wrong_with_a_message_is_said_at_once(arm):
    report = arm.send_obstacles(
        obstacles(obstacle("thin", SQUARE[:2]), obstacle("lost", SQUARE, frame="moon"), removal("ghost"))
    )
    for word in ("thin", "lost", "ghost"):
        assert word in report.message, report.message


def test_single_polygon_is_added_and_its_name_is_told(arm):
    report = arm.send(PolygonStamped, "obstacle_polygon", polygon_stamped(SQUARE))
    assert_report(report, "SUCCESS")
    name = values_of(report)["id"]
    assert name and name in found_at(arm, PLACE)
    # By that name it can be removed.
    assert_report(arm.send_obstacles(obstacles(removal(name))), "SUCCESS")
    assert found_at(arm, PLACE) is None


def test_single_polygons_add_up_but_the_same_one_does_not(arm):
    first = arm.send(PolygonStamped, "obstacle_polygon", polygon_stamped(SQUARE))
    other = arm.send(PolygonStamped, "obstacle_polygon", polygon_stamped(box(*OTHER, 0.1, 0.1)))
    again = arm.send(PolygonStamped, "obstacle_polygon", polygon_stamped(SQUARE))
    assert values_of(again)["id"] == values_of(first)["id"] != values_of(other)["id"]
    answer = arm.trigger("clear_obstacles")
    assert "2" in answer.message, answer.message


@pytest.mark.parametrize(
    "corners, frame, code, words",
    [
        (SQUARE[:2], "", "INVALID_OBSTACLE", ["three"]),
        ([(0, 0), (1, 1), (1, 0), (0, 1)], "", "INVALID_OBSTACLE", ["crosses itself"]),
        ([(math.nan, 0), (1, 0), (1, 1)], "", "INVALID_OBSTACLE", ["not finite"]),
        (SQUARE, "moon", "FRAME_TRANSFORM_FAILURE", ['"moon"']),
    ],
    ids=["two corners", "self-crossing", "NaN", "unknown frame"],
)
def test_bad_single_polygon_changes_nothing(arm, corners, frame, code, words):
    arm.send_obstacles(obstacles(obstacle("crate", SQUARE)))
    report = arm.send(PolygonStamped, "obstacle_polygon", polygon_stamped(corners, frame))
    assert_report(report, code, *words)
    assert "crate" in found_at(arm, PLACE)
    assert "1" in arm.trigger("clear_obstacles").message


def test_hundreds_of_obstacles_are_taken_in_one_message(arm):
    many = [obstacle(f"pin_{i}", box(-2 - 0.05 * (i % 40), 0.05 * (i // 40), 0.01, 0.01)) for i in range(400)]
    report = arm.send_obstacles(obstacles(*many))
    assert values_of(report)["count"] == "400"
    assert found_at(arm, PLACE) is None
