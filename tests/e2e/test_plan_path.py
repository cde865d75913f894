"""~/plan_path: paths around obstacles and trajectories along them, measured by the tests themselves."""

import math

import numpy as np
import pytest
from arm import TIP_ALONE, assert_code
from messages import obstacle, obstacles, removal, seconds, stamped, stamped_matrix
from planar import box, clearance
from robot import angle_between, pose_matrix

# Of the clearance: the corners travel in single precision, the solver has a tolerance.
SLACK = 1e-4
ARMS = {
    # Description, joint values at the start, where the tip goes [m].
    "six_axis": ([-0.6, -1.9, 2.0, -1.67, -1.57, 0.0], (0.40, -0.30, 0.26), (0.42, 0.28, 0.26)),
    "seven_axis": ([-0.6, 0.2, 0.0, -2.3, 0.0, 2.5, 0.3], (0.40, -0.30, 0.26), (0.42, 0.28, 0.26)),
}


class Scene:
    """An arm, the two places between which it goes, and what stands between them."""

    def __init__(self, arm, start, goal):
        self.arm = arm
        self.start, self.goal = stamped(start), stamped(goal)
        answer = arm.solve_ik(self.start)
        assert_code(answer, "SUCCESS")
        self.q = np.array(answer.solutions[0].position)
        self.boxes = {"crate": box(0.44, -0.10, 0.16, 0.12), "post": box(0.47, 0.12, 0.10, 0.10)}

    def place(self, **heights):
        """Make the boxes all there is."""
        message = obstacles(*(obstacle(name, corners, **heights) for name, corners in self.boxes.items()))
        message.replace_all = True
        self.arm.send_obstacles(message)

    def plan(self, **fields):
        fields.setdefault("start", self.arm.seed(self.q))
        return self.arm.plan_path(self.goal, **fields)


@pytest.fixture(scope="module", params=ARMS)
def scene(request, module_starter):
    home, start, goal = ARMS[request.param]
    parameters = {"mock_controller": True, "mock_initial_positions": home, "mock_publish_tf": False}
    arm = module_starter.arm(request.param, {**parameters, **TIP_ALONE}, namespace=f"/{request.param}")
    arm.joints()
    return Scene(arm, start, goal)


@pytest.fixture(autouse=True)
def no_obstacles(scene):
    yield
    assert scene.arm.trigger("clear_obstacles").success


def tip_points(answer):
    return np.array([[p.pose.position.x, p.pose.position.y, p.pose.position.z] for p in answer.tip_path.poses])


def between(points, parts=5):
    """The points and more of them in between, along straight lines."""
    shares = np.linspace(0.0, 1.0, parts, endpoint=False)
    inner = [a + share * (b - a) for a, b in zip(points[:-1], points[1:]) for share in shares]
    return np.array([*inner, points[-1]])


def check_ends(scene, answer, goal=None):
    """The path and the trajectory both lead from the start to the goal."""
    target = pose_matrix((goal or scene.goal).pose)
    poses = answer.tip_path.poses
    _, positions, _ = scene.arm.check_trajectory(answer.trajectory)
    assert np.allclose(positions[0], scene.q, atol=1e-9)
    for first, last in [
        (pose_matrix(poses[0].pose), pose_matrix(poses[-1].pose)),
        (scene.arm.chain.forward(positions[0]), scene.arm.chain.forward(positions[-1])),
    ]:
        assert np.linalg.norm(first[:3, 3] - scene.arm.chain.forward(scene.q)[:3, 3]) < 1e-5
        assert np.linalg.norm(last[:3, 3] - target[:3, 3]) < 1e-5
        assert angle_between(last[:3, :3], target[:3, :3]) < 1e-5


def measured_clearance(scene, answer, polygons=None):
    """Smallest distances of the tip path and of the moving tip from the boxes, seen from above."""
    polygons = polygons or list(scene.boxes.values())
    path = clearance(between(tip_points(answer)[:, :2]), polygons)
    _, positions, _ = scene.arm.check_trajectory(answer.trajectory)
    tips = scene.arm.tips(between(positions, 3))
    return path, clearance(tips[:, :2], polygons)


