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

    Its attributes:
    - `reordered`: units that were held back for others to overtake them.
    - `overtaking`: units that did overtake some.
    """

    def __init__(
        self, baudrate: int, generator: np.random.Generator, latency: tuple[float, float]
    ) -> None:
        self._latency = latency
        self._generator = generator
        self._newest = 0.0
        self.reordered = self.overtaking = 0
        super().__init__(baudrate, generator)

    @property
    def counters(self) -> dict[str, int]:
        """Those of a cable, and of the two more faults."""
        more = {'reordered': self.reordered, 'overtaking': self.overtaking}
        return super().counters | more

    @property
    def damaged(self) -> bool:
        """Whether a fault can hit the next unit."""
        return super().damaged or self._reordering > 0.0

    def repair(self) -> None:
        """End every fault; the counters stay."""
        super().repair()
        self._reordering, self._hold = 0.0, 0.0
        self._held_until = 0.0

    def damage(self, values: dict[str, Any]) -> None:
        """Begin faults: those of a cable, and two more.

        ``reordering``: part of the units that are overtaken by the next ones; ``hold`` [s]:
        nothing passes for so long, then everything.
        """
        reordering = finite(values, 'reordering', self._reordering)
        hold = finite(values, 'hold', 0.0)
        if not 0.0 <= reordering <= 1.0 or hold < 0.0:
            raise InvalidInput('reordering, hold', (reordering, hold), 'a part; seconds')
        super().damage(values)
        self._reordering, self._hold = reordering, hold

    def _enter(self, unit: bytes, now: float) -> None:
        before = len(self._waiting)
        if self._hold > 0.0:
            self._held_until, self._hold = now + self._hold, 0.0
        super()._enter(unit, now)
        added = [self._waiting.pop() for _ in range(len(self._waiting) - before)]
        for at, data in reversed(added):
            arrival = max(at + self._generator.uniform(*self._latency), self._held_until)
            if self._generator.random() < self._reordering:
                arrival += 2.0 * self._latency[1] + 0.1
                self.reordered += 1
            else:
                arrival = self._newest = max(arrival, self._newest)
            place = bisect.bisect(self._waiting, arrival, key=lambda waiting: waiting[0])
            self.overtaking += place < len(self._waiting)
            self._waiting.insert(place, (arrival, data))
