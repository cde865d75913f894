"""The demo's picture: the tip's ways from above, and the joints over time, planned and as the arm moved."""

import numpy as np


def seconds(duration):
    return duration.sec + duration.nanosec * 1e-9


def _segments(markers, namespace):
    """Ends of the lines of a namespace of ~/markers, as seen from above: an array (lines, 2 ends, x and y)."""
    points = [(p.x, p.y) for marker in markers.markers if marker.ns == namespace for p in marker.points]
    return np.array(points).reshape(-1, 2, 2)


def _planned_at(points, at):
    """Planned joint values at some times, between the points as the controller goes: cubics of positions and speeds."""
    times = np.array([seconds(point.time_from_start) for point in points])
    positions, speeds = (np.array([getattr(point, field) for point in points]) for field in ("positions", "velocities"))
    at = np.clip(at, times[0], times[-1])
    before = np.clip(np.searchsorted(times, at, side="right") - 1, 0, len(times) - 2)
    span = (times[before + 1] - times[before])[:, None]
    s = (at - times[before])[:, None] / span
    return (
        (1 + 2 * s) * (1 - s) ** 2 * positions[before]
        + s * (1 - s) ** 2 * span * speeds[before]
        + s**2 * (3 - 2 * s) * positions[before + 1]
        + s**2 * (s - 1) * span * speeds[before + 1]
    )


def _centroid(corners):
    """Middle of a polygon's area."""
    points = np.array(corners)
    after = np.roll(points, -1, axis=0)
    cross = points[:, 0] * after[:, 1] - after[:, 0] * points[:, 1]
    return ((points + after) * cross[:, None]).sum(axis=0) / (3.0 * cross.sum())


def _begin(points, stamps, moved):
    """Time of the stamps' clock at which the trajectory began: where plan and motion differ least [s].

    The trajectory says "now" and carries no time of its own, so this is measured.
    """

    def off(begin):
        return np.sum((_planned_at(points, stamps - begin) - moved) ** 2)

    # First coarsely over everything that was heard, then ever finer around the best.
    candidates = np.linspace(stamps[0] - 1.0, stamps[-1], 400)
    for _ in range(4):
        step = candidates[1] - candidates[0]
        best = min(candidates, key=off)
        candidates = np.linspace(best - step, best + step, 41)
    return best


def _draw_above(axes, answer, markers, obstacles, clearance):
    from matplotlib.collections import LineCollection

    axes.add_collection(
        LineCollection(_segments(markers, "roadmap"), colors="0.8", linewidths=0.6, label="road map", zorder=1)
    )
    for index, (name, corners) in enumerate(obstacles.items()):
        axes.fill(*zip(*corners), color="tab:red", alpha=0.45, label="" if index else "obstacle", zorder=2)
        axes.annotate(name, _centroid(corners), ha="center", va="center", zorder=5)
    outline = f"inflated by {clearance * 1e3:.0f} mm"
    axes.add_collection(
        LineCollection(_segments(markers, "inflated"), colors="tab:orange", linewidths=1.5, label=outline, zorder=3)
    )
    path = np.array([(p.pose.position.x, p.pose.position.y) for p in answer.tip_path.poses])
    axes.plot(*path.T, "-", color="tab:green", linewidth=2.5, label="tip path", zorder=4)
    axes.plot(*path[0], "o", color="black", markersize=8, label="start", zorder=6)
    axes.plot(*path[-1], "*", color="black", markersize=14, label="goal", zorder=6)
    corners = np.vstack([path, *(np.array(corners) for corners in obstacles.values())])
    margin = clearance + 0.03
    axes.set_xlim(corners[:, 0].min() - margin, corners[:, 0].max() + margin)
    axes.set_ylim(corners[:, 1].min() - margin, corners[:, 1].max() + margin)
    axes.set_aspect("equal")
    nearest = f"{answer.min_clearance * 1e3:.1f} mm clear"
    axes.set(title=f"Tip path from above: {answer.path_length:.3f} m, {nearest}", xlabel="x [m]", ylabel="y [m]")
    axes.grid(alpha=0.25)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.09), ncols=3, frameon=False)


