# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Triangular pressure patterns of Experiment 1 (Shi et al. 2023, section 5.2, Fig. 13)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BAR = 1e5  # Pa
ONE_PAIR = (0.9, 1.2, 1.5)  # bar, amplitudes of Fig. 13(a)
TWO_PAIRS = (0.6, 0.9, 1.2)  # bar, amplitudes of Fig. 13(b)
# Order of the pairs (section 5.2), as indices of actuators.
ONE_ORDER = ((1,), (2,), (0,))
TWO_ORDER = ((0, 1), (1, 2), (0, 2))
TRIANGLE = 3.2  # s, up and down; Fig. 13 shows three in about 9.5 s
PAUSE = 1.5  # s at rest before each amplitude


@dataclass(frozen=True)
class Stretch:
    """Three triangles of one amplitude."""

    pairs: tuple[tuple[int, ...], ...]  #: of int; actuators of each triangle
    amplitude: float  #: [bar]

    @property
    def label(self) -> str:
        """Name for tables."""
        number = 'one pair' if len(self.pairs[0]) == 1 else 'two pairs'
        return f'{number} {self.amplitude:g} bar'

    @property
    def duration(self) -> float:
        """Length with the pause before it [s]."""
        return PAUSE + TRIANGLE * len(self.pairs)

    def pressure(self, time: float) -> NDArray[np.float64]:
        """Return the pressures (3,) [Pa] at a time from the beginning of the pause [s]."""
        values = np.zeros(3)
        phase = (time - PAUSE) / TRIANGLE
        if 0.0 <= phase < len(self.pairs):
            height = 1.0 - abs(2.0 * (phase % 1.0) - 1.0)
            values[list(self.pairs[int(phase)])] = height * self.amplitude * BAR
        return values


def stretches() -> list[Stretch]:
    """Return the whole experiment."""
    return [Stretch(ONE_ORDER, a) for a in ONE_PAIR] + [Stretch(TWO_ORDER, a) for a in TWO_PAIRS]
