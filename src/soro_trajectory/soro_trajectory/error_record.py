# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The tracking error while a path is followed: desired and actual positions at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
import math
import threading
import time

import numpy as np

from soro_mechanics.analysis.trajectory import Schedule, tracking_error
from soro_mechanics.core.configuration import Array

LOST = 1.0  # s, without a measurement (assumed), or a quarter of a short motion


def unseen(times: Iterable[float], duration: float) -> str:
    """Return which parts of a duration [s] were not measured, by measurements' times; or ''."""
    ends = np.array([0.0, *sorted(times), duration])
    wide = np.flatnonzero(np.diff(ends) > min(LOST, 0.25 * duration))
    parts = ', '.join(f'{ends[k]:.2f} to {ends[k + 1]:.2f}' for k in wide)
    return f'not measured: {parts} of {duration:.2f} s' if parts else ''


@dataclass(frozen=True)
class ErrorSample:
    """One comparison."""

    time: float  #: since the schedule began [s]
    #: desired, actual: (3,) [m]
    desired: Array
    actual: Array
    error: float  #: distance [m]
    arrival: float  #: steady clock [s]


class ErrorRecord:
    """Compares measured tip positions with a schedule; safe from any thread.

    `start`: returns when the first command was sent [ns], in the clock of the measurements' stamps
    as it is set now.
    `delay`: from a command to the robot's answer [s]: the desired position is that many seconds
    behind the command, which is what sending commands early does. `clock`: steady clock [s].
    """

    def __init__(
        self,
        schedule: Schedule,
        start: Callable[[], int],
        delay: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._schedule = schedule
        self._clock = clock
        self._start = start
        self._delay = delay
        self._samples: list[ErrorSample] = []
        self._lock = threading.Lock()

    def add(self, stamp: int, position: Array) -> None:
        """Take a measured position (3,) with its stamp [ns]; none outside the schedule."""
        when = (stamp - self._start()) * 1e-9 - self._delay
        if not 0.0 <= when <= self._schedule.duration:
            return
        desired = self._schedule.position_at(when)
        error = float(np.linalg.norm(desired - position))
        sample = ErrorSample(when, desired, position.copy(), error, self._clock())
        with self._lock:
            self._samples.append(sample)

    @property
    def expected(self) -> bool:
        """Whether there is anything to measure: a schedule that takes time."""
        return self._schedule.duration > 0.0

    def silence(self, since: float) -> float:
        """Return for how long no measurement has counted [s], at most the time since `since`.

        One whose stamp is outside the schedule, as of a clock that was set, does not count.
        """
        latest = self.latest
        return self._clock() - (since if latest is None else max(since, latest.arrival))

    @property
    def latest(self) -> ErrorSample | None:
        """The newest comparison, None before the first."""
        with self._lock:
            return self._samples[-1] if self._samples else None

    def summary(self) -> tuple[float, float, float]:
        """Return mean (36), root mean square and peak [m]; NaN without a sample."""
        with self._lock:
            samples = list(self._samples)
        if not samples:
            return math.nan, math.nan, math.nan
        return tracking_error([s.desired for s in samples], [s.actual for s in samples])

    def unseen(self) -> str:
        """Return which parts of the schedule the summary is not of, or ''."""
        with self._lock:
            return unseen([s.time for s in self._samples], self._schedule.duration)

    def actual_path(self, most: int) -> Array:
        """Return measured positions (n, 3), evenly thinned to about `most` of them."""
        with self._lock:
            samples = self._samples[:: max(1, len(self._samples) // most)]
        return np.array([s.actual for s in samples]).reshape(-1, 3)
