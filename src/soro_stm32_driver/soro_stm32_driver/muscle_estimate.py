# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the muscles are: from what the valves did, and from sensors where there are any.

The muscles of a module share one backbone that does not change its length, so only their
differences bend it; a module of one muscle has none. `free` is the length a muscle would have
alone; the lengths of the robot file are those in the module: rest plus the difference from the
module's mean.
"""

from __future__ import annotations

import math

import numpy as np

from soro_stm32_driver.muscle_curves import Array
from soro_stm32_driver.protocol import ValveTimes, Worked
from soro_stm32_driver.wiring import Stm32Wiring

MILLISECOND = 1e-3
VENTED = 0.02  # s: a smaller state after venting is no part of an error of the lengths
SLACK = 0.3e-3  # m: measured so far above empty, a muscle is not empty


def without_mean(values: Array, per_module: int) -> Array:
    """Return values (m,) less the mean of each module; of one muscle the values themselves."""
    if per_module == 1:
        return values
    modules = values.reshape(-1, per_module)
    return (modules - modules.mean(axis=1, keepdims=True)).reshape(-1)


def free_lengths(lengths: Array, wiring: Stm32Wiring) -> Array:
    """Return the free lengths (m,) [m] for lengths in the module, with least air.

    The shortest muscle of a module is emptied down to the preload; the others stand above it
    by their differences.
    """
    per = wiring.per_module
    if per == 1:
        return np.maximum(lengths, [c.shortest for c in wiring.curves])
    modules = lengths.reshape(-1, per)
    above = (modules - modules.min(axis=1, keepdims=True)).reshape(-1)
    shortest = np.array([c.shortest for c in wiring.curves]).reshape(-1, per)
    floor = np.repeat(shortest.max(axis=1) + wiring.preload, per)
    # At rest nothing is inflated: a robot that was never moved stays completely vented.
    moved = np.repeat(np.ptp(modules, axis=1) > 0.0, per)
    return np.where(moved, floor + above, shortest.reshape(-1))


class MuscleEstimate:
    """States of all muscles, by dead reckoning over `ValveTimes`.

    - `state` (m,) [s]: equivalent inflation times (see `muscle_curves`).
    - `worked` (m, 2): relay-on times since `restart`: inflate, deflate [s].
    - `known`: whether the muscles were vented since the device started. Before, the state is that
      of muscles that were full: the most there can be left.
    """

    def __init__(self, wiring: Stm32Wiring) -> None:
        self._wiring = wiring
        self._fullest = np.array([c.fullest for c in wiring.curves])
        self.state = self._fullest.copy()
        self.known = False
        self._last: ValveTimes | None = None
        self.worked, self._owed = np.zeros((2, len(wiring.curves), 2))

    def restart(self) -> None:
        """Know nothing (another device, or one that was restarted)."""
        self.state[:] = self._fullest
        self.known = False
        self._last = None
        self.worked[:] = self._owed[:] = 0.0

    @property
    def evacuated(self) -> bool:
        """Whether what the deflation valves did suffices to empty every muscle, full or not."""
        return bool(np.all(self.state <= VENTED))

    @property
    def free(self) -> Array:
        """Free lengths, shape (m,) [m]."""
        pairs = zip(self._wiring.curves, self.state, strict=True)
        return np.array([curve.length(s) for curve, s in pairs])

    @property
    def lengths(self) -> Array:
        """Lengths in the module, shape (m,) [m]; NaN while nothing is known."""
        if not self.known:
            return np.full(len(self.state), math.nan)
        per, free = self._wiring.per_module, self.free
        return free if per == 1 else self._wiring.rest + without_mean(free, per)

    def update(self, times: ValveTimes) -> None:
        """Take in what the valves did since the last time."""
        last, self._last = self._last, times
        if last is None:
            return
        elapsed = ((times.time - last.time) & 0xFFFFFFFF) * MILLISECOND
        for i, (new, old) in enumerate(zip(times.muscles, last.muscles, strict=True)):
            inflate, deflate = self._effective(i, new, old)
            self.state[i] = self._after(i, inflate, deflate)
        self._leak(elapsed)

    def correct(self, measured: Array) -> None:
        """Move the estimate toward measured lengths (m,) [m]; NaN: no sensor there.

        Only differences within a module show in the lengths; its mean stays as reckoned.
        """
        per = self._wiring.per_module
        whole = np.isfinite(measured.reshape(-1, per)).all(axis=1)
        use = np.repeat(whole, per)
        if not use.any():
            return
        free = self.free
        off = without_mean(np.nan_to_num(measured), per) - without_mean(free, per)
        error = np.where(use, off, 0.0)
        for i in np.flatnonzero(error):
            curve = self._wiring.curves[i]
            if curve.slack(self.state[i]) < curve.shortest and error[i] < SLACK:
                continue  # no length tells how far a muscle is evacuated
            length = free[i] + self._wiring.correction * error[i]
            self.state[i] = curve.state(min(max(length, curve.shortest), curve.longest))

    def after(self, inflate: Array, deflate: Array) -> Array:
        """Return the states (m,) after further relay-on times (m,) [s] of both valves."""
        return np.array([self._after(i, inflate[i], deflate[i]) for i in range(len(self.state))])

    def _after(self, i: int, inflate: float, deflate: float) -> float:
        curve, state = self._wiring.curves[i], float(self.state[i])
        if inflate > 0.0:
            state = curve.inflated(state, inflate)
        return curve.deflated(state, deflate) if deflate > 0.0 else state

    def _effective(self, i: int, new: Worked, old: Worked) -> tuple[float, float]:
        dead = self._wiring.dead_time
        inflate = ((new.inflate - old.inflate) & 0xFFFF) * MILLISECOND
        deflate = ((new.deflate - old.deflate) & 0xFFFF) * MILLISECOND
        self.worked[i] += inflate, deflate
        inflate -= ((new.inflations - old.inflations) & 0xFF) * dead[0]
        deflate -= ((new.deflations - old.deflations) & 0xFF) * dead[1]
        # A pulse that began just before a report has its dead time in the next one: keep the debt.
        return self._debt(i, 0, inflate), self._debt(i, 1, deflate)

    def _debt(self, i: int, kind: int, seconds: float) -> float:
        total = seconds + self._owed[i, kind]
        self._owed[i, kind] = min(0.0, total)
        return max(0.0, total)

    def _leak(self, elapsed: float) -> None:
        part = -math.expm1(-elapsed / self._wiring.leak_time)
        for i, curve in enumerate(self._wiring.curves):
            slack = curve.slack(self.state[i])
            length = slack + part * (self._wiring.leak_length - slack)
            self.state[i] = curve.state(min(length, curve.longest))
