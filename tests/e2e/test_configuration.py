"""Parameters that are set at the start, each by what it changes."""

import os

import numpy as np
import pytest
from arm import TIP_ALONE, Arm, assert_code, assert_report, values_of
from arm_planner_msgs.msg import ErrorCode
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PoseStamped
from harness import URDF_FOLDER
from messages import joint_state, obstacle, obstacles, stamped
from planar import box
from sensor_msgs.msg import JointState

HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
GOAL = stamped((0.42, 0.28, 0.26))
MOCK = {"mock_controller": True, "mock_initial_positions": HOME}


def start(starter, **parameters):
    arm = starter.arm("six_axis", {**MOCK, **TIP_ALONE, **{name.replace("__", "."): value for name, value in parameters.items()}})
    arm.joints()
    return arm


def test_controller_topic_is_where_trajectories_go(starter):
    arm = start(starter, controller_topic="/other_controller/joint_trajectory")
    began = len(arm.reports.messages)
    assert_report(arm.send(PoseStamped, "goal_pose", GOAL), "SUCCESS")
    assert arm.sent.name == "/other_controller/joint_trajectory"
    arm.check_trajectory(arm.sent.wait_for(what="the trajectory"))
    # The mock hears that topic too.
    arm.state_report("goal_pose", "reached", began)


def test_controller_joints_are_all_sent_and_the_others_held(starter):
    """A controller with another order and, on tiago's kind of robots, joints that are not the arm's."""
    names = ["wrist_3_joint", "wrist_2_joint", "wrist_1_joint", "elbow_joint", "shoulder_lift_joint"]
    names.append("shoulder_pan_joint")
    parameters = {**MOCK, "tip_link": "forearm_link", "mock_initial_positions": HOME[:3], "controller_joints": names}
    process = starter.node({"urdf_file": str(URDF_FOLDER / "six_axis.urdf"), **parameters})
    text = (URDF_FOLDER / "six_axis.urdf").read_text()
    arm = Arm(process, starter.client, text, "base_link", "forearm_link")
    q = arm.joints()
    assert np.allclose(q, HOME[:3], atol=1e-9)
    answer = arm.plan_path(arm.chain.forward(q), execute=True)
    assert_code(answer, "SUCCESS")
    sent = arm.sent.wait_for(what="the trajectory")
    assert sorted(sent.joint_names) == sorted(names), "the controller would refuse a part of its joints"
    held = arm.states.messages[-1]
    by_name = dict(zip(held.name, held.position))
    for point in sent.points:
        for name, value in zip(sent.joint_names, point.positions):
            if name.startswith("wrist"):
                assert abs(value - by_name[name]) < 1e-9, f"{name} was to be held"


def test_package_url_is_looked_up_where_ros_looks(starter, tmp_path):
    folder = tmp_path / "share" / "my_arm"
    folder.mkdir(parents=True)
    (folder / "arm.urdf").write_text((URDF_FOLDER / "six_axis.urdf").read_text())
    prefixes = f"{tmp_path}:{os.environ['AMENT_PREFIX_PATH']}"
    process = starter.node({"urdf_file": "package://my_arm/arm.urdf"}, environment={"AMENT_PREFIX_PATH": prefixes})
    process.wait_for_log(starter.client, '"six_axis"')


def test_tolerances_of_inverse_kinematics(starter):
    arm = start(starter, ik__position_tolerance=0.01, ik__orientation_tolerance=0.05, ik__solver="damped_svd")
    target = arm.chain.forward([-0.5, -1.8, 1.9, -1.5, -1.4, 0.2])
    loose = arm.solve_ik(target)
    assert_code(loose, "SUCCESS")
    assert loose.solver == "damped_svd"
    arm.check_solution(loose.solutions[0], target, position=0.01, orientation=0.05)
    assert loose.position_error > 1e-6 or loose.orientation_error > 1e-6, "the tolerance made no difference"
    tight = arm.solve_ik(target, position_tolerance=1e-7, orientation_tolerance=1e-7)
    arm.check_solution(tight.solutions[0], target, position=1.1e-7, orientation=1.1e-7)


def test_preferred_posture_of_the_parameter_file_is_the_default(starter):
    q = np.array([0.2, 0.3, -0.1, -1.9, 0.1, 2.1, 0.5])
    elbows = []
    for wish in (-0.8, 0.8):
        posture = [0.0, 0.0, wish, -1.5, 0.0, 1.8, 0.0]
        weights = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
        parameters = {"mock_controller": True, "ik.preferred_posture": posture, "ik.posture_weights": weights}
        arm = starter.arm("seven_axis", {**parameters, "mock_publish_tf": False}, namespace=f"/wish_{len(elbows)}")
        arm.joints()
        target = arm.chain.forward(q)
        answer = arm.solve_ik(target, seed=arm.seed(q))
        assert_code(answer, "SUCCESS")
        arm.check_solution(answer.solutions[0], target)
        elbows.append(answer.solutions[0].position[2])
    assert elbows[0] < -0.4 and elbows[1] > 0.4, elbows


def test_self_crossing_obstacles_are_resolved_where_that_is_wanted(starter):
    arm = start(starter, planning__self_crossing="resolve")
    x, y = 0.50, 0.10
    bow = [(x - 0.1, y - 0.1), (x + 0.1, y + 0.1), (x + 0.1, y - 0.1), (x - 0.1, y + 0.1)]
    report = arm.send_obstacles(obstacles(obstacle("bow", bow)))
    assert_report(report, "SUCCESS", "bow")
    assert report.level == b"\x01", "a repair that changes what was sent is worth a warning"
    # Both wings are there, the notches above and below the crossing are not.
    for dx in (-0.07, 0.07):
        assert_code(arm.plan_path(stamped((x + dx, y, 0.3)), clearance=0.0), "GOAL_IN_COLLISION", "bow")
    for dy in (-0.07, 0.07):
        answer = arm.plan_path(stamped((x, y + dy, 0.3)), clearance=0.0)
        assert answer.code.value != -12, answer.message


