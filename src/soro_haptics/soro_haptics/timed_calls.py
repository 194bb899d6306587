# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How long the reads and writes of a device take."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any, TypeVar

from soro_driver.device import Device
from soro_haptics.duration_histogram import DurationHistogram

D = TypeVar('D', bound=Device)


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
