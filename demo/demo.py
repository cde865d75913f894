"""Show what arm_planner does: a client that talks to the node over ROS 2, as any other client would.

Starts the node with the six-axis arm on its mock controller, puts obstacles in the way, asks for inverse kinematics
and for a path around the obstacles, lets the arm move along it and watches it arrive. Then it puts an obstacle in the
way of the moving arm, which plans anew without a stop, puts one over the goal, which makes the arm stop and say why,
and asks for what cannot be had. Prints what happened and how long it took, and draws it (picture.py). Ends by itself;
exit code 0 when everything worked.
"""

import argparse
import math
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Read once by the middleware, so before rclpy is imported: nobody else on this machine is to see the demo.
os.environ.setdefault("ROS_DOMAIN_ID", str(random.randint(1, 101)))
os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")

import rclpy  # noqa: E402
from arm_planner_msgs.msg import ErrorCode, PolygonObstacle, PolygonObstacleArray  # noqa: E402
from arm_planner_msgs.srv import PlanPath, SolveIk  # noqa: E402
from diagnostic_msgs.msg import DiagnosticStatus  # noqa: E402
from geometry_msgs.msg import Point32, PoseStamped  # noqa: E402
from nav_msgs.msg import Path as TipPath  # noqa: E402
from picture import draw, seconds  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile, qos_profile_sensor_data  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402
from tip import Tip  # noqa: E402
from visualization_msgs.msg import MarkerArray  # noqa: E402

