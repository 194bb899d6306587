# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Time of a body that may be slower than the clock, and how that is told."""

from __future__ import annotations

from dataclasses import dataclass

MAX_DUE = 0.25  # s of the clock that are made up for at once; more is lost
WINDOW = 2.0  # s over which a speed is told
IN_TIME = 0.98  # of the clock's speed


@dataclass(frozen=True)
class BodyTime:
    """Seconds since the body began to move: its own, and the clock's."""

    virtual: float = 0.0
    wall: float = 0.0
    restarts: int = 0  # how often it was put to rest because a step had no solution


class BodyClock:
    """How many steps of a length [s] a body owes to the clock."""

    def __init__(self, step: float) -> None:
        self._step = step
        self._begin: float | None = None
        self._last = self._due = 0.0
        self._steps = 0

    def due(self, now: float) -> int:
        """Return the steps up to `now` [s, CLOCK_MONOTONIC], none of what is lost."""
        if self._begin is None:
            self._begin = self._last = now
        self._due = min(self._due + now - self._last, MAX_DUE)
        self._last = now
        steps = int(self._due / self._step)
        self._due -= steps * self._step
        self._steps += steps
        return steps

    def time(self, restarts: int) -> BodyTime:
        """Return the times that have passed."""
        wall = 0.0 if self._begin is None else self._last - self._begin
        return BodyTime(self._steps * self._step, wall, restarts)


class SpeedWatch:
    """Speed of a body against the clock over the last window, and what is wrong with it."""

    def __init__(self) -> None:
        self._from = BodyTime()
        self.speed, self.remark = 1.0, ''

    def update(self, time: BodyTime) -> bool:
        """Take the body's time; whether a window ended with another remark than before."""
        wall = time.wall - self._from.wall
        if wall < WINDOW:
            return False
        self.speed = (time.virtual - self._from.virtual) / wall
        before, self.remark = self.remark, ''
        if time.restarts > self._from.restarts:
            self.remark = 'a step had no solution: the body was put to rest'
        elif self.speed < IN_TIME:
            self.remark = 'the body is slower than the clock'
        self._from = time
        return self.remark != before
