"""Messages, made in one line."""

from arm_planner_msgs.msg import ErrorCode, PolygonObstacle, PolygonObstacleArray
from geometry_msgs.msg import Point32, Polygon, PolygonStamped, Pose, PoseArray, PoseStamped, TransformStamped
from robot import quaternion_of
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

# Orientation x y z w of a tool that points down.
DOWN = (1.0, 0.0, 0.0, 0.0)


def pose(position, quaternion=DOWN):
    message = Pose()
    message.position.x, message.position.y, message.position.z = (float(value) for value in position)
    q = message.orientation
    q.x, q.y, q.z, q.w = (float(value) for value in quaternion)
    return message


def stamped(position, quaternion=DOWN, frame=""):
    message = PoseStamped(pose=pose(position, quaternion))
    message.header.frame_id = frame
    return message


def stamped_matrix(matrix, frame=""):
    """Pose of a 4 x 4 matrix."""
    return stamped(matrix[:3, 3], quaternion_of(matrix[:3, :3]), frame)


def poses(positions, quaternion=DOWN, frame=""):
    message = PoseArray(poses=[pose(position, quaternion) for position in positions])
    message.header.frame_id = frame
    return message


def joint_state(names, positions, velocities=()):
    return JointState(name=list(names), position=[float(q) for q in positions], velocity=[float(v) for v in velocities])


def polygon(corners):
    return Polygon(points=[Point32(x=float(x), y=float(y)) for x, y in corners])


def polygon_stamped(corners, frame=""):
    message = PolygonStamped(polygon=polygon(corners))
    message.header.frame_id = frame
    return message


def obstacle(name, corners, *, frame="", heights=(0.0, 0.0)):
    message = PolygonObstacle(id=name, operation=PolygonObstacle.ADD, polygon=polygon(corners))
    message.header.frame_id = frame
    message.min_height, message.max_height = heights
    return message


def removal(name):
    return PolygonObstacle(id=name, operation=PolygonObstacle.REMOVE)


def obstacles(*changes, replace_all=False, frame=""):
    message = PolygonObstacleArray(replace_all=replace_all, obstacles=list(changes))
    message.header.frame_id = frame
    return message


def transform_message(parent, child, translation, quaternion=(0.0, 0.0, 0.0, 1.0)):
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    t, r = message.transform.translation, message.transform.rotation
    t.x, t.y, t.z = (float(value) for value in translation)
    r.x, r.y, r.z, r.w = (float(value) for value in quaternion)
    return TFMessage(transforms=[message])


def trajectory(names, points, stamp_seconds=0):
    """JointTrajectory from (time [s], positions, velocities) triples."""
    message = JointTrajectory(joint_names=list(names))
    message.header.stamp.sec = stamp_seconds
    for time, positions, velocities in points:
        point = JointTrajectoryPoint(positions=list(positions), velocities=list(velocities))
        nanoseconds = round(time * 1e9)
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(nanoseconds, 1_000_000_000)
        message.points.append(point)
    return message


def seconds(duration):
    return duration.sec + duration.nanosec * 1e-9


def code_name(code):
    """Name of an ErrorCode, for messages of failed tests."""
    names = {getattr(ErrorCode, name): name for name in dir(type(ErrorCode)) if name.isupper()}
    return names.get(code.value, str(code.value))
