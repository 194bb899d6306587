# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A watchdog on arrival times of one steady clock. Stamps and wall clocks play no part."""

from __future__ import annotations

import math


class Watchdog:
    """Expires when nothing was fed for longer than a timeout; not before the first feed.

    - `timeout`: [s], greater than zero.
    """

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._fed = math.nan

    def feed(self, time: float) -> None:
        """Note an arrival at `time` [s]; an older one than known, or NaN, changes nothing."""
        if not (self._fed >= time or math.isnan(time)):
            self._fed = time

    def clear(self) -> None:
        """Forget every arrival: it cannot expire until it is fed again."""
        self._fed = math.nan

    def age(self, now: float) -> float:
        """Return the time since the last arrival [s]; NaN before the first."""
        return now - self._fed

    def expired(self, now: float) -> bool:
        """Whether the last arrival is older than the timeout; not before the first."""
        return self.age(now) > self.timeout
