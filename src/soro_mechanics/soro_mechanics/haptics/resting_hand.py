# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether what is sensed may be nobody's hand."""

from __future__ import annotations

import math

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.haptics.sensing import Sensing
from soro_mechanics.haptics.strip_play import StripPlay

# Of a strip's reading. Assumed; noise alone passes it once in some 1e6 samples.
DEVIATIONS = 6.0
# Of one strip that alone contradicts a handle without a hand, where others may rest unseen: beyond
# that it is taken to err by as much. Assumed.
DOUBTED = 17.0
# s between two looks at how readings follow from motors and force: a hand leads the handle by
# 2 mm meanwhile, which changes the readings by a fifth of what is allowed at most.
REFRESHED = 0.01


class RestingHand:
    """Compares the strips with what they would read without a hand.

    `weight`, shape (ne,): squares of the levers that make moments forces; `period`: of the loop
    [s]. `odd_strip` alone keeps the last sample from being that of a handle without a hand, -1:
    none; `drift`, shape (ns,) [m], is by how much it may err where no contradiction would tell.
    """

    def __init__(self, sensing: Sensing, strips: StripPlay, weight: Array, period: float) -> None:
        self._sensing, self._strips, self._weight = sensing, strips, weight
        self._every = max(1, round(REFRESHED / period))
        self._used, self._force = sensing.used, math.nan
        self.drift = np.zeros(sensing.sizes[2])
        self.forget()

    def forget(self) -> None:
        """Look anew, as after a jump."""
        self._left = 0
        self.begin()

    def begin(self) -> None:
        """Begin another sample: no strip is odd yet."""
        self.odd_strip, self.drift[:] = -1, 0.0

    def rests(self, force: float) -> bool:
        """Whether the last sample may be that of a handle without a hand.

        Every strip but one reads what it would then, within `DEVIATIONS` of its error, what a
        resting one conceals, and what a force [N] changes (moments count with their lever). One
        alone is no hand, but a strip that drifts or is caught. Never with force 0.
        """
        if not force > 0.0:
            return False
        sensing = self._sensing
        if self._left <= 0 or sensing.used is not self._used or force != self._force:
            self._look(force)
        self._left -= 1
        p, turned = sensing.ports, sensing.angle() - sensing.ports.angle
        expected = p.sensor + self._turned @ turned - self._change @ p.force
        apart = self._strips.apart(expected)[self._used]
        pull = self._inverse @ apart
        distance = float(apart @ pull)
        if distance < 1.0:
            return True
        # What each strip adds to the distance: without it the others are as near as that.
        alone = pull * pull / self._diagonal
        if not distance - alone.max(initial=0.0) < 1.0:
            return False
        self.odd_strip = odd = int(np.flatnonzero(self._used)[alone.argmax()])
        far = abs(float(apart[alone.argmax()]))
        doubted = DOUBTED * sensing.setup.sensor_deviation[odd]
        if far > doubted and not self._strips.exact.all():
            self.drift[odd] = far  # no contradiction would tell
        return True

    def _look(self, force: float) -> None:
        sensing, self._left, self._force = self._sensing, self._every, force
        self._used = used = sensing.used
        self._turned, self._change = sensing.without_hand()
        error = DEVIATIONS * sensing.setup.sensor_deviation[used]
        reach = force * np.sqrt(self._weight) * self._change[used]
        self._inverse = np.linalg.inv(np.diag(error**2) + reach @ reach.T)
        self._diagonal = np.diag(self._inverse).copy()
