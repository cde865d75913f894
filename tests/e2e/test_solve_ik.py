"""~/solve_ik: what it finds, checked by kinematics of the test's own."""

import math

import numpy as np
import pytest
from arm import assert_code
from builtin_interfaces.msg import Duration
from messages import DOWN, joint_state, obstacle, obstacles, removal, seconds, stamped, stamped_matrix
from planar import box
from robot import angle_between, rotation_quaternion

MOCK = {"mock_controller": True}


@pytest.fixture(scope="module", params=["planar_3r", "six_axis", "seven_axis"])
def arm(request, module_starter):
    """Each of our own arms in its turn, in a namespace of its own."""
    parameters = {**MOCK, "mock_publish_tf": False}
    started = module_starter.arm(request.param, parameters, namespace=f"/{request.param}")
    started.joints()
    return started


@pytest.fixture(scope="module")
def six(module_starter):
    parameters = {**MOCK, "mock_initial_positions": [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]}
    started = module_starter.arm("six_axis", parameters)
    started.joints()
    return started


@pytest.fixture(scope="module")
def seven(module_starter):
    started = module_starter.arm("seven_axis", {**MOCK, "mock_publish_tf": False}, namespace="/seven")
    started.joints()
    return started


def test_reachable_poses_are_reached_from_anywhere(arm):
    generator = np.random.default_rng(1)
    for _ in range(12):
        target = arm.chain.forward(arm.chain.random(generator))
        answer = arm.solve_ik(target, seed=arm.seed(arm.chain.random(generator)))
        assert_code(answer, "SUCCESS")
        assert len(answer.solutions) == 1
        arm.check_solution(answer.solutions[0], target)
        assert answer.solver and seconds(answer.solve_time) > 0.0
        # A closed form has nothing to iterate.
        assert answer.iterations > 0 or answer.solver == "closed_form"


def test_errors_that_are_reported_are_those_of_the_solution(arm):
    target = arm.chain.forward(arm.chain.random(np.random.default_rng(2)))
    answer = arm.solve_ik(target, position_tolerance=1e-3, orientation_tolerance=1e-2)
    assert_code(answer, "SUCCESS")
    reached = arm.chain.forward(answer.solutions[0].position)
    position = np.linalg.norm(reached[:3, 3] - target[:3, 3])
    assert position <= 1e-3 and abs(answer.position_error - position) < 1e-7
    turned = angle_between(reached[:3, :3], target[:3, :3])
    assert turned <= 1e-2 and abs(answer.orientation_error - turned) < 1e-6


def test_seed_is_the_answer_where_it_is_one_already(arm):
    """Nothing moves when nothing needs to; of a redundant arm the posture may still turn the elbow."""
    q = arm.chain.random(np.random.default_rng(3), margin=0.2)
    answer = arm.solve_ik(arm.chain.forward(q), seed=arm.seed(q), preferred_posture=arm.seed(q))
    assert_code(answer, "SUCCESS")
    assert np.allclose(answer.solutions[0].position, q, atol=1e-5)


def test_positions_alone_leave_the_orientation_free(arm):
    q = arm.chain.random(np.random.default_rng(4), margin=0.2)
    target = arm.chain.forward(q)
    # Upside down and turned, which at this place may well be out of reach.
    message = stamped(target[:3, 3], (0.3, -0.7, 0.2, 0.1))
    answer = arm.solve_ik(message, position_only=True)
    assert_code(answer, "SUCCESS")
    arm.check_solution(answer.solutions[0], message, orientation=None)


def test_positions_alone_do_not_look_at_the_quaternion(arm):
    q = arm.chain.random(np.random.default_rng(5), margin=0.2)
    for quaternion in [(0.0, 0.0, 0.0, 0.0), (math.nan, 0.0, 0.0, 1.0)]:
        message = stamped(arm.chain.forward(q)[:3, 3], quaternion)
        answer = arm.solve_ik(message, position_only=True)
        assert_code(answer, "SUCCESS")
        tip = arm.chain.forward(answer.solutions[0].position)[:3, 3]
        assert np.linalg.norm(tip - arm.chain.forward(q)[:3, 3]) < 2e-6


def test_many_solutions_come_nearest_first_and_are_distinct(arm):
    q = arm.chain.random(np.random.default_rng(6), margin=0.15)
    target = arm.chain.forward(q)
    seed = arm.chain.random(np.random.default_rng(7), margin=0.15)
    answer = arm.solve_ik(target, seed=arm.seed(seed), max_solutions=6, timeout=Duration(sec=5))
    assert_code(answer, "SUCCESS")
    assert 2 <= len(answer.solutions) <= 6, "each of these arms has several configurations for one pose"
    found = [np.array(solution.position) for solution in answer.solutions]
    for solution in answer.solutions:
        arm.check_solution(solution, target)
    distances = [np.linalg.norm(solution - seed) for solution in found]
    assert distances == sorted(distances), distances
    for index, one in enumerate(found):
        for other in found[:index]:
            assert np.max(np.abs(one - other)) > 1e-3, "the same solution twice"


