# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether measurements can be true: over the limit, stuck, not following the command or rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np

from soro_driver.device import Array, Fault, Flag, Flags, Reading, SENSOR_FAULT
from soro_driver.loop.debounce import Debounce
from soro_mechanics.core.actuators import Actuator
from soro_mechanics.robot_file.record import given

ONSET = 0.25  # an error begins where it passes this part of the tolerance
FALLING = 0.02  # of the range, below the lowest value so far: it is being vented
STILL = 0.25  # a value that made less of the way than this part of the error stands still


@dataclass(frozen=True)
class PlausibilityLimits:
    """``driver.supervision`` of a robot file; differences are parts of each actuator's range."""

    #: over_limit_margin, over_limit_for: measured above maximum (or below minimum) by more than
    #: the margin for this long
    over_limit_margin: float = given('1', 0.1, minimum=0.0, maximum=1.0)
    over_limit_for: float = given('s', 0.05, minimum=0.0)
    sensor_for: float = given('s', 0.05, minimum=0.0)  #: a sensor reported as faulty for this long
    #: every measured value exactly the same for this long while armed; 0: not checked (a sensor
    #: without noise may stand still)
    frozen_for: float = given('s', 0.0, minimum=0.0)
    #: rest_margin, rest_for: A pressure that stays above rest by more than the margin for this
    #: long, although the outputs are safe: somebody else drives it, or it is not vented. What
    #: still falls is not meant, however slowly it is vented; lengths and angles stay where they
    #: are.
    rest_margin: float = given('1', 0.2, positive=True, maximum=1.0)
    rest_for: float = given('s', 2.0, positive=True)
    #: follow_time_constant, follow_tolerance, follow_for: The measurement must stay within the
    #: tolerance of the command as a first-order system with this time constant would follow it.
    #: Time constant 0: not checked.
    follow_time_constant: float = given('s', 0.0, minimum=0.0)
    follow_tolerance: float = given('1', 0.1, positive=True, maximum=1.0)
    follow_for: float = given('s', 0.3, positive=True)


@dataclass(slots=True)
class Finding:
    """Flags per actuator, fault bits, and words for a person (empty when nothing is wrong)."""

    flags: Flags
    faults: int
    reason: str


