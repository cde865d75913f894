"""An arm under test: the node that drives it, a client beside it, and the kinematics to check its answers with."""

import numpy as np
from arm_planner_msgs.msg import ErrorCode, PolygonObstacleArray
from arm_planner_msgs.srv import PlanPath, SolveIk
from diagnostic_msgs.msg import DiagnosticStatus
from harness import PATIENCE
from messages import code_name, joint_state, stamped_matrix
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from robot import Chain, angle_between, pose_matrix, read_joints
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

# Deep enough that reports in quick succession are not lost.
DEEP_LATCHED = QoSProfile(
    depth=200, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
)
# For tests of the tip's way alone, whatever the other links meet.
TIP_ALONE = {"planning.whole_arm": False, "collision.check_motion": False}
CONTROLLER_TOPIC = "joint_trajectory_controller/joint_trajectory"


def values_of(report):
    """The key-value pairs of a status report."""
    return {pair.key: pair.value for pair in report.values}


class Arm:
    """A running node and what is needed to talk to it about its arm."""

    def __init__(self, process, client, urdf_text, base, tip, controller_topic=CONTROLLER_TOPIC, by_topic=True):
        self.process = process
        self.client = client
        self.urdf_text = urdf_text
        self.chain = self.chain_to(base, tip)
        self.reports = client.listen(DiagnosticStatus, process.topic("status"), DEEP_LATCHED)
        namespace = process.full_name.rsplit("/", 1)[0]
        self.states_topic = f"{namespace}/joint_states"
        absolute = controller_topic.startswith("/")
        self.controller_topic = controller_topic if absolute else f"{namespace}/{controller_topic}"
        self.states = client.listen(JointState, self.states_topic, qos_profile_sensor_data)
        self.sent = client.listen(JointTrajectory, self.controller_topic)
        if by_topic:
            self.sent.wait_for_publisher()

    def chain_to(self, base, tip):
        return Chain(read_joints(self.urdf_text), base, tip)

    # --- asking ---

    def solve_ik(self, target, **fields):
        """Answer of ~/solve_ik; the target is a 4 x 4 matrix or a PoseStamped."""
        if isinstance(target, np.ndarray):
            target = stamped_matrix(target)
        request = SolveIk.Request(target=target, **fields)
        return self.client.call(SolveIk, self.process.topic("solve_ik"), request)

    def plan_path(self, goal, **fields):
        """Answer of ~/plan_path; the goal is a 4 x 4 matrix or a PoseStamped."""
        if isinstance(goal, np.ndarray):
            goal = stamped_matrix(goal)
        request = PlanPath.Request(goal=goal, **fields)
        return self.client.call(PlanPath, self.process.topic("plan_path"), request)

    def trigger(self, service):
        """Answer of ~/stop or ~/clear_obstacles."""
        return self.client.call(Trigger, self.process.topic(service), Trigger.Request())

    def send(self, message_type, topic, message, about=None):
        """Publish to a topic of the node and wait for the report that it draws on ~/status."""
        publisher = self.client.publisher(message_type, self.process.topic(topic))
        start = len(self.reports.messages)
        publisher.publish(message)
        return self.report(about or topic, start)

    def send_obstacles(self, message):
        return self.send(PolygonObstacleArray, "obstacles", message)

    def report(self, about, start, where=lambda report: True, timeout=PATIENCE):
        """The first report about something from number `start` on."""
        return self.reports.wait_for(
            lambda report: report.name == about and where(report), f"a report about {about}", start, timeout
        )

    def state_report(self, about, state, start, timeout=PATIENCE):
        """The first report with this `state` about something from number `start` on."""
        return self.report(about, start, lambda report: values_of(report).get("state") == state, timeout)

    # --- where the arm is ---

    def joints(self):
        """The newest joint values of the arm, in the chain's order; waits for the first."""
        self.client.wait_until(lambda: self.states.messages, "joint states")
        newest = self.states.messages[-1]
        return self.chain.values(newest.name, newest.position)

    def fresh_joints(self):
        """Joint values from a message that comes in only now."""
        start = len(self.states.messages)
        message = self.states.wait_for(start=start, what="a joint state")
        return self.chain.values(message.name, message.position)

    def wait_until_at(self, target, tolerance=1e-6):
        """Wait until the arm's joints are at the target."""
        self.client.wait_until(lambda: np.max(np.abs(self.joints() - target)) < tolerance, f"the arm to be at {target}")

    def seed(self, q):
        return joint_state(self.chain.names, q)

    # --- checking ---

    def check_solution(self, solution, target, *, chain=None, position=2e-6, orientation=2e-6):
        """Check one solution of ~/solve_ik: names, limits, and the pose by the test's own kinematics."""
        chain = chain or self.chain
        target = target if isinstance(target, np.ndarray) else pose_matrix(target.pose)
        assert list(solution.name) == chain.names
        assert len(solution.position) == len(chain.names)
        assert not chain.outside(solution.position), f"outside the limits: {chain.outside(solution.position)}"
        reached = chain.forward(solution.position)
        off = np.linalg.norm(reached[:3, 3] - target[:3, 3])
        assert off <= position, f"{off} m off the target's position"
        if orientation is not None:
            turned = angle_between(reached[:3, :3], target[:3, :3])
            assert turned <= orientation, f"{turned} rad off the target's orientation"

    def check_trajectory(self, message, *, velocity_scaling=1.0):
        """Check what every trajectory of the node must have: names, times, limits, rest at the end."""
        assert list(message.joint_names) == self.chain.names
        # "On arrival"; only what goes on from another motion says when.
        moving = message.points and np.max(np.abs(message.points[0].velocities)) > 0.0
        assert moving or (message.header.stamp.sec, message.header.stamp.nanosec) == (0, 0)
        assert message.points, "a trajectory without points"
        times = np.array([p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in message.points])
        assert np.all(np.diff(times) > 0.0), "times do not rise"
        positions = np.array([point.positions for point in message.points])
        velocities = np.array([point.velocities for point in message.points])
        assert positions.shape == velocities.shape == (len(times), len(self.chain.names))
        assert np.all(np.isfinite(positions)) and np.all(np.isfinite(velocities))
        for point in positions:
            assert not self.chain.outside(point), f"outside the limits: {self.chain.outside(point)}"
        assert np.all(np.abs(velocities) <= velocity_scaling * self.chain.velocity * (1.0 + 1e-6))
        assert np.all(velocities[-1] == 0.0), "the arm does not end at rest"
        return times, positions, velocities

    def tips(self, positions):
        """Positions of the tip for rows of joint values."""
        return np.array([self.chain.forward(q)[:3, 3] for q in positions])


def assert_code(answer, name, *words):
    """Check the code of an answer by its name, and that the message has all the words in it."""
    assert answer.code.value == getattr(ErrorCode, name), f"{code_name(answer.code)}: {answer.message}"
    for word in words:
        assert word in answer.message, f"no {word!r} in: {answer.message}"


def assert_report(report, name, *words):
    """The same for a report on ~/status."""
    values = values_of(report)
    assert int(values["code"]) == getattr(ErrorCode, name), f"{values['code_name']}: {report.message}"
    for word in words:
        assert word in report.message, f"no {word!r} in: {report.message}"
