# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the legs are, from strips that slide on them with friction.

A strip follows its leg with a dead band of +-half. While it moves it lags by exactly that; when it
rests, the leg may have gone back by twice as much unseen. So a moving strip tells its leg's
elongation, and a resting one an interval.
"""

from __future__ import annotations

import math

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.haptics import watch_kernels as kernels

NOISE = 4.0  # deviations within which a reading does not move
# By how much the leg is taken to have moved more than the strip where that begins to move back,
# until the dead band is crossed: at once would be a jump of the force. Assumed.
CATCH_UP = 4.0
# Deviations that a strip moves, less what is older than so many seconds, until it counts as
# moving, and that are remembered. Assumed.
MOVES, KNOWN, RECENT = 1.0, 3.0, 0.1
UNSEEN = 2.0 / math.sqrt(3.0)  # root mean square of what is even within 0 and 2


class StripPlay:
    """Follows the strips of one device, sample by sample.

    Parameters
    ----------
    half : ndarray, shape (ns,) [m]
        Of the dead bands; zero: the strip follows at once.
    deviation : ndarray, shape (ns,) [m]
        Of a reading.

    Attributes
    ----------
    reading, elongation : ndarray, shape (ns,) [m]
        The last one, and the elongations of the legs then.
    slack : ndarray, shape (ns,) [m]
        By how much each strip is ahead of its leg.
    exact : ndarray of bool, shape (ns,)
        Strips that move, and with that tell where their legs are.
    unseen : ndarray, shape (ns,) [m]
        Standard deviation of how far their legs may have moved unseen.
    """

    def __init__(self, half: Array, deviation: Array) -> None:
        count = len(half)
        limits = (factor * deviation for factor in (NOISE, MOVES, KNOWN))
        state = (np.zeros(count) for _ in range(3))
        told = np.zeros(count, bool), np.zeros(count), np.zeros(count), np.zeros(count)
        self._strips = kernels.Strips(half, *limits, *state, *told)
        self.half, self.slack = half, self._strips.slack
        self.reading, self.elongation = self._strips.reading, self._strips.elongation
        self.exact, self.unseen = self._strips.exact, self._strips.unseen
        self.reset()

    def reset(self) -> None:
        """Forget what was seen; the strips are taken to be in the middle of their bands."""
        self._strips.anchor[:] = np.nan
        for state in (self.reading, self.elongation, self.slack, self._strips.way):
            state[:] = 0.0
        self.exact[:] = self.half == 0.0
        self.unseen[:] = np.where(self.exact, 0.0, UNSEEN * self.half)

    def follow(self, reading: Array, seconds: float) -> Array:
        """Take a reading and the time since the last one; return the elongations of the legs.

        Both of shape (ns,) [m], the second a view; NaN is no reading.
        """
        fades = max(0.0, 1.0 - seconds / RECENT)
        kernels.follow_strips(self._strips, reading, fades, CATCH_UP, UNSEEN)
        return self.elongation

    def apart(self, elongation: Array) -> Array:
        """Return by how much the strips contradict some elongations of the legs, (ns,) [m]."""
        ahead = self.reading - elongation
        return ahead - np.where(self.exact, self.slack, np.clip(ahead, -self.half, self.half))
