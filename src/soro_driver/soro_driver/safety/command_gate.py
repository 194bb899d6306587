# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a command must pass before hardware sees it. Pure: no clock, no ROS, no device.

`CommandGate.check` refuses a whole message; `CommandGate.shape` makes a set-point from what
passed: range, coupled limits, slew.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from soro_driver.device import Array, Flag, Flags
from soro_mechanics.core.actuators import Actuator, CoupledLimit
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.core.status import Code

# A pressure regulator cannot suck: a clearly negative pressure is a mistake of the sender and is
# refused; less than this part of the range is noise of a measured state that was sent back.
NEGATIVE_PRESSURE_SLACK = 0.01
MIN_STEP = 1e-12  # s: two set-points at one time of the clock


class NotNear(InvalidInput):
    """The first command after a stop does not start at the measured state."""


class CommandGate:
    """Checks and shapes commands for the actuators of one robot.

    `actuators`: order of every array here; `coupled_limits`: ``coefficients @ values <= maximum``.
    """

    def __init__(
        self, actuators: Sequence[Actuator], coupled_limits: Sequence[CoupledLimit] = ()
    ) -> None:
        self.actuators = tuple(actuators)
        self.names = tuple(a.name for a in actuators)
        self.minimum = np.array([a.minimum for a in actuators])
        self.maximum = np.array([a.maximum for a in actuators])
        self.span = self.maximum - self.minimum
        self.rate = np.array([a.rate for a in actuators])
        self._ends = list(zip(self.minimum.tolist(), self.maximum.tolist(), strict=True))
        self._rates = self.rate.tolist()
        self.rest = np.array([a.rest for a in actuators])
        self.is_pressure = np.array([a.quantity == 'pressure' for a in actuators])
        self._codes = [a.quantity_code for a in actuators]
        self._index = {name: i for i, name in enumerate(self.names)}
        self._coupled = tuple(coupled_limits)
        for limit in self._coupled:
            at_rest = float(limit.coefficients @ self.rest)
            if at_rest > limit.maximum:
                raise InvalidInput(
                    f'coupled_limits {limit.name}',
                    limit.maximum,
                    f'at least {at_rest:g}, its value with every actuator at rest',
                )

    def check(
        self, names: Sequence[str], quantities: Sequence[int], values: Sequence[float]
    ) -> Array:
        """Return the values of a command in the order of the robot file, or refuse all of it.

        InvalidInput: INVALID_SIZE, NOT_FINITE, OUT_OF_RANGE (another quantity; farther outside the
        range than the range is wide, or a negative pressure: a mistake of unit or sign).
        UnknownName: a name that the robot has not.
        """
        count = len(self.names)
        if not len(names) == len(quantities) == len(values) == count:
            found = f'{len(names)} names, {len(quantities)} quantities, {len(values)} values'
            raise InvalidInput('command', found, f'{count} of each', Code.INVALID_SIZE)
        result = np.full(count, math.nan)
        for name, quantity, value in zip(names, quantities, values, strict=True):
            i = self._index.get(name)
            if i is None:
                raise UnknownName('name', name, self.names)
            if not math.isnan(result[i]):
                raise InvalidInput('name', name, 'each actuator once', Code.UNKNOWN_NAME)
            self._check_one(i, quantity, value)
            result[i] = value
        return result

    def check_near(self, values: Array, reference: Array, band: float) -> None:
        """Refuse a first command that is not where the robot is, so that nothing jumps.

        `values`, `reference` (m,): command, and measurement (or applied value where there is no
        sensor); `band`: allowed difference as a part of each actuator's range.
        """
        off = np.abs(values - reference) / self.span
        worst = int(np.argmax(np.where(np.isnan(off), math.inf, off)))
        if not off[worst] <= band:
            unit = self.actuators[worst].unit
            limit = band * self.span[worst]
            raise NotNear(
                self.names[worst],
                float(values[worst]),
                f'a first command within {limit:g} {unit} of the measured '
                f'{reference[worst]:g} {unit}',
            )

    def shape(
        self, values: Array, previous: Array, dt: float, rate: Array | None = None
    ) -> tuple[Array, Flags]:
        """Limit a checked command: range, then coupled limits, then slew; return it, and flags.

        A coupled limit moves all actuators together toward rest, so that the direction of
        motion is kept; slew shortens the whole step, so that actuators arrive together and,
        the feasible set being convex, never leave it on the way.

        - `values` (m,): from `check`: finite.
        - `previous` (m,): the set-point before; feasible.
        - `dt`: time since then [s]; no step without any.
        - `rate` (m,): slew limit [SI/s]; default: that of the robot file.
        """
        flags = np.zeros(len(self.names), np.uint16)
        target = self._feasible(values, flags)
        fastest = self._rates if rate is None else rate.tolist()
        dt, step, excess = max(dt, MIN_STEP), target - previous, 0.0
        for change, most in zip(step.tolist(), fastest, strict=True):
            excess = max(excess, abs(change) / (most * dt))
        if excess > 1.0 + 1e-9:  # a step of exactly the limit is not limited
            step /= excess
            flags[np.abs(step) > 0.0] |= np.uint16(Flag.RATE_LIMITED)
        return previous + step, flags

    def clamp(self, values: Array) -> Array:
        """Return the nearest set-point that keeps every limit (range, coupled), as a copy."""
        return self._feasible(values.copy(), np.zeros(len(self.names), np.uint16))

    def _check_one(self, i: int, quantity: int, value: float) -> None:
        actuator = self.actuators[i]
        name, unit = actuator.name, actuator.unit
        if quantity != self._codes[i]:
            wanted = f'{self._codes[i]} ({actuator.quantity} [{unit}])'
            raise InvalidInput(f'quantity of {name}', quantity, wanted)
        if not math.isfinite(value):
            raise InvalidInput(name, value, f'a finite number [{unit}]', Code.NOT_FINITE)
        span = self.span[i]
        low, high = self.minimum[i] - span, self.maximum[i] + span
        if actuator.quantity == 'pressure':
            low = min(self.minimum[i], 0.0) - NEGATIVE_PRESSURE_SLACK * span
        if not low <= value <= high:
            expected = f'{self.minimum[i]:g} to {self.maximum[i]:g} {unit}'
            raise InvalidInput(name, value, expected, Code.OUT_OF_RANGE)

    def _feasible(self, values: Array, flags: Flags) -> Array:
        """Return values within range and coupled limits; adds to the flags which ones act."""
        for value, (low, high) in zip(values.tolist(), self._ends, strict=True):
            if self._coupled or not low <= value <= high:
                break
        else:
            return values
        flags[values < self.minimum] |= np.uint16(Flag.AT_LOWER_LIMIT)
        flags[values > self.maximum] |= np.uint16(Flag.AT_UPPER_LIMIT)
        values = np.minimum(np.maximum(values, self.minimum), self.maximum)
        scale = 1.0
        for limit in self._coupled:
            at_rest = float(limit.coefficients @ self.rest)
            asked = float(limit.coefficients @ values)
            if asked > limit.maximum:
                scale = min(scale, (limit.maximum - at_rest) / (asked - at_rest))
                raised = (limit.coefficients > 0.0) & (values > self.rest)
                lowered = (limit.coefficients < 0.0) & (values < self.rest)
                flags[raised] |= np.uint16(Flag.AT_UPPER_LIMIT)
                flags[lowered] |= np.uint16(Flag.AT_LOWER_LIMIT)
        if scale < 1.0:
            values = self.rest + scale * (values - self.rest)
        return values
