# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the time of a tick goes: one histogram for every stage of the loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
import time
from typing import Any, TypeVar

from soro_driver.device import Device
from soro_haptics.duration_histogram import DurationHistogram

D = TypeVar('D', bound=Device)


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
