# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A device seen through its ports: actuators, effector, sensors, and the compliance between them.

Around an equilibrium a change of the port forces moves the ports by
``d_delta = W d_lambda`` with ``W = H K^-1 H^T`` (Koehler 2023, eqs 5-7). Sensing, rendering and
the effort polytopes need nothing else of a device, so they work for any model that fills this.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from soro_mechanics.core.array_input import finite_array, pose_array
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput

# Asymmetry of W allowed, relative to its largest entry: applied moments make the exact tangent
# slightly asymmetric, a wrong block order makes it grossly so.
ASYMMETRY = 1e-2
ORTHONORMAL = 1e-9  # rounding of a few matrix products


def _block(row: int, column: int) -> property:
    """Return a property that is one block of W."""

    def block(self: CondensedPorts) -> Array:
        na, ne, ns = self.sizes
        edge = 0, na, na + ne, na + ne + ns
        return self.compliance[edge[row] : edge[row + 1], edge[column] : edge[column + 1]]

    return property(block)


@dataclass(frozen=True, eq=False)
class CondensedPorts:
    """A device linearised at one equilibrium."""

    # (n, n) W, order actuators, effector directions, sensors; symmetric; rad/(N m), m/N by blocks
    compliance: Array
    angle: Array  # (na,) actuator angles, theta^0 [rad]
    torque: Array  # (na,) torques that the motors apply to the structure, lambda_a0 [N m]
    pose: Array  # (4, 4) tip in base_link, x^0
    # (6, ne) effector directions as orthonormal columns, linear first, at the tip, axes of
    # base_link: ``wrench = axes @ force``, ``axes.T @ twist`` is the motion seen
    axes: Array
    force: Array  # (ne,) force of the hand on the device along `axes`, lambda_e0
    sensor: Array  # (ns,) values of the sensor functions, v^0, in the sensors' unit

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of actuators, effector directions and sensors."""
        return self.angle.size, self.force.size, self.sensor.size

    aa = _block(0, 0)  #: W_aa, (na, na)
    ea = _block(1, 0)  #: W_ea, (ne, na)
    ae = _block(0, 1)  #: W_ae, (na, ne)
    ee = _block(1, 1)  #: W_ee, (ne, ne)
    sa = _block(2, 0)  #: W_sa, (ns, na)
    se = _block(2, 1)  #: W_se, (ns, ne)


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
