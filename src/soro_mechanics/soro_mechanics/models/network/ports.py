# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A network seen through its ports: motors, effector directions, flex sensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soro_mechanics.analysis.condensed_ports import (
    condensed_ports,
    CondensedPorts,
    ports_of_held_motors,
)
from soro_mechanics.core.configuration import Array
from soro_mechanics.models.network.linearisation import Linearisation


@dataclass(frozen=True, eq=False)
class PortResponse:
    """How the ports of a network answer around an equilibrium.

    Rows of `jacobian` and `compliance_held`: effector directions, then sensors.
    """

    angle: Array
    torque: Array  # (m,) torque of each motor on the robot [N m]
    pose: Array
    axes: Array
    force: Array
    sensor: Array  # (ns,) values of the flex sensors [rad]
    stiffness_aa: Array  # (m, m) torque per motor angle, effector free [N m/rad]
    jacobian: Array  # (ne + ns, m) motion of effector directions and sensors per motor angle
    compliance_held: Array  # (ne + ns, ne + ns) motion per force with the motors held

    def condensed(self) -> CondensedPorts:
        """Return W over motors, effector directions and sensors, the motors free to move.

        Raises InvalidInput: the equilibrium is not stable when the motors are let go, so W is not
        positive.
        """
        w = ports_of_held_motors(self.stiffness_aa, self.jacobian, self.compliance_held)
        return condensed_ports(
            w, self.angle, self.torque, self.pose, self.axes, self.force, self.sensor
        )


def port_response(
    linear: Linearisation, actuation: Array, wrench: Array, tip: Array, axes: Array
) -> PortResponse:
    """Return the response of the ports under the load `wrench` at the tip, base axes.

    axes (6, ne): effector directions as orthonormal columns, at the tip, axes of base_link.
    """
    body = linear.layout.tip_body
    rows = slice(6 * body - 6, 6 * body)
    turn = linear.axes(body)
    sensors = linear.sensors()
    directions, count = axes.shape[1], axes.shape[1] + len(sensors.value)
    # what the ports see of the bodies' motion; by symmetry of work, also where they push
    ports = np.zeros((count, linear.matrix.shape[0]))
    ports[:directions, rows] = axes.T @ turn
    ports[directions:] = sensors.bodies
    follow = ports @ linear.inverse
    jacobian = -follow @ linear.columns
    jacobian[directions:] += sensors.actuators
    held = follow @ ports.T
    held[directions:, directions:] += sensors.inner
    return PortResponse(
        np.array(actuation),
        linear.torque,
        tip,
        axes,
        axes.T @ wrench,
        sensors.value,
        linear.motor_stiffness(),
        jacobian,
        held,
    )