@pytest.mark.parametrize("contact, code", [("blocked", "NO_PATH"), ("passable", "SUCCESS")])
def test_contact_of_obstacles_is_passed_only_where_that_is_wanted(starter, contact, code):
    """A wall across everything, of two halves that touch along a line between start and goal."""
    arm = start(starter, planning__contact=contact, planning__clearance=0.0)
    begin = arm.solve_ik(stamped((0.42, -0.15, 0.3)))
    assert_code(begin, "SUCCESS")
    halves = [obstacle("left", box(-4.5, 0.0, 10.0, 0.25)), obstacle("right", box(5.5, 0.0, 10.0, 0.25))]
    # They meet at x = 0.5, which single precision holds exactly.
    ends = [obstacle("west", box(-9.5, 0.0, 0.5, 20.0)), obstacle("east", box(10.5, 0.0, 0.5, 20.0))]
    ends += [obstacle("north", box(0.5, 10.0, 21.0, 0.5)), obstacle("south", box(0.5, -10.0, 21.0, 0.5))]
    answer = arm.plan_path(
        stamped((0.55, 0.15, 0.3)),
        start=arm.seed(begin.solutions[0].position),
        extra_obstacles=[*halves, *ends],
    )
    assert_code(answer, code)


def test_acceleration_limits_and_sample_period_of_the_trajectory(starter):
    arm = start(starter, trajectory__max_acceleration=[0.5, 1.0, 1.5, 2.0, 2.5, 3.0], trajectory__sample_period=0.05)
    answer = arm.plan_path(GOAL)
    assert_code(answer, "SUCCESS")
    times, _, _ = arm.check_trajectory(answer.trajectory)
    assert np.median(np.diff(times)) == pytest.approx(0.05, rel=0.05)
    accelerations = np.abs([point.accelerations for point in answer.trajectory.points])
    assert np.all(accelerations <= np.array([0.5, 1.0, 1.5, 2.0, 2.5, 3.0]) * (1 + 1e-6))
    assert accelerations[:, 0].max() > 0.4, "the first joint leads this motion, its limit is not used"


def test_tip_step_decides_how_dense_the_path_is(starter):
    arm = start(starter, planning__tip_step=0.05, planning__angle_step=1.0)
    coarse = arm.plan_path(GOAL)
    assert_code(coarse, "SUCCESS")
    tips = np.array([(p.pose.position.x, p.pose.position.y, p.pose.position.z) for p in coarse.tip_path.poses])
    steps = np.linalg.norm(np.diff(tips, axis=0), axis=1)
    assert 0.02 < steps.max() <= 0.05 + 1e-9


def test_age_at_which_joint_states_are_stale(starter):
    arm = starter.arm("six_axis", {"joint_state_max_age": 3600.0})
    publisher = arm.client.publisher(JointState, arm.states_topic)

    def known():
        publisher.publish(joint_state(arm.chain.names, HOME))
        return arm.solve_ik(GOAL).code.value == 1

    arm.client.wait_until(known, "the joint states")
    # Nothing comes in any more, until another node's joint states would long be stale (0.5 s by default).
    first = arm.client.node.get_clock().now().nanoseconds
    arm.client.wait_until(lambda: arm.client.node.get_clock().now().nanoseconds - first > 700_000_000, "some time")
    assert_code(arm.solve_ik(GOAL), "SUCCESS")


def test_remapped_joint_states_are_heard(starter):
    arm = starter.arm("six_axis", {}, remap={"joint_states": "/robot_7/joint_states"})
    publisher = arm.client.publisher(JointState, "/robot_7/joint_states")

    def known():
        publisher.publish(joint_state(arm.chain.names, HOME))
        return arm.plan_path(GOAL).code.value == 1

    arm.client.wait_until(known, "the joint states")


def test_simulated_time_that_stands_still_holds_up_no_search(starter):
    """Without a /clock simulated time is 0 for ever; budgets and ages of joint states are by a steady clock."""
    arm = start(starter, use_sim_time=True)
    answer = arm.solve_ik(GOAL)
    assert_code(answer, "SUCCESS")
    arm.check_solution(answer.solutions[0], GOAL)
    # No joint values have the tool there; the search must end all the same.
    nowhere = arm.solve_ik(stamped((0.0, 0.02, 0.3), (0, 0, 0, 1)), timeout=Duration(nanosec=300_000_000))
    assert nowhere.code.value in (ErrorCode.NO_IK_SOLUTION, ErrorCode.TIMED_OUT), nowhere.message
    assert_code(arm.plan_path(GOAL), "SUCCESS")


def test_rate_of_the_mock_joint_states(starter):
    arm = starter.arm("six_axis", {**MOCK, "mock_rate": 5.0})
    arm.states.wait_for(start=6, what="seven joint states")
    stamps = [m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in arm.states.messages]
    # Never faster than that; a busy machine may be slower.
    assert (stamps[-1] - stamps[0]) / (len(stamps) - 1) > 0.15


def test_status_carries_the_robots_name(starter):
    arm = start(starter)
    report = arm.send_obstacles(obstacles(obstacle("crate", box(1, 1, 0.1, 0.1))))
    assert report.hardware_id == "six_axis" and values_of(report)["code_name"]
