"""Joint states as they come in practice: none, stale, partial, malformed, cut in pieces. The test publishes them."""

import json
import math

import numpy as np
import pytest
from arm import assert_code, assert_report
from geometry_msgs.msg import PoseStamped
from harness import LATCHED, ROOT
from messages import joint_state, stamped
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
FAULTS = ROOT / "tests" / "data" / "faults"
GOAL = stamped((0.42, 0.28, 0.26))


def fault(name):
    return json.loads((FAULTS / f"{name}.json").read_text())


def number(value):
    return float(value) if not isinstance(value, str) else float(value.replace("Infinity", "inf"))


class Source:
    """Publishes joint states to an arm."""

    def __init__(self, arm):
        self.arm = arm
        self.publisher = arm.client.publisher(JointState, arm.states_topic)

    def send(self, names, positions, velocities=()):
        self.publisher.publish(joint_state(names, positions, velocities))

    def until(self, message, condition, what):
        """Send the same state again and again until the condition holds."""

        def step():
            self.publisher.publish(message)
            return condition()

        return self.arm.client.wait_until(step, what)


@pytest.fixture
def arm(starter):
    """The six-axis arm without a mock: nobody says where it is unless the test does."""
    return starter.arm("six_axis", {})


@pytest.fixture
def source(arm):
    return Source(arm)


def seen_state(arm):
    """The joint values that the node plans from."""
    answer = arm.plan_path(GOAL)
    assert_code(answer, "SUCCESS")
    return np.array(answer.trajectory.points[0].positions)


def test_no_joint_states_yet_says_where_they_are_waited_for(arm):
    for answer in (arm.solve_ik(GOAL), arm.plan_path(GOAL)):
        assert_code(answer, "NO_JOINT_STATE", "/joint_states")
    assert_report(arm.send(PoseStamped, "goal_pose", GOAL), "NO_JOINT_STATE", "/joint_states")


def test_seed_and_start_of_ones_own_need_no_joint_states(arm):
    answer = arm.solve_ik(GOAL, seed=arm.seed(HOME))
    assert_code(answer, "SUCCESS")
    arm.check_solution(answer.solutions[0], GOAL)
    assert_code(arm.plan_path(GOAL, start=arm.seed(HOME)), "SUCCESS")


def test_seed_that_lacks_a_joint_cannot_be_filled_in_without_joint_states(arm):
    answer = arm.solve_ik(GOAL, seed=joint_state(arm.chain.names[:5], HOME[:5]))
    assert_code(answer, "INVALID_ROBOT_STATE", "wrist_3_joint", "no joint states")