def test_the_six_axis_arm_has_all_its_eight_branches(six):
    # Wrist, elbow and shoulder can each be turned over here.
    target = six.chain.forward([-0.6, -1.9, 2.0, -1.2, -1.3, 0.4])
    answer = six.solve_ik(target, max_solutions=64, timeout=Duration(sec=5))
    assert_code(answer, "SUCCESS")
    turns = {tuple(np.round(np.angle(np.exp(1j * np.array(s.position))), 3) + 0.0) for s in answer.solutions}
    assert len(turns) == 8, f"{len(turns)} different configurations up to whole turns"
    for solution in answer.solutions:
        six.check_solution(solution, target)


def test_each_solver_alone_answers_near_the_seed(six):
    """Those that the node itself lists when it is asked for one that it lacks."""
    q = np.array([-0.5, -1.8, 1.9, -1.5, -1.4, 0.2])
    target = six.chain.forward(q)
    unknown = six.solve_ik(target, solver="?")
    assert_code(unknown, "UNKNOWN_SOLVER", "choose one of: ")
    names = unknown.message.split("choose one of: ")[1].split(" (")[0].split(", ")
    assert {"damped_svd", "fabrik", "portfolio"} <= set(names), names
    for solver in names:
        answer = six.solve_ik(
            target,
            seed=six.seed(q + 0.02),
            solver=solver,
            position_tolerance=1e-4,
            orientation_tolerance=1e-3,
            timeout=Duration(sec=5),
        )
        assert_code(answer, "SUCCESS")
        assert answer.solver == solver or solver == "portfolio", f"asked for {solver}, got {answer.solver}"
        six.check_solution(answer.solutions[0], target, position=1e-4, orientation=1e-3)


def test_empty_solver_means_the_default_order(six):
    target = six.chain.forward([-0.5, -1.8, 1.9, -1.5, -1.4, 0.2])
    default = six.solve_ik(target)
    named = six.solve_ik(target, solver="portfolio")
    assert_code(named, "SUCCESS")
    assert np.allclose(default.solutions[0].position, named.solutions[0].position, atol=1e-9)


def test_empty_frame_is_the_base(six):
    target = six.chain.forward([-0.5, -1.8, 1.9, -1.5, -1.4, 0.2])
    empty = six.solve_ik(stamped_matrix(target, ""))
    named = six.solve_ik(stamped_matrix(target, "base_link"))
    assert_code(empty, "SUCCESS")
    assert list(empty.solutions[0].position) == list(named.solutions[0].position)
    assert empty.solutions[0].header.frame_id in ("", "base_link")


def test_frame_of_a_moving_link_is_taken_where_the_link_is(six):
    """A target a little in front of the tool, given in the tool's own frame."""
    now = six.fresh_joints()
    answer = six.solve_ik(stamped((0.0, 0.0, 0.05), (0.0, 0.0, 0.0, 1.0), "tool0"))
    assert_code(answer, "SUCCESS")
    step = np.eye(4)
    step[2, 3] = 0.05
    six.check_solution(answer.solutions[0], six.chain.forward(now) @ step)


def test_another_tip_gives_the_joints_up_to_it(six):
    chain = six.chain_to("base_link", "forearm_link")
    assert len(chain.names) == 3
    target = chain.forward([0.4, -1.2, 0.9])
    answer = six.solve_ik(target, tip_link="forearm_link", position_only=True)
    assert_code(answer, "SUCCESS")
    six.check_solution(answer.solutions[0], target, chain=chain, orientation=None)


def test_preferred_posture_draws_the_redundant_joint(seven):
    """The same pose, two postures: the elbow follows the wish while the tip stays."""
    q = np.array([0.2, 0.3, -0.1, -1.9, 0.1, 2.1, 0.5])
    target = seven.chain.forward(q)
    answers = {}
    for wish in (-0.8, 0.8):
        posture = joint_state(["panda_joint3"], [wish])
        answer = seven.solve_ik(target, seed=seven.seed(q), preferred_posture=posture)
        assert_code(answer, "SUCCESS")
        seven.check_solution(answer.solutions[0], target)
        answers[wish] = answer.solutions[0].position[2]
    assert answers[-0.8] < -0.4 and answers[0.8] > 0.4, answers


