# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether what is sensed may be nobody's hand."""

from __future__ import annotations

import math

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.haptics import watch_kernels as kernels
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
        self._used, self._force, self._seen = sensing.used, math.nan, -1
        na, ne, ns = sensing.sizes
        found = np.zeros((ns, na)), np.zeros((ns, ne)), np.zeros((ns, ns)), np.zeros(ns, bool)
        self._arrays = kernels.Resting(*found, np.zeros(na), np.zeros(ns))
        self.drift = np.zeros(ns)
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
        old = self._left <= 0 and self._seen != sensing.linearised
        if old or sensing.used is not self._used or force != self._force:
            self._look(force)
        self._left -= 1
        distance, without_odd, odd = kernels.rest_distance(
            sensing.port_arrays, sensing.arrays, self._strips.arrays, self._arrays
        )
        if distance < 1.0:
            return True
        if not without_odd < 1.0:
            return False
        self.odd_strip, far = odd, abs(float(self._arrays.apart[odd]))
        doubted = DOUBTED * sensing.setup.sensor_deviation[odd]
        if far > doubted and not self._strips.exact.all():
            self.drift[odd] = far  # no contradiction would tell
        return True

    def _look(self, force: float) -> None:
        sensing, self._left, self._force = self._sensing, self._every, force
        self._seen, r = sensing.linearised, self._arrays
        self._used = r.used[:] = used = sensing.used
        r.inverse[:] = 0.0
        r.turned[:], r.change[:] = sensing.without_hand()
        error = DEVIATIONS * sensing.setup.sensor_deviation[used]
        reach = force * np.sqrt(self._weight) * r.change[used]
        r.inverse[np.ix_(used, used)] = np.linalg.inv(np.diag(error**2) + reach @ reach.T)
