"""What the node says when it cannot start: exit code 2 and one line that helps; and how it takes descriptions."""

import math

import pytest
from arm import DEEP_LATCHED, Arm, assert_code, assert_report
from diagnostic_msgs.msg import DiagnosticStatus
from harness import ROOT, URDF_FOLDER
from messages import stamped
from rcl_interfaces.srv import GetParameters, ListParameters
from std_msgs.msg import String

FAULTS = ROOT / "tests" / "data" / "faults"
SIX = str(URDF_FOLDER / "six_axis.urdf")
GOAL = stamped((0.42, 0.28, 0.26))


def refused(starter, parameters, *words):
    """Start the node with parameters that it cannot use: it ends with 2, and its last line has the words."""
    process = starter.process(parameters)
    code = process.wait_for_exit()
    lines = [line for line in process.log().splitlines() if line.strip()]
    assert code == 2, f"exit code {code}:\n{process.log()}"
    errors = [line for line in lines if line.startswith("arm_planner_node:")]
    assert len(errors) == 1, f"not one clear line:\n{process.log()}"
    for word in words:
        assert word in errors[0], f"no {word!r} in: {errors[0]}"
    assert "panicked" not in process.log() and "RUST_BACKTRACE" not in process.log()
    return errors[0]


# --- the description ---


def test_file_that_is_missing(starter):
    refused(starter, {"urdf_file": "no/such/arm.urdf"}, "urdf_file", "no/such/arm.urdf", "No such file")


def test_file_that_is_a_folder(starter):
    refused(starter, {"urdf_file": str(URDF_FOLDER)}, "urdf_file", str(URDF_FOLDER))


def test_package_that_is_missing(starter):
    refused(starter, {"urdf_file": "package://no_such_arm/arm.urdf"}, "urdf_file", "no_such_arm")


def test_text_that_is_no_xml(starter):
    refused(starter, {"robot_description": "<robot name='a'><link name='b'>"}, "robot_description", "XML", "line")


def test_xml_that_is_no_robot(starter):
    refused(starter, {"robot_description": "<sdf><model/></sdf>"}, "robot_description", "<sdf>", "<robot>")


def test_xacro_that_was_not_expanded(starter):
    text = "<robot name='a'><link name='b'/><xacro:arm parent='b'/></robot>"
    refused(starter, {"robot_description": text}, "robot_description", "xacro")


def test_robot_without_a_joint_that_moves(starter):
    text = "<robot name='a'><link name='base'/><link name='tip'/><joint name='j' type='fixed'><parent link='base'/>"
    text += "<child link='tip'/></joint></robot>"
    refused(starter, {"robot_description": text}, "moves")


def test_several_tips_are_listed(starter):
    parameters = {"urdf_file": str(FAULTS / "js_nan_fields.urdf")}
    refused(starter, parameters, "several tips", "tip_link", "claw_l", "claw_r")


def test_tip_and_base_that_do_not_exist_are_named_with_a_guess(starter):
    refused(starter, {"urdf_file": SIX, "tip_link": "tool_0"}, '"tool_0"', "tool0")
    refused(starter, {"urdf_file": SIX, "base_link": "base_lnk"}, '"base_lnk"', "base_link")


def test_tip_that_is_not_below_the_base(starter):
    refused(starter, {"urdf_file": SIX, "base_link": "tool0", "tip_link": "base_link"}, "tool0", "base_link")


@pytest.mark.parametrize(
    "name, words",
    [
        ("urdf_two_roots", ["no parent"]),
        ("urdf_two_parents", ["child of several joints"]),
        ("urdf_self_loop", ["loop"]),
        ("urdf_mimic_cycle", ["mimic", "circle"]),
        ("urdf_limits_reversed", ["limit"]),
        ("urdf_revolute_no_limit", ["limit"]),
        ("urdf_comma_decimal", ["line"]),
        ("urdf_bad_vector", ["line"]),
    ],
)
def test_description_with_a_fault_is_refused_in_one_line(starter, name, words):
    line = refused(starter, {"urdf_file": str(FAULTS / f"{name}.urdf")}, f"{name}.urdf", *words)
    assert len(line) < 600, line


def test_description_by_parameter(starter):
    parameters = {"robot_description": (URDF_FOLDER / "six_axis.urdf").read_text(), "mock_controller": True}
    process = starter.node(parameters)
    arm = Arm(process, starter.client, parameters["robot_description"], "base_link", "tool0")
    arm.joints()
    answer = arm.solve_ik(GOAL)
    assert_code(answer, "SUCCESS")
    arm.check_solution(answer.solutions[0], GOAL)


def test_file_goes_before_the_parameter_with_the_text(starter):
    parameters = {"urdf_file": SIX, "robot_description": "<broken", "mock_controller": True}
    starter.node(parameters).wait_for_log(starter.client, '"six_axis"')


