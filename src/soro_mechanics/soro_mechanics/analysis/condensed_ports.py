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

from soro_mechanics.core.configuration import Array


@dataclass(frozen=True)
class MotorLimits:
    """Limits of the motors; infinite where there is none."""

    torque_minimum: Array  #: (na,) [N m]
    torque_maximum: Array  #: (na,) [N m]
    angle_minimum: Array  #: (na,) [rad]
    angle_maximum: Array  #: (na,) [rad]


@dataclass(frozen=True)
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

    @property
    def aa(self) -> Array:
        """W_aa, shape (na, na)."""
        return self._block(0, 0)

    @property
    def ea(self) -> Array:
        """W_ea, shape (ne, na)."""
        return self._block(1, 0)

    @property
    def ae(self) -> Array:
        """W_ae, shape (na, ne)."""
        return self._block(0, 1)

    @property
    def ee(self) -> Array:
        """W_ee, shape (ne, ne)."""
        return self._block(1, 1)

    @property
    def sa(self) -> Array:
        """W_sa, shape (ns, na)."""
        return self._block(2, 0)

    @property
    def se(self) -> Array:
        """W_se, shape (ns, ne)."""
        return self._block(2, 1)

    def _block(self, row: int, column: int) -> Array:
        edge = np.concatenate([[0], np.cumsum(self.sizes)])
        return self.compliance[edge[row] : edge[row + 1], edge[column] : edge[column + 1]]