def test_nothing_in_the_way_is_a_straight_line(scene):
    answer = scene.plan()
    assert_code(answer, "SUCCESS")
    check_ends(scene, answer)
    points = tip_points(answer)
    straight = np.linalg.norm(points[-1] - points[0])
    assert abs(answer.path_length - straight) < 1e-6
    along = (points[-1] - points[0]) / straight
    off = np.linalg.norm(np.cross(points - points[0], along), axis=1)
    assert np.max(off) < 1e-6
    assert answer.fraction == 1.0 and math.isinf(answer.min_clearance) and answer.min_clearance > 0
    assert seconds(answer.planning_time) > 0.0


def test_path_and_moving_tip_keep_clear_of_obstacles(scene):
    scene.place()
    answer = scene.plan()
    assert_code(answer, "SUCCESS")
    check_ends(scene, answer)
    assert all(p.header.frame_id == scene.arm.chain.base for p in answer.tip_path.poses)
    path, tip = measured_clearance(scene, answer)
    # The parameter planning.clearance is 0.03 m.
    assert path >= 0.03 - SLACK and tip >= 0.03 - SLACK
    assert abs(answer.min_clearance - path) < 1e-3
    steps = np.linalg.norm(np.diff(tip_points(answer), axis=0), axis=1)
    assert abs(answer.path_length - steps.sum()) < 1e-3
    assert np.max(steps) < 0.0101, "tip_step is 0.01 m"
    straight = np.linalg.norm(tip_points(answer)[-1] - tip_points(answer)[0])
    assert answer.path_length > straight + 0.01, "the boxes stand in the way"


@pytest.mark.parametrize("distance", [0.0, 0.01, 0.06])
def test_clearance_can_be_asked_for(scene, distance):
    scene.place()
    answer = scene.plan(clearance=distance)
    assert_code(answer, "SUCCESS")
    path, tip = measured_clearance(scene, answer)
    assert path >= distance - SLACK and tip >= distance - SLACK
    # The shortest path touches what it must keep clear of.
    assert path <= distance + 2e-3 and abs(answer.min_clearance - path) < 1e-3


def test_more_clearance_makes_a_longer_path(scene):
    scene.place()
    lengths = [scene.plan(clearance=distance).path_length for distance in (0.0, 0.03, 0.06)]
    assert lengths == sorted(lengths) and lengths[2] > lengths[0] + 1e-3


def test_obstacles_of_one_request_hold_for_that_request_alone(scene):
    extra = [obstacle(name, corners) for name, corners in scene.boxes.items()]
    around = scene.plan(extra_obstacles=extra)
    assert_code(around, "SUCCESS")
    path, tip = measured_clearance(scene, around)
    assert min(path, tip) >= 0.03 - SLACK
    afterwards = scene.plan()
    assert_code(afterwards, "SUCCESS")
    assert math.isinf(afterwards.min_clearance)


def test_obstacles_of_one_request_come_on_top_of_the_known(scene):
    scene.arm.send_obstacles(obstacles(obstacle("crate", scene.boxes["crate"])))
    answer = scene.plan(extra_obstacles=[obstacle("post", scene.boxes["post"])])
    assert_code(answer, "SUCCESS")
    assert min(measured_clearance(scene, answer)) >= 0.03 - SLACK


def test_one_request_can_do_without_a_known_obstacle(scene):
    scene.place()
    answer = scene.plan(extra_obstacles=[removal("crate"), removal("post")])
    assert_code(answer, "SUCCESS")
    assert math.isinf(answer.min_clearance)
    assert not math.isinf(scene.plan().min_clearance)


def test_road_maps_agree_on_the_shortest_length(scene):
    scene.place()
    unknown = scene.plan(roadmap="?")
    assert_code(unknown, "UNKNOWN_ROADMAP", "choose one of: ")
    names = unknown.message.split("choose one of: ")[1].split(" (")[0].split(", ")
    assert {"visibility_graph", "visibility_sweep", "visibility_naive"} <= set(names)
    lengths = {}
    for name in ("", "visibility_graph", "visibility_sweep", "visibility_naive"):
        answer = scene.plan(roadmap=name)
        assert_code(answer, "SUCCESS")
        assert min(measured_clearance(scene, answer)) >= 0.03 - SLACK
        lengths[name] = answer.path_length
    assert max(lengths.values()) - min(lengths.values()) < 1e-6, lengths


