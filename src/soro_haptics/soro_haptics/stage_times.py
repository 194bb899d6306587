# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the time of a tick goes: one histogram for every stage of the loop."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
import math
import time
from typing import Any, TypeVar

import numpy as np

from soro_driver.device import Device

D = TypeVar('D', bound=Device)
BIN = 2e-6  # s, resolution
BINS = 25_000  # up to 50 ms; what is longer counts as that


class DurationHistogram:
    """Counts durations in bins; adding one allocates nothing."""

    def __init__(self) -> None:
        self._bins = array('q', bytes(8 * BINS))  # elements of arrays cost four times as much
        self._counts = np.frombuffer(self._bins, np.int64)
        self.largest = 0.0
        self.count = 0

    def add(self, seconds: float) -> None:
        """Count one duration [s]; NaN counts as nothing."""
        if not seconds >= 0.0:
            return
        self._bins[min(int(seconds / BIN), BINS - 1)] += 1
        self.count += 1
        self.largest = max(self.largest, seconds)

    def percentiles(self, *shares: float) -> tuple[float, ...]:
        """Return the durations below which the given shares (0 to 1) lie [s]; NaN when empty.

        Upper edges of bins: never better than it was. Safe from another thread.
        """
        used = min(int(self.largest / BIN), BINS - 1) + 1
        total = np.cumsum(self._counts[:used])
        if total[-1] == 0:
            return tuple(math.nan for _ in shares)
        places = np.searchsorted(total, [share * total[-1] for share in shares])
        return tuple(float(BIN * (min(int(p), BINS - 1) + 1)) for p in places)

    def clear(self) -> None:
        """Forget everything."""
        self._counts[:] = 0
        self.largest, self.count = 0.0, 0


@dataclass
class StageTimes:
    """Durations of the stages, in the order of a tick."""

    #: from the begin of one law to the next
    period: DurationHistogram = field(default_factory=DurationHistogram)
    #: frames taken from the bus and put into SI
    read: DurationHistogram = field(default_factory=DurationHistogram)
    tick: DurationHistogram = field(default_factory=DurationHistogram)  #: sensing and rendering
    #: Set-points encoded and handed to the kernel
    write: DurationHistogram = field(default_factory=DurationHistogram)
    #: from the moment the hand was measured to the command that answers it
    hand_to_command: DurationHistogram = field(default_factory=DurationHistogram)
    #: the nonlinear model that follows; above 500 Hz a part of a solution
    model: DurationHistogram = field(default_factory=DurationHistogram)
    #: sensing, rendering and model
    compute: DurationHistogram = field(default_factory=DurationHistogram)
    #: messages made and published, in the ticks that do
    copies: DurationHistogram = field(default_factory=DurationHistogram)

    def items(self) -> list[tuple[str, DurationHistogram]]:
        """Return names and histograms, in order."""
        return list(vars(self).items())

    def clear(self) -> None:
        """Begin anew."""
        for _, histogram in self.items():
            histogram.clear()


def with_times(device: D, reads: DurationHistogram, writes: DurationHistogram) -> D:
    """Have a device add up the durations of its calls that end well; returns it. Call it once."""
    device.read = _timed(device.read, reads)  # type: ignore[method-assign]
    device.write = _timed(device.write, writes)  # type: ignore[method-assign]
    return device


def _timed(call: Callable[..., Any], times: DurationHistogram) -> Callable[..., Any]:
    def timed(*arguments: Any) -> Any:
        begin = time.perf_counter()
        result = call(*arguments)
        times.add(time.perf_counter() - begin)
        return result

    return timed
