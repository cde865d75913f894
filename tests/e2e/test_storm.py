"""The node never ends, panics or forgets on a message: storms of bad ones on every topic, with good ones after."""

import math
import random

import numpy as np
import pytest
from arm import assert_code
from arm_planner_msgs.msg import PolygonObstacle, PolygonObstacleArray
from arm_planner_msgs.srv import PlanPath, SolveIk
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PolygonStamped, PoseArray, PoseStamped
from messages import (
    joint_state,
    obstacle,
    obstacles,
    polygon_stamped,
    poses,
    stamped,
    stamped_matrix,
    trajectory,
    transform_message,
)
from planar import box
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory

HOME = [-0.6, -1.9, 2.0, -1.67, -1.57, 0.0]
GOAL = stamped((0.42, 0.28, 0.26))
ODD_NUMBERS = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e308, -1e308, 5e-324, 1e-30, 3.0, -0.4]
ODD_SINGLES = [math.nan, math.inf, -math.inf, 0.0, 3e38, -3e38, 1e-44, 1e7, 0.3, -0.5]
ODD_TEXTS = ["", "/", "//", "base_link", "/base_link", "wrold", "tool0", "é€😀", " ", "a" * 5000, "..", "%s%n", "x\ny"]


class Odd:
    """Draws odd things, always the same ones."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def number(self):
        return self.random.choice(ODD_NUMBERS)

    def numbers(self, most=9):
        return [self.number() for _ in range(self.random.randrange(most))]

    def text(self):
        return self.random.choice(ODD_TEXTS)

    def texts(self, most=9):
        return [self.text() for _ in range(self.random.randrange(most))]

    def pose(self):
        return stamped([self.number() for _ in range(3)], [self.number() for _ in range(4)], self.text())

    def poses(self):
        places = [[self.number() for _ in range(3)] for _ in range(self.random.randrange(5))]
        return poses(places, [self.number() for _ in range(4)], self.text())

    def corners(self):
        single = lambda: self.random.choice(ODD_SINGLES)  # noqa: E731
        return [(single(), single()) for _ in range(self.random.randrange(8))]

    def obstacle(self):
        return PolygonObstacle(
            header=polygon_stamped([], self.text()).header,
            id=self.text(),
            operation=self.random.choice([0, 0, 0, 1, 2, 255]),
            polygon=polygon_stamped(self.corners()).polygon,
            min_height=self.number(),
            max_height=self.number(),
        )

    def obstacles(self):
        changes = [self.obstacle() for _ in range(self.random.randrange(1, 5))]
        # An empty id, so that no message of the storm is accepted as a whole.
        changes.append(PolygonObstacle(id=""))
        return obstacles(*changes, replace_all=self.random.random() < 0.5, frame=self.text())

    def joint_state(self, names):
        names = [*self.random.sample(names, self.random.randrange(len(names))), *self.texts(4)]
        return joint_state(names, self.numbers(), self.numbers())

    def trajectory(self, names):
        names = self.random.sample(names, self.random.randrange(len(names) + 1))
        points = [(self.random.uniform(-3, 3), self.numbers(), self.numbers()) for _ in range(3)]
        return trajectory(names, points, self.random.choice([0, -5, 2**31 - 1]))


@pytest.fixture
def arm(starter):
    started = starter.arm("six_axis", {"mock_controller": True, "mock_initial_positions": HOME})
    started.joints()
    started.send_obstacles(obstacles(obstacle("crate", box(0.55, 0.05, 0.1, 0.1))))
    return started


def assert_unharmed(arm):
    """Services answer, the arm stands where it stood, the obstacle is still there, and goals are still gone to."""
    assert arm.process.alive(), arm.process.log()
    # The last good joint states of the mock arm are what counts.
    arm.client.wait_until(lambda: arm.solve_ik(GOAL).code.value == 1, "solve_ik to succeed again")
    answer = arm.solve_ik(GOAL)
    arm.check_solution(answer.solutions[0], GOAL)
    assert_code(arm.plan_path(stamped((0.55, 0.05, 0.26))), "GOAL_IN_COLLISION", "crate")
    start = len(arm.reports.messages)
    arm.client.publish(PoseStamped, arm.process.topic("goal_pose"), GOAL)
    arm.state_report("goal_pose", "reached", start)
    assert np.linalg.norm(arm.chain.forward(arm.fresh_joints())[:3, 3] - [0.42, 0.28, 0.26]) < 1e-4
    assert "panicked" not in arm.process.log()


def test_storm_on_every_topic(arm):
    odd = Odd(1)
    names = arm.chain.names
    storms = [
        (PoseStamped, "goal_pose", odd.pose),
        (PoseArray, "goal_poses", odd.poses),
        (PoseStamped, "tracking_pose", odd.pose),
        (PolygonObstacleArray, "obstacles", odd.obstacles),
        (PolygonStamped, "obstacle_polygon", lambda: polygon_stamped(odd.corners(), "wrold")),
    ]
    publishers = [(arm.client.publisher(kind, arm.process.topic(topic)), make) for kind, topic, make in storms]
    publishers += [
        (arm.client.publisher(JointState, arm.states_topic), lambda: odd.joint_state(names)),
        (arm.client.publisher(JointTrajectory, arm.controller_topic), lambda: odd.trajectory(names)),
        (arm.client.publisher(TFMessage, "/tf", 100), lambda: odd_transform(odd)),
    ]
    for _ in range(120):
        for publisher, make in publishers:
            publisher.publish(make())
    moved = [arm.joints()]
    # Whatever the storm has moved, it moved inside the limits: nothing of it is a goal that can be reached.
    assert not arm.chain.outside(moved[0])
    assert_unharmed(arm)


def odd_transform(odd):
    names = ["odd_" + str(odd.random.randrange(9)), "odd_" + str(odd.random.randrange(9)), odd.text()]
    parent, child = odd.random.sample(names, 2)
    # The arm's own links stay out of it: their transforms are the publisher's to say.
    child = child if child.startswith("odd_") else "odd_0"
    return transform_message(parent, child, [odd.number() for _ in range(3)], [odd.number() for _ in range(4)])


def test_storm_of_requests(arm):
    odd = Odd(2)
    futures = []
    for _ in range(60):
        ik = SolveIk.Request(
            target=odd.pose(),
            tip_link=odd.text(),
            seed=odd.joint_state(arm.chain.names),
            preferred_posture=odd.joint_state(arm.chain.names),
            position_only=odd.random.random() < 0.5,
            position_tolerance=odd.number(),
            orientation_tolerance=odd.number(),
            timeout=Duration(sec=odd.random.choice([0, -1, -(2**31)]), nanosec=odd.random.choice([0, 2**32 - 1])),
            solver=odd.text(),
            max_solutions=odd.random.choice([0, 1, 2**32 - 1]),
            avoid_collisions=odd.random.random() < 0.5,
        )
        plan = PlanPath.Request(
            start=odd.joint_state(arm.chain.names),
            goal=odd.pose(),
            clearance=odd.number(),
            roadmap=odd.text(),
            extra_obstacles=[odd.obstacle() for _ in range(odd.random.randrange(3))],
            velocity_scaling=odd.number(),
            acceleration_scaling=odd.number(),
            execute=odd.random.random() < 0.3,
        )
        futures.append(arm.client.call_async(SolveIk, arm.process.topic("solve_ik"), ik))
        futures.append(arm.client.call_async(PlanPath, arm.process.topic("plan_path"), plan))
        # A service's queue is not endless: no more at a time than would be asked.
        arm.client.wait_until(lambda pending=tuple(futures[-2:]): all(f.done() for f in pending), "answers")
    for future in futures:
        answer = future.result()
        assert answer.code.value not in (0, 1, 99999), f"{answer.code.value}: {answer.message}"
        assert answer.message
    assert_unharmed(arm)


def test_many_clients_at_once_all_get_their_own_answers(arm):
    generator = np.random.default_rng(3)
    asked = []
    for _ in range(40):
        q = arm.chain.random(generator)
        request = SolveIk.Request(target=stamped_of(arm, q), seed=arm.seed(q), timeout=Duration(sec=5))
        asked.append((q, arm.client.call_async(SolveIk, arm.process.topic("solve_ik"), request)))
        if len(asked) % 8 == 0:
            pending = [future for _, future in asked[-8:]]
            arm.client.wait_until(lambda pending=pending: all(f.done() for f in pending), "the answers")
    for q, future in asked:
        answer = future.result()
        assert_code(answer, "SUCCESS")
        arm.check_solution(answer.solutions[0], arm.chain.forward(q))


def stamped_of(arm, q):
    return stamped_matrix(arm.chain.forward(q))


def test_flood_of_good_obstacles_loses_none(arm):
    publisher = arm.client.publisher(PolygonObstacleArray, arm.process.topic("obstacles"), 200)
    for number in range(90):
        publisher.publish(obstacles(obstacle(f"pin {number}", box(-2.0 - 0.05 * number, 0.0, 0.02, 0.02))))
    arm.client.wait_until(
        lambda: any("91 obstacle(s)" in report.message for report in arm.reports.messages), "all 91 obstacles"
    )
    assert_unharmed(arm)
