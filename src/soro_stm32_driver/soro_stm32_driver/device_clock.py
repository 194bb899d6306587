# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The device's clock as seen from here: offset from the fastest of the recent round trips."""

from __future__ import annotations

from collections import deque

MASK = 0xFFFFFFFF
SAMPLES = 64  # round trips kept: long enough to hold a fast one, short enough for drifting clocks


class DeviceClock:
    """Translates times of this computer [s, CLOCK_MONOTONIC] to the device's [ms, u32]."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, float]] = deque(maxlen=SAMPLES)

    def restart(self) -> None:
        """Forget the device's clock."""
        self._samples.clear()

    @property
    def known(self) -> bool:
        """Whether there was a round trip."""
        return bool(self._samples)

    def sample(self, sent: float, arrived: float, device: int) -> None:
        """Take a round trip in: `device` is the device's time of the answer [ms]."""
        middle = 0.5 * (sent + arrived) * 1e3
        self._samples.append((arrived - sent, (device - middle) % (MASK + 1)))

    def at(self, time: float) -> int:
        """Return the device's time [ms, u32]."""
        _, offset = min(self._samples)
        return int(time * 1e3 + offset) & MASK
