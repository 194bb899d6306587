# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A geared motor in a position loop: torque limit, friction, and the load that turns it back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MAX_STEP = 1e-3  # s


@dataclass(frozen=True)
class MotorProperties:
    """At the output shaft."""

    inertia: float  # kg m^2, rotor and gears
    torque_limit: float  # N m
    viscous: float  # N m s/rad
    coulomb: float  # N m, friction of the gears at rest and in motion
    stiffness: float  # N m/rad, of the position loop
    damping: float  # N m s/rad, of the position loop


class Motor:
    """m motors of one kind. Implicit Euler: stiction holds exactly, whatever the step.

    `angle`, `speed` (m,) [rad], [rad/s]; `torque` (m,) [N m]: of the loop, in the last step.
    """

    def __init__(self, properties: MotorProperties, angle: Array) -> None:
        self._properties = properties
        self.angle = np.array(angle, dtype=float)
        self.speed, self.torque = np.zeros_like(self.angle), np.zeros_like(self.angle)

    def advance(self, command: Array, load: Array, duration: float) -> Array:
        """Let `duration` [s] pass and return the angles [rad].

        `command` (m,) [rad]. `load` (m,) [N m]: what the body turns the shaft back with, against a
        positive angle.
        """
        p = self._properties
        steps = max(1, int(np.ceil(duration / MAX_STEP)))
        h = duration / steps
        for _ in range(steps):
            ahead = p.stiffness * (command - self.angle)
            back = p.damping + p.stiffness * h  # of the loop's torque per speed at the end
            kept = p.inertia / h * self.speed - load
            speed = _slid(kept + ahead, p.coulomb) / (p.inertia / h + p.viscous + back)
            torque = ahead - back * speed
            # A loop that asks for too much at this speed still does at the one it gets.
            most = np.clip(torque, -p.torque_limit, p.torque_limit)
            slower = _slid(kept + most, p.coulomb) / (p.inertia / h + p.viscous)
            self.speed = np.where(most == torque, speed, slower)
            self.angle = self.angle + h * self.speed
            self.torque = most
        return self.angle.copy()


def _slid(torque: Array, coulomb: float) -> Array:
    """Return what is left of a torque behind Coulomb friction."""
    left: Array = np.sign(torque) * np.maximum(np.abs(torque) - coulomb, 0.0)
    return left
