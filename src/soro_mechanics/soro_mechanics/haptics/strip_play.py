# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the legs are, from strips that slide on them with friction.

A strip follows its leg with a dead band of +-half. While it moves it lags by exactly that; when it
rests, the leg may have gone back by twice as much unseen. So a moving strip tells its leg's
elongation, and a resting one an interval.
"""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.array_input import check_shape
from soro_mechanics.core.configuration import Array
from soro_mechanics.haptics import watch_kernels as kernels


class StripPlay:
    """Follows the strips of one device, sample by sample.

    `half` (ns,): of the dead bands; zero: the strip follows at once [m]; `deviation` (ns,): of a
    reading [m].

    `reading, elongation` (ns,): the last one, and the elongations of the legs then [m]; `slack`
    (ns,): by how much each strip is ahead of its leg [m]; `exact` (ns,): strips that move, and
    with that tell where their legs are; `unseen` (ns,): standard deviation of how far their legs
    may have moved unseen [m].
    """

    def __init__(self, half: Array, deviation: Array) -> None:
        count = len(half)
        anchor, way, self.slack = np.zeros((3, count))
        self.unseen, self.reading, self.elongation = np.zeros((3, count))
        self.half, self.exact = half, np.zeros(count, bool)
        told = self.exact, self.unseen, self.reading, self.elongation
        self.arrays = kernels.Strips(half, deviation, anchor, way, self.slack, *told)
        self.reset()

    def reset(self) -> None:
        """Forget what was seen; the strips are taken to be in the middle of their bands."""
        self.arrays.anchor[:] = np.nan
        for state in (self.reading, self.elongation, self.slack, self.arrays.way):
            state[:] = 0.0
        self.exact[:] = self.half == 0.0
        self.unseen[:] = np.where(self.exact, 0.0, kernels.UNSEEN * self.half)

    def follow(self, reading: Array, seconds: float) -> Array:
        """Take a reading and the time since the last one; return the elongations of the legs.

        Both of shape (ns,) [m], the second a view; NaN is no reading.
        """
        check_shape('reading', reading, self.half.shape)
        kernels.follow_strips(self.arrays, reading, seconds)
        return self.elongation
