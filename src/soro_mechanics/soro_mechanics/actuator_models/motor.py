# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A geared motor in a position loop: torque limit, friction, and the load that turns it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.robot_file.section import Section

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
    mass, force, per = ('kg m^2', 'N m', 'rad') if 'angle' in kinds else ('kg', 'N', 'm')
    units = {'inertia': mass, 'limit': force, 'viscous': f'{force} s/{per}', 'friction': force}
    units |= {'stiffness': f'{force}/{per}', 'damping': f'{force} s/{per}'}
    with root.section('motor') as s:
        return MotorProperties(*(s.quantity(k, u, positive=True) for k, u in units.items()))


class PositionDrive:
    """One axis: a lag [s] with a fastest rate [1/s], or a motor whose set-point has that rate.

    `value`: in any unit; `scale` times that is [rad] or [m]. `load`: what the body turns it back
    with [N m, N]. `speed` [rad/s, m/s] and `torque` (in parts of its limit) are a motor's.
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
        self.load = self.torque = self.speed = 0.0
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
            self._turn(p, p.stiffness * self._scale * (self._goal - self.value), h, powered)
            self.value += h * self.speed / self._scale
            if self.speed == 0.0 and self._goal == target:
                break  # friction holds it

    def _turn(self, p: MotorProperties, ahead: float, h: float, powered: bool) -> None:
        """Take a step of implicit Euler: stiction holds exactly, however long it is."""
        coulomb, limit = math.inf if self.blocked else p.coulomb, p.torque_limit * powered
        back = p.damping + p.stiffness * h  # of the loop's torque per speed at the end
        kept, heavy = p.inertia / h * self.speed - self.load, p.inertia / h + p.viscous
        self.speed = _slid(kept + ahead, coulomb) / (heavy + back)
        torque = ahead - back * self.speed
        most = _clipped(torque, limit)
        if most != torque:  # a loop that asks for too much at this speed does at the one it gets
            self.speed = _slid(kept + most, coulomb) / heavy
        self.torque = most / p.torque_limit


def _slid(torque: float, coulomb: float) -> float:
    """Return what is left of a torque behind Coulomb friction."""
    return math.copysign(max(abs(torque) - coulomb, 0.0), torque)


def _clipped(value: float, most: float) -> float:
    return min(max(value, -most), most)
