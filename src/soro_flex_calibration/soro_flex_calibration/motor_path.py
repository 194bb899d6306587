# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the motors go during a calibration: extremes in random order, in straight lines."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput

MIN_POSES = 4


def extremes(limits: Array, amplitude: float, poses: int, random: np.random.Generator) -> Array:
    """Return motor angles to visit, shape (poses, m) [rad].

    Every combination of the motors' extremes in random order (Koehler 2023, section VI-A), so that
    motors work against each other and the legs bend as under a hand; all of them before any comes
    again. `limits` (m, 2) [rad], of which the part `amplitude` in (0, 1] is used.
    """
    if poses < MIN_POSES:
        raise InvalidInput('poses', poses, f'at least {MIN_POSES}')
    if not 0.0 < amplitude <= 1.0:
        raise InvalidInput('amplitude', amplitude, 'a part of the range in (0, 1]')
    middle = limits.mean(axis=1)
    half = 0.5 * amplitude * (limits[:, 1] - limits[:, 0])
    corners = np.array(list(product((-1.0, 1.0), repeat=len(limits))))
    rounds = -(-poses // len(corners))
    order = np.concatenate([random.permutation(len(corners)) for _ in range(rounds)])[:poses]
    return middle + half * corners[order]


@dataclass(frozen=True)
class MotorPath:
    """A straight way from `start` to `stop` (m,) [rad], and a `rest` there [s].

    `speed` limits that of the fastest motor [rad/s].
    """

    start: Array
    stop: Array
    speed: float
    rest: float

    @property
    def travel(self) -> float:
        """Until the stop is reached [s]."""
        return float(np.abs(self.stop - self.start).max()) / self.speed

    @property
    def duration(self) -> float:
        """Until the end of the rest [s]."""
        return self.travel + self.rest

    def at(self, time: float) -> tuple[Array, bool]:
        """Return the angles at a time [s], and whether they rest."""
        if time >= self.travel:
            return self.stop, True
        return self.start + (time / self.travel) * (self.stop - self.start), False
