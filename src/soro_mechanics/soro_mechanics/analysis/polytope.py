# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Isotropic force and torque in the strong and in the weak sense.

Koehler 2023, eqs (9)-(11): which forces can the device apply at the effector, in every direction,
without moving it and without any moment (or the other way round), within the torque and angle
limits of its motors? The limits are half-spaces in the space of motor torques (H-representation);
their vertices (V-representation) are projected to the effector, and the nearest facet of the hull
of the projections is the answer. That is the strong sense. In the weak one
(Yoshikawa) the hand may be given moments besides, whatever comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soro_mechanics.analysis.condensed_ports import CondensedPorts
from soro_mechanics.core.array_input import bound_array, finite_array
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code

FORCE = (0, 1, 2)  # effector directions of a device with three translations first
TORQUE = (3, 4)  # its two rotations
SENSES = ('strong', 'weak')
# A set thinner than this share of its extent has no interior for Qhull, whose own precision is
# some 1e-12 of the extent.
FLAT = 1e-9


@dataclass(frozen=True, eq=False)
class MotorLimits:
    """Limits of the motors; infinite where there is none."""

    torque_minimum: Array  #: (na,) [N m]
    torque_maximum: Array  #: (na,) [N m]
    angle_minimum: Array  #: (na,) [rad]
    angle_maximum: Array  #: (na,) [rad]


@dataclass(frozen=True, eq=False)
class IsotropicEffort:
    """The largest effort available in every direction of a subspace."""

    radius: float  # [N] or [N m]; zero where the pose cannot be held without a hand
    direction: Array  # (d,) unit direction in which the device is weakest; NaN without a polytope
    vertices: Array  # (k, d) of the polytope of efforts on the hand; empty without a polytope
    # NONE; AT_LIMIT when the limits leave no margin (flat polytope, or the origin outside);
    # UNREACHABLE when no motor torque holds the pose within the limits
    code: Code


def isotropic_effort(
    ports: CondensedPorts,
    limits: MotorLimits,
    directions: Sequence[int],
    offset: Array | None = None,
    sense: str = 'strong',
) -> IsotropicEffort:
    """Return the largest r such that every effort of norm r along `directions` can be applied.

    `ports`: the device at the pose, normally without a hand force. `directions`: effector
    directions of the effort. `offset` (ne,): delta_e0, position minus goal along the effector
    directions; default none. `sense`: whether the effort is zero in all other directions
    ('strong'), or may be anything there ('weak'). InvalidInput: sizes that do not fit, another
    sense, or limits that leave the motors unbounded.
    """
    na, ne, _ = ports.sizes
    chosen = tuple(int(i) for i in directions)
    if not chosen or len(set(chosen)) != len(chosen) or not all(0 <= i < ne for i in chosen):
        raise InvalidInput('directions', directions, f'different indices from 0 to {ne - 1}')
    if sense not in SENSES:
        raise InvalidInput('sense', sense, ' or '.join(SENSES))
    shift = np.zeros(ne) if offset is None else finite_array('offset', offset, (ne,))
    rows, bounds = _motor_half_spaces(ports, limits, shift)
    # effort on the hand = gain @ torque + constant, eq (10), last line
    gain = np.asarray(np.linalg.solve(ports.ee, ports.ea), np.float64)
    constant = np.linalg.solve(ports.ee, shift) - ports.force
    others = [i for i in range(ne) if i not in chosen and sense == 'strong']
    start, basis = solutions(gain[others], -constant[others], na)
    empty = np.zeros((0, len(chosen)))
    none = np.full(len(chosen), np.nan)
    if start is None:
        return IsotropicEffort(0.0, none, empty, Code.UNREACHABLE)
    reduced, margin = rows @ basis, bounds - rows @ start
    corners, code = _vertices(reduced, margin)
    if corners is None:
        return IsotropicEffort(0.0, none, empty, code)
    torque = start + corners @ basis.T
    efforts = torque @ gain[list(chosen)].T + constant[list(chosen)]
    return _largest_ball(efforts)