# Joint values at the start [rad]: elbow up, tool pointing down.
HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
# Obstacles: corners [m] in base_link. With the shelf there is one gap to go through.
OBSTACLES = {
    "crate": [(0.36, -0.18), (0.54, -0.18), (0.54, -0.08), (0.36, -0.08)],
    "shelf": [(0.23, 0.05), (0.34, 0.05), (0.34, 0.16), (0.29, 0.16), (0.29, 0.10), (0.23, 0.10)],
    "post": [(0.53 + 0.05 * math.cos(a * math.pi / 3), 0.12 + 0.05 * math.sin(a * math.pi / 3)) for a in range(6)],
}
# Their top [m] is above the tip's height and below the elbow.
OBSTACLE_TOP = 0.28
TIP_HEIGHT = 0.26
# Kept between the tip and the obstacles [m]: more than the radius of the wrist.
CLEARANCE = 0.06
# The tip goes from the first to the second of these [m].
START, GOAL = (0.40, -0.30), (0.42, 0.28)
IN_THE_CRATE, FAR_AWAY = (0.45, -0.13), (1.60, 0.20)
# Comes into the way when the tip has gone so far [m] on its way back.
CART, CART_APPEARS = [(0.29, -0.24), (0.35, -0.24), (0.35, -0.18), (0.29, -0.18)], 0.03
# Comes down over the goal when the tip has gone so far [m] towards it again.
LID, LID_APPEARS = [(0.38, 0.23), (0.47, 0.23), (0.47, 0.33), (0.38, 0.33)], 0.15
# Slow enough to watch.
VELOCITY_SCALING = 0.25
PATIENCE = 20.0
CODES = {getattr(ErrorCode, name): name for name in dir(type(ErrorCode)) if name.isupper()}
LATCHED = QoSProfile(depth=50, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class DemoError(Exception):
    """The demo cannot go on; the text says why."""


def pose(position):
    """Pose in base_link at the tip's height, tool straight down."""
    target = PoseStamped()
    target.header.frame_id = "base_link"
    target.pose.position.x, target.pose.position.y = position
    target.pose.position.z = TIP_HEIGHT
    # Half a turn about x.
    target.pose.orientation.x = 1.0
    target.pose.orientation.w = 0.0
    return target


class Demo:
    """The client: what it asks of the node, and the table of what came of it."""

    def __init__(self, process):
        self.process = process
        self.node = rclpy.create_node("arm_planner_demo")
        # Times of the node's clock [s] with joint values by name.
        self.states = []
        self.reports = []
        self.markers = []
        self.paths = []
        self.tip = Tip("base_link", "tool0")
        subscribe = self.node.create_subscription
        subscribe(JointState, "/joint_states", self._on_joint_state, qos_profile_sensor_data)
        subscribe(DiagnosticStatus, "/arm_planner/status", self.reports.append, LATCHED)
        subscribe(MarkerArray, "/arm_planner/markers", self.markers.append, LATCHED)
        subscribe(TipPath, "/arm_planner/tip_path", self.paths.append, LATCHED)
        subscribe(TFMessage, "/tf", self.tip.heard, 100)
        subscribe(TFMessage, "/tf_static", self.tip.heard, LATCHED)
        self.obstacles = self.node.create_publisher(PolygonObstacleArray, "/arm_planner/obstacles", 10)

    def _on_joint_state(self, message):
        stamp = message.header.stamp
        values = zip(message.position, message.velocity)
        self.states.append((stamp.sec + stamp.nanosec * 1e-9, dict(zip(message.name, values))))

    def wait(self, condition, what, patience=PATIENCE):
        """Take in messages until the condition holds; returns how long that took [s]."""
        begin = time.monotonic()
        while not condition():
            if self.process.poll() is not None:
                raise DemoError(f"the node ended with exit code {self.process.returncode}")
            if time.monotonic() - begin > patience:
                raise DemoError(f"waited {patience:.0f} s in vain for {what}")
            rclpy.spin_once(self.node, timeout_sec=0.05)
        return time.monotonic() - begin

    def call(self, service_type, name, request, expected=ErrorCode.SUCCESS):
        """Answer of a service, and how long it took as seen from here [s]."""
        client = self.node.create_client(service_type, name)
        self.wait(client.service_is_ready, f"service {name}")
        future = client.call_async(request)
        took = self.wait(future.done, f"an answer of {name}")
        answer = future.result()
        if answer.code.value != expected:
            raise DemoError(f"{name} answered {CODES.get(answer.code.value)}: {answer.message}")
        return answer, took

    def report(self, about, start, state=None, level=DiagnosticStatus.OK):
        """Wait for a report about something on ~/status, from number `start` on; returns it and the time that took."""
        found = []

        def wanted(report):
            states = [pair.value for pair in report.values if pair.key == "state"]
            # These are not the end of a motion.
            on_the_way = states and states[0] in ("executing", "replanned") and states[0] != state
            return report.name == about and (state is None or (states and not on_the_way))

        def arrived():
            found[:] = [report for report in self.reports[start:] if wanted(report)]
            return found

        took = self.wait(arrived, f"a report about {about}", 2 * PATIENCE)
        report = found[0]
        if report.level != level:
            raise DemoError(f"{about}: {report.message}")
        return report, took

    def row(self, what, result, took):
        print(f"  {what:<30} {result:<62} {took * 1e3:9.1f} ms", flush=True)

    def add_obstacles(self, obstacles):
        self.wait(lambda: self.obstacles.get_subscription_count() > 0, "the node to listen for obstacles")
        message = PolygonObstacleArray()
        message.header.frame_id = "base_link"
        for name, corners in obstacles.items():
            obstacle = PolygonObstacle(id=name, operation=PolygonObstacle.ADD, max_height=OBSTACLE_TOP)
            obstacle.polygon.points = [Point32(x=x, y=y) for x, y in corners]
            message.obstacles.append(obstacle)
        start = len(self.reports)
        self.obstacles.publish(message)
        report, took = self.report("obstacles", start)
        self.row(f"obstacles {', '.join(obstacles)}", report.message, took)

    def solve(self, what, position):
        answer, took = self.call(SolveIk, "/arm_planner/solve_ik", SolveIk.Request(target=pose(position)))
        error = f"{answer.position_error * 1e6:.3f} um, {answer.orientation_error * 1e6:.3f} urad off"
        self.row(f"solve_ik {what}", f"{answer.solver}, {answer.iterations} iterations, {error}", took)

    def plan(self, what, position):
        """Plan to a position, let the arm go there, and wait until the node says that it has arrived."""
        request = PlanPath.Request(goal=pose(position), execute=True)
        self.states.clear()
        start = len(self.reports)
        answer, took = self.call(PlanPath, "/arm_planner/plan_path", request)
        points = answer.trajectory.points
        clear = f"{answer.min_clearance * 1e3:.1f} mm clear" if math.isfinite(answer.min_clearance) else "nothing near"
        self.row(f"plan_path {what}", f"{answer.path_length:.3f} m, {clear}, {len(points)} points", took)
        report, took = self.report("plan_path", start, "reached")
        duration = seconds(points[-1].time_from_start)
        self.row(f"arm moved {what}", f"{report.message}; the trajectory lasts {duration:.2f} s", took)
        return answer

    def surprise(self, what, position, after, name, corners):
        """Send the arm off and put an obstacle in its way; returns what is to be drawn of it."""
        request = PlanPath.Request(goal=pose(position), execute=True, velocity_scaling=VELOCITY_SCALING)
        start, trace = len(self.reports), self.tip.follow()
        self.states.clear()
        answer, took = self.call(PlanPath, "/arm_planner/plan_path", request)
        self.row(f"plan_path {what}", f"{answer.path_length:.3f} m", took)
        self.wait(lambda: trace.length() > after, "the arm to move")
        appeared, at = len(trace.points), self.states[-1][0]
        paths = len(self.paths)
        self.add_obstacles({name: corners})
        return start, Surprise(name, corners, answer, trace, appeared, at, paths)

    def replanned(self, surprise):
        """The arm goes around what has appeared, without a stop."""
        start, seen = surprise
        report, took = self.report("plan_path", start, "replanned")
        self.row("planned anew on the way", report.message.split(" (")[0].removeprefix("replanned: "), took)
        report, took = self.report("plan_path", start, "reached")
        self.row("arm moved around the " + seen.name, report.message, took)
        seen.end(self)
        return seen

    def given_up(self, surprise):
        """The arm stops for what has appeared over its goal, and says why."""
        start, seen = surprise
        report, took = self.report("plan_path", start, "failed", DiagnosticStatus.ERROR)
        code = next(pair.value for pair in report.values if pair.key == "code")
        self.row("arm stopped on the way", f"given up: {CODES[int(code)]}", took)
        print(textwrap.indent(textwrap.fill(report.message, 72), " " * 33), flush=True)
        still = len(self.states)
        self.wait(lambda: len(self.states) > still + 5, "joint states")
        if any(abs(speed) > 1e-6 for _, speed in self.states[-1][1].values()):
            raise DemoError("the arm still moves")
        seen.end(self)
        return seen

    def refusal(self, what, position, code):
        """Ask for a path that cannot be had, and show what the node says."""
        start = len(self.states)
        answer, took = self.call(PlanPath, "/arm_planner/plan_path", PlanPath.Request(goal=pose(position)), code)
        if answer.trajectory.points or len(answer.message) < 10:
            raise DemoError(f"a goal {what} was refused without a reason, or with a trajectory")
        self.row(f"goal {what}", f"refused: {CODES[answer.code.value]}", took)
        print(textwrap.indent(textwrap.fill(answer.message, 72), " " * 33), flush=True)
        self.wait(lambda: len(self.states) > start + 5, "joint states")
        before, after = self.states[start][1], self.states[-1][1]
        if any(abs(after[name][0] - before[name][0]) > 1e-6 for name in before):
            raise DemoError(f"the arm moved although the goal {what} was refused")


class Surprise:
    """What is to be drawn of a motion in whose way something appeared."""

    def __init__(self, name, corners, answer, trace, appeared, at, paths):
        self.name, self.corners, self.answer = name, corners, answer
        self.trace, self.appeared, self.at = trace, appeared, at
        self._paths = paths
        self.path, self.states = None, []

    def end(self, demo):
        new = demo.paths[self._paths :]
        self.path = [(p.pose.position.x, p.pose.position.y) for p in new[-1].poses] if new else None
        self.states = list(demo.states)
        self.trace.close()


def start_node(program, log):
    parameters = ["--params-file", str(ROOT / "config" / "arm_planner.yaml")]
    for name, value in {
        "urdf_file": ROOT / "urdf" / "six_axis.urdf",
        "mock_controller": "true",
        "mock_initial_positions": HOME,
        "planning.clearance": CLEARANCE,
    }.items():
        parameters += ["-p", f"{name}:={value}"]
    command = [str(program), "--ros-args", *parameters]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)


