# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Ports of a device from a matrix W that somebody computed, checked before anything uses them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from soro_mechanics.analysis.condensed_ports import CondensedPorts
from soro_mechanics.core.array_input import finite_array, pose_array
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.models.network.ports import PortResponse

# Asymmetry of W allowed, relative to its largest entry: applied moments make the exact tangent
# slightly asymmetric, a wrong block order makes it grossly so.
ASYMMETRY = 1e-2
ORTHONORMAL = 1e-9  # rounding of a few matrix products


def condensed(response: PortResponse) -> CondensedPorts:
    """Return W over motors, effector directions and sensors, the motors free to move.

    Raises
    ------
    InvalidInput
        The equilibrium is not stable when the motors are let go, so W is not positive.
    """
    r = response
    w = ports_of_held_motors(r.stiffness_aa, r.jacobian, r.compliance_held)
    return condensed_ports(w, r.angle, r.torque, r.pose, r.axes, r.force, r.sensor)


def condensed_ports(
    compliance: ArrayLike,
    angle: ArrayLike,
    torque: ArrayLike,
    pose: ArrayLike,
    axes: ArrayLike,
    force: ArrayLike,
    sensor: ArrayLike,
) -> CondensedPorts:
    """Check and assemble; arguments are the attributes of `CondensedPorts`.

    Raises
    ------
    InvalidInput
        Wrong shape, not finite, directions not orthonormal, or W not symmetric positive definite
        in its actuator and effector blocks (an unstable equilibrium, or blocks in another order).
    """
    na, ne, ns = np.size(angle), np.size(force), np.size(sensor)
    n = na + ne + ns
    w = finite_array('compliance', compliance, (n, n))
    asymmetry = float(np.abs(w - w.T).max())
    if asymmetry > ASYMMETRY * float(np.abs(w).max()):
        raise InvalidInput('compliance', asymmetry, 'a symmetric matrix (W = H K^-1 H^T)')
    w = 0.5 * (w + w.T)
    for name, block in (('W_aa', w[:na, :na]), ('W_ee', w[na : na + ne, na : na + ne])):
        if block.size and np.linalg.eigvalsh(block)[0] <= 0.0:
            raise InvalidInput(name, block, 'a positive definite block (a stable equilibrium)')
    directions = finite_array('axes', axes, (6, ne))
    if np.abs(directions.T @ directions - np.eye(ne)).max(initial=0.0) > ORTHONORMAL:
        raise InvalidInput('axes', axes, 'orthonormal columns')
    ports = CondensedPorts(
        w,
        finite_array('angle', angle, (na,)),
        finite_array('torque', torque, (na,)),
        pose_array('pose', pose),
        directions,
        finite_array('force', force, (ne,)),
        finite_array('sensor', sensor, (ns,)),
    )
    for array in vars(ports).values():
        array.setflags(write=False)
    return ports


def ports_of_held_motors(stiffness_aa: Array, jacobian: Array, compliance_held: Array) -> Array:
    """Return W (actuators first) from what a model with prescribed motor angles knows.

    stiffness_aa (na, na) [N m/rad]: motor torque per motor angle, effector free. jacobian
    (ne + ns, na): motion of effector directions and sensors per motor angle, eq (8).
    compliance_held (ne + ns, ne + ns): theirs with the motors held; W adds what the motors yield.
    """
    waa = np.linalg.inv(stiffness_aa)
    wra = jacobian @ waa
    return np.block([[waa, wra.T], [wra, compliance_held + wra @ jacobian.T]])
