"""Show what arm_planner does: a client that talks to the node over ROS 2, as any other client would.

Starts the node with the six-axis arm on its mock controller, puts obstacles in the way, asks for inverse kinematics
and for a path around the obstacles, lets the arm move along it and watches it arrive. Prints what happened and how
long it took, and draws the path and the joint curves. Ends by itself; exit code 0 when everything worked.
"""

import argparse
import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Read once by the middleware, so before rclpy is imported: nobody else on this machine is to see the demo.
os.environ.setdefault("ROS_DOMAIN_ID", str(random.randint(1, 101)))
os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")

import rclpy  # noqa: E402
from arm_planner_msgs.msg import ErrorCode, PolygonObstacle, PolygonObstacleArray  # noqa: E402
from arm_planner_msgs.srv import PlanPath, SolveIk  # noqa: E402
from geometry_msgs.msg import Point32, PoseStamped  # noqa: E402
from rclpy.qos import qos_profile_sensor_data  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

# Joint values at the start [rad]: elbow up, tool pointing down.
HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
# Obstacles: corners [m] in base_link; their top is above the tip's height and below the arm's wrist.
OBSTACLES = {
    "crate": [(0.36, -0.16), (0.52, -0.16), (0.52, -0.04), (0.36, -0.04)],
    "post": [(0.47 + 0.05 * math.cos(a * math.pi / 3), 0.12 + 0.05 * math.sin(a * math.pi / 3)) for a in range(6)],
}
OBSTACLE_TOP = 0.28
TIP_HEIGHT = 0.26
# The tip goes from the first to the second of these [m].
START, GOAL = (0.40, -0.30), (0.42, 0.28)
PATIENCE = 20.0


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


def seconds(duration):
    return duration.sec + duration.nanosec * 1e-9


class Demo:
    """The client: what it asks of the node, and the table of what came of it."""

    def __init__(self, process):
        self.process = process
        self.node = rclpy.create_node("arm_planner_demo")
        self.rows = []
        self.states = []
        self.node.create_subscription(JointState, "/joint_states", self._on_joint_state, qos_profile_sensor_data)

    def _on_joint_state(self, message):
        self.states.append((time.monotonic(), dict(zip(message.name, message.position))))

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

    def call(self, service_type, name, request):
        """Answer of a service, and how long it took as seen from here [s]."""
        client = self.node.create_client(service_type, name)
        self.wait(client.service_is_ready, f"service {name}")
        future = client.call_async(request)
        took = self.wait(future.done, f"an answer of {name}")
        answer = future.result()
        if answer.code.value != ErrorCode.SUCCESS:
            raise DemoError(f"{name} answered {answer.code.value}: {answer.message}")
        return answer, took

    def row(self, what, result, took):
        self.rows.append((what, result, took))
        print(f"  {what:<34} {result:<58} {took * 1e3:9.1f} ms", flush=True)

    def add_obstacles(self):
        publisher = self.node.create_publisher(PolygonObstacleArray, "/arm_planner/obstacles", 10)
        took = self.wait(lambda: publisher.get_subscription_count() > 0, "the node to listen for obstacles")
        message = PolygonObstacleArray(replace_all=True)
        message.header.frame_id = "base_link"
        for name, corners in OBSTACLES.items():
            obstacle = PolygonObstacle(id=name, operation=PolygonObstacle.ADD, max_height=OBSTACLE_TOP)
            obstacle.polygon.points = [Point32(x=x, y=y) for x, y in corners]
            message.obstacles.append(obstacle)
        publisher.publish(message)
        self.row("obstacles sent", ", ".join(OBSTACLES), took)

    def solve(self, position):
        answer, took = self.call(SolveIk, "/arm_planner/solve_ik", SolveIk.Request(target=pose(position)))
        error = f"{answer.position_error * 1e6:.3f} um, {answer.orientation_error * 1e6:.3f} urad off"
        self.row("solve_ik", f"{answer.solver}, {answer.iterations} iterations, {error}", took)
        return answer

    def plan(self, what, position):
        """Plan to a position, let the arm go there, and wait until it has arrived."""
        request = PlanPath.Request(goal=pose(position), execute=True)
        self.states.clear()
        answer, took = self.call(PlanPath, "/arm_planner/plan_path", request)
        points = answer.trajectory.points
        clearance = f"{answer.min_clearance * 1e3:.1f} mm clear" if math.isfinite(answer.min_clearance) else "nothing near"
        self.row(f"plan_path {what}", f"{answer.path_length:.3f} m, {clearance}, {len(points)} points", took)
        last = dict(zip(answer.trajectory.joint_names, points[-1].positions))
        duration = seconds(points[-1].time_from_start)

        def arrived():
            state = self.states[-1][1] if self.states else {}
            return all(abs(state.get(name, math.inf) - value) < 1e-3 for name, value in last.items())

        took = self.wait(arrived, "the arm to arrive", PATIENCE + duration)
        self.row(f"arm moved {what}", f"arrived; the trajectory lasts {duration:.2f} s", took)
        return answer


