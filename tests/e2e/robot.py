"""Kinematics of the test's own: read from the URDF by nothing but its XML, computed with numpy.

The node is never asked where a link is; what it answers is checked with this.
"""

import math
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

import numpy as np


def rotation_rpy(roll, pitch, yaw):
    """Rotation matrix of URDF's rpy: about the fixed axes x, then y, then z."""
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(angle), math.sin(angle)) for angle in (roll, pitch, yaw))
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rotation_about(axis, angle):
    """Rotation matrix about a unit axis (Rodrigues)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * (cross @ cross)


def rotation_quaternion(x, y, z, w):
    """Rotation matrix of a quaternion, which is normalised first."""
    x, y, z, w = np.array([x, y, z, w]) / np.linalg.norm([x, y, z, w])
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_of(rotation):
    """Quaternion x y z w of a rotation matrix: the eigenvector of Bar-Itzhack's symmetric matrix."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rotation
    symmetric = np.array(
        [
            [xx - yy - zz, 0, 0, 0],
            [yx + xy, yy - xx - zz, 0, 0],
            [zx + xz, zy + yz, zz - xx - yy, 0],
            [zy - yz, xz - zx, yx - xy, xx + yy + zz],
        ]
    )
    _, vectors = np.linalg.eigh(symmetric)  # takes the lower triangle
    return vectors[:, -1]


def angle_between(first, second):
    """Angle of the rotation from one rotation matrix to another [rad]."""
    turn = first.T @ second
    sine = np.linalg.norm([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    return math.atan2(0.5 * sine, 0.5 * (np.trace(turn) - 1.0))


def transform(rotation, translation):
    """4 x 4 matrix."""
    matrix = np.eye(4)
    matrix[:3, :3] = rotation
    matrix[:3, 3] = translation
    return matrix


def pose_matrix(pose):
    """4 x 4 matrix of a geometry_msgs/Pose."""
    p, q = pose.position, pose.orientation
    return transform(rotation_quaternion(q.x, q.y, q.z, q.w), [p.x, p.y, p.z])


def _numbers(element, attribute, default):
    text = element.get(attribute) if element is not None else None
    return np.array([float(part) for part in text.split()]) if text else np.array(default, dtype=float)


@dataclass(frozen=True)
class Joint:
    """One joint of the description."""

    name: str
    kind: str
    parent: str
    child: str
    origin: np.ndarray
    axis: np.ndarray
    lower: float
    upper: float
    velocity: float
    # (driver, multiplier, offset), or None.
    mimic: tuple

    def motion(self, value):
        """4 x 4 matrix of the joint's motion by its value."""
        if self.kind in ("revolute", "continuous"):
            return transform(rotation_about(self.axis, value), [0.0, 0.0, 0.0])
        if self.kind == "prismatic":
            return transform(np.eye(3), self.axis * value)
        return np.eye(4)


def _joint(element):
    origin, limit, mimic = (element.find(name) for name in ("origin", "limit", "mimic"))
    axis = _numbers(element.find("axis"), "xyz", [1.0, 0.0, 0.0])
    length = np.linalg.norm(axis)
    kind = element.get("type")
    bounded = limit is not None and kind != "continuous"
    return Joint(
        name=element.get("name"),
        kind=kind,
        parent=element.find("parent").get("link"),
        child=element.find("child").get("link"),
        origin=transform(rotation_rpy(*_numbers(origin, "rpy", [0.0] * 3)), _numbers(origin, "xyz", [0.0] * 3)),
        axis=axis / length if length > 0.0 else axis,
        lower=float(limit.get("lower", 0.0)) if bounded else -math.inf,
        upper=float(limit.get("upper", 0.0)) if bounded else math.inf,
        velocity=float(limit.get("velocity", "inf")) if limit is not None else math.inf,
        mimic=None
        if mimic is None
        else (mimic.get("joint"), float(mimic.get("multiplier", 1.0)), float(mimic.get("offset", 0.0))),
    )


class Chain:
    """The joints between two links."""

    def __init__(self, joints, base, tip):
        by_child = {joint.child: joint for joint in joints}
        by_name = {joint.name: joint for joint in joints}
        path, link = [], tip
        while link != base:
            path.append(by_child[link])
            link = path[-1].parent
        self.base, self.tip = base, tip
        self.path = path[::-1]
        # How each joint follows the one that is free: (driver, multiplier, offset). A driver need not be on the path,
        # and may itself follow another.
        self.follows = {}
        for joint in self.path:
            driver, multiplier, offset = joint, 1.0, 0.0
            while driver.mimic:
                name, factor, shift = driver.mimic
                driver, multiplier, offset = by_name[name], multiplier * factor, multiplier * shift + offset
            self.follows[joint.name] = (driver, multiplier, offset)
        moving = [self.follows[joint.name][0] for joint in self.path if joint.kind != "fixed"]
        self.joints = list({joint.name: joint for joint in moving}.values())
        self.names = [joint.name for joint in self.joints]
        self.lower = np.array([joint.lower for joint in self.joints])
        self.upper = np.array([joint.upper for joint in self.joints])
        self.velocity = np.array([joint.velocity for joint in self.joints])

    def forward(self, q):
        """Pose of the tip in the base, 4 x 4, for the joint values in the chain's order."""
        values = dict(zip(self.names, q, strict=True))
        matrix = np.eye(4)
        for joint in self.path:
            driver, multiplier, offset = self.follows[joint.name]
            value = multiplier * values.get(driver.name, 0.0) + offset
            matrix = matrix @ joint.origin @ joint.motion(value)
        return matrix

    def values(self, names, positions):
        """Joint values in the chain's order from values by name; other joints may be among them."""
        by_name = dict(zip(names, positions, strict=True))
        return np.array([by_name[name] for name in self.names])

    def random(self, generator, margin=0.05):
        """Joint values drawn inside the limits, continuous joints within half a turn."""
        lower = np.where(np.isfinite(self.lower), self.lower, -math.pi)
        upper = np.where(np.isfinite(self.upper), self.upper, math.pi)
        margin = margin * (upper - lower)
        return generator.uniform(lower + margin, upper - margin)

    def outside(self, q, tolerance=1e-9):
        """Names of the joints outside their limits."""
        wrong = (np.asarray(q) < self.lower - tolerance) | (np.asarray(q) > self.upper + tolerance)
        return [name for name, out in zip(self.names, wrong) if out]


def read_joints(urdf_text):
    """All joints of a description."""
    return [_joint(element) for element in ElementTree.fromstring(urdf_text).findall("joint")]
