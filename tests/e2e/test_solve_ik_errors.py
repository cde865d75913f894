"""~/solve_ik refuses what cannot be had with one code and words that help."""

import math
import re

import numpy as np
import pytest
from arm import assert_code
from builtin_interfaces.msg import Duration
from messages import DOWN, stamped

HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
REACHABLE = (0.4, 0.2, 0.4)


@pytest.fixture(scope="module")
def arm(module_starter):
    started = module_starter.arm("six_axis", {"mock_controller": True, "mock_initial_positions": HOME})
    started.joints()
    return started


@pytest.fixture(autouse=True)
def still_answers(arm):
    """Whatever was wrong, the next request is answered."""
    yield
    answer = arm.solve_ik(stamped(REACHABLE))
    assert_code(answer, "SUCCESS")
    arm.check_solution(answer.solutions[0], stamped(REACHABLE))


def refused(answer, code, *words):
    assert_code(answer, code, *words)
    assert not answer.solutions, "an answer that is no success carries solutions"


def test_out_of_reach_says_by_how_much(arm):
    answer = arm.solve_ik(stamped((3.0, 0.0, 0.4)), position_only=True)
    refused(answer, "UNREACHABLE", "out of reach")
    too_far = re.search(r"([0-9.]+) m too far", answer.message)
    assert too_far, answer.message
    # The arm's links: it can reach 1.2 m or so from its shoulder, so 3 m are about 1.8 m too far.
    assert 1.4 < float(too_far[1]) < 2.1, answer.message


def test_off_the_plane_of_a_planar_arm_says_by_how_much(starter):
    planar = starter.arm("planar_3r", {"mock_controller": True, "mock_publish_tf": False}, namespace="/planar")
    planar.joints()
    answer = planar.solve_ik(stamped((0.4, 0.2, 0.35), (0.0, 0.0, 0.0, 1.0)))
    # Its joints move the tip in the plane z = 0.1 m.
    refused(answer, "UNREACHABLE", "0.2500")


def test_within_reach_but_not_to_be_had_says_how_near_it_came(arm):
    """Inside the column that the shoulder leaves free, no configuration has the tool there."""
    answer = arm.solve_ik(stamped((0.0, 0.02, 0.3), (0.0, 0.0, 0.0, 1.0)), timeout=Duration(sec=2))
    refused(answer, "NO_IK_SOLUTION")
    assert math.isfinite(answer.position_error) and math.isfinite(answer.orientation_error)
    assert max(answer.position_error, answer.orientation_error) > 1e-6
    assert answer.solver and answer.iterations > 0


@pytest.mark.parametrize("position", [(math.nan, 0.0, 0.4), (0.4, math.inf, 0.4), (0.4, 0.2, -math.inf)])
@pytest.mark.parametrize("position_only", [False, True])
def test_position_that_is_not_finite(arm, position, position_only):
    answer = arm.solve_ik(stamped(position), position_only=position_only)
    refused(answer, "INVALID_REQUEST", "target", "position", "not finite")


def test_position_that_is_huge(arm):
    refused(arm.solve_ik(stamped((1e300, -1e300, 1e300))), "UNREACHABLE")


@pytest.mark.parametrize("quaternion", [(math.nan, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0, math.inf)])
def test_quaternion_that_is_not_finite(arm, quaternion):
    refused(arm.solve_ik(stamped(REACHABLE, quaternion)), "INVALID_REQUEST", "target", "quaternion", "not finite")


def test_quaternion_that_is_zero(arm):
    answer = arm.solve_ik(stamped(REACHABLE, (0.0, 0.0, 0.0, 0.0)))
    refused(answer, "INVALID_REQUEST", "target", "quaternion is zero", "0 0 0 1")


def test_unknown_frame_is_named_with_those_that_are_known(arm):
    answer = arm.solve_ik(stamped(REACHABLE, DOWN, "base_lnk"))
    refused(answer, "FRAME_TRANSFORM_FAILURE", "target", '"base_lnk"', "base_link", "wrist_3_link")


def test_unknown_tip_is_named_with_those_that_are_known(arm):
    answer = arm.solve_ik(stamped(REACHABLE), tip_link="tool_0")
    refused(answer, "INVALID_LINK_NAME", '"tool_0"', "tool0")


def test_tip_without_a_joint_below_the_base(arm):
    answer = arm.solve_ik(stamped(REACHABLE), tip_link="base_link")
    refused(answer, "INVALID_LINK_NAME", "base_link")


def test_unknown_solver_is_named_with_those_that_are_known(arm):
    answer = arm.solve_ik(stamped(REACHABLE), solver="magic")
    refused(answer, "UNKNOWN_SOLVER", '"magic"', "damped_svd", "fabrik", "levenberg_marquardt")


@pytest.mark.parametrize("field", ["position_tolerance", "orientation_tolerance"])
@pytest.mark.parametrize("value", [-1e-3, math.nan, math.inf])
def test_tolerance_that_cannot_be_used(arm, field, value):
    refused(arm.solve_ik(stamped(REACHABLE), **{field: value}), "INVALID_REQUEST", field)


def test_timeout_that_is_negative(arm):
    refused(arm.solve_ik(stamped(REACHABLE), timeout=Duration(sec=-1)), "INVALID_REQUEST", "timeout", "negative")


def test_more_solutions_than_there_are_gives_those_there_are(arm):
    answer = arm.solve_ik(stamped(REACHABLE), max_solutions=2**32 - 1, timeout=Duration(sec=5))
    assert_code(answer, "SUCCESS")
    assert len(answer.solutions) >= 2
    for solution in answer.solutions:
        arm.check_solution(solution, stamped(REACHABLE))


def test_tolerances_are_kept_to_the_letter(arm):
    """A looser tolerance is taken as given: what is returned may be off by that much, never by more."""
    generator = np.random.default_rng(8)
    for tolerance in (1e-2, 1e-4, 1e-7):
        target = arm.chain.forward(arm.chain.random(generator))
        answer = arm.solve_ik(
            target, position_tolerance=tolerance, orientation_tolerance=tolerance, timeout=Duration(sec=5)
        )
        assert_code(answer, "SUCCESS")
        arm.check_solution(answer.solutions[0], target, position=1.01 * tolerance, orientation=1.01 * tolerance)
