"""The start of a plan, and sending it to the (mock) controller."""

import math

import numpy as np
import pytest
from arm import assert_code, values_of
from messages import joint_state, seconds, stamped
from robot import pose_matrix

HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
GOAL = stamped((0.42, 0.28, 0.26))


@pytest.fixture
def arm(starter):
    started = starter.arm("six_axis", {"mock_controller": True, "mock_initial_positions": HOME})
    started.joints()
    return started


def first_point(answer):
    return np.array(answer.trajectory.points[0].positions)


def test_absent_start_is_the_current_state(arm):
    answer = arm.plan_path(GOAL)
    assert_code(answer, "SUCCESS")
    assert np.allclose(first_point(answer), HOME, atol=1e-6)


def test_start_is_read_by_name_in_any_order_and_without_the_arm_moving(arm):
    start = np.array([0.2, -1.7, 1.9, -1.8, -1.5, 0.1])
    names = ["gripper", *arm.chain.names[::-1]]
    answer = arm.plan_path(GOAL, start=joint_state(names, [0.5, *start[::-1]]))
    assert_code(answer, "SUCCESS")
    assert np.allclose(first_point(answer), start, atol=1e-9)
    assert np.allclose(arm.fresh_joints(), HOME, atol=1e-6)
    assert not arm.sent.messages, "a plan was sent that was not to be executed"


def test_joints_that_the_start_lacks_are_taken_from_the_current_state_and_named(arm):
    answer = arm.plan_path(GOAL, start=joint_state(["shoulder_pan_joint"], [-0.4]))
    assert_code(answer, "SUCCESS", "elbow_joint")
    assert np.allclose(first_point(answer), [-0.4, *HOME[1:]], atol=1e-6)


def test_start_a_hair_outside_its_limits_is_moved_onto_them_and_said_so(arm):
    start = [*HOME[:5], 2 * math.pi + 0.004]
    answer = arm.plan_path(GOAL, start=arm.seed(start))
    assert_code(answer, "SUCCESS", "wrist_3_joint", "limit")
    arm.check_trajectory(answer.trajectory)
    assert abs(first_point(answer)[5] - 2 * math.pi) < 1e-9


def test_start_well_outside_its_limits_is_refused_with_the_joint_and_by_how_much(arm):
    start = [*HOME[:5], 2 * math.pi + 0.25]
    answer = arm.plan_path(GOAL, start=arm.seed(start))
    assert_code(answer, "START_STATE_INVALID", "wrist_3_joint", "0.2500")
    assert not answer.trajectory.points


@pytest.mark.parametrize(
    "names, values, words",
    [
        (HOME[:0], HOME, ["start", "0", "6"]),
        (["elbow_joint"], [math.nan], ["start", "elbow_joint", "finite"]),
        (["elbow_joint", "elbow_joint"], [2.0, 2.1], ["start", "elbow_joint", "more than once"]),
    ],
    ids=["no names", "NaN", "twice"],
)
def test_start_that_is_malformed_is_refused(arm, names, values, words):
    answer = arm.plan_path(GOAL, start=joint_state(names, values))
    assert_code(answer, "INVALID_REQUEST", *words)


def test_executed_plan_moves_the_arm_to_the_goal(arm):
    reported = len(arm.reports.messages)
    answer = arm.plan_path(GOAL, execute=True)
    assert_code(answer, "SUCCESS")
    arm.check_trajectory(answer.trajectory)
    sent = arm.sent.wait_for(what="the trajectory that was sent")
    assert sent.joint_names == answer.trajectory.joint_names
    assert [p.positions for p in sent.points] == [p.positions for p in answer.trajectory.points]
    arm.wait_until_at(np.array(answer.trajectory.points[-1].positions))
    report = arm.state_report("plan_path", "reached", reported)
    assert values_of(report)["code"] == "1"
    tip = arm.chain.forward(arm.fresh_joints())
    assert np.linalg.norm(tip[:3, 3] - pose_matrix(GOAL.pose)[:3, 3]) < 1e-4


def test_arm_follows_the_trajectory_in_between(arm):
    """Every joint state while moving lies on the planned curve, as far as it can be told without clocks."""
    answer = arm.plan_path(GOAL, execute=True)
    assert_code(answer, "SUCCESS")
    _, positions, _ = arm.check_trajectory(answer.trajectory)
    start = len(arm.states.messages)
    arm.wait_until_at(positions[-1])
    seen = np.array([arm.chain.values(s.name, s.position) for s in arm.states.messages[start:]])
    assert len(seen) > 10
    # Fine enough that the nearest planned point is near.
    share = np.linspace(0, 1, 20, endpoint=False)[:, None]
    planned = np.vstack([a + share * (b - a) for a, b in zip(positions[:-1], positions[1:])] + [positions[-1:]])
    for q in seen:
        assert np.min(np.max(np.abs(planned - q), axis=1)) < 5e-3


def test_executing_from_elsewhere_is_refused_and_nothing_is_sent(arm):
    start = [-0.4, *HOME[1:]]
    answer = arm.plan_path(GOAL, start=arm.seed(start), execute=True)
    assert_code(answer, "GATE_REJECTED", "shoulder_pan_joint", "not sent")
    assert np.allclose(arm.fresh_joints(), HOME, atol=1e-6)
    assert not arm.sent.messages


def test_start_that_is_given_while_the_arm_moves_past_it_is_not_executed(arm):
    """A plan begins at rest: where the arm still moves, the gate lets it not pass, and the old motion goes on."""
    first = arm.plan_path(GOAL, execute=True, velocity_scaling=0.2)
    assert_code(first, "SUCCESS")
    arm.client.wait_until(lambda: np.max(np.abs(arm.joints() - HOME)) > 0.05, "the arm to move")
    answer = arm.plan_path(stamped((0.45, 0.0, 0.35)), start=arm.seed(arm.joints()), execute=True)
    assert_code(answer, "GATE_REJECTED", "not sent")
    assert any(name in answer.message for name in arm.chain.names), answer.message
    arm.wait_until_at(np.array(first.trajectory.points[-1].positions))
    assert len(arm.sent.messages) == 1


def test_second_execution_replaces_the_first_and_the_arm_ends_at_the_second_goal(arm):
    assert_code(arm.plan_path(GOAL, execute=True, velocity_scaling=0.3), "SUCCESS")
    arm.client.wait_until(lambda: np.max(np.abs(arm.joints() - HOME)) > 0.05, "the arm to move")
    other = stamped((0.45, 0.0, 0.35))
    answer = arm.plan_path(other, execute=True)
    assert_code(answer, "SUCCESS")
    arm.wait_until_at(np.array(answer.trajectory.points[-1].positions))
    tip = arm.chain.forward(arm.fresh_joints())
    assert np.linalg.norm(tip[:3, 3] - pose_matrix(other.pose)[:3, 3]) < 1e-4
    for message in arm.sent.messages:
        arm.check_trajectory(message)


def test_planning_time_is_told(arm):
    answer = arm.plan_path(GOAL)
    assert 0.0 < seconds(answer.planning_time) < 20.0
