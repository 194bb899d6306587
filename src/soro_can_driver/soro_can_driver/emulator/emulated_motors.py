# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Geared motors under position control, and their encoders; tenths of a degree, deg/s."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.actuator_models.motor import PositionDrive

Array = NDArray[np.float64]

TIME_CONSTANT = 0.022 / 4.0  # s: settles to 2 % in the published 22 ms


class EmulatedMotors:
    """Motors of first order: what the controller of a board makes of them.

    `angle` (m,): of the motors themselves [0.1 deg]; `speed` (m,) [deg/s]; `slip` (m,): injected:
    of the encoders against the motors [0.1 deg]; `stalled`, `reversed` (m,): injected: does not
    turn, turns the wrong way; `axes`: what their loads make of them, in place of the first order.
    """

    axes: Sequence[PositionDrive] = ()

    def __init__(self, count: int) -> None:
        self.angle, self.speed, self.slip = np.zeros((3, count))
        self.stalled, self.reversed = np.zeros((2, count), bool)

    @property
    def encoder(self) -> Array:
        """What the encoders show, shape (m,) [0.1 deg]."""
        return self.angle + self.slip

    def turn(self, target: Array | None, fastest: Array, dt: float) -> None:
        """Turn for a time towards a target [0.1 deg], at most so fast [deg/s]; None: stay."""
        error = np.zeros_like(self.angle) if target is None else target - self.encoder
        if self.axes:
            goals = self.angle + np.where(self.reversed, -error, error)
            for i, axis in enumerate(self.axes):
                axis.rate, axis.blocked = 10.0 * fastest[i], self.stalled[i]
                axis.follow(goals[i], dt, target is not None)
            step = np.array([axis.value for axis in self.axes]) - self.angle
        else:
            step = (1.0 - math.exp(-dt / TIME_CONSTANT)) * error
            most = fastest * 10.0 * dt
            step = np.where(self.stalled, 0.0, np.clip(step, -most, most))
            step = np.where(self.reversed, -step, step)
        self.speed = 0.1 * step / dt
        self.angle = self.angle + step
