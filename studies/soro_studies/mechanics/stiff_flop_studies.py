# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The quantities that Shi 2023 publishes about the STIFF-FLOP robots, computed by any model.

Compliances are the published integral unless a function takes the method, in the paper's units:
cm/N, N/cm, cm, degrees.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from soro_mechanics.analysis import stiffness
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.robot import Robot

BAR = 1e5  # Pa
CM_PER_N = 100.0  # of m/N
REST_LENGTH = 0.04  # m

ONE_PAIR = np.array([1.0, 0.0, 0.0])
TWO_PAIRS = np.array([0.0, 1.0, 1.0])
ALL_PAIRS = np.array([1.0, 1.0, 1.0])


def compliance_range(robot: Robot, bar: Array, station: float = 1.0) -> tuple[float, float]:
    """Return the least and greatest eigenvalue of the translational compliance [cm/N].

    station : along the last segment, 0.5 for the middle, 1 for the tip.
    """
    q = robot.forward(np.asarray(bar) * BAR)
    along = robot.compliance_along(q, method='integral')[-1]
    node = round(station * (len(along) - 1))
    shape, _ = stiffness.ellipsoids(along[node])
    return float(shape.values[2] * CM_PER_N), float(shape.values[0] * CM_PER_N)


def axis_stiffness(robot: Robot, bar: Array, axis: int, method: str = 'integral') -> float:
    """Return the stiffness of a pull along a base axis at the tip [N/cm].

    A short pull measures the 'tangent'; the models of the paper give their 'integral'.
    """
    q = robot.forward(np.asarray(bar) * BAR)
    matrix = robot.compliance(q, method=method)
    return stiffness.stiffness_along(matrix, np.eye(3)[axis]) / 100.0


def pull_stiffness(
    robot: Robot, bar: Array, direction: Array, distance: float, tolerance: float = 1e-4
) -> float:
    """Return the force over the distance by which a wire moves the tip along itself [N/cm].

    What a rail that pulls by a finite distance measures: the full solve under load, where
    `axis_stiffness` is the limit of short pulls (of the published integral).

    Parameters
    ----------
    direction : ndarray, shape (3,)
        The wire's, any length; all motions across it are free.
    distance : float [cm]
    tolerance : float
        Of the distance, relative.

    Raises
    ------
    InvalidInput
        No force pulls the tip as far.
    """
    unit = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
    q = start = robot.forward(np.asarray(bar) * BAR)
    compliance = float(unit @ robot.compliance(q)[:3, :3] @ unit) * CM_PER_N
    force = 0.0
    for _ in range(30):
        missing = distance - CM_PER_N * float(unit @ (q.tip[:3, 3] - start.tip[:3, 3]))
        if abs(missing) <= tolerance * abs(distance):
            return force / distance
        force += missing / compliance
        q = robot.forward(start.actuation, [*(force * unit), 0.0, 0.0, 0.0], q)
        if not q.status.converged:
            break
        compliance = float(unit @ robot.compliance(q)[:3, :3] @ unit) * CM_PER_N
    raise InvalidInput('distance', distance, 'a pull that the robot has an equilibrium for')


def along_segment(robot: Robot, bar: Array, stations: tuple[float, ...]) -> Array:
    """Return least and greatest compliance at stations of the last segment, (n, 2) [cm/N]."""
    return np.array([compliance_range(robot, bar, station) for station in stations])


def bending(robot: Robot, bar: Array) -> float:
    """Return the angle between tip and base axis [deg], unwrapped beyond 180 deg."""
    frames = robot.forward(np.asarray(bar) * BAR).backbones[-1]
    cosines = np.einsum('ki,ki->k', frames[1:, :3, 2], frames[:-1, :3, 2])
    planar = np.clip(frames[-1, 2, 2], -1.0, 1.0)
    total = float(np.degrees(np.sum(np.arccos(np.clip(cosines, -1.0, 1.0)))))
    return total if total > 180.0 else float(np.degrees(np.arccos(planar)))


def elongation(robot: Robot, bar: Array) -> float:
    """Return the growth of the backbone's length [cm]."""
    points = robot.forward(np.asarray(bar) * BAR).backbones[-1][:, :3, 3]
    length = float(np.sum(np.linalg.norm(np.diff(points, axis=0), axis=1)))
    return 100.0 * (length - REST_LENGTH)


def tip(robot: Robot, bar: Array) -> Array:
    """Return the position of the tip, shape (3,) [cm]."""
    return 100.0 * robot.forward(np.asarray(bar) * BAR).tip[:3, 3]


def frobenius(robot: Robot, bar: Array) -> float:
    """Return the Frobenius norm of the translational compliance at the tip [cm/N]."""
    q = robot.forward(np.asarray(bar) * BAR)
    return float(np.linalg.norm(robot.compliance(q, method='integral')[:3, :3]) * CM_PER_N)


def eigenstiffness(robot: Robot, bar: Array) -> float:
    """Return the greatest eigenstiffness at the tip [N]."""
    q = robot.forward(np.asarray(bar) * BAR)
    return float(stiffness.eigenscrews(robot.compliance(q, method='integral')).values[0])


def pressure_for_bending(robot: Robot, pattern: Array, degrees: float) -> float:
    """Return the pressure of a pattern that bends by an angle [bar], by bisection."""
    low, high = 0.0, 2.0
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        if bending(robot, middle * pattern) < degrees:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def per_tenth(values: Array, ratios: Array) -> float:
    """Return the slope through the origin of values over elongation ratios, per 0.1."""
    return float(0.1 * (values @ ratios) / (ratios @ ratios))


def deflection_gap(robot: Robot, bar: Array, forces: Array) -> tuple[Array, Array]:
    """Return |tip by compliance - tip by the nonlinear solve|, forces along the base axes [cm].

    forces : [N]. Both results (3, len(forces)), a row per direction of the force: the greatest
    component of the difference, and the component along the force (Shi 2023, (19) against (35),
    Figure 7; the paper does not say which of them it draws).
    """
    q = robot.forward(np.asarray(bar) * BAR)
    matrix = robot.compliance(q, method='integral')
    greatest, along = np.empty((2, 3, len(forces)))
    for axis in range(3):
        for k, force in enumerate(forces):
            wrench = np.zeros(6)
            wrench[axis] = force
            exact = robot.forward(q.actuation, wrench, q)
            linear = stiffness.deflection(matrix, _rigid(q.tip), wrench)
            gap = 100.0 * np.abs(linear - exact.tip)[:3, 3]
            greatest[axis, k], along[axis, k] = gap.max(), gap[axis]
    return greatest, along


def _rigid(tip: Array) -> Array:
    u, _, v = np.linalg.svd(tip[:3, :3])
    out = tip.copy()
    out[:3, :3] = u @ v
    return out


@cache
def pressures(top: float, count: int = 16) -> tuple[float, ...]:
    """Return evenly spaced pressures up to `top` [bar], without zero."""
    return tuple(float(x) for x in np.linspace(top / count, top, count))