def run(process, began, picture):
    demo = Demo(process)
    print(f"\n  {'step':<30} {'result':<62} {'time':>12}")
    client = demo.node.create_client(SolveIk, "/arm_planner/solve_ik")
    demo.wait(lambda: client.service_is_ready() and demo.states, "the node to be ready")
    demo.row("node ready", "six-axis arm, mock controller", time.monotonic() - began)
    demo.solve("for the start", START)
    demo.plan("to the start", START)
    demo.add_obstacles(OBSTACLES)
    demo.solve("for the goal", GOAL)
    answer = demo.plan("around the obstacles", GOAL)
    states = list(demo.states)
    demo.wait(lambda: any(marker.ns == "inflated" for marker in demo.markers[-1].markers), "the node's markers")
    markers = demo.markers[-1]
    around = demo.replanned(demo.surprise("back to the start", START, CART_APPEARS, "cart", CART))
    stopped = demo.given_up(demo.surprise("to the goal again", GOAL, LID_APPEARS, "lid", LID))
    demo.refusal("inside the crate", IN_THE_CRATE, ErrorCode.GOAL_IN_COLLISION)
    demo.refusal("out of reach", FAR_AWAY, ErrorCode.UNREACHABLE)
    draw(answer, states, markers, OBSTACLES, CLEARANCE, around, stopped, picture)
    demo.node.destroy_node()
    print(f"\n  picture: {picture}")


def main():
    parser = argparse.ArgumentParser(description="Demonstrate arm_planner with a mock six-axis arm.")
    parser.add_argument("--node", type=Path, required=True, help="program of the node")
    parser.add_argument("--output", type=Path, default=ROOT / "demo_output", help="folder for the picture and the log")
    arguments = parser.parse_args()
    arguments.output.mkdir(exist_ok=True)
    log_file = arguments.output / "node.log"
    fault = None
    with log_file.open("w") as log:
        began = time.monotonic()
        process = start_node(arguments.node, log)
        try:
            rclpy.init()
            run(process, began, arguments.output / "demo.png")
            rclpy.shutdown()
        except DemoError as problem:
            fault = str(problem)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(5.0)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                    fault = fault or "the node did not end on SIGINT"
    if fault is None and process.returncode != 0:
        fault = f"the node ended with exit code {process.returncode}"
    if fault:
        print(f"\nthe demo failed: {fault}\nlog of the node: {log_file}", file=sys.stderr)
        return 1
    print(f"  log of the node: {log_file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
