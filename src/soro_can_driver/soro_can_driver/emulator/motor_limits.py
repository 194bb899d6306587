# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a motor board lets its motors do, and what it takes for a fault.

Angles in tenths of a degree, speeds in deg/s, both of the motors; docs/hardware/can.md has the
rules. A board that was told no limits keeps none.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from soro_can_driver.board import EmergencyCode, Parameter
from soro_driver.loop.debounce import Debounce

Array = NDArray[np.float64]
Motors = NDArray[np.bool_]

TRACKING_TIME = 0.05  # s that set-point and encoder may be too far apart
REVERSE_TIME, REVERSE_BAND, REVERSE_SPEED = 0.01, 50.0, 50.0  # s, 0.1 deg, deg/s
FIRST_BAND = 100.0  # 0.1 deg beyond a step, between a first set-point and the motor
CONTROL_PERIOD = 1e-3  # s
SIGNED = (Parameter.MINIMUM_ANGLE, Parameter.MAXIMUM_ANGLE)


class MotorLimits:
    """Limits of one board, by parameter: arrays of shape (m,)."""

    def __init__(self, count: int) -> None:
        self.of = {
            Parameter.MINIMUM_ANGLE: np.full(count, -32767.0),
            Parameter.MAXIMUM_ANGLE: np.full(count, 32767.0),
            Parameter.MAXIMUM_SPEED: np.full(count, math.inf),
            Parameter.MAXIMUM_STEP: np.full(count, math.inf),
            Parameter.MAXIMUM_ERROR: np.full(count, math.inf),
        }

    @property
    def speed(self) -> Array:
        """Largest speed of every motor [deg/s]."""
        return self.of[Parameter.MAXIMUM_SPEED]

    def write(self, index: Parameter, motor: int, value: int) -> bool:
        """Change one; whether that makes sense: a negative speed would turn motors at rest."""
        if motor >= self.speed.size or (index not in SIGNED and value <= 0):
            return False
        self.of[index][motor] = value
        return True

    def within_range(self, angles: Array) -> Array:
        """Return the nearest angles in the range."""
        return np.clip(angles, self.of[Parameter.MINIMUM_ANGLE], self.of[Parameter.MAXIMUM_ANGLE])

    def far_from(self, here: Array, first: Array) -> Motors:
        """Return which motors a first set-point is not near enough to."""
        far = np.abs(self.within_range(first) - self.within_range(here))
        return far > self.of[Parameter.MAXIMUM_STEP] + FIRST_BAND

    def shape(self, wanted: Array, last: Array, numbers: int) -> Array:
        """Return the set-point that is taken: in range, and a step for every number since `last`.

        Set-points that were lost on the way count: the host went on with each of them.
        """
        here, most = self.within_range(last), self.of[Parameter.MAXIMUM_STEP] * max(1, numbers)
        return np.clip(self.within_range(wanted), here - most, here + most)

    def jumped(self, motor: int, degrees: float) -> bool:
        """Whether an encoder moved by more in a cycle than twice what its motor may turn."""
        return bool(abs(degrees) > 2.0 * self.speed[motor] * CONTROL_PERIOD)


class MotorWatch:
    """Finds motors that do not follow, or turn away from, their set-points while armed."""

    def __init__(self, count: int) -> None:
        self._count, self._judged_at = count, -math.inf
        self.restart()

    def restart(self) -> None:
        """Forget the past, when motors are armed."""
        self._away = Debounce(self._count, REVERSE_TIME)
        self._off = Debounce(self._count, TRACKING_TIME)

    def judge(
        self, error: Array, speed: Array, largest: Array, now: float
    ) -> tuple[EmergencyCode, Motors] | None:
        """Return what is wrong with which motors, or None.

        `error` (m,): set-point less encoder [0.1 deg]; `speed` (m,) [deg/s]; `largest` (m,): error
        that is allowed [0.1 deg].
        """
        if now - self._judged_at < CONTROL_PERIOD:
            return None
        self._judged_at = now
        size = np.abs(error)
        away = (size > REVERSE_BAND) & (speed * np.sign(error) < -REVERSE_SPEED)
        for code, lasting in (
            (EmergencyCode.REVERSED, self._away.update(away, now)),
            (EmergencyCode.TRACKING, self._off.update(size > largest, now)),
        ):
            if lasting.any():
                return code, lasting
        return None