def test_preferred_posture_of_all_joints_is_approached(seven):
    q = np.array([0.2, 0.3, -0.1, -1.9, 0.1, 2.1, 0.5])
    target = seven.chain.forward(q)
    wish = np.array([-0.4, 0.4, 0.6, -1.9, -0.3, 2.1, 0.5])
    near = seven.solve_ik(target, seed=seven.seed(q), preferred_posture=seven.seed(wish))
    far = seven.solve_ik(target, seed=seven.seed(q), preferred_posture=seven.seed(2 * q - wish))
    assert_code(near, "SUCCESS")
    assert_code(far, "SUCCESS")
    near, far = (np.array(answer.solutions[0].position) for answer in (near, far))
    assert np.linalg.norm(near - wish) < np.linalg.norm(far - wish) - 0.1


def test_preferred_posture_passes_over_unknown_joints_and_says_so(seven):
    q = np.array([0.2, 0.3, -0.1, -1.9, 0.1, 2.1, 0.5])
    posture = joint_state(["panda_joint3", "left_wheel"], [0.3, 7.0])
    answer = seven.solve_ik(seven.chain.forward(q), seed=seven.seed(q), preferred_posture=posture)
    assert_code(answer, "SUCCESS", "left_wheel")


def test_timeout_counts_fractions_of_a_second(six):
    """A nanosecond is too short for anything, half a second is plenty; both are 0 in whole seconds."""
    target = six.chain.forward([2.5, -0.4, -2.0, 0.7, 1.3, 2.0])
    short = six.solve_ik(target, timeout=Duration(nanosec=1))
    assert_code(short, "TIMED_OUT")
    assert not short.solutions
    plenty = six.solve_ik(target, timeout=Duration(nanosec=500_000_000))
    assert_code(plenty, "SUCCESS")


def test_quaternion_that_is_not_quite_a_unit_is_normalised(six):
    target = six.chain.forward([-0.5, -1.8, 1.9, -1.5, -1.4, 0.2])
    exact = stamped_matrix(target)
    for factor in (0.98, 1.02, 7.5):
        scaled = stamped_matrix(target)
        for axis in "xyzw":
            setattr(scaled.pose.orientation, axis, factor * getattr(exact.pose.orientation, axis))
        answer = six.solve_ik(scaled)
        assert_code(answer, "SUCCESS")
        six.check_solution(answer.solutions[0], target)


def test_solutions_keep_clear_of_obstacles_where_that_is_asked(six):
    """An obstacle where the forearm would be: another configuration is found, or none."""
    target = stamped((0.45, 0.1, 0.35), DOWN)
    free = six.solve_ik(target, max_solutions=16, timeout=Duration(sec=5), avoid_collisions=True)
    assert_code(free, "SUCCESS")
    # Left and right shoulder reach the same pose with the elbow at different places.
    elbows = [elbow_of(six, solution) for solution in free.solutions]
    blocked = elbows[0]
    wall = obstacle("wall", box(blocked[0], blocked[1], 0.1, 0.1), heights=(blocked[2] - 0.05, blocked[2] + 0.05))
    six.send_obstacles(obstacles(wall))
    try:
        unaware = six.solve_ik(target, max_solutions=16, timeout=Duration(sec=5))
        aware = six.solve_ik(target, max_solutions=16, timeout=Duration(sec=5), avoid_collisions=True)
    finally:
        six.send_obstacles(obstacles(removal("wall")))
    assert_code(unaware, "SUCCESS")
    assert any(np.linalg.norm(elbow_of(six, s) - blocked) < 0.05 for s in unaware.solutions)
    assert_code(aware, "SUCCESS")
    for solution in aware.solutions:
        six.check_solution(solution, target)
        assert np.linalg.norm(elbow_of(six, solution) - blocked) > 0.05, "the elbow is in the wall"


def test_pose_at_which_everything_collides_has_no_solution_and_the_reason_is_said(six):
    six.send_obstacles(obstacles(obstacle("table", box(0.45, 0.1, 0.3, 0.3), heights=(0.0, 0.3))))
    try:
        target = stamped((0.45, 0.1, 0.15), DOWN)
        assert_code(six.solve_ik(target), "SUCCESS")
        answer = six.solve_ik(target, avoid_collisions=True, timeout=Duration(sec=5))
    finally:
        six.send_obstacles(obstacles(removal("table")))
    assert_code(answer, "NO_IK_SOLUTION", "collision")
    assert not answer.solutions


def elbow_of(arm, solution):
    """Position of the elbow in a solution of the six-axis arm."""
    return arm.chain_to("base_link", "forearm_link").forward(solution.position[:3])[:3, 3]


def test_orientation_is_that_of_the_target_not_its_inverse(six):
    """A quaternion without symmetry, checked from its components."""
    q = [-0.5, -1.8, 1.9, -1.5, -1.4, 0.2]
    message = stamped_matrix(six.chain.forward(q))
    o = message.pose.orientation
    answer = six.solve_ik(message)
    assert_code(answer, "SUCCESS")
    reached = six.chain.forward(answer.solutions[0].position)[:3, :3]
    assert angle_between(reached, rotation_quaternion(o.x, o.y, o.z, o.w)) < 2e-6
