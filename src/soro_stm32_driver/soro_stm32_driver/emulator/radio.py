# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One direction of a Bluetooth serial link: late by tens of milliseconds, or by much more."""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np

from soro_emulation.injected_fault import finite
from soro_emulation.serial_line import SerialLine
from soro_mechanics.core.errors import InvalidInput


class RadioLine(SerialLine):
    """A serial line with the latency of a radio link.

    - `latency` [s]: every unit is late by something in between; order is kept.

    Its `counters` have two more: units that were held back for others to overtake them
    (`reordered`), and those that did overtake some (`overtaking`).
    """

    PARTS = (*SerialLine.PARTS, 'reordering')

    def __init__(
        self, baudrate: int, generator: np.random.Generator, latency: tuple[float, float]
    ) -> None:
        self._latency = latency
        self._generator = generator
        self._newest = 0.0
        super().__init__(baudrate, generator)
        self.counters |= {'reordered': 0, 'overtaking': 0}

    def repair(self) -> None:
        """End every fault; the counters stay."""
        super().repair()
        self._hold = self._held_until = 0.0

    def damage(self, values: dict[str, Any]) -> None:
        """Begin faults: those of a cable, and two more.

        ``reordering``: part of the units that are overtaken by the next ones; ``hold`` [s]:
        nothing passes for so long, then everything.
        """
        hold = finite(values, 'hold', 0.0)
        if hold < 0.0:
            raise InvalidInput('hold', hold, 'seconds, zero or more')
        super().damage(values)
        self._hold = hold

    def _enter(self, unit: bytes, now: float) -> None:
        before = len(self._waiting)
        if self._hold > 0.0:
            self._held_until, self._hold = now + self._hold, 0.0
        super()._enter(unit, now)
        added = [self._waiting.pop() for _ in range(len(self._waiting) - before)]
        for at, data in reversed(added):
            arrival = max(at + self._generator.uniform(*self._latency), self._held_until)
            if self._generator.random() < self._parts['reordering']:
                arrival += 2.0 * self._latency[1] + 0.1
                self.counters['reordered'] += 1
            else:
                arrival = self._newest = max(arrival, self._newest)
            place = bisect.bisect(self._waiting, arrival, key=lambda waiting: waiting[0])
            self.counters['overtaking'] += place < len(self._waiting)
            self._waiting.insert(place, (arrival, data))