def draw(answer, states, file):
    """Picture of the tip path from above and of the joints over time, planned and as the arm moved."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (above, joints) = plt.subplots(1, 2, figsize=(13, 5.5))
    for name, corners in OBSTACLES.items():
        above.fill(*zip(*corners), color="tab:red", alpha=0.5)
        x, y = (sum(axis) / len(corners) for axis in zip(*corners))
        above.annotate(name, (x, y), ha="center", va="center")
    positions = [stamped.pose.position for stamped in answer.tip_path.poses]
    above.plot([p.x for p in positions], [p.y for p in positions], "-", color="tab:green", label="tip path")
    above.plot(*START, "o", color="black", label="start")
    above.plot(*GOAL, "*", color="black", markersize=12, label="goal")
    above.set(title=f"Tip path from above, {answer.path_length:.3f} m", xlabel="x [m]", ylabel="y [m]", aspect="equal")
    above.legend()
    above.grid(alpha=0.3)

    points = answer.trajectory.points
    times = [seconds(point.time_from_start) for point in points]
    # The arm's clock starts when it first moves; before that its states repeat.
    first = dict(zip(answer.trajectory.joint_names, points[0].positions))
    moving = (t for t, state in states if any(abs(state.get(name, value) - value) > 1e-6 for name, value in first.items()))
    begin = next(moving, states[0][0] if states else 0.0)
    for index, name in enumerate(answer.trajectory.joint_names):
        (line,) = joints.plot(times, [point.positions[index] for point in points], label=name)
        seen = [(t - begin, state[name]) for t, state in states if name in state and 0.0 <= t - begin <= times[-1]]
        joints.plot([t for t, _ in seen[::8]], [q for _, q in seen[::8]], ".", color=line.get_color(), markersize=4)
    joints.set(title="Joints: planned (lines), as moved (dots)", xlabel="time [s]", ylabel="position [rad]")
    joints.legend(fontsize="small")
    joints.grid(alpha=0.3)
    figure.tight_layout()
    file.parent.mkdir(exist_ok=True)
    figure.savefig(file, dpi=110)
    plt.close(figure)


def start_node(program, log):
    parameters = ["--params-file", str(ROOT / "config" / "arm_planner.yaml")]
    for name, value in {
        "urdf_file": ROOT / "urdf" / "six_axis.urdf",
        "mock_controller": "true",
        "mock_initial_positions": HOME,
    }.items():
        parameters += ["-p", f"{name}:={value}"]
    return subprocess.Popen(
        [str(program), "--ros-args", *parameters], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
    )


def run(process, picture):
    demo = Demo(process)
    print("\n  step                               result                                                          time")
    client = demo.node.create_client(SolveIk, "/arm_planner/solve_ik")
    took = demo.wait(lambda: client.service_is_ready() and demo.states, "the node to be ready")
    demo.row("node ready", "six-axis arm, mock controller", took)
    demo.solve(START)
    demo.plan("to the start", START)
    demo.add_obstacles()
    demo.solve(GOAL)
    answer = demo.plan("around the obstacles", GOAL)
    draw(answer, demo.states, picture)
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
        process = start_node(arguments.node, log)
        try:
            rclpy.init()
            run(process, arguments.output / "demo.png")
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
