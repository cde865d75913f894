"""What happens to an arm that moves: newer goals, obstacles that appear, joint states that stop coming."""

from pathlib import Path

import numpy as np
import pytest
from arm import assert_code, assert_report, values_of
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseArray, PoseStamped
from messages import joint_state, obstacle, obstacles, stamped, stamped_matrix
from motion import check_limits, check_smooth, polynomials, seen, stamp
from planar import box, clearance
from sensor_msgs.msg import JointState
from test_action import Diagnostics

# More than the radius of what is at the tip: the whole arm is kept out of obstacles.
CLEARANCE = 0.06
ARMS = {
    "six_axis": (None, None, [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]),
    "seven_axis": (None, None, [-0.6, 0.2, 0.0, -2.3, 0.0, 2.5, 0.3]),
    "ur5": (
        Path("ur_description/urdf/ur5_robot.urdf"),
        ("base_link", "tool0"),
        [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0],
    ),
    "panda": (
        Path("panda_description/urdf/panda.urdf"),
        ("panda_link0", "panda_hand_tcp"),
        [-0.6, 0.2, 0.0, -2.3, 0.0, 2.5, 0.3],
    ),
}
# Slow enough to plan before the arm has arrived.
SLOW = {"trajectory.velocity_scaling": 0.12}


def started(starter, request, name, parameters=None, **options):
    file, ends, home = ARMS[name]
    given = {
        "mock_controller": True,
        "mock_initial_positions": home,
        "mock_publish_tf": False,
        "planning.clearance": CLEARANCE,
        **SLOW,
    }
    given.update(parameters or {})
    description = name
    if file:
        description = request.getfixturevalue("robots") / file
        given.update(base_link=ends[0], tip_link=ends[1])
    arm = starter.arm(description, given, **options)
    arm.joints()
    # Enough joint states for the node to see that the controller has its clock.
    arm.client.wait_until(lambda: len(arm.states.messages) > 30, "joint states")
    return arm


@pytest.fixture(params=ARMS)
def any_arm(request, starter):
    return started(starter, request, request.param)


@pytest.fixture
def arm(request, starter):
    return started(starter, request, "six_axis")


def aside(arm, sideways, up=0.0):
    """A pose beside the tip's, across the line from the base."""
    goal = arm.chain.forward(arm.fresh_joints())
    outward = goal[:2, 3] / np.linalg.norm(goal[:2, 3])
    goal[:2, 3] += sideways * np.array([-outward[1], outward[0]])
    goal[2, 3] += up
    return goal


def low_post(begin, corners):
    """A post that is a little higher than the tip: the arm itself passes above."""
    return obstacle("post", corners, heights=(begin[2] - 0.3, begin[2] + 0.01))


def tip(arm):
    return arm.chain.forward(arm.joints())[:3, 3]


def go(arm, goal):
    arm.client.publish(PoseStamped, arm.process.topic("goal_pose"), stamped_matrix(goal))


def moved(arm, begin, distance):
    reports = len(arm.reports.messages)

    def gone():
        failed = [r.message for r in arm.reports.messages[reports:] if values_of(r).get("state") == "failed"]
        assert not failed, f"the arm does not go: {failed}"
        return np.linalg.norm(tip(arm) - begin) > distance

    arm.client.wait_until(gone, f"the tip to move by {distance} m")


def speeds(arm, start):
    return np.max(np.abs(seen(arm, start)[2]), axis=1)


