# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From lengths that are wanted to valve times: who opens what for how long. Pure.

What has been sent and not been reported as done yet counts as done, so nothing is asked for twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soro_stm32_driver.muscle_curves import Array
from soro_stm32_driver.muscle_estimate import free_lengths, MuscleEstimate
from soro_stm32_driver.protocol import Action, MAX_ACTION, Timed
from soro_stm32_driver.wiring import Stm32Wiring

OVERSHOOT = 0.75  # of the shortest pulse; its dead time off, half of what it does
FINEST = 3e-3  # s of flow: less is left as it is
RESERVE = 2e-3  # s by which the way back is longer than the shortest pulse


@dataclass(frozen=True)
class ValvePlan:
    """What to send now."""

    actions: tuple[Timed, ...]  #: at most one per muscle
    held_back: Array  #: (m,); muscles that the supply does not feed now; they come later
    exhausted: Array  #: (m,); muscles whose inflation budget ends below what is wanted


class ValvePlanner:
    """Plans the next actions of all muscles.

    - `horizon`: longest part of a way that is sent at once [s]: a later command may still change
      its mind.
    """

    def __init__(self, wiring: Stm32Wiring, estimate: MuscleEstimate, horizon: float) -> None:
        self._wiring, self._estimate = wiring, estimate
        self._longest = min(int(horizon * 1e3), MAX_ACTION)
        self._shortest = int(np.ceil(wiring.shortest_pulse * 1e3))

    def plan(
        self, lengths: Array, pending: Array, begun: Array, settled: bool = False
    ) -> ValvePlan:
        """Return what brings the muscles toward lengths (m,) [m].

        `lengths` (m,): wanted, in the module [m]; `pending` (m, 2): relay-on times sent but not
        reported yet: inflate, deflate [s]; `begun` (m, 2): valves that were open by then: their
        dead times are over; `settled`: the lengths no longer change: what is too little for a
        valve is brought about by two pulses, there and back.
        """
        target = free_lengths(lengths, self._wiring)
        flow = np.maximum(pending - np.where(begun, 0.0, self._wiring.dead_time), 0.0)
        state = self._estimate.after(flow[:, 0], flow[:, 1])
        wanted, exhausted = self._wanted(state, target, pending)
        if settled:
            self._run_up(wanted, state, target)
        room = self._longest - np.rint(pending.sum(axis=1) * 1e3)
        duration = np.rint(np.abs(wanted) * 1e3)
        # Less than half too much is nearer to what is wanted than nothing.
        ready = duration >= (self._shortest if settled else OVERSHOOT * self._shortest)
        duration = np.minimum(np.maximum(duration, self._shortest), room)
        ready &= duration >= self._shortest
        inflate, held_back = self._within_supply(wanted, pending[:, 0] > 0.0, ready)
        actions = tuple(
            Timed(int(i), Action.INFLATE if wanted[i] > 0.0 else Action.DEFLATE, int(duration[i]))
            for i in np.flatnonzero(ready & (inflate | (wanted < 0.0)))
        )
        return ValvePlan(actions, held_back, exhausted)

    def _wanted(self, state: Array, target: Array, pending: Array) -> tuple[Array, Array]:
        """Return relay-on times (m,) [s], deflation negative, and whose budget ends before."""
        dead = self._wiring.dead_time
        wanted, exhausted = np.zeros(state.size), np.zeros(state.size, bool)
        for i, curve in enumerate(self._wiring.curves):
            seconds = curve.time_to(state[i], target[i])
            if seconds > 0.0 and state[i] + seconds > self._wiring.budget:
                seconds = max(0.0, self._wiring.budget - state[i])
                exhausted[i] = True
            kind = 0 if seconds > 0.0 else 1
            idle = pending[i, kind] == 0.0  # else the valve stays open and loses nothing
            if seconds != 0.0:
                wanted[i] = seconds + np.copysign(dead[kind] if idle else 0.0, seconds)
        return wanted, exhausted

    def _run_up(self, wanted: Array, state: Array, target: Array) -> None:
        """Where less than a shortest pulse is missing, go the other way first, in place."""
        dead, shortest = self._wiring.dead_time, self._wiring.shortest_pulse
        for i, curve in enumerate(self._wiring.curves):
            kind = 0 if wanted[i] > 0.0 else 1
            effective = abs(wanted[i]) - dead[kind]
            if not FINEST <= effective < shortest - dead[kind] or target[i] <= curve.shortest:
                continue
            back = np.copysign(shortest + RESERVE - dead[kind], wanted[i])
            there = curve.time_to(state[i], curve.run_up(target[i], back))
            if there * wanted[i] < 0.0:
                wanted[i] = np.copysign(max(abs(there) + dead[1 - kind], shortest), there)

    def _within_supply(self, wanted: Array, busy: Array, ready: Array) -> tuple[Array, Array]:
        """Choose who may be inflated: those under way first, then those who need it most."""
        asks = ready & (wanted > 0.0)
        places = self._wiring.simultaneous - int(np.count_nonzero(busy & ~asks))
        order = np.lexsort((-wanted, ~busy))
        chosen = np.zeros(wanted.size, bool)
        chosen[[i for i in order if asks[i]][: max(0, places)]] = True
        return chosen, asks & ~chosen
