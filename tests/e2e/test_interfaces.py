"""The message packages by themselves: what other programs rely on without asking the node."""

import pytest
from arm_planner_msgs.msg import ErrorCode, PolygonObstacle, PolygonObstacleArray
from arm_planner_msgs.srv import PlanPath, SolveIk
from tf2_msgs.msg import TFMessage

# Numbers of moveit_msgs/MoveItErrorCodes.
MOVEIT_CODES = {
    "SUCCESS": 1,
    "UNDEFINED": 0,
    "FAILURE": 99999,
    "PLANNING_FAILED": -1,
    "INVALID_MOTION_PLAN": -2,
    "CONTROL_FAILED": -4,
    "TIMED_OUT": -6,
    "PREEMPTED": -7,
    "START_STATE_IN_COLLISION": -10,
    "GOAL_IN_COLLISION": -12,
    "INVALID_ROBOT_STATE": -17,
    "INVALID_LINK_NAME": -18,
    "INVALID_OBJECT_NAME": -19,
    "FRAME_TRANSFORM_FAILURE": -21,
    "COLLISION_CHECKING_UNAVAILABLE": -22,
    "ROBOT_STATE_STALE": -23,
    "START_STATE_INVALID": -26,
    "NO_IK_SOLUTION": -31,
}
# Lowest number that MoveIt uses; those of our own lie well below.
OWN_CODES_BELOW = -1000


def code_constants():
    # Constants of a message are properties of its metaclass.
    values = {name: getattr(ErrorCode, name) for name in dir(type(ErrorCode)) if name.isupper()}
    return {name: value for name, value in values.items() if isinstance(value, int)}


@pytest.mark.parametrize("name, number", MOVEIT_CODES.items())
def test_shared_codes_have_moveits_numbers(name, number):
    assert getattr(ErrorCode, name) == number


def test_own_codes_are_unique_and_clear_of_moveits():
    codes = code_constants()
    own = {name: number for name, number in codes.items() if name not in MOVEIT_CODES}
    assert own, "no codes of our own found"
    assert all(number < OWN_CODES_BELOW for number in own.values()), own
    assert len(set(codes.values())) == len(codes)


def test_an_untouched_request_asks_for_the_defaults():
    plan = PlanPath.Request()
    assert plan.clearance < 0.0, "0 is a clearance that can be asked for, so it must not be the default"
    assert (plan.roadmap, plan.velocity_scaling, plan.acceleration_scaling, plan.execute) == ("", 0.0, 0.0, False)
    ik = SolveIk.Request()
    assert (ik.solver, ik.tip_link, ik.max_solutions, ik.position_only, ik.avoid_collisions) == (
        "",
        "",
        0,
        False,
        False,
    )
    assert PolygonObstacle().operation == PolygonObstacle.ADD == 0 and PolygonObstacle.REMOVE == 1
    assert PolygonObstacleArray().replace_all is False


def test_tf_message_is_the_one_of_tf2_msgs(client):
    """Subscribers of /tf in other processes have the original package: the type must be the same to them."""
    client.node.create_publisher(TFMessage, "/tf_type_probe", 1)
    ends = client.wait_until(lambda: client.node.get_publishers_info_by_topic("/tf_type_probe"), "the publisher")
    assert ends[0].topic_type == "tf2_msgs/msg/TFMessage"
    expected = "RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"
    assert expected in str(ends[0].topic_type_hash)