def taken_up(arm, sideways):
    """Sends a newer goal in mid-motion; whether the arm went over to it without a stop."""
    begin, reports, states = tip(arm), len(arm.reports.messages), len(arm.states.messages)
    first, second = aside(arm, 0.35 * sideways), aside(arm, 0.2 * sideways, -0.05 * sideways)
    go(arm, first)
    moved(arm, begin, 0.06)
    switched = len(arm.states.messages)
    go(arm, second)
    arm.state_report("goal_pose", "reached", reports)
    reached = len(arm.states.messages)
    assert np.linalg.norm(tip(arm) - second[:3, 3]) < 1e-4
    check_smooth(arm, states)
    preempted = arm.state_report("goal_pose", "preempted", reports)
    assert_report(preempted, "PREEMPTED", "newer")
    # In motion all the way until it slows down for the second goal.
    moving = speeds(arm, switched)[: reached - switched]
    last = np.nonzero(moving > 0.05)[0][-1]
    if np.min(moving[:last]) < 0.01:
        return False
    one, two = arm.sent.messages[-2:]
    for message in (one, two):
        check_limits(arm, message)
    # The second one begins at a moment of the first one, in the same state.
    assert stamp(two) > 0.0 and stamp(one) == 0.0
    q, v = np.array(two.points[0].positions), np.array(two.points[0].velocities)
    _, positions, velocities, _ = polynomials(one)
    there = np.max(np.abs(positions - q), axis=1) < 2e-3
    assert np.any(there), "the second trajectory does not begin on the first one"
    assert np.min(np.max(np.abs(velocities[there] - v), axis=1)) < 0.02
    return True


def test_a_newer_goal_is_taken_up_without_a_stop(any_arm):
    """A machine that is busy with other things may plan too late: then the arm stops first."""
    assert any(taken_up(any_arm, sideways) for sideways in [1, -1, 1, -1]), "it has always stopped in between"


def test_an_obstacle_that_appears_is_gone_around(any_arm):
    arm = any_arm
    begin, reports, states = tip(arm), len(arm.reports.messages), len(arm.states.messages)
    goal = aside(arm, 0.36)
    go(arm, goal)
    moved(arm, begin, 0.03)
    middle = begin[:2] + 0.66 * (goal[:2, 3] - begin[:2])
    post = box(*middle, 0.05, 0.05)
    appeared = len(arm.states.messages)
    arm.send_obstacles(obstacles(low_post(begin, post)))
    replanned = arm.state_report("goal_pose", "replanned", reports)
    assert_report(replanned, "SUCCESS", "post")
    assert_report(arm.state_report("goal_pose", "reached", reports), "SUCCESS")
    assert np.linalg.norm(tip(arm) - goal[:3, 3]) < 1e-4
    check_smooth(arm, states)
    tips = arm.tips(seen(arm, appeared)[1])[:, :2]
    assert clearance(tips, [post]) > CLEARANCE - 5e-4
    for message in arm.sent.messages:
        check_limits(arm, message)


def gone_around(arm, goal):
    """Puts a post into the way of a motion; whether the arm went around it without a stop."""
    assert arm.trigger("clear_obstacles").success
    begin, reports = tip(arm), len(arm.reports.messages)
    go(arm, goal)
    moved(arm, begin, 0.03)
    appeared = len(arm.states.messages)
    post = box(*(begin[:2] + 0.8 * (goal[:2, 3] - begin[:2])), 0.04, 0.04)
    arm.send_obstacles(obstacles(low_post(begin, post)))
    arm.state_report("goal_pose", "replanned", reports)
    arm.state_report("goal_pose", "reached", reports)
    assert clearance(arm.tips(seen(arm, appeared)[1])[:, :2], [post]) > CLEARANCE - 5e-4
    moving = speeds(arm, appeared)
    last = np.nonzero(moving > 0.05)[0][-1]
    return np.min(moving[:last]) > 0.01


def test_a_far_obstacle_is_gone_around_without_a_stop(request, starter):
    arm = started(starter, request, "six_axis", {"trajectory.velocity_scaling": 0.1})
    # There and back: across the line from the base each time, it came out of the arm's reach.
    here, there = aside(arm, 0.0), aside(arm, 0.5)
    assert any(gone_around(arm, goal) for goal in [there, here, there]), "it has always stopped in between"


