"""Where the tip of the arm is, from the transforms that the node publishes."""

import numpy as np


def _matrix(transform):
    """4 x 4 matrix of a geometry_msgs/Transform."""
    q, t = transform.rotation, transform.translation
    x, y, z, w = np.array([q.x, q.y, q.z, q.w]) / np.linalg.norm([q.x, q.y, q.z, q.w])
    matrix = np.eye(4)
    matrix[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    matrix[:3, 3] = [t.x, t.y, t.z]
    return matrix


class Trace:
    """The tip's way from above, as it goes."""

    def __init__(self):
        self.points = []
        self.open = True

    def add(self, point):
        if self.open:
            self.points.append(point)

    def close(self):
        self.open = False

    def length(self):
        points = np.array(self.points)
        return 0.0 if len(points) < 2 else float(np.sum(np.linalg.norm(np.diff(points, axis=0), axis=1)))


class Tip:
    """Follows the tip of the arm from messages on /tf and /tf_static."""

    def __init__(self, base, tip):
        self.base, self.tip = base, tip
        self._parents = {}
        self._traces = []

    def follow(self):
        """A trace of the tip from now on."""
        self._traces.append(Trace())
        return self._traces[-1]

    def heard(self, message):
        for sent in message.transforms:
            self._parents[sent.child_frame_id] = (sent.header.frame_id, _matrix(sent.transform))
        matrix, frame = np.eye(4), self.tip
        while frame != self.base:
            if frame not in self._parents:
                return
            frame, step = self._parents[frame]
            matrix = step @ matrix
        for trace in self._traces:
            trace.add((matrix[0, 3], matrix[1, 3]))