def _motor_half_spaces(
    ports: CondensedPorts, limits: MotorLimits, offset: Array
) -> tuple[Array, Array]:
    """Return rows and bounds of ``rows @ torque_change <= bounds``, eqs (10)-(11)."""
    na, ne, _ = ports.sizes
    low_t, high_t, low_a, high_a = (
        bound_array(name, getattr(limits, name), na)
        for name in ('torque_minimum', 'torque_maximum', 'angle_minimum', 'angle_maximum')
    )
    blocked = ports.ae @ np.linalg.solve(ports.ee, np.column_stack([ports.ea, offset]))
    yielding = ports.aa - blocked[:, :na]  # W_a^*: compliance with the effector held
    now = ports.angle - blocked[:, na]
    eye = np.eye(na)
    rows = np.vstack([eye, -eye, yielding, -yielding])
    bounds = np.concatenate(
        [high_t - ports.torque, ports.torque - low_t, high_a - now, now - low_a]
    )
    finite = np.isfinite(bounds)
    up_t, down_t, up_a, down_a = finite.reshape(4, na)
    both = np.concatenate([up_t & down_t, up_a & down_a])
    bounded = np.vstack([eye, yielding])[both]
    if bounded.size == 0 or np.linalg.matrix_rank(bounded) < na:
        raise InvalidInput('limits', limits, 'a torque or an angle limit that bounds every motor')
    rows, bounds = rows[finite], bounds[finite]
    norm = np.linalg.norm(rows, axis=1)
    return rows / norm[:, None], bounds / norm


def solutions(matrix: Array, right: Array, n: int) -> tuple[Array | None, Array]:
    """Return one solution of ``matrix @ x = right`` and an orthonormal basis of the null space."""
    if matrix.shape[0] == 0:
        return np.zeros(n), np.eye(n)
    u, s, vt = np.linalg.svd(matrix)
    rank = int(np.sum(s > s[0] * FLAT))
    part = u.T @ right
    if np.any(np.abs(part[rank:]) > FLAT * max(1.0, float(np.abs(right).max()))):
        return None, np.zeros((n, 0))
    return vt[:rank].T @ (part[:rank] / s[:rank]), vt[rank:].T


def _vertices(rows: Array, bounds: Array) -> tuple[Array | None, Code]:
    """Return the vertices of ``rows @ y <= bounds``, or why there are none."""
    dimension = rows.shape[1]
    norm = np.linalg.norm(rows, axis=1)
    extent = float(np.abs(bounds).max())
    # Rows that the equalities have made constant: either always kept or never.
    constant = norm <= FLAT
    if np.any(bounds[constant] < -FLAT * extent):
        return None, Code.UNREACHABLE
    if dimension == 0:
        return np.zeros((1, 0)), Code.NONE
    rows, bounds = rows[~constant] / norm[~constant, None], bounds[~constant] / norm[~constant]
    if dimension == 1:
        high = bounds[rows[:, 0] > 0].min()
        low = -bounds[rows[:, 0] < 0].min()
        if high < low:
            return None, Code.UNREACHABLE
        return np.array([[low], [high]]), Code.NONE
    from scipy.optimize import linprog  # a second of the start of every haptic node
    from scipy.spatial import HalfspaceIntersection

    # Chebyshev centre: the point that Qhull needs strictly inside.
    answer = linprog(
        np.append(np.zeros(dimension), -1.0),
        A_ub=np.column_stack([rows, np.ones(len(rows))]),
        b_ub=bounds,
        bounds=[(None, None)] * dimension + [(0.0, None)],
    )
    if answer.status != 0:
        return None, Code.UNREACHABLE
    centre, depth = answer.x[:-1], answer.x[-1]
    if depth <= FLAT * extent:
        return None, Code.AT_LIMIT
    # Scaled by the depth, so that Qhull's absolute tolerances meet numbers near one.
    margin = (bounds - rows @ centre) / depth
    cut = HalfspaceIntersection(np.column_stack([rows, -margin]), np.zeros(dimension))
    return centre + depth * cut.intersections, Code.NONE


def _largest_ball(points: Array) -> IsotropicEffort:
    """Return the largest ball around the origin in the hull of points, shape (k, d)."""
    count, dimension = points.shape
    middle = points.mean(axis=0)
    spread = np.linalg.svd(points - middle, compute_uv=False)
    if spread.size < dimension or spread[-1] <= FLAT * max(spread[0], float(np.abs(points).max())):
        return IsotropicEffort(0.0, np.full(dimension, np.nan), points, Code.AT_LIMIT)
    if dimension == 1:
        normals, distance = np.array([[1.0], [-1.0]]), np.array([points.max(), -points.min()])
        corners = np.array([[points.min()], [points.max()]])
    else:
        from scipy.spatial import ConvexHull

        hull = ConvexHull(points)
        normals, distance = hull.equations[:, :-1], -hull.equations[:, -1]
        corners = points[hull.vertices]
    nearest = int(np.argmin(distance))
    radius = float(distance[nearest])
    code = Code.NONE if radius > 0.0 else Code.AT_LIMIT
    return IsotropicEffort(max(radius, 0.0), normals[nearest], corners, code)
