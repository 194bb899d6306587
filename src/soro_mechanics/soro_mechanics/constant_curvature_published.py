# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Equations (1)-(3) of Akbari 2021 as printed, in (phi, theta, r). Singular at theta = 0.

The robot itself uses the regular coordinates of `constant_curvature`; these functions are the
published row of comparison.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def pose(phi: float, theta: float, radius: float) -> Array:
    """Return the (4, 4) transform T of eq (1).

    Parameters
    ----------
    phi : float [rad]
        Direction of the bending plane.
    theta : float [rad]
        Bending angle.
    radius : float [m]
        Radius of curvature r.

    Notes
    -----
    Its rotation Rz(phi) Ry(theta) depends on phi even at theta = 0. The pose of the robot's tip
    is T Rz(-phi).
    """
    cp, sp, ct, st = math.cos(phi), math.sin(phi), math.cos(theta), math.sin(theta)
    return np.array(
        [
            [cp * ct, -sp, cp * st, radius * cp * (1.0 - ct)],
            [sp * ct, cp, sp * st, radius * sp * (1.0 - ct)],
            [-st, 0.0, ct, radius * st],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def velocity_jacobian(phi: float, theta: float, radius: float) -> Array:
    """Return the (6, 3) Jacobian of eq (2), by velocity propagation.

    Maps (phi', theta', r') to the twist of T: linear velocity of the tip then angular velocity,
    in base axes.
    """
    cp, sp, ct, st = math.cos(phi), math.sin(phi), math.cos(theta), math.sin(theta)
    r = radius
    return np.array(
        [
            [-r * sp * (1.0 - ct), r * cp * st, cp * (1.0 - ct)],
            [r * cp * (1.0 - ct), r * sp * st, sp * (1.0 - ct)],
            [0.0, r * ct, st],
            [0.0, -sp, 0.0],
            [0.0, cp, 0.0],
            [1.0, 0.0, 0.0],
        ]
    )


def serial_jacobian(phi: float, theta: float, travel: float) -> Array:
    """Return the (6, 3) Jacobian of eq (3), of the four-joint serial analogue.

    Joints: revolute phi about z, prismatic `travel` along the base tangent, revolute theta about
    the bending axis, prismatic `travel` along the tip tangent. The two prismatic joints move
    together, so that their columns add.

    Parameters
    ----------
    travel : float [m]
        d = r tan(theta / 2), where the tangents at both ends of the arc meet.

    Returns
    -------
    ndarray
        Maps (phi', theta', d') to the same twist as eq (2).
    """
    z1 = np.array([0.0, 0.0, 1.0])
    z3 = np.array([-math.sin(phi), math.cos(phi), 0.0])
    z4 = np.array(
        [math.cos(phi) * math.sin(theta), math.sin(phi) * math.sin(theta), math.cos(theta)]
    )
    o3 = travel * z1
    tip = o3 + travel * z4
    jacobian = np.zeros((6, 3))
    jacobian[:3, 0] = np.cross(z1, tip)
    jacobian[3:, 0] = z1
    jacobian[:3, 1] = np.cross(z3, tip - o3)
    jacobian[3:, 1] = z3
    jacobian[:3, 2] = z1 + z4
    return jacobian


def travel_chain_rule(theta: float, radius: float) -> Array:
    """Return d(phi, theta, d) / d(phi, theta, r), (3, 3), for d = r tan(theta / 2)."""
    return np.array(
        [
            [1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [0.0, 0.5 * radius / math.cos(0.5 * theta) ** 2, math.tan(0.5 * theta)],
        ]
    )
