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


def serial_chain(phi: float, theta: float, travel: float) -> Array:
    """Return the frames of the four-joint serial analogue, (5, 4, 4): base, then all joints.

    Joints: revolute phi about z, prismatic `travel` along the base tangent, revolute theta about
    the bending axis, prismatic `travel` along the tip tangent. The axis of joint i is z of frame
    i - 1 (Denavit and Hartenberg; the rows, which the paper only draws, are

        phi, 0, 0, 0;   0, travel, 0, -pi/2;   theta, 0, 0, pi/2;   0, travel, 0, 0

    of joint angle, offset, link length, twist). The last frame is T of eq (1).

    Parameters
    ----------
    travel : float [m]
        d = r tan(theta / 2), where the tangents at both ends of the arc meet.
    """
    rows = (
        (phi, 0.0, 0.0),
        (0.0, travel, -0.5 * math.pi),
        (theta, 0.0, 0.5 * math.pi),
        (0.0, travel, 0.0),
    )
    frames = [np.eye(4)]
    for angle, offset, twist in rows:
        ca, sa, ct, st = math.cos(angle), math.sin(angle), math.cos(twist), math.sin(twist)
        step = np.array(
            [
                [ca, -sa * ct, sa * st, 0.0],
                [sa, ca * ct, -ca * st, 0.0],
                [0.0, st, ct, offset],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )
        frames.append(frames[-1] @ step)
    return np.array(frames)


def serial_jacobian(phi: float, theta: float, travel: float) -> Array:
    """Return the (6, 3) Jacobian of eq (3), read off the frames of `serial_chain`.

    The two prismatic joints move together, so that their columns add.

    Returns
    -------
    ndarray
        Maps (phi', theta', d') to the same twist as eq (2).
    """
    frames = serial_chain(phi, theta, travel)
    z1, z2, z3, z4 = frames[:4, :3, 2]
    tip = frames[4, :3, 3]
    jacobian = np.zeros((6, 3))
    jacobian[:3, 0] = np.cross(z1, tip - frames[0, :3, 3])
    jacobian[3:, 0] = z1
    jacobian[:3, 1] = np.cross(z3, tip - frames[2, :3, 3])
    jacobian[3:, 1] = z3
    jacobian[:3, 2] = z2 + z4
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
