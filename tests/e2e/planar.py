"""Distances in the plane, computed by the tests themselves."""

import numpy as np


def segment_distance(point, first, second):
    """Distance of a point from a segment."""
    point, first, second = (np.asarray(value, dtype=float) for value in (point, first, second))
    along = second - first
    length = along @ along
    share = 0.0 if length == 0.0 else min(1.0, max(0.0, (point - first) @ along / length))
    return float(np.linalg.norm(point - first - share * along))


def inside(point, corners):
    """Whether a point lies inside a polygon (crossings of a ray to the right)."""
    (x, y), answer = point, False
    for (x1, y1), (x2, y2) in zip(corners, corners[1:] + corners[:1]):
        if (y1 > y) != (y2 > y) and x < x1 + (y - y1) * (x2 - x1) / (y2 - y1):
            answer = not answer
    return answer


def distance(point, corners):
    """Distance of a point from a filled polygon, negative inside."""
    edges = zip(corners, corners[1:] + corners[:1])
    nearest = min(segment_distance(point, first, second) for first, second in edges)
    return -nearest if inside(point, corners) else nearest


def clearance(points, polygons):
    """Smallest distance of some points from some polygons."""
    return min(distance(point, corners) for point in points for corners in polygons)


def box(x, y, width, height):
    """Corners of a rectangle by its middle and its sides."""
    return [
        (x - width / 2, y - height / 2),
        (x + width / 2, y - height / 2),
        (x + width / 2, y + height / 2),
        (x - width / 2, y + height / 2),
    ]
