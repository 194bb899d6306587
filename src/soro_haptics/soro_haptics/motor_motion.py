# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Motors that follow a target instead of the hand, as a calibration needs it."""

from __future__ import annotations

import math

import numpy as np

from soro_mechanics.core.configuration import Array

LONGEST = 0.02  # s, that one step may stand for
LINGER = 0.5  # s, the last target is held for this long


class MotorMotion:
    """A target for the motors, reached at a limited speed, held for a while, then gone.

    `size`: number of motors; `speed`: of the fastest motor [rad/s].
    """

    def __init__(self, size: int, speed: float) -> None:
        self.speed = speed
        self.angle = np.zeros(size)
        self._target = np.zeros(size)
        self._until = self._last = -math.inf

    def go_to(self, target: Array, now: float) -> None:
        """Take a new target [rad] at time `now` [s]."""
        if not self.active(now):
            self._last = now
        self._target[:] = target
        self._until = now + LINGER

    def end(self) -> None:
        """Forget the target."""
        self._until = -math.inf

    def active(self, now: float) -> bool:
        """Whether the motors follow a target."""
        return now < self._until

    def step(self, start: Array, now: float) -> Array:
        """Return the next set-point after `start`, shape (m,); a view that the next call changes.

        All motors arrive together.
        """
        # A late tick may make up for lost time, but not jump.
        dt, self._last = min(max(now - self._last, 0.0), LONGEST), now
        np.subtract(self._target, start, out=self.angle)
        farthest = float(np.abs(self.angle).max())
        longest = self.speed * dt
        if farthest > longest:
            self.angle *= longest / farthest
            self._until = max(self._until, now + LINGER)
        self.angle += start
        return self.angle