def test_missing_joints_are_named_and_so_are_those_that_came(arm, source):
    message = joint_state(["shoulder_pan_joint", "elbow_joint", "gripper"], [0.0, 1.0, 0.0])
    source.until(message, lambda: "gripper" in arm.solve_ik(GOAL).message, "the joint states")
    source.publisher.publish(message)
    answer = arm.solve_ik(GOAL)
    missing = answer.message.split("received so far")[0]
    assert_code(answer, "NO_JOINT_STATE", "shoulder_lift_joint", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint")
    assert "shoulder_pan_joint" not in missing and "elbow_joint" not in missing


def test_stale_joint_states_are_not_moved_on_and_their_age_is_told(arm, source):
    source.until(arm.seed(HOME), lambda: arm.solve_ik(GOAL).code.value == 1, "the joint states")
    # Nothing more is sent: they grow old. The parameter joint_state_max_age is 0.5 s.
    answer = arm.client.wait_until(
        lambda: (lambda a: a if a.code.value != 1 else None)(arm.plan_path(GOAL)), "the joint states to grow stale"
    )
    assert_code(answer, "ROBOT_STATE_STALE", "0.500", "shoulder_pan_joint")
    age = float(answer.message.split("is ")[1].split(" s old")[0]) if " s old" in answer.message else None
    assert age is not None and age >= 0.5, answer.message
    assert_code(arm.solve_ik(GOAL), "ROBOT_STATE_STALE")
    assert_report(arm.send(PoseStamped, "goal_pose", GOAL), "ROBOT_STATE_STALE", "s old")
    # With fresh ones it goes on.
    source.until(arm.seed(HOME), lambda: arm.solve_ik(GOAL).code.value == 1, "fresh joint states")


def test_one_stale_joint_is_enough_and_is_named(arm, source):
    """The arm's joints from two publishers, of which one falls silent."""
    source.until(arm.seed(HOME), lambda: arm.solve_ik(GOAL).code.value == 1, "the joint states")
    most = joint_state(arm.chain.names[:5], HOME[:5])
    source.until(most, lambda: arm.solve_ik(GOAL).code.value != 1, "the last joint to grow stale")
    source.publisher.publish(most)
    answer = arm.solve_ik(GOAL)
    assert_code(answer, "ROBOT_STATE_STALE", "wrist_3_joint")
    assert "elbow_joint" not in answer.message, answer.message


def test_joints_may_come_in_several_messages_and_any_order(arm, source):
    halves = [(arm.chain.names[4:1:-1], HOME[4:1:-1]), (["gripper", *arm.chain.names[:2]], [0.0, *HOME[:2]])]
    last = (arm.chain.names[5:], HOME[5:])

    def complete():
        for names, positions in (*halves, last):
            source.send(names, positions)
        return arm.solve_ik(GOAL).code.value == 1

    arm.client.wait_until(complete, "all the joints")
    complete()
    assert np.allclose(seen_state(arm), HOME, atol=1e-9)


def test_publishers_of_every_kind_are_heard(arm):
    """Best effort as from simulators, latched as from a joint_state_broadcaster."""
    for qos, shift in ((qos_profile_sensor_data, 0.0), (LATCHED, 0.1)):
        publisher = arm.client.node.create_publisher(JointState, arm.states_topic, qos)
        message = arm.seed([HOME[0] + shift, *HOME[1:]])

        def heard(publisher=publisher, message=message, shift=shift):
            publisher.publish(message)
            answer = arm.plan_path(GOAL)
            return answer.code.value == 1 and abs(answer.trajectory.points[0].positions[0] - HOME[0] - shift) < 1e-9

        arm.client.wait_until(heard, "the publisher to be heard")
        arm.client.node.destroy_publisher(publisher)


def test_state_outside_the_limits_by_a_hair_is_planned_from(arm, source):
    outside = [*HOME[:5], 2 * math.pi + 0.003]
    source.until(arm.seed(outside), lambda: arm.solve_ik(GOAL).code.value == 1, "the joint states")
    source.publisher.publish(arm.seed(outside))
    answer = arm.plan_path(GOAL)
    assert_code(answer, "SUCCESS", "wrist_3_joint", "limit")
    assert abs(answer.trajectory.points[0].positions[5] - 2 * math.pi) < 1e-9


def test_state_well_outside_the_limits_is_refused(arm, source):
    outside = [*HOME[:5], 2 * math.pi + 0.4]
    source.until(arm.seed(outside), lambda: arm.plan_path(GOAL).code.value != -1011, "the joint states")
    source.publisher.publish(arm.seed(outside))
    assert_code(arm.plan_path(GOAL), "START_STATE_INVALID", "wrist_3_joint", "0.4000")


# --- cases after public reports ---


@pytest.fixture
def claw_arm(starter):
    """The arm of the cases: three joints and a claw that another claw follows."""
    case = fault("js_nan_fields")
    parameters = {"base_link": "base", "tip_link": "claw_r", "joint_state_max_age": 1000.0}
    arm = starter.arm(FAULTS / case["input"]["urdf_file"], parameters)
    assert sorted(arm.chain.names) == sorted(case["expected"]["required_joints"])
    return arm


def known_state(arm):
    """The joint values that the node has, by name; None while it lacks some.

    Asked by the pose that the tip has in its own frame: the current state itself is the answer.
    """
    answer = arm.solve_ik(stamped((0, 0, 0), (0, 0, 0, 1), arm.chain.tip))
    if answer.code.value != 1:
        return None
    return dict(zip(answer.solutions[0].name, answer.solutions[0].position))


def send_and_settle(arm, message, mark):
    """Send a message, then one that moves the claw alone to `mark`; returns the state once that one was taken in."""
    publisher = arm.client.publisher(JointState, arm.states_topic)

    def marked():
        publisher.publish(message)
        publisher.publish(joint_state(["claw"], [mark]))
        state = known_state(arm)
        return state if state and abs(state["claw"] - mark) < 1e-9 else None

    return arm.client.wait_until(marked, "the message after the case's to be taken in")


def message_of(entry):
    message = joint_state(entry["name"], [number(value) for value in entry["position"]])
    message.velocity = [number(value) for value in entry.get("velocity", [])]
    message.effort = [number(value) for value in entry.get("effort", [])]
    return message


def assert_state(state, expected, when):
    for name in ("sho", "elb", "wri"):
        assert abs(state[name] - expected[name]) < 1e-9, f"{when}: {name} is {state[name]}, not {expected[name]}"


def test_js_nan_fields(claw_arm):
    """NaN effort is normal and NaN positions must neither be kept nor cost the other joints of the message."""
    case = fault("js_nan_fields")
    for index, entry in enumerate(case["input"]["messages"]):
        state = send_and_settle(claw_arm, message_of(entry), 0.02 + 0.001 * index)
        assert_state(state, case["expected"]["state_after"][entry["id"]], entry["id"])
    log = claw_arm.process.log()
    for id_, joints in case["expected"]["warn"].items():
        for joint in joints:
            warned = any("WARN" in line and f'"{joint}"' in line for line in log.splitlines())
            assert warned, f"{id_}: no word on {joint}"


def test_js_length_mismatch(claw_arm):
    """Lists of unequal length are refused as a whole, and nothing is ever read past an end."""
    case = fault("js_length_mismatch")
    before = case["input"]["state_before"]
    state = send_and_settle(claw_arm, joint_state(list(before), list(before.values())), 0.02)
    assert_state(state, before, "before")
    for index, entry in enumerate(case["input"]["messages"]):
        state = send_and_settle(claw_arm, message_of(entry), 0.021 + 0.001 * index)
        if entry["id"] != "velocity_short":
            assert_state(state, before, entry["id"])
    expected = case["expected"]
    choices = (expected["state_after_all"], expected["state_after_all_if_last_rejected"])
    assert any(all(abs(state[n] - choice[n]) < 1e-9 for n in ("sho", "elb", "wri")) for choice in choices), state
    assert "WARN" in claw_arm.process.log()


def test_one_fault_again_and_again_is_not_logged_each_time(claw_arm):
    entry = fault("js_length_mismatch")["input"]["messages"][0]
    publisher = claw_arm.client.publisher(JointState, claw_arm.states_topic)

    def warnings():
        return [line for line in claw_arm.process.log().splitlines() if "WARN" in line and "3 name(s)" in line]

    def warned():
        publisher.publish(message_of(entry))
        return warnings()

    claw_arm.client.wait_until(warned, "a warning")
    for _ in range(50):
        publisher.publish(message_of(entry))
    send_and_settle(claw_arm, joint_state(["sho", "elb", "wri"], [0.1, 0.2, 0.3]), 0.02)
    assert len(warnings()) < 10, len(warnings())
