# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What maps of isotropic efforts need: poses that motors can hold, and where they are tried."""

from __future__ import annotations

import numpy as np

from soro_mechanics.analysis.condensed_ports import CondensedPorts
from soro_mechanics.analysis.polytope import FLAT, MotorLimits, solutions
from soro_mechanics.core.configuration import Array


def within_limits(ports: CondensedPorts, limits: MotorLimits, slack: float = FLAT) -> bool:
    """Whether the motors hold this state within torque and angle limits, up to round-off.

    An inverse solve that a limit stops ends on the limit, and may come out a digit beyond it.
    `slack` is how far, relative to one N m and rad and the limit. More motors than motions hold a
    pose in more than one way: see `holding_torque`.
    """
    return _between(limits.torque_minimum, ports.torque, limits.torque_maximum, slack) and (
        _between(limits.angle_minimum, ports.angle, limits.angle_maximum, slack)
    )


def _between(low: Array, value: Array, high: Array, slack: float) -> bool:
    """Whether no value lies beyond its bounds, which may be infinite."""
    above = value - low >= -slack * (1.0 + np.abs(low))
    below = high - value >= -slack * (1.0 + np.abs(high))
    return bool(np.all(above) and np.all(below))


def holding_torque(ports: CondensedPorts, limits: MotorLimits) -> Array | None:
    """Return motor torques within limits that hold the effector where it is, shape (na,) [N m].

    Torques of the null space of W_ea move the motors and not the effector, so there is more than
    one way to hold a pose. The nearest to the torques of `ports`, to first order in their
    difference; None where no way is within the limits.
    """
    if within_limits(ports, limits):
        return ports.torque.copy()
    na, ne, _ = ports.sizes
    _, basis = solutions(ports.ea, np.zeros(ne), na)
    free = basis.shape[1]
    rows = np.vstack([basis, -basis, ports.aa @ basis, -ports.aa @ basis])
    bounds = np.concatenate(
        [
            limits.torque_maximum - ports.torque,
            ports.torque - limits.torque_minimum,
            limits.angle_maximum - ports.angle,
            ports.angle - limits.angle_minimum,
        ]
    )
    rows, bounds = rows[np.isfinite(bounds)], bounds[np.isfinite(bounds)]
    from scipy.optimize import linprog  # a second to import

    # The last unknown is the largest share of any null direction: the least of that.
    size = np.hstack([np.vstack([np.eye(free), -np.eye(free)]), -np.ones((2 * free, 1))])
    answer = linprog(
        np.append(np.zeros(free), 1.0),
        A_ub=np.vstack([np.column_stack([rows, np.zeros(len(rows))]), size]),
        b_ub=np.append(bounds, np.zeros(2 * free)),
        bounds=[(None, None)] * free + [(0.0, None)],
    )
    if answer.status != 0:
        return None
    return np.asarray(ports.torque + basis @ answer.x[:-1], np.float64)


def disc_grid(radius: float, spacing: float) -> Array:
    """Return the points, shape (k, 2), of a square grid through the centre that lie in a disc."""
    count = int(np.floor(radius / spacing * (1.0 + FLAT)))
    line = spacing * np.arange(-count, count + 1)
    grid = np.stack(np.meshgrid(line, line, indexing='ij'), axis=-1).reshape(-1, 2)
    return grid[np.hypot(grid[:, 0], grid[:, 1]) <= radius * (1.0 + FLAT)]
