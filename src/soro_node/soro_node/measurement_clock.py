# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Stamps of measurements: of their moment on the steady clock, whenever they are published.

A measurement's age subtracted from the wall clock of another moment differs by what lies between
the two readings, so that stamps step back by as much. Here the distance between the clocks is
taken once: Linux slews both alike, so that it changes only when the wall clock is set.
"""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any

from builtin_interfaces.msg import Time

SECOND = 1_000_000_000  # ns
SET = 1_000_000  # ns: whoever sets a clock sets it by more than this
CLOSE = 100_000  # ns between two readings of the steady clock: nobody came in between
ATTEMPTS = 5


class MeasurementClock:
    """Gives each moment of the steady clock one stamp, later moments later ones.

    - `clock`: the node's. While it follows ``/clock``, stamps are of the moment they are asked
      for: simulated time knows no other.
    - `said`: gets a sentence when the wall clock was set; stamps may go back then, this once.
    - `steady`: the steady clock [ns].
    """

    def __init__(
        self, clock: Any, said: Callable[[str], Any], steady: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._clock, self._said, self._steady = clock, said, steady
        self._offset: int | None = None  # ns, wall clock minus steady clock
        self._last = 0  # ns

    def stamp(self, moment: float) -> Time:
        """Return the stamp of a moment [s, steady clock]."""
        if self._clock.ros_time_is_active:
            now, self._offset = self._clock.now().nanoseconds, None
        else:
            now = round(moment * SECOND) + self._distance()
        self._last = max(now, self._last, 0)  # a device's moments may come out of order
        seconds, nanoseconds = divmod(self._last, SECOND)
        return Time(sec=seconds, nanosec=nanoseconds)

    def _distance(self) -> int:
        found = self._look()
        if found is None and self._offset is None:
            return int(self._clock.now().nanoseconds - self._steady())  # better than nothing, once
        if self._offset is None:
            self._offset = found
        elif found is not None and abs(found - self._offset) > SET:
            step, self._offset, self._last = found - self._offset, found, 0
            self._said(f'the wall clock was set by {step / SECOND:+.3f} s: stamps follow it')
        return self._offset

    def _look(self) -> int | None:
        """Return the distance of the clocks [ns]; None where something came in between."""
        for _ in range(ATTEMPTS):
            before, wall, after = self._steady(), self._clock.now().nanoseconds, self._steady()
            if after - before <= CLOSE:
                return int(wall - (before + after) // 2)
        return None