def _draw_joints(above, below, answer, states):
    names = list(answer.trajectory.joint_names)
    points = answer.trajectory.points
    times = np.array([seconds(point.time_from_start) for point in points])
    planned = np.array([point.positions for point in points])
    stamps = np.array([stamp for stamp, _ in states])
    moved = np.array([[state[name][0] for name in names] for _, state in states])
    begin = _begin(points, stamps, moved)
    at = stamps - begin
    shown = (at >= 0.0) & (at <= times[-1])
    at, moved = at[shown], moved[shown]
    off = moved - _planned_at(points, at)
    thin = max(1, len(at) // 30)
    for index, name in enumerate(names):
        (line,) = above.plot(times, planned[:, index], label=name.removesuffix("_joint"))
        above.plot(at[::thin], moved[::thin, index], ".", color=line.get_color(), markersize=5)
        below.plot(at, off[:, index] * 1e3, color=line.get_color(), linewidth=1.0)
    above.set(title="Joints: planned (lines), as the arm moved (dots)", ylabel="position [rad]")
    above.legend(loc="upper center", bbox_to_anchor=(0.5, -0.04), ncols=6, frameon=False, fontsize="small")
    below.set(xlabel="time [s]", ylabel="moved - planned\n[mrad]", xlim=(-0.02 * times[-1], 1.02 * times[-1]))
    for axes in (above, below):
        axes.grid(alpha=0.25)


def _draw_surprise(axes, seen, obstacles, clearance, title):
    """A motion in whose way something appeared: what was planned, what appeared, and where the tip went."""
    for name, corners in obstacles.items():
        axes.fill(*zip(*corners), color="tab:red", alpha=0.45, zorder=2)
        axes.annotate(name, _centroid(corners), ha="center", va="center", zorder=5)
    axes.fill(*zip(*seen.corners), color="tab:purple", alpha=0.6, label="appears on the way", zorder=2)
    axes.annotate(seen.name, _centroid(seen.corners), ha="center", va="center", zorder=5)
    first = np.array([(p.pose.position.x, p.pose.position.y) for p in seen.answer.tip_path.poses])
    axes.plot(*first.T, "--", color="0.45", linewidth=1.5, label="planned at first", zorder=3)
    if seen.path:
        axes.plot(*zip(*seen.path), "-", color="tab:green", linewidth=5, alpha=0.35, label="planned anew", zorder=3)
    trace = np.array(seen.trace.points)
    axes.plot(*trace.T, "-", color="tab:blue", linewidth=2.0, label="the tip's way", zorder=4)
    axes.plot(*trace[seen.appeared], "D", color="tab:purple", markersize=7, label="tip as it appears", zorder=6)
    axes.plot(*first[0], "o", color="black", markersize=8, zorder=6)
    axes.plot(*first[-1], "*", color="black", markersize=14, zorder=6)
    if np.linalg.norm(trace[-1] - first[-1]) > 0.01:
        axes.plot(*trace[-1], "X", color="tab:red", markersize=11, label="stopped", zorder=7)
    corners = np.vstack([first, trace, *(np.array(corners) for corners in obstacles.values()), seen.corners])
    margin = clearance + 0.03
    axes.set_xlim(corners[:, 0].min() - margin, corners[:, 0].max() + margin)
    axes.set_ylim(corners[:, 1].min() - margin, corners[:, 1].max() + margin)
    axes.set_aspect("equal")
    axes.set(title=title, xlabel="x [m]")
    axes.grid(alpha=0.25)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.09), ncols=2, frameon=False)


def _draw_speeds(axes, seen):
    """Velocities of the joints while the arm goes over to the new motion."""
    names = sorted(seen.answer.trajectory.joint_names, key=list(seen.answer.trajectory.joint_names).index)
    times = np.array([stamp for stamp, _ in seen.states]) - seen.at
    speeds = np.array([[state[name][1] for name in names] for _, state in seen.states])
    moving = np.nonzero(np.max(np.abs(speeds), axis=1) > 1e-4)[0]
    shown = slice(max(0, moving[0] - 5), moving[-1] + 5) if len(moving) else slice(None)
    for index, name in enumerate(names):
        axes.plot(times[shown], speeds[shown, index], label=name.removesuffix("_joint"))
    axes.axvline(0.0, color="tab:purple", linestyle="--", linewidth=1.5)
    axes.set(title=f"Joint velocities as the {seen.name} appears (at 0 s)", xlabel="time [s]", ylabel="velocity [rad/s]")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=6, frameon=False, fontsize="small")
    axes.grid(alpha=0.25)


def draw(answer, states, markers, obstacles, clearance, around, stopped, file):
    """Draw the answer of ~/plan_path with what moved and what the node showed on ~/markers, and both surprises."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(18, 14.5), layout="constrained")
    rows = figure.add_gridspec(2, 1, height_ratios=(1.35, 1))
    above = rows[0].subgridspec(1, 3)
    _draw_above(figure.add_subplot(above[0]), answer, markers, obstacles, clearance)
    _draw_surprise(
        figure.add_subplot(above[1]), around, obstacles, clearance, f"Back: a {around.name} appears, planned anew"
    )
    known = {**obstacles, around.name: around.corners}
    _draw_surprise(
        figure.add_subplot(above[2]), stopped, known, clearance, f"There again: a {stopped.name} covers the goal"
    )
    below = rows[1].subgridspec(1, 2)
    curves = below[0].subgridspec(2, 1, height_ratios=(4, 1))
    joints = figure.add_subplot(curves[0])
    joints.tick_params(labelbottom=False)
    _draw_joints(joints, figure.add_subplot(curves[1], sharex=joints), answer, states)
    _draw_speeds(figure.add_subplot(below[1]), around)
    file.parent.mkdir(exist_ok=True)
    figure.savefig(file, dpi=80)
    plt.close(figure)
