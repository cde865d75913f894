"""The seed of ~/solve_ik: how it is read, and what is wrong with it."""

import math

import numpy as np
import pytest
from arm import assert_code
from messages import joint_state

HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
# Far from where the mock arm is: the same pose has other joint values near here.
OTHER_BRANCH = np.array([2.2, -1.2, -1.9, -0.3, 1.5, 0.6])


@pytest.fixture(scope="module")
def arm(module_starter):
    started = module_starter.arm("six_axis", {"mock_controller": True, "mock_initial_positions": HOME})
    started.joints()
    return started


def near(answer, q):
    return np.max(np.abs(np.array(answer.solutions[0].position) - q)) < 1e-4


def test_empty_seed_is_the_current_state(arm):
    target = arm.chain.forward(np.array(HOME) + 0.05)
    answer = arm.solve_ik(target)
    assert_code(answer, "SUCCESS")
    assert near(answer, np.array(HOME) + 0.05)


def test_seed_decides_the_branch(arm):
    target = arm.chain.forward(OTHER_BRANCH)
    answer = arm.solve_ik(target, seed=arm.seed(OTHER_BRANCH + 0.03))
    assert_code(answer, "SUCCESS")
    assert near(answer, OTHER_BRANCH)
    from_here = arm.solve_ik(target)
    assert_code(from_here, "SUCCESS")
    assert not near(from_here, OTHER_BRANCH), "this target does not tell seeds apart"


def test_names_may_come_in_any_order(arm):
    names, values = arm.chain.names[::-1], (OTHER_BRANCH + 0.03)[::-1]
    answer = arm.solve_ik(arm.chain.forward(OTHER_BRANCH), seed=joint_state(names, values))
    assert_code(answer, "SUCCESS")
    assert near(answer, OTHER_BRANCH)


def test_joints_that_are_not_on_the_arm_are_passed_over(arm):
    names = ["gripper", *arm.chain.names, "left_wheel"]
    values = [0.02, *(OTHER_BRANCH + 0.03), math.nan]
    answer = arm.solve_ik(arm.chain.forward(OTHER_BRANCH), seed=joint_state(names, values))
    assert_code(answer, "SUCCESS")
    assert near(answer, OTHER_BRANCH)


def test_missing_joints_are_taken_from_the_current_state_and_named(arm):
    # Everything as it is but for the first joint.
    q = np.array(HOME)
    q[0] = 2.0
    answer = arm.solve_ik(arm.chain.forward(q), seed=joint_state(arm.chain.names[:1], [2.02]))
    assert_code(answer, "SUCCESS", *arm.chain.names[1:])
    assert near(answer, q)


def test_seed_outside_the_limits_is_moved_onto_them_and_said_so(arm):
    seed = OTHER_BRANCH.copy()
    seed[2] = -3.6
    answer = arm.solve_ik(arm.chain.forward(OTHER_BRANCH), seed=arm.seed(seed))
    assert_code(answer, "SUCCESS", "elbow_joint", "-3.6")
    assert not arm.chain.outside(answer.solutions[0].position)


@pytest.mark.parametrize(
    "names, values, words",
    [
        (6, 5, ["6", "5", "seed"]),
        (0, 6, ["0", "6", "seed"]),
        (6, 0, ["6", "0", "seed"]),
    ],
)
def test_names_and_values_must_be_as_many(arm, names, values, words):
    seed = joint_state(arm.chain.names[:names], HOME[:values])
    answer = arm.solve_ik(arm.chain.forward(HOME), seed=seed)
    assert_code(answer, "INVALID_REQUEST", *words)
    assert not answer.solutions


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_value_that_is_not_finite_names_the_joint(arm, value):
    values = [*HOME[:3], value, *HOME[4:]]
    answer = arm.solve_ik(arm.chain.forward(HOME), seed=joint_state(arm.chain.names, values))
    assert_code(answer, "INVALID_REQUEST", "wrist_1_joint", "finite")


def test_joint_that_is_named_twice_is_refused(arm):
    names, values = [*arm.chain.names, "elbow_joint"], [*HOME, 1.0]
    answer = arm.solve_ik(arm.chain.forward(HOME), seed=joint_state(names, values))
    assert_code(answer, "INVALID_REQUEST", "elbow_joint", "more than once")


@pytest.mark.parametrize(
    "names, values, words",
    [
        (["elbow_joint"], [], ["preferred_posture", "1", "0"]),
        (["elbow_joint"], [math.nan], ["preferred_posture", "elbow_joint"]),
    ],
)
def test_posture_that_is_malformed_is_refused(arm, names, values, words):
    answer = arm.solve_ik(arm.chain.forward(HOME), preferred_posture=joint_state(names, values))
    assert_code(answer, "INVALID_REQUEST", *words)


def test_posture_that_names_a_joint_twice_is_refused(arm):
    posture = joint_state(["elbow_joint", "elbow_joint"], [0.1, 1.2])
    answer = arm.solve_ik(arm.chain.forward(HOME), preferred_posture=posture)
    assert_code(answer, "INVALID_REQUEST", "preferred_posture", "elbow_joint")