def test_an_obstacle_right_before_the_arm_makes_it_stop_first(arm):
    begin, reports = tip(arm), len(arm.reports.messages)
    goal = aside(arm, 0.45)
    along = (goal[:2, 3] - begin[:2]) / 0.45
    go(arm, goal)
    moved(arm, begin, 0.12)
    here = tip(arm)[:2]
    post = box(*(here + 0.2 * along), 0.05, 0.05)
    appeared = len(arm.states.messages)
    arm.send_obstacles(obstacles(low_post(begin, post)))
    arm.state_report("goal_pose", "replanned", reports)
    arm.state_report("goal_pose", "reached", reports)
    tips = arm.tips(seen(arm, appeared)[1])[:, :2]
    assert clearance(tips, [post]) > 0.0
    check_smooth(arm, appeared)


def test_a_goal_that_becomes_unreachable_ends_in_a_stop_with_the_reason(arm):
    begin, reports = tip(arm), len(arm.reports.messages)
    goal = aside(arm, 0.45)
    go(arm, goal)
    moved(arm, begin, 0.05)
    crate = box(*goal[:2, 3], 0.16, 0.16)
    states = len(arm.states.messages)
    arm.send_obstacles(obstacles(obstacle("crate", crate)))
    report = arm.state_report("goal_pose", "failed", reports)
    assert_report(report, "GOAL_IN_COLLISION", "crate", "stopped", "no other way")
    arm.states.wait_for(lambda s: np.max(np.abs(s.velocity)) < 1e-9, "the arm at rest", len(arm.states.messages))
    assert clearance(arm.tips(seen(arm, states)[1])[:, :2], [crate]) > 0.0
    check_smooth(arm, states)


def test_goals_that_were_passed_are_not_visited_again(arm):
    begin, reports = tip(arm), len(arm.reports.messages)
    first, second = aside(arm, 0.15), aside(arm, 0.5)
    message = PoseArray(poses=[stamped_matrix(first).pose, stamped_matrix(second).pose])
    arm.client.publish(PoseArray, arm.process.topic("goal_poses"), message)
    moved(arm, begin, 0.2)
    appeared = len(arm.states.messages)
    post = box(*(begin[:2] + 0.8 * (second[:2, 3] - begin[:2])), 0.04, 0.04)
    arm.send_obstacles(obstacles(low_post(begin, post)))
    arm.state_report("goal_poses", "replanned", reports)
    arm.state_report("goal_poses", "reached", reports)
    tips = arm.tips(seen(arm, appeared)[1])
    assert np.min(np.linalg.norm(tips - first[:3, 3], axis=1)) > 0.03, "it went back"
    assert np.linalg.norm(tip(arm) - second[:3, 3]) < 1e-4


def test_an_obstacle_for_another_link_stops_or_turns_the_arm(arm):
    """A post that the tip passes at a distance, but the forearm would sweep through."""
    begin, reports = tip(arm), len(arm.reports.messages)
    goal = aside(arm, 0.45)
    go(arm, goal)
    moved(arm, begin, 0.05)
    middle = 0.5 * (0.7 * begin[:2] + 0.3 * goal[:2, 3])
    arm.send_obstacles(obstacles(obstacle("post", box(*middle, 0.04, 0.04))))
    arm.report("goal_pose", reports, lambda r: values_of(r)["state"] in ("failed", "replanned") and "post" in r.message)


def test_stopping_is_smooth_from_where_the_arm_is(any_arm):
    arm = any_arm
    begin, states = tip(arm), len(arm.states.messages)
    go(arm, aside(arm, 0.35))
    moved(arm, begin, 0.06)
    assert arm.trigger("stop").success
    arm.states.wait_for(lambda s: np.max(np.abs(s.velocity)) < 1e-9, "the arm at rest", len(arm.states.messages))
    check_smooth(arm, states)
    check_limits(arm, arm.sent.messages[-1])


