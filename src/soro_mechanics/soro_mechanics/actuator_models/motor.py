# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Geared motors in a position loop: torque limit, friction, and the load that turns them back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.robot_file.section import Section

Array = NDArray[np.float64]
MAX_STEP = 1e-3  # s


@dataclass(frozen=True)
class MotorProperties:
    """At the output shaft; of what drives a length the same in m, N and kg."""

    inertia: float  # kg m^2, rotor and gears
    torque_limit: float  # N m
    viscous: float  # N m s/rad
    coulomb: float  # N m, friction of the gears at rest and in motion
    stiffness: float  # N m/rad, of the position loop
    damping: float  # N m s/rad, of the position loop


def read_motor(root: Section, actuators: Sequence[Actuator]) -> MotorProperties | None:
    """Read the optional mapping ``motor``: each of the drives is one."""
    if 'motor' not in root:
        return None
    kinds = {a.quantity for a in actuators}
    if kinds not in ({'angle'}, {'length'}):
        raise root.error('motor', 'drives that are all angles, or all lengths')
    mass, force, per = ('kg m^2', 'N m', 's/rad') if 'angle' in kinds else ('kg', 'N', 's/m')
    with root.section('motor') as s:
        return MotorProperties(
            s.quantity('inertia', mass, positive=True),
            s.quantity('limit', force, positive=True),
            s.quantity('viscous', f'{force} {per}', 0.0, minimum=0.0),
            s.quantity('friction', force, 0.0, minimum=0.0),
            s.quantity('stiffness', f'{force}{per[1:]}', positive=True),
            s.quantity('damping', f'{force} {per}', positive=True),
        )


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
        p, steps = self._properties, max(1, math.ceil(duration / MAX_STEP))
        for _ in range(steps):
            rows = zip(p.stiffness * (command - self.angle), self.speed, load, strict=True)
            found = [_turned(p, *row, duration / steps) for row in rows]
            self.speed, self.torque = np.array(found).T
            self.angle = self.angle + duration / steps * self.speed
        return self.angle.copy()


class PositionDrive:
    """One emulated axis: a lag with a fastest rate, or a motor whose set-point has that rate.

    - `value`: where it is, in any unit; `scale` times that is [rad] or [m].
    - `rate`: the fastest, of the value [1/s]; `lag` [s].

    Its attributes:
    - `load`: what the body turns it back with, against a positive angle or length [N m, N].
    - `torque`: of a motor's loop, in parts of its limit.
    - `blocked`: it does not move.
    """

    def __init__(
        self,
        value: float,
        rate: float,
        lag: float,
        motor: MotorProperties | None = None,
        scale: float = 1.0,
    ) -> None:
        self.value, self.rate, self.blocked = value, rate, False
        self.load = self.torque = self._speed = 0.0
        self._lag, self._motor, self._scale, self._goal = lag, motor, scale, value

    def follow(self, target: float, duration: float, powered: bool = True) -> None:
        """Let `duration` [s] pass with a set-point; without power a load may turn a motor."""
        p = self._motor
        if p is None:
            way = (self.value - target) * math.expm1(-duration / self._lag)
            if powered and not self.blocked:
                self.value += _clipped(way, self.rate * duration)
            return
        self._goal = self._goal if powered else self.value
        steps = math.ceil(duration / MAX_STEP)
        for _ in range(steps):
            h = duration / steps
            if powered:
                self._goal += _clipped(target - self._goal, self.rate * h)
            ahead = p.stiffness * self._scale * (self._goal - self.value)
            state = self._speed, self.load, h, powered, self.blocked
            self._speed, torque = _turned(p, ahead, *state)
            self.value += h * self._speed / self._scale
            self.torque = torque / p.torque_limit
            if self._speed == 0.0 and self._goal == target:
                break  # friction holds it


def _turned(
    p: MotorProperties,
    ahead: float,
    speed: float,
    load: float,
    h: float,
    powered: bool = True,
    blocked: bool = False,
) -> tuple[float, float]:
    """Return speed and torque after a step h [s] with the loop's spring at `ahead` [N m]."""
    coulomb, limit = math.inf if blocked else p.coulomb, p.torque_limit if powered else 0.0
    back = p.damping + p.stiffness * h  # of the loop's torque per speed at the end
    kept, heavy = p.inertia / h * speed - load, p.inertia / h + p.viscous
    after = _slid(kept + ahead, coulomb) / (heavy + back)
    torque = ahead - back * after
    most = _clipped(torque, limit)
    if most == torque:
        return after, torque
    # A loop that asks for too much at this speed still does at the one it gets.
    return _slid(kept + most, coulomb) / heavy, most


def _slid(torque: float, coulomb: float) -> float:
    """Return what is left of a torque behind Coulomb friction."""
    return math.copysign(max(abs(torque) - coulomb, 0.0), torque)


def _clipped(value: float, most: float) -> float:
    return min(max(value, -most), most)
