"""What RViz and other programs see: ~/markers, ~/tip_path, ~/status, TF of the mock arm, names in namespaces."""

import numpy as np
import pytest
from arm import DEEP_LATCHED, assert_code, values_of
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from harness import LATCHED, URDF_FOLDER
from messages import obstacle, obstacles, stamped
from nav_msgs.msg import Path
from planar import box, distance
from rclpy.qos import DurabilityPolicy
from robot import pose_matrix
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
GOAL = stamped((0.42, 0.28, 0.26))
CRATE = box(0.55, 0.05, 0.1, 0.1)


@pytest.fixture(scope="module")
def arm(module_starter):
    parameters = {"mock_controller": True, "mock_initial_positions": HOME, "mock_publish_tf": False}
    started = module_starter.arm("six_axis", parameters)
    started.joints()
    return started


@pytest.fixture
def drawn(arm):
    return arm.client.listen(MarkerArray, arm.process.topic("markers"), LATCHED)


def by_namespace(message, name):
    return [marker for marker in message.markers if marker.ns == name]


def namespaces(message):
    return {marker.ns for marker in message.markers if marker.action == Marker.ADD}


def corners_of(marker):
    return {(round(point.x, 4), round(point.y, 4)) for point in marker.points}


def test_markers_show_obstacles_outlines_road_map_path_and_goal(arm, drawn):
    arm.send_obstacles(obstacles(obstacle("crate", CRATE, heights=(0.0, 0.3)), replace_all=True))
    answer = arm.plan_path(GOAL)
    assert_code(answer, "SUCCESS")
    # Nothing is lost by being drawn together: the last message has it all.
    message = drawn.wait_for(lambda m: {"obstacles", "path"} <= namespaces(m), "obstacles and path")
    assert {"obstacles", "obstacle_edges", "inflated", "roadmap", "path", "goal"} <= namespaces(message)
    (walls,) = by_namespace(message, "obstacles")
    assert walls.type == Marker.TRIANGLE_LIST and len(walls.points) % 3 == 0
    assert corners_of(walls) == {(round(x, 4), round(y, 4)) for x, y in CRATE}
    assert {round(point.z, 6) for point in walls.points} == {0.0, 0.3}
    for marker in by_namespace(message, "inflated"):
        for point in marker.points:
            # The parameter planning.clearance is 0.03 m, rounded corners are off by 0.001 m at most.
            assert 0.03 - 1e-5 <= distance((point.x, point.y), CRATE) <= 0.0311
    (path,) = by_namespace(message, "path")
    assert path.type == Marker.LINE_STRIP
    ends = [np.array([p.x, p.y, p.z]) for p in (path.points[0], path.points[-1])]
    assert np.linalg.norm(ends[0] - arm.chain.forward(HOME)[:3, 3]) < 1e-5
    assert np.linalg.norm(ends[1] - [0.42, 0.28, 0.26]) < 1e-5


def test_every_marker_can_be_drawn(arm, drawn):
    arm.send_obstacles(obstacles(obstacle("crate", CRATE), replace_all=True))
    assert_code(arm.plan_path(GOAL), "SUCCESS")
    message = drawn.wait_for(lambda m: "path" in namespaces(m), "a path")
    first, *others = message.markers
    assert first.action == Marker.DELETEALL and first.header.frame_id == "base_link"
    keys = [(marker.ns, marker.id) for marker in others]
    assert len(set(keys)) == len(keys), "two markers with one name"
    for marker in others:
        assert marker.header.frame_id == "base_link"
        assert marker.color.a > 0.0, f"{marker.ns} is invisible"
        if marker.type == Marker.TEXT_VIEW_FACING:
            assert marker.scale.z > 0.0 and marker.text
        else:
            assert marker.scale.x > 0.0 and marker.points
        q = marker.pose.orientation
        assert abs(q.x**2 + q.y**2 + q.z**2 + q.w**2 - 1.0) < 1e-9
        numbers = [value for point in marker.points for value in (point.x, point.y, point.z)]
        assert all(abs(value) < 10.0 for value in numbers), f"{marker.ns} reaches too far"


def test_markers_are_there_for_those_who_come_late(arm):
    arm.send_obstacles(obstacles(obstacle("crate", CRATE), replace_all=True))
    late = arm.client.listen(MarkerArray, arm.process.topic("markers"), LATCHED)
    late.wait_for(lambda m: "obstacles" in namespaces(m), "the obstacles without any change")


def test_markers_follow_changes(arm, drawn):
    arm.send_obstacles(obstacles(obstacle("crate", CRATE), replace_all=True))
    drawn.wait_for(lambda m: len(by_namespace(m, "obstacles")) == 1, "one obstacle")
    start = len(drawn.messages)
    arm.send_obstacles(obstacles(obstacle("post", box(0.2, 0.5, 0.05, 0.05))))
    drawn.wait_for(lambda m: len(by_namespace(m, "obstacles")) == 2, "two obstacles", start)
    start = len(drawn.messages)
    arm.trigger("clear_obstacles")
    drawn.wait_for(lambda m: not by_namespace(m, "obstacles"), "no obstacles", start)


