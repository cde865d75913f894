"""What a motion must be, checked by the tests themselves."""

import numpy as np

# The parameter trajectory.default_max_acceleration [rad/s^2].
ACCELERATION = 3.0


def stamp(message):
    """Time of a message's header [s]."""
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def seen(arm, start):
    """Times, positions and velocities of the joint states from number `start` on, in the chain's order."""
    states = arm.states.messages[start:]
    times = np.array([stamp(state) for state in states])
    positions = np.array([arm.chain.values(state.name, state.position) for state in states])
    velocities = np.array([arm.chain.values(state.name, state.velocity) for state in states])
    order = np.concatenate([[True], np.diff(times) > 0.0])
    return times[order], positions[order], velocities[order]


def check_smooth(arm, start, acceleration=ACCELERATION):
    """The arm has moved without a jump in position or velocity, and within its limits."""
    times, positions, velocities = seen(arm, start)
    step = np.diff(times)[:, None]
    assert len(step) > 10
    for q in positions:
        assert not arm.chain.outside(q, 1e-6)
    assert np.all(np.abs(velocities) <= arm.chain.velocity * 1.002 + 1e-9)
    # Between a state and the begin of what was sent a controller interpolates by itself; that is short.
    jump = np.abs(np.diff(velocities, axis=0)) - 1.5 * acceleration * step
    row, joint = np.unravel_index(np.argmax(jump), jump.shape)
    around = [f"{t - times[row]:+.4f} s: {v[joint]:.4f}" for t, v in zip(times, velocities)][max(0, row - 4) : row + 6]
    assert np.max(jump) <= 2e-3, f"a jump of {np.max(jump)} in velocity of {arm.chain.names[joint]}: {around}"
    off = np.abs(np.diff(positions, axis=0) - 0.5 * (velocities[1:] + velocities[:-1]) * step)
    off -= 0.5 * acceleration * step**2
    assert np.max(off) <= 1e-5, f"a jump of {np.max(off)} in position"


def polynomials(message):
    """Positions, velocities and accelerations of a trajectory a millisecond apart, as a controller interpolates it."""
    rows = []
    for first, second in zip(message.points, message.points[1:]):
        begin, end = (p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in (first, second))
        span = end - begin
        q0, q1, v0, v1 = (np.array(x) for x in (first.positions, second.positions, first.velocities, second.velocities))
        if len(first.accelerations) and len(second.accelerations):
            a0, a1 = np.array(first.accelerations), np.array(second.accelerations)
            conditions = np.array(
                [
                    [1, 0, 0, 0, 0, 0],
                    [0, 1, 0, 0, 0, 0],
                    [0, 0, 2, 0, 0, 0],
                    [1, 1, 1, 1, 1, 1],
                    [0, 1, 2, 3, 4, 5],
                    [0, 0, 2, 6, 12, 20],
                ],
                dtype=float,
            )
            values = [q0, span * v0, span**2 * a0, q1, span * v1, span**2 * a1]
        else:
            conditions = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 1], [0, 1, 2, 3]], dtype=float)
            values = [q0, span * v0, q1, span * v1]
        coefficients = np.linalg.solve(conditions, np.array(values))
        degree = len(coefficients)
        for s in np.linspace(0.0, 1.0, max(2, int(np.ceil(span / 1e-3)))):
            powers = s ** np.arange(degree)
            first_order = np.array([k * s ** (k - 1) if k else 0.0 for k in range(degree)])
            second_order = np.array([k * (k - 1) * s ** (k - 2) if k > 1 else 0.0 for k in range(degree)])
            rows.append(
                (
                    begin + s * span,
                    powers @ coefficients,
                    first_order @ coefficients / span,
                    second_order @ coefficients / span**2,
                )
            )
    times, positions, velocities, accelerations = (np.array(column) for column in zip(*rows))
    return times, positions, velocities, accelerations


def check_limits(arm, message, acceleration=ACCELERATION, scaling=1.0):
    """A trajectory keeps all limits at every instant, as the controller goes between its points."""
    _, positions, velocities, accelerations = polynomials(message)
    for q in positions:
        assert not arm.chain.outside(q, 1e-4)
    assert np.all(np.abs(velocities) <= scaling * arm.chain.velocity * 1.002 + 1e-9)
    assert np.max(np.abs(accelerations)) <= acceleration * 1.002, np.max(np.abs(accelerations))
    assert np.max(np.abs(velocities[-1])) < 1e-6
