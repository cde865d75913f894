"""~/goal_pose and ~/goal_poses: the arm goes there, and ~/status says what came of it."""

import math

import numpy as np
import pytest
from arm import assert_report, values_of
from geometry_msgs.msg import PoseArray, PoseStamped
from messages import DOWN, obstacle, obstacles, poses, stamped
from planar import box, clearance
from sensor_msgs.msg import JointState

HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
GOAL, OTHER = (0.42, 0.28, 0.26), (0.40, -0.30, 0.26)


@pytest.fixture
def arm(starter):
    started = starter.arm("six_axis", {"mock_controller": True, "mock_initial_positions": HOME})
    started.joints()
    return started


def tip_of(arm, q):
    return arm.chain.forward(q)[:3, 3]


def at_rest_at(arm, position):
    """Wait until the tip is at the position."""
    arm.client.wait_until(
        lambda: np.linalg.norm(tip_of(arm, arm.joints()) - position) < 1e-4, f"the tip to arrive at {position}"
    )


def test_goal_pose_is_gone_to_and_reported_in_words_and_code(arm):
    start = len(arm.reports.messages)
    executing = arm.send(PoseStamped, "goal_pose", stamped(GOAL))
    assert_report(executing, "SUCCESS", "executing", "path of")
    values = values_of(executing)
    assert values["code_name"] and values["fraction"] == "1" and values["state"] == "executing"
    assert float(values["path_length"]) > 0.1 and float(values["duration"]) > 0.1
    assert executing.hardware_id == "six_axis"
    reached = arm.state_report("goal_pose", "reached", start)
    assert_report(reached, "SUCCESS", "reached")
    assert values_of(reached)["goal"] == values["goal"], "not the same goal"
    assert int(values_of(reached)["sequence"]) > int(values["sequence"])
    at_rest_at(arm, GOAL)
    assert len(arm.sent.messages) == 1
    arm.check_trajectory(arm.sent.messages[0])


def test_trajectory_that_is_sent_starts_where_the_arm_is(arm):
    arm.send(PoseStamped, "goal_pose", stamped(GOAL))
    sent = arm.sent.wait_for(what="the trajectory")
    _, positions, velocities = arm.check_trajectory(sent)
    assert np.allclose(positions[0], HOME, atol=1e-6) and np.all(velocities[0] == 0.0)


def test_goal_at_which_the_arm_is_already_is_reached_at_once(arm):
    start = len(arm.reports.messages)
    arm.send(PoseStamped, "goal_pose", stamped(GOAL))
    arm.state_report("goal_pose", "reached", start)
    q = arm.fresh_joints()
    start = len(arm.reports.messages)
    assert_report(arm.send(PoseStamped, "goal_pose", stamped(GOAL)), "SUCCESS")
    assert_report(arm.state_report("goal_pose", "reached", start), "SUCCESS")
    assert np.allclose(arm.fresh_joints(), q, atol=1e-6)


def test_goal_poses_are_visited_in_order(arm):
    # Neither on the straight line between the others.
    stops = [OTHER, (0.50, 0.05, 0.36), GOAL]
    start = len(arm.reports.messages)
    arm.send(PoseArray, "goal_poses", poses(stops))
    arm.state_report("goal_poses", "reached", start)
    assert len(arm.sent.messages) == 1, "one motion through all of them"
    _, positions, _ = arm.check_trajectory(arm.sent.messages[0])
    share = np.linspace(0, 1, 10, endpoint=False)[:, None]
    fine = np.vstack([a + share * (b - a) for a, b in zip(positions[:-1], positions[1:])] + [positions[-1:]])
    tips = arm.tips(fine)
    passed = [int(np.argmin(np.linalg.norm(tips - stop, axis=1))) for stop in stops]
    assert passed == sorted(passed) and len(set(passed)) == 3, passed
    for stop, index in zip(stops, passed):
        assert np.linalg.norm(tips[index] - stop) < 2e-3
    at_rest_at(arm, GOAL)


def test_goal_poses_that_cannot_all_be_reached_name_the_one_and_nothing_moves(arm):
    report = arm.send(PoseArray, "goal_poses", poses([GOAL, (3.0, 0.0, 0.3), OTHER]))
    assert_report(report, "UNREACHABLE", "goal 2", "out of reach")
    assert report.level == b"\x02" and values_of(report)["state"] == "failed"
    assert not arm.sent.messages
    assert np.allclose(arm.fresh_joints(), HOME, atol=1e-6)


def test_way_of_a_goal_leads_around_obstacles(arm):
    boxes = [box(0.50, 0.0, 0.10, 0.10)]
    arm.send_obstacles(obstacles(obstacle("crate", boxes[0])))
    start = len(arm.reports.messages)
    executing = arm.send(PoseStamped, "goal_pose", stamped(GOAL))
    assert_report(executing, "SUCCESS")
    arm.state_report("goal_pose", "reached", start)
    seen = np.array([arm.chain.values(s.name, s.position) for s in arm.states.messages])
    assert clearance(arm.tips(seen)[:, :2], boxes) >= 0.03 - 1e-3
    at_rest_at(arm, GOAL)