def test_description_by_the_latched_topic_bad_then_good_then_bad(starter):
    """Until a good one has come every request says what is missing; a bad one later does no harm."""
    text = (URDF_FOLDER / "six_axis.urdf").read_text()
    process = starter.node({"mock_controller": True})
    arm = Arm(process, starter.client, text, "base_link", "tool0")
    assert_code(arm.solve_ik(GOAL), "NO_MODEL", "/robot_description", "urdf_file")
    assert_code(arm.plan_path(GOAL), "NO_MODEL")
    publish = starter.client.publish_latched
    publish(String, "/robot_description", String(data="<robot name='half'><link"))
    assert_report(arm.report("robot_description", 0), "NO_MODEL", "XML")
    assert_code(arm.solve_ik(GOAL), "NO_MODEL", "XML")
    start = len(arm.reports.messages)
    publish(String, "/robot_description", String(data=text))
    assert_report(arm.report("robot_description", start), "SUCCESS", "six_axis")
    arm.joints()
    arm.client.wait_until(lambda: arm.solve_ik(GOAL).code.value == 1, "the mock arm to be known")
    start = len(arm.reports.messages)
    publish(String, "/robot_description", String(data="<sdf/>"))
    assert_report(arm.report("robot_description", start), "NO_MODEL", "six_axis", "kept")
    answer = arm.solve_ik(GOAL)
    assert_code(answer, "SUCCESS")
    arm.check_solution(answer.solutions[0], GOAL)


def test_description_that_was_published_before_the_node_started(starter):
    text = (URDF_FOLDER / "six_axis.urdf").read_text()
    starter.client.publish_latched(String, "/robot_description", String(data=text))
    process = starter.node({"mock_controller": True})
    reports = starter.client.listen(DiagnosticStatus, process.topic("status"), DEEP_LATCHED)
    report = reports.wait_for(lambda r: r.name == "robot_description", "the description to be read")
    assert_report(report, "SUCCESS", "six_axis")


# --- parameters ---


@pytest.mark.parametrize(
    "name, value, words",
    [
        ("planning.clearance", -0.1, ["-0.1", "at least 0"]),
        ("planning.clearance", math.nan, ["NaN"]),
        ("planning.clearance", "wide", ['"wide"', "number"]),
        ("planning.roadmap", "voronoi", ['"voronoi"', "visibility_graph"]),
        ("planning.contact", "maybe", ['"maybe"', "blocked", "passable"]),
        ("planning.self_crossing", "ignore", ["refuse", "resolve"]),
        ("planning.tip_step", 0.0, ["greater than 0"]),
        ("ik.solver", "magic", ['"magic"', "damped_svd"]),
        ("ik.max_iterations", 0, ["0", "1"]),
        ("ik.max_iterations", 2.5, ["2.5", "whole"]),
        ("ik.timeout", math.inf, ["inf"]),
        ("ik.preferred_posture", [0.1, 0.2], ["2", "6"]),
        ("ik.posture_weights", [-1.0] * 6, ["at least 0"]),
        ("trajectory.velocity_scaling", 1.5, ["1.5", "at most 1"]),
        ("trajectory.max_acceleration", [1.0, 2.0], ["2", "6"]),
        ("trajectory.sample_period", -0.01, ["greater than 0"]),
        ("tracking.max_step", 0.0, ["greater than 0"]),
        ("mock_rate", 0.0, ["greater than 0"]),
        ("mock_controller", "yes please", ["true or false"]),
        ("mock_initial_positions", [0.0] * 7, ["7", "6"]),
        ("controller_joints", ["shoulder_pan_joint", "elbw_joint"], ['"elbw_joint"', "elbow_joint"]),
        ("controller_joints", ["elbow_joint", "elbow_joint"], ["elbow_joint", "twice"]),
        ("controller_topic", "not a topic!", ["not a topic!"]),
        ("joint_state_max_age", -1.0, ["greater than 0"]),
    ],
)
def test_parameter_that_cannot_be_used(starter, name, value, words):
    line = refused(starter, {"urdf_file": SIX, name: value}, *words)
    assert name in line or name == "controller_topic", line


def test_parameter_with_a_slip_of_the_pen_is_not_passed_over(starter):
    refused(starter, {"urdf_file": SIX, "planning.clearence": 0.05}, "planning.clearence", "planning.clearance")


def test_parameters_of_others_are_passed_over_with_a_word(starter):
    process = starter.node({"urdf_file": SIX, "gripper_width": 0.08})
    process.wait_for_log(starter.client, "gripper_width")


def test_parameter_file_of_the_repository_holds_the_defaults(starter):
    """It starts, and every value in it is the one that the node has without it."""
    plain = starter.node({"urdf_file": SIX}, name="plain")
    lines = (ROOT / "config" / "arm_planner.yaml").read_text()
    filed = starter.node_with_file(ROOT / "config" / "arm_planner.yaml", {"urdf_file": SIX}, name="filed")
    call = starter.client.call
    names = call(ListParameters, plain.topic("list_parameters"), ListParameters.Request()).result.names
    assert "planning.clearance" in names
    for name in names:
        assert name.split(".")[-1] + ":" in lines or name == "use_sim_time", f"{name} is not in the file"
    request = GetParameters.Request(names=names)
    one = call(GetParameters, plain.topic("get_parameters"), request).values
    other = call(GetParameters, filed.topic("get_parameters"), request).values
    for name, default, value in zip(names, one, other):
        assert default == value, f"{name}: {default} by default, {value} in the file"