class Plausibility:
    """Checks one reading after the other."""

    def __init__(self, actuators: Sequence[Actuator], limits: PlausibilityLimits) -> None:
        self._actuators = tuple(actuators)
        self._limits = limits
        self._low = np.array([a.minimum for a in actuators])
        self._high = np.array([a.maximum for a in actuators])
        self._span = self._high - self._low
        margin = limits.over_limit_margin * self._span
        self._bottom, self._top = self._low - margin, self._high + margin
        self._ends = list(zip(self._bottom.tolist(), self._top.tolist(), strict=True))
        vented = np.array([a.quantity == 'pressure' for a in actuators])
        rest = np.array([a.rest for a in actuators]) + limits.rest_margin * self._span
        self._highest_at_rest, self._vented = np.where(vented, rest, math.inf), bool(vented.any())
        self._follows = self._vented or limits.follow_time_constant > 0.0
        self.restart()

    def restart(self) -> None:
        """Forget the past (after a reconnection)."""
        count = len(self._actuators)
        self._over = Debounce(count, self._limits.over_limit_for)
        self._sensor = Debounce(count, self._limits.sensor_for)
        self._off = Debounce(count, self._limits.follow_for)
        self._up = Debounce(count, self._limits.rest_for)
        self._lowest = np.full(count, math.inf)
        self._expected = np.full(count, math.nan)
        self._at_start_of_error = np.full(count, math.nan)
        self._last = np.full(count, math.nan)
        self._changed = math.nan
        self._time = math.nan

    def check(self, reading: Reading, armed: bool, at_rest: bool = False) -> Finding:
        """Judge a reading.

        Over-limit and sensor faults are judged always; frozen feedback and following the
        command only while `armed`, because only then set-points are sent; pressures that stay up
        only where the outputs are safe (`at_rest`).
        """
        now, measured = reading.time, reading.measured
        flags, faults = reading.flags, int(reading.faults)
        words = [reading.reason] if reading.reason else []
        if not self._calm(reading):
            flags = flags.copy()
            over = self._check_over(measured, now, flags)
            sensor = self._sensor.update((flags & SENSOR_FAULT) != 0, now)
            up = self._check_rest(measured, now, at_rest)
            late = self._check_following(reading, armed, flags)
            for fault, which, what in (
                (Fault.OVER_LIMIT, over, 'measured beyond its limit'),
                (Fault.SENSOR, sensor, 'sensor out of range or open'),
                (Fault.NOT_AT_REST, up, 'stays up although the outputs are safe'),
                (Fault.TRACKING, late, 'does not follow its command'),
            ):
                if np.count_nonzero(which):
                    faults |= fault
                    words.append(self._say(which, what, measured))
        if armed and self._frozen(measured, now):
            faults |= Fault.FROZEN
            words.append('feedback does not change any more')
        self._time = now
        return Finding(flags, faults, '; '.join(words))

    def _calm(self, reading: Reading) -> bool:
        """Whether there is nothing to judge: no flags, all within limits, also the last time."""
        if self._follows or self._over.waits or self._sensor.waits or any(reading.flags.tolist()):
            return False
        for value, (bottom, top) in zip(reading.measured.tolist(), self._ends, strict=True):
            if not bottom <= value <= top:
                return False
        return True

    def _check_over(self, measured: Array, now: float, flags: Flags) -> Array:
        with np.errstate(invalid='ignore'):
            outside = (measured > self._top) | (measured < self._bottom)
        if np.count_nonzero(outside):
            flags[outside] |= np.uint16(Flag.OVER_LIMIT)
        return self._over.update(outside, now)

    def _check_rest(self, measured: Array, now: float, at_rest: bool) -> Array:
        if not self._vented:
            return np.zeros(len(self._span), bool)
        if not at_rest:
            self._lowest[:] = math.inf
        with np.errstate(invalid='ignore'):
            falls = measured < self._lowest - FALLING * self._span
            up = (measured > self._highest_at_rest) & ~falls
        self._lowest[falls] = measured[falls]
        return self._up.update(up & at_rest, now)

    def _frozen(self, measured: Array, now: float) -> bool:
        hold = self._limits.frozen_for
        if hold == 0.0:
            return False
        known = measured[~np.isnan(measured)]
        moved = not np.array_equal(measured, self._last, equal_nan=True)
        if moved or not known.size or math.isnan(self._changed):
            self._last[:] = measured
            self._changed = now
        return now - self._changed >= hold

    def _check_following(self, reading: Reading, armed: bool, flags: Flags) -> Array:
        limits, measured = self._limits, reading.measured
        none = np.zeros(len(self._span), bool)
        if limits.follow_time_constant == 0.0:
            return none
        if not armed or math.isnan(self._time):
            self._expected[:] = measured
            self._off.update(none, reading.time)
            return none
        start = np.isnan(self._expected)
        self._expected[start] = measured[start]
        part = 1.0 - math.exp(-(reading.time - self._time) / limits.follow_time_constant)
        self._expected += part * (reading.applied - self._expected)
        with np.errstate(invalid='ignore'):
            error = (measured - self._expected) / self._span
            off = np.abs(error) > limits.follow_tolerance
            fresh = ~(np.abs(error) > ONSET * limits.follow_tolerance)
        fresh |= np.isnan(self._at_start_of_error)
        self._at_start_of_error[fresh] = measured[fresh]
        late = self._off.update(off, reading.time)
        # Pressure is lost (leak, burst, supply) where it sinks below what was reached already;
        # a line is blocked where it stands still although the command moved away.
        with np.errstate(invalid='ignore'):
            moved = np.abs(measured - self._at_start_of_error) / self._span
            still = moved < STILL * np.abs(error)
            sinks = (error < 0.0) & ~still
        flags[late & sinks] |= np.uint16(Flag.LEAK)
        flags[late & ~sinks] |= np.uint16(Flag.BLOCKED)
        return late

    def _say(self, which: Array, what: str, measured: Array) -> str:
        parts = [
            f'{a.name} ({x:g} {a.unit})'
            for a, x, bad in zip(self._actuators, measured, which, strict=True)
            if bad
        ]
        return f'{", ".join(parts)}: {what}'