def test_an_arm_that_rests_too_close_to_something_can_go_on(arm):
    """As after a stop: closer to a post than links are to keep, without touching it; and refused where it touches."""
    q, goal = arm.fresh_joints(), aside(arm, 0.1)
    links = [arm.chain_to("base_link", link) for link in ("forearm_link", "wrist_1_link")]
    middle = np.mean([chain.forward(q[: len(chain.names)])[:3, 3] for chain in links], axis=0)
    assert middle[2] - 0.03 > tip(arm)[2] + CLEARANCE, "the post must not concern the tip"
    across = np.array([-middle[1], middle[0]]) / np.linalg.norm(middle[:2])

    def stand(distance):
        post = box(*(middle[:2] + distance * across), 0.02, 0.02)
        arm.send_obstacles(obstacles(obstacle("post", post, heights=(middle[2] - 0.02, middle[2] + 0.02))))

    # From where it does not matter until it touches, nearer by less than the clearance of links each time.
    near = []
    for distance in np.arange(-0.2, 0.1, 0.003):
        stand(distance)
        answer = arm.plan_path(goal)
        if answer.code.value != 1:
            break
        if "less is kept" in answer.message:
            near.append(distance)
    assert_code(answer, "START_STATE_IN_COLLISION", "post", "link")
    assert len(near) >= 2, near
    stand(near[-1])
    reports, states = len(arm.reports.messages), len(arm.states.messages)
    assert_code(arm.plan_path(goal, execute=True), "SUCCESS", "less is kept", "post")
    arm.state_report("plan_path", "reached", reports)
    assert np.linalg.norm(tip(arm) - goal[:3, 3]) < 1e-4
    check_smooth(arm, states)


def test_joint_states_that_stop_coming_stop_the_arm(starter):
    arm = starter.arm("six_axis", {"joint_state_max_age": 0.3, **SLOW})
    home = ARMS["six_axis"][2]
    publisher = arm.client.publisher(JointState, arm.states_topic)
    timer = arm.client.node.create_timer(
        0.02, lambda: publisher.publish(joint_state(arm.chain.names, home, [0.0] * 6))
    )
    goal = stamped((0.42, 0.28, 0.26))
    arm.client.wait_until(lambda: arm.solve_ik(goal).code.value == 1, "the state to be known")
    reports = len(arm.reports.messages)
    diagnostics = Diagnostics(arm.client)
    assert_code(arm.plan_path(goal, execute=True, velocity_scaling=0.05), "SUCCESS")
    motion = arm.sent.wait_for()
    arm.client.node.destroy_timer(timer)
    report = arm.state_report("plan_path", "failed", reports)
    assert_report(report, "ROBOT_STATE_STALE", "mid-motion")
    stop = arm.sent.wait_for(start=1)
    check_limits(arm, stop)
    path = np.array([point.positions for point in motion.points])
    assert np.min(np.max(np.abs(path - np.array(stop.points[0].positions)), axis=1)) < 0.02, "not from where it was"
    status = diagnostics.wait_for("stopped for stale joint states", 1)
    assert status.level == DiagnosticStatus.ERROR


def test_what_the_gate_holds_back_is_counted(request, starter):
    """The tip's way is free, the forearm's is not."""
    arm = started(starter, request, "six_axis", {"planning.whole_arm": False})
    begin = tip(arm)
    goal = aside(arm, 0.45)
    middle = 0.5 * (0.7 * begin[:2] + 0.3 * goal[:2, 3])
    arm.send_obstacles(obstacles(obstacle("post", box(*middle, 0.04, 0.04))))
    diagnostics = Diagnostics(arm.client)
    before = len(arm.sent.messages)
    answer = arm.plan_path(stamped_matrix(goal), execute=True)
    assert_code(answer, "GATE_REJECTED", "post", "link")
    assert len(arm.sent.messages) == before
    diagnostics.wait_for("refused by the gate", 1)
    assert np.allclose(arm.fresh_joints(), ARMS["six_axis"][2], atol=1e-9)