def test_obstacles_below_the_tip_are_not_in_the_way(scene):
    """The tip moves at a height of 0.26 m; boxes that end well below it do not count."""
    scene.place(heights=(0.0, 0.15))
    over = scene.plan()
    assert_code(over, "SUCCESS")
    straight = np.linalg.norm(tip_points(over)[-1] - tip_points(over)[0])
    assert abs(over.path_length - straight) < 1e-6
    scene.place(heights=(0.0, 0.28))
    around = scene.plan()
    assert_code(around, "SUCCESS")
    assert around.path_length > straight + 0.01


def test_slower_joints_take_longer_within_the_scaled_limits(scene):
    full = scene.plan()
    slow = scene.plan(velocity_scaling=0.2)
    assert_code(slow, "SUCCESS")
    times, _, velocities = scene.arm.check_trajectory(slow.trajectory, velocity_scaling=0.2)
    full_times, *_ = scene.arm.check_trajectory(full.trajectory)
    assert times[-1] > full_times[-1]
    assert np.max(np.abs(velocities) / (0.2 * scene.arm.chain.velocity)) > 0.9, "the limit is not used"


def test_gentler_joints_take_longer_within_the_scaled_limits(scene):
    full = scene.plan()
    gentle = scene.plan(acceleration_scaling=0.1)
    assert_code(gentle, "SUCCESS")
    times, _, velocities = scene.arm.check_trajectory(gentle.trajectory)
    full_times, *_ = scene.arm.check_trajectory(full.trajectory)
    assert times[-1] > full_times[-1]
    accelerations = np.array([point.accelerations for point in gentle.trajectory.points])
    # The parameter trajectory.default_max_acceleration is 3 rad/s^2.
    assert np.max(np.abs(accelerations)) <= 0.3 * (1 + 1e-6)
    jumps = np.diff(velocities, axis=0) / np.diff(times)[:, None]
    assert np.max(np.abs(jumps)) <= 0.3 * (1 + 1e-3)


def test_orientation_turns_steadily_from_start_to_goal(scene):
    """A goal with the tool turned: no pose on the way is turned further than its share."""
    half = math.sin(0.2), math.cos(0.2)
    turned = stamped((0.42, 0.28, 0.26), (half[1], half[0], 0.0, 0.0))
    answer = scene.arm.plan_path(turned, start=scene.arm.seed(scene.q))
    assert_code(answer, "SUCCESS")
    check_ends(scene, answer, turned)
    rotations = [pose_matrix(p.pose)[:3, :3] for p in answer.tip_path.poses]
    turns = [angle_between(rotations[0], rotation) for rotation in rotations]
    assert abs(turns[-1] - angle_between(rotations[0], pose_matrix(turned.pose)[:3, :3])) < 1e-5
    assert all(after >= before - 1e-6 for before, after in zip(turns, turns[1:])), "turns to and fro"
    # The moving tip is turned like the path, not only at its ends.
    _, positions, _ = scene.arm.check_trajectory(answer.trajectory)
    for q in positions[:: max(1, len(positions) // 20)]:
        rotation = scene.arm.chain.forward(q)[:3, :3]
        assert min(angle_between(rotation, other) for other in rotations) < 0.03


def test_orientation_that_is_the_same_at_both_ends_is_kept_all_the_way(scene):
    scene.place()
    answer = scene.plan()
    assert_code(answer, "SUCCESS")
    down = pose_matrix(scene.goal.pose)[:3, :3]
    _, positions, _ = scene.arm.check_trajectory(answer.trajectory)
    for q in positions:
        assert angle_between(scene.arm.chain.forward(q)[:3, :3], down) < 5e-3


def test_goal_that_is_the_start_is_no_motion(scene):
    answer = scene.arm.plan_path(stamped_matrix(scene.arm.chain.forward(scene.q)), start=scene.arm.seed(scene.q))
    assert_code(answer, "SUCCESS")
    assert answer.path_length < 1e-6
    _, positions, _ = scene.arm.check_trajectory(answer.trajectory)
    tips = scene.arm.tips(positions)
    assert np.max(np.linalg.norm(tips - tips[0], axis=1)) < 1e-5
    # A redundant arm may drift a little towards its preferred posture.
    assert np.max(np.abs(positions - scene.q)) < 5e-3


def test_same_request_same_answer(scene):
    scene.place()
    one, other = scene.plan(), scene.plan()
    assert_code(one, "SUCCESS")
    assert one.trajectory == other.trajectory
