# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""When something happens in a motion: where functions of time and stepper change their sign."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
from typing import NamedTuple

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.dynamics.stepper import Stepper, StepReport

NEAR = 1e-6  # of a step, to which a time is found
FIRST = 1e-3  # of a step, before which it is not looked for: accelerations drown in round-off

# f(time [s], stepper); as scipy's solve_ivp has it, attributes may say `terminal` (it ends the
# simulation) and `direction` (1: only upwards, -1: only downwards).
Watched = Callable[[float, Stepper], float]


class Event(NamedTuple):
    """Where a function changed its sign."""

    time: float  # s
    tip: Array  # (4, 4)
    tip_twist: Array  # (6,)


class Watch:
    """Finds events by taking a step again, shorter; what only marks disturbs no motion."""

    def __init__(self, functions: Sequence[Watched], stepper: Stepper) -> None:
        self.found: list[list[Event]] = [[] for _ in functions]
        self._functions, self._of, self._first = functions, stepper, stepper.time
        self._values = [self._value(i) for i in range(len(functions))]

    def _value(self, i: int) -> float:
        value = float(self._functions[i](self._of.time - self._first, self._of))
        if not math.isfinite(value):
            raise InvalidInput('events', value, 'finite numbers')
        return value

    def step(self, advance: Callable[[float], StepReport], step: float) -> tuple[StepReport, bool]:
        """Take a step; also whether an event ended the simulation in it."""
        from scipy.optimize import brentq  # half a second of a planner's start

        if not self._functions:
            return advance(step), False
        back, before = self._of.save(), self._values
        report = advance(step)
        if not report.taken:
            return report, False
        self._values = [self._value(i) for i in range(len(before))]
        after, at = self._of.save(), {}

        def value(part: float, i: int) -> float:
            back()
            advance(part * step)
            return self._value(i)

        for i, (f, a, b) in enumerate(zip(self._functions, before, self._values, strict=True)):
            if a == 0.0 or a * b > 0.0 or getattr(f, 'direction', 0) * (b - a) < 0.0:
                continue
            late = value(FIRST, i) * a > 0.0
            at[i] = brentq(value, FIRST, 1.0, (i,), xtol=NEAR) if late else FIRST
        last = min(
            (p for i, p in at.items() if getattr(self._functions[i], 'terminal', 0)), default=2
        )
        for i, part in sorted(at.items(), key=lambda found: found[1]):
            if part <= last:
                value(part, i)
                time = self._of.time - self._first
                self.found[i].append(Event(time, self._of.tip, self._of.tip_twist))
        if last > 1.0:
            after()
        return report, last <= 1.0
