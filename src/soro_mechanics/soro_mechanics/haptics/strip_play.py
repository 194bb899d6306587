# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the legs are, from strips that slide on them with friction.

A strip follows its leg with a dead band of +-half. While it moves it lags by exactly that; when it
rests, the leg may have gone back by twice as much unseen. So a moving strip tells its leg's
elongation, and a resting one an interval.
"""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Array

NOISE = 4.0  # deviations within which a reading does not move
# By how much the leg is taken to have moved more than the strip where that begins to move back,
# until the dead band is crossed: at once would be a jump of the force. Assumed.
CATCH_UP = 4.0
# Deviations that a strip moves, less what is older than so many seconds, until it counts as
# moving, and that are remembered. Assumed.
MOVES, KNOWN, RECENT = 1.0, 3.0, 0.1
UNSEEN = 2.0 / np.sqrt(3.0)  # root mean square of what is even within 0 and 2


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
        self.half, self._deviation = half, deviation
        self._slides = bool(half.any())
        self.reset()

    def reset(self) -> None:
        """Forget what was seen; the strips are taken to be in the middle of their bands."""
        count = len(self.half)
        self.reading = self.elongation = np.zeros(count)
        self._anchor = np.full(count, np.nan)
        self.slack, self._way = np.zeros(count), np.zeros(count)
        self.exact = self.half == 0.0
        self.unseen = np.where(self.exact, 0.0, UNSEEN * self.half)

    def follow(self, reading: Array, seconds: float) -> Array:
        """Take a reading and the time since the last one; return the elongations of the legs.

        Both of shape (ns,) [m]; NaN is no reading.
        """
        if not self._slides:
            self.reading = self.elongation = reading.copy()
            return self.elongation
        noise = NOISE * self._deviation
        anchor = np.fmin(np.fmax(self._anchor, reading - noise), reading + noise)
        moved = np.nan_to_num(anchor - self._anchor)  # the first one moves nothing
        self.reading, self._anchor = reading, anchor
        self.slack = np.clip(self.slack - CATCH_UP * moved, -self.half, self.half)
        way = max(0.0, 1.0 - seconds / RECENT) * self._way + np.abs(moved)
        self._way = np.minimum(way, KNOWN * self._deviation)
        moving = (np.abs(self.slack) == self.half) & (self._way > MOVES * self._deviation)
        self.exact = moving | (self.half == 0.0)
        self.unseen = np.where(self.exact, 0.0, UNSEEN * self.half)
        self.elongation = reading - self.slack
        return self.elongation

    def apart(self, elongation: Array) -> Array:
        """Return by how much the strips contradict some elongations of the legs, (ns,) [m]."""
        ahead = self.reading - elongation
        if not self._slides:
            return ahead
        return ahead - np.where(self.exact, self.slack, np.clip(ahead, -self.half, self.half))