@pytest.mark.parametrize(
    "goal, code, words",
    [
        (stamped((3.0, 0.0, 0.3)), "UNREACHABLE", ["out of reach", "too far"]),
        (stamped((math.nan, 0.0, 0.3)), "INVALID_REQUEST", ["position", "not finite"]),
        (stamped(GOAL, (0, 0, 0, 0)), "INVALID_REQUEST", ["quaternion is zero"]),
        (stamped(GOAL, DOWN, "wrold"), "FRAME_TRANSFORM_FAILURE", ['"wrold"']),
        (stamped((0.55, 0.05, 0.3)), "GOAL_IN_COLLISION", ["goal", "crate"]),
    ],
    ids=["out of reach", "NaN", "zero quaternion", "unknown frame", "in an obstacle"],
)
def test_goal_that_cannot_be_had_is_reported_and_nothing_moves(arm, goal, code, words):
    arm.send_obstacles(obstacles(obstacle("crate", box(0.55, 0.05, 0.1, 0.1))))
    report = arm.send(PoseStamped, "goal_pose", goal)
    assert_report(report, code, *words)
    values = values_of(report)
    assert values["state"] == "failed" and report.level == b"\x02" and float(values["fraction"]) < 1.0
    assert not arm.sent.messages
    assert np.allclose(arm.fresh_joints(), HOME, atol=1e-6)


def test_empty_list_of_goals_is_refused(arm):
    assert_report(arm.send(PoseArray, "goal_poses", poses([])), "INVALID_REQUEST", "no pose")


def test_newer_goal_replaces_one_under_way(arm):
    start = len(arm.reports.messages)
    arm.send(PoseStamped, "goal_pose", stamped(GOAL))
    arm.client.wait_until(lambda: np.max(np.abs(arm.joints() - HOME)) > 0.1, "the arm to move")
    arm.client.publish(PoseStamped, arm.process.topic("goal_pose"), stamped(OTHER))
    preempted = arm.state_report("goal_pose", "preempted", start)
    assert_report(preempted, "PREEMPTED", "newer")
    assert preempted.level == b"\x01"
    reached = arm.state_report("goal_pose", "reached", start)
    assert values_of(reached)["goal"] != values_of(preempted)["goal"]
    at_rest_at(arm, OTHER)
    for message in arm.sent.messages:
        arm.check_trajectory(message)


def test_goals_in_quick_succession_end_at_the_last(arm):
    start = len(arm.reports.messages)
    publisher = arm.client.publisher(PoseStamped, arm.process.topic("goal_pose"))
    for number in range(8):
        publisher.publish(stamped((0.42, 0.28 - 0.03 * number, 0.26)))
    last = (0.42, 0.28 - 0.03 * 7, 0.26)
    arm.state_report("goal_pose", "reached", start)
    at_rest_at(arm, last)
    outcomes = [values_of(report)["state"] for report in arm.reports.messages[start:]]
    assert outcomes.count("reached") == 1, outcomes


def test_goals_are_only_planned_where_the_parameter_says_so(starter):
    parameters = {"mock_controller": True, "mock_initial_positions": HOME, "execute_on_goal_pose": False}
    arm = starter.arm("six_axis", parameters)
    arm.joints()
    report = arm.send(PoseStamped, "goal_pose", stamped(GOAL))
    assert_report(report, "SUCCESS", "planned")
    assert values_of(report)["state"] == "planned"
    assert not arm.sent.messages
    assert np.allclose(arm.fresh_joints(), HOME, atol=1e-6)


def test_controller_that_does_not_follow_is_reported(starter):
    """Joint states come in, but nobody moves the arm."""
    arm = starter.arm("six_axis", {})
    publisher = arm.client.publisher(JointState, arm.states_topic)
    start = len(arm.reports.messages)

    def keep_still(what, condition):
        def step():
            publisher.publish(arm.seed(HOME))
            return condition()

        arm.client.wait_until(step, what, 40.0)

    keep_still("joint states to be taken", lambda: arm.solve_ik(stamped(GOAL)).code.value == 1)
    arm.client.publish(PoseStamped, arm.process.topic("goal_pose"), stamped(GOAL))
    keep_still("the failure", lambda: any(values_of(r).get("state") == "failed" for r in arm.reports.messages[start:]))
    report = arm.state_report("goal_pose", "failed", start)
    assert_report(report, "CONTROL_FAILED", "joint_trajectory_controller/joint_trajectory")


@pytest.mark.parametrize("kind", ["nan", "road map", "out of reach", "frame", "extra"])
def test_what_cannot_be_done_does_not_end_what_goes_on(starter, kind):
    """A request that is refused must not stop an arm that follows another goal."""
    parameters = {"mock_controller": True, "mock_initial_positions": HOME, "trajectory.velocity_scaling": 0.3}
    arm = starter.arm("six_axis", parameters)
    arm.joints()
    start = len(arm.reports.messages)
    arm.send(PoseStamped, "goal_pose", stamped(GOAL))
    arm.sent.wait_for()
    goal, fields = stamped((0.4, 0.2, 0.3)), {}
    if kind == "nan":
        goal.pose.position.x = float("nan")
    elif kind == "road map":
        fields = {"roadmap": "voronoi"}
    elif kind == "out of reach":
        goal = stamped((4.0, 0.0, 0.3))
    elif kind == "frame":
        goal.header.frame_id = "nowhere"
    else:
        fields = {"extra_obstacles": [obstacle("flat", [(0.0, 0.0), (1.0, 0.0)])]}
    assert arm.plan_path(goal, execute=True, **fields).code.value != 1
    if not fields:
        arm.send(PoseStamped, "goal_pose", goal)
    arm.state_report("goal_pose", "reached", start)
    assert len(arm.sent.messages) == 1