def test_refused_obstacle_is_not_drawn(arm, drawn):
    arm.send_obstacles(obstacles(obstacle("crate", CRATE), replace_all=True))
    arm.send_obstacles(obstacles(obstacle("bow", [(0, 0), (1, 1), (1, 0), (0, 1)])))
    message = drawn.wait_for(lambda m: by_namespace(m, "obstacles"), "the obstacle")
    assert len(by_namespace(message, "obstacles")) == 1
    assert corners_of(by_namespace(message, "obstacles")[0]) == {(round(x, 4), round(y, 4)) for x, y in CRATE}


def test_tip_path_is_latched_and_the_one_of_the_answer(arm):
    arm.trigger("clear_obstacles")
    answer = arm.plan_path(GOAL)
    assert_code(answer, "SUCCESS")
    late = arm.client.listen(Path, arm.process.topic("tip_path"), LATCHED)
    path = late.wait_for(lambda m: len(m.poses) == len(answer.tip_path.poses), "the path of the answer")
    assert path.header.frame_id == "base_link"
    for one, other in zip(path.poses, answer.tip_path.poses):
        assert np.allclose(pose_matrix(one.pose), pose_matrix(other.pose), atol=1e-12)


def test_status_is_there_for_those_who_come_late(arm):
    arm.send_obstacles(obstacles(obstacle("crate", CRATE), replace_all=True))
    late = arm.client.listen(DiagnosticStatus, arm.process.topic("status"), DEEP_LATCHED)
    late.wait_for(lambda m: m.name == "obstacles", "an old report")


def test_reports_are_numbered_without_gaps(arm):
    start = len(arm.reports.messages)
    for number in range(5):
        arm.send_obstacles(obstacles(obstacle(f"crate_{number}", CRATE)))
    numbers = [int(values_of(report)["sequence"]) for report in arm.reports.messages[start:]]
    assert numbers == list(range(numbers[0], numbers[0] + 5))


def test_latched_topics_are_offered_as_such(arm):
    for topic in ("markers", "tip_path", "status"):
        (end,) = arm.client.node.get_publishers_info_by_topic(arm.process.topic(topic))
        assert end.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL, topic


def test_tf_of_the_mock_arm_is_where_the_joints_say(starter):
    parameters = {"mock_controller": True, "mock_initial_positions": HOME}
    arm = starter.arm("six_axis", parameters, namespace="/with_tf")
    moving = arm.client.listen(TFMessage, "/tf", 100)
    fixed = arm.client.listen(TFMessage, "/tf_static", LATCHED)
    arm.send(PoseStamped, "goal_pose", GOAL)
    arm.state_report("goal_pose", "reached", 0)
    frames = {}
    start = len(moving.messages)
    fixed.wait_for(lambda m: any(t.child_frame_id == "tool0" for t in m.transforms), "the fixed transforms")
    moving.wait_for(lambda m: len(m.transforms) >= 6, "the moving transforms", start)
    for message in [*fixed.messages, *moving.messages]:
        for one in message.transforms:
            t, r = one.transform.translation, one.transform.rotation
            frames[one.child_frame_id] = (one.header.frame_id, ((t.x, t.y, t.z), (r.x, r.y, r.z, r.w)))
    pose, link = np.eye(4), "tool0"
    while link != "base_link":
        link, placed = frames[link]
        pose = pose_matrix(stamped(*placed).pose) @ pose
    assert np.allclose(pose, arm.chain.forward(arm.fresh_joints()), atol=1e-6)


def test_topics_and_services_are_named_after_the_node(starter):
    process = starter.node(
        {"urdf_file": str(URDF_FOLDER / "six_axis.urdf"), "mock_controller": True},
        name="planner",
        namespace="/cell_3/left",
    )
    node = starter.client.node
    # The names of nodes travel apart from those of topics and services.
    known = ("planner", "/cell_3/left")
    starter.client.wait_until(lambda: known in node.get_node_names_and_namespaces(), f"the node {known}")
    topics = dict(node.get_publisher_names_and_types_by_node("planner", "/cell_3/left"))
    assert topics["/cell_3/left/planner/status"] == ["diagnostic_msgs/msg/DiagnosticStatus"]
    assert topics["/cell_3/left/planner/markers"] == ["visualization_msgs/msg/MarkerArray"]
    assert topics["/cell_3/left/planner/tip_path"] == ["nav_msgs/msg/Path"]
    controller = "/cell_3/left/joint_trajectory_controller/joint_trajectory"
    assert topics[controller] == ["trajectory_msgs/msg/JointTrajectory"]
    heard = dict(node.get_subscriber_names_and_types_by_node("planner", "/cell_3/left"))
    own = {
        "goal_pose": "geometry_msgs/msg/PoseStamped",
        "goal_poses": "geometry_msgs/msg/PoseArray",
        "tracking_pose": "geometry_msgs/msg/PoseStamped",
        "obstacles": "arm_planner_msgs/msg/PolygonObstacleArray",
        "obstacle_polygon": "geometry_msgs/msg/PolygonStamped",
    }
    for topic, kind in own.items():
        assert heard[f"/cell_3/left/planner/{topic}"] == [kind]
    assert heard["/cell_3/left/joint_states"] == ["sensor_msgs/msg/JointState"]
    services = dict(node.get_service_names_and_types_by_node("planner", "/cell_3/left"))
    for service, kind in {
        "solve_ik": "arm_planner_msgs/srv/SolveIk",
        "plan_path": "arm_planner_msgs/srv/PlanPath",
        "clear_obstacles": "std_srvs/srv/Trigger",
        "stop": "std_srvs/srv/Trigger",
    }.items():
        assert services[process.topic(service)] == [kind]
