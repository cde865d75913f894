"""Parameters while the node runs: changes take effect or are refused with a reason."""

import math

import numpy as np
import pytest
from arm import TIP_ALONE, assert_code
from messages import obstacle, stamped
from planar import box, clearance
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, SetParameters

HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
GOAL = stamped((0.42, 0.28, 0.26))
CRATE = box(0.48, 0.08, 0.1, 0.1)


@pytest.fixture
def arm(starter):
    """An arm for one test."""
    started = starter.arm("six_axis", {"mock_controller": True, "mock_initial_positions": HOME, **TIP_ALONE})
    started.joints()
    return started


@pytest.fixture(scope="module")
def unchanged(module_starter):
    """An arm whose parameters no test manages to change."""
    parameters = {"mock_controller": True, "mock_initial_positions": HOME, "mock_publish_tf": False}
    started = module_starter.arm("six_axis", parameters, namespace="/unchanged")
    started.joints()
    return started


def value_message(value):
    if isinstance(value, bool):
        return ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=value)
    if isinstance(value, int):
        return ParameterValue(type=ParameterType.PARAMETER_INTEGER, integer_value=value)
    if isinstance(value, float):
        return ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=value)
    if isinstance(value, str):
        return ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=value)
    return ParameterValue(type=ParameterType.PARAMETER_DOUBLE_ARRAY, double_array_value=value)


def set_parameter(arm, name, value):
    request = SetParameters.Request(parameters=[Parameter(name=name, value=value_message(value))])
    (result,) = arm.client.call(SetParameters, arm.process.topic("set_parameters"), request).results
    return result


def get_parameter(arm, name):
    request = GetParameters.Request(names=[name])
    (value,) = arm.client.call(GetParameters, arm.process.topic("get_parameters"), request).values
    return value


def path_clearance(arm):
    answer = arm.plan_path(GOAL, extra_obstacles=[obstacle("crate", CRATE)])
    assert_code(answer, "SUCCESS")
    points = [(p.pose.position.x, p.pose.position.y) for p in answer.tip_path.poses]
    return clearance(points, [CRATE])


def test_clearance_can_be_changed_and_holds_from_then_on(arm):
    assert abs(path_clearance(arm) - 0.03) < 2e-3
    assert set_parameter(arm, "planning.clearance", 0.05).successful
    assert get_parameter(arm, "planning.clearance").double_value == 0.05
    assert abs(path_clearance(arm) - 0.05) < 2e-3


def test_whole_number_is_taken_for_a_number(arm):
    assert set_parameter(arm, "ik.timeout", 1).successful
    assert get_parameter(arm, "ik.timeout").double_value == 1.0


def test_scaling_can_be_changed(arm):
    fast = arm.plan_path(GOAL)
    assert set_parameter(arm, "trajectory.velocity_scaling", 0.1).successful
    slow = arm.plan_path(GOAL)
    _, _, velocities = arm.check_trajectory(slow.trajectory, velocity_scaling=0.1)
    assert len(slow.trajectory.points) > len(fast.trajectory.points)
    assert np.max(np.abs(velocities)) > 0.0


@pytest.mark.parametrize(
    "name, value, words",
    [
        ("planning.clearance", -1.0, ["at least 0"]),
        ("planning.clearance", math.nan, ["finite"]),
        ("planning.clearance", "wide", ["number"]),
        ("planning.roadmap", "voronoi", ["voronoi", "visibility_graph"]),
        ("ik.solver", "magic", ["magic", "damped_svd"]),
        ("ik.max_iterations", -3, ["1"]),
        ("ik.preferred_posture", [0.1, 0.2], ["6"]),
        ("trajectory.velocity_scaling", 2.0, ["at most 1"]),
    ],
)
def test_value_that_cannot_be_used_is_refused_and_the_old_one_stays(unchanged, name, value, words):
    before = get_parameter(unchanged, name)
    result = set_parameter(unchanged, name, value)
    assert not result.successful
    for word in words:
        assert word in result.reason, result.reason
    assert get_parameter(unchanged, name) == before
    assert_code(unchanged.plan_path(GOAL), "SUCCESS")


@pytest.mark.parametrize("name, value", [("urdf_file", "other.urdf"), ("mock_controller", False), ("tip_link", "x")])
def test_what_is_read_at_the_start_cannot_be_changed_later(unchanged, name, value):
    result = set_parameter(unchanged, name, value)
    assert not result.successful and "start" in result.reason, result.reason


def test_unknown_parameter_is_refused_with_a_guess(unchanged):
    result = set_parameter(unchanged, "planning.clearence", 0.05)
    assert not result.successful


def test_every_parameter_is_described(unchanged):
    request = DescribeParameters.Request(names=["planning.clearance", "ik.timeout", "mock_rate"])
    answer = unchanged.client.call(DescribeParameters, unchanged.process.topic("describe_parameters"), request)
    for descriptor in answer.descriptors:
        assert descriptor.description and descriptor.type == ParameterType.PARAMETER_DOUBLE, descriptor
