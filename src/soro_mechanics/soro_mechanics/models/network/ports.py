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


@dataclass(frozen=True)
class PortResponse:
    """How the ports of a network answer around an equilibrium.

    Rows of `jacobian` and `compliance_held`: effector directions, then sensors.

    Attributes
    ----------
    torque : ndarray, shape (m,) [N m]
        Torque of each motor on the robot.
    stiffness_aa : ndarray, shape (m, m) [N m/rad]
        Torque per motor angle, effector free.
    jacobian : ndarray, shape (ne + ns, m)
        Motion of effector directions and sensors per motor angle.
    compliance_held : ndarray, shape (ne + ns, ne + ns)
        Motion per force with the motors held.
    sensor : ndarray, shape (ns,) [rad]
        Values of the flex sensors.
    """

    angle: Array
    torque: Array
    pose: Array
    axes: Array
    force: Array
    sensor: Array
    stiffness_aa: Array
    jacobian: Array
    compliance_held: Array

    def condensed(self) -> CondensedPorts:
        """Return W over motors, effector directions and sensors, the motors free to move.

        Raises
        ------
        InvalidInput
            The equilibrium is not stable when the motors are let go, so W is not positive.
        """
        w = ports_of_held_motors(self.stiffness_aa, self.jacobian, self.compliance_held)
        return condensed_ports(
            w, self.angle, self.torque, self.pose, self.axes, self.force, self.sensor
        )


def port_response(
    linear: Linearisation, actuation: Array, wrench: Array, tip: Array, axes: Array
) -> PortResponse:
    """Return the response of the ports.

    Parameters
    ----------
    linear : Linearisation
    actuation : ndarray, shape (m,) [rad]
    wrench : ndarray, shape (6,)
        Load at the tip, base axes.
    tip : ndarray, shape (4, 4)
    axes : ndarray, shape (6, ne)
        Effector directions as orthonormal columns, at the tip, axes of base_link.
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
