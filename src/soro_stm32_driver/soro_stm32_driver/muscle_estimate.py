# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the muscles are: from what the valves did, and from sensors where there are any.

Three muscles share one backbone that does not change its length, so only their differences bend a
module. `free` is the length a muscle would have alone; the lengths of the robot file are those in
the module: rest plus the difference from the module's mean.
"""

from __future__ import annotations

import math

import numpy as np

from soro_stm32_driver.muscle_curves import Array
from soro_stm32_driver.protocol import MUSCLES, ValveTimes, Worked
from soro_stm32_driver.wiring import PER_MODULE, Stm32Wiring

MILLISECOND = 1e-3
VENTED = 0.02  # s: a smaller state after venting is no part of an error of the lengths
SLACK = 0.3e-3  # m: measured so far above empty, a muscle is not empty


def without_mean(values: Array) -> Array:
    """Return values (30,) less the mean of each module."""
    modules = values.reshape(-1, PER_MODULE)
    return (modules - modules.mean(axis=1, keepdims=True)).reshape(-1)


def free_lengths(lengths: Array, wiring: Stm32Wiring) -> Array:
    """Return the free lengths (30,) [m] for lengths in the module, with least air.

    The shortest muscle of a module is emptied down to the preload; the others stand above it
    by their differences.
    """
    modules = lengths.reshape(-1, PER_MODULE)
    above = (modules - modules.min(axis=1, keepdims=True)).reshape(-1)
    shortest = np.array([c.shortest for c in wiring.curves]).reshape(-1, PER_MODULE)
    floor = np.repeat(shortest.max(axis=1) + wiring.preload, PER_MODULE)
    # At rest nothing is inflated: a robot that was never moved stays completely vented.
    moved = np.repeat(np.ptp(modules, axis=1) > 0.0, PER_MODULE)
    result: Array = np.where(moved, floor + above, shortest.reshape(-1))
    return result


class MuscleEstimate:
    """States of all muscles, by dead reckoning over `ValveTimes`.

    Parameters
    ----------
    wiring : Stm32Wiring

    Attributes
    ----------
    state : ndarray, shape (30,) [s]
        Equivalent inflation times (see `muscle_curves`).
    known : bool
        Whether the muscles were vented since the device started. Before, the state is that of
        muscles that were full: the most there can be left.
    """

    def __init__(self, wiring: Stm32Wiring) -> None:
        self._wiring = wiring
        self._fullest = np.array([c.fullest for c in wiring.curves])
        self.state = self._fullest.copy()
        self.known = False
        self._last: ValveTimes | None = None
        self._worked = np.zeros((MUSCLES, 2))
        self._owed = np.zeros((MUSCLES, 2))

    def restart(self) -> None:
        """Know nothing (another device, or one that was restarted)."""
        self.state[:] = self._fullest
        self.known = False
        self._last = None
        self._worked[:] = self._owed[:] = 0.0

    @property
    def evacuated(self) -> bool:
        """Whether what the deflation valves did suffices to empty every muscle, full or not."""
        return bool(np.all(self.state <= VENTED))

    def vented(self) -> None:
        """Take note that the device has vented: what is left is known."""
        self.known = True

    @property
    def worked(self) -> Array:
        """Relay-on times since `restart`, shape (30, 2): inflate, deflate [s]."""
        return self._worked

    @property
    def free(self) -> Array:
        """Free lengths, shape (30,) [m]."""
        return self.free_of(self.state)

    def free_of(self, state: Array) -> Array:
        """Return the free lengths (30,) [m] of states."""
        pairs = zip(self._wiring.curves, state, strict=True)
        return np.array([curve.length(s) for curve, s in pairs])

    @property
    def lengths(self) -> Array:
        """Lengths in the module, shape (30,) [m]; NaN while nothing is known."""
        if not self.known:
            return np.full(MUSCLES, math.nan)
        return self._wiring.rest + without_mean(self.free)

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
        """Move the estimate toward measured lengths (30,) [m]; NaN: no sensor there.

        Only differences within a module show in the lengths; its mean stays as reckoned.
        """
        whole = np.isfinite(measured.reshape(-1, PER_MODULE)).all(axis=1)
        use = np.repeat(whole, PER_MODULE)
        if not use.any():
            return
        free = self.free
        error = np.where(use, without_mean(np.nan_to_num(measured)) - without_mean(free), 0.0)
        for i in np.flatnonzero(error):
            curve = self._wiring.curves[i]
            if curve.slack(self.state[i]) < curve.shortest and error[i] < SLACK:
                continue  # no length tells how far a muscle is evacuated
            length = free[i] + self._wiring.correction * error[i]
            self.state[i] = curve.state(min(max(length, curve.shortest), curve.longest))

    def after(self, inflate: Array, deflate: Array) -> Array:
        """Return the states (30,) after further relay-on times (30,) [s] of both valves."""
        return np.array([self._after(i, inflate[i], deflate[i]) for i in range(MUSCLES)])

    def _after(self, i: int, inflate: float, deflate: float) -> float:
        curve, state = self._wiring.curves[i], float(self.state[i])
        if inflate > 0.0:
            state = curve.inflated(state, inflate)
        return curve.deflated(state, deflate) if deflate > 0.0 else state

    def _effective(self, i: int, new: Worked, old: Worked) -> tuple[float, float]:
        dead = self._wiring.dead_time
        inflate = ((new.inflate - old.inflate) & 0xFFFF) * MILLISECOND
        deflate = ((new.deflate - old.deflate) & 0xFFFF) * MILLISECOND
        self._worked[i] += inflate, deflate
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
