# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Notice that a handle rings, and answer with motors that follow slowly for a while.

Limits of stiffness are computed for an expected hand on the device of the robot file. Somebody
lets go, holds softer, or the device differs: then the loop may ring all the same. Where the
motors follow with a time constant of `SLOW` the handle has its natural stiffness at once and the
rendered one later, which `linear_loop` finds stable for every hand of `hand_impedance`, nobody
included, from `softest` up to any stiffness (a test shows it).
"""

from __future__ import annotations

import math

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.haptics import watch_kernels as kernels

CORNER, NOISE = 6.0, 25.0  # Hz: a hand's own motion is below, most of the sensors' noise above
REVERSALS = 5  # one after the other: two periods that do not fade. Assumed, as all numbers here.
SLOW = 0.5  # s
LOOK = 2e-3  # s between two looks, or a sample
PATIENCE, MAX_PATIENCE = 5.0, 160.0  # s without ringing until the motors are quick again


class OscillationWatch:
    """Band-passes the handle's motion and counts its reversals.

    `period`: of the loop [s]; `length`: lever that makes rotations lengths [m].

    `slow`: whether the motors have to follow slowly; that ends `patience` after the last ringing,
    which doubles each time that the ringing comes back; `episodes`: how often it began; `every`:
    samples between two looks.
    """

    def __init__(self, period: float, length: float) -> None:
        self.every = max(1, int(LOOK / period))
        period *= self.every
        sections = [_section(CORNER, period, turn, True) for turn in (0.125, 0.375)]
        rows = _matrix([*sections, _section(NOISE, period, 0.25, False)])
        memory, work = np.zeros((len(rows), 6)), np.zeros(len(rows))
        self._watched = kernels.Ringing(rows, memory, work, *np.zeros((5, 6)))
        self._scale = np.array([1.0, 1.0, 1.0, length, length, length])
        self._place = np.zeros(6)
        self.episodes = 0
        self.reset()

    def reset(self) -> None:
        """Forget all: another environment, or a start."""
        self._place[:] = 0.0
        for state in self._watched[1:]:
            state[:] = 0.0
        self.slow, self.patience, self._quiet = False, PATIENCE, 0.0
        self._waits, self._waited = 0, 0.0

    def update(self, moved: Array, seconds: float) -> None:
        """Take how the handle moved since the last sample, shape (6,) [m, rad], and how long."""
        self._place += self._scale * moved
        self._waits, self._waited = self._waits + 1, self._waited + seconds
        if self._waits < self.every:
            return
        seconds, self._waits, self._waited = self._waited, 0, 0.0
        self._quiet += seconds
        if kernels.watch_ringing(self._watched, self._place, seconds) >= REVERSALS:
            if not self.slow:
                self.slow, self.episodes = True, self.episodes + 1
            self._quiet = 0.0
        elif self.slow and self._quiet > self.patience:
            self.slow, self.patience = False, min(2.0 * self.patience, MAX_PATIENCE)


def _matrix(sections: list[tuple[float, ...]]) -> Array:
    """Return what maps memories and input of n sections to the next and the output, 2n + 1."""
    count = 2 * len(sections)
    known, rows = np.eye(count + 1), np.zeros((count + 1, count + 1))
    out = known[count]
    for i, (b0, b1, b2, a1, a2) in enumerate(sections):
        given, out = out, b0 * out + known[2 * i]
        rows[2 * i] = b1 * given - a1 * out + known[2 * i + 1]
        rows[2 * i + 1] = b2 * given - a2 * out
    rows[count] = out
    return rows


def _section(corner: float, period: float, turn: float, high: bool) -> tuple[float, ...]:
    """Return b0, b1, b2, a1, a2 of a second-order section of a Butterworth filter.

    By the bilinear transform; its analogue poles lie at +-`turn` pi from the negative real axis
    (Oppenheim and Schafer, Discrete-Time Signal Processing, 7.1).
    """
    warped = math.tan(math.pi * min(corner * period, 0.4))
    damping = 2.0 * math.cos(turn * math.pi) * warped
    scale = 1.0 / (1.0 + damping + warped**2)
    gain, sign = (scale, -1.0) if high else (scale * warped**2, 1.0)
    a1, a2 = 2.0 * (warped**2 - 1.0) * scale, (1.0 - damping + warped**2) * scale
    return gain, 2.0 * sign * gain, gain, a1, a2
