# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The valves of the board: a queue per muscle, one valve at a time, staggered relays."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from soro_stm32_driver import protocol as f3
from soro_stm32_driver.emulator.properties import BoardProperties
from soro_stm32_driver.pairing import Pairing

HOLD = f3.Action.HOLD
STAGGER = 2  # ms between two relays that pull in
DEFLATION_WEIGHT = 2  # deflating pays inflation back so much faster
DEEPEST_QUEUE = 8  # actions of one muscle
BUDGET_LEAK = 1.0 / 1.8e6  # of the budget that comes back per ms


class _Muscle:
    """One muscle's pair of valves: at most one is open, and one pauses before the other opens."""

    def __init__(self) -> None:
        self.queue: deque[f3.Timed] = deque()
        self.running = HOLD
        self.began = self.ends = self.ready = 0
        self.worked = [0, 0]
        self.switched = [0, 0]
        self.net = 0.0  # ms of inflation

    @property
    def busy(self) -> bool:
        return self.running is not HOLD or bool(self.queue)

    @property
    def inflation_waiting(self) -> int:
        """Milliseconds of inflation that wait."""
        return sum(a.duration for a in self.queue if a.action == f3.Action.INFLATE)

    @property
    def inflates(self) -> bool:
        return self.running is f3.Action.INFLATE or self.inflation_waiting > 0


class Valves:
    """All muscles' valves.

    - `switch`: gets (kind, muscle, on) at every change of a coil.
    - `vented`: called when venting has ended.
    """

    def __init__(
        self,
        properties: BoardProperties,
        pairing: Pairing,
        switch: Callable[[int, int, bool], None],
        vented: Callable[[], None],
    ) -> None:
        self._properties, self.pairing = properties, pairing
        self._switch, self._vented = switch, vented
        self.muscles = [_Muscle() for _ in range(pairing.count)]
        self._working: set[int] = set()  # muscles with something to do, or that just ended it
        self.coils = 0
        self._venting_until: int | None = None
        self._pull_in = 0
        self._tick = self._next = 0  # and when something happens again

    @property
    def venting(self) -> bool:
        """Whether everything is being deflated."""
        return self._venting_until is not None

    @property
    def busy(self) -> bool:
        """Whether any coil is on or anything waits."""
        return self.coils != 0 or any(self.muscles[i].queue for i in self._working)

    @property
    def active(self) -> int:
        """Bit per muscle at work."""
        return sum(1 << i for i, m in enumerate(self.muscles) if m.busy)

    @property
    def queued(self) -> int:
        """Actions that wait."""
        return sum(len(m.queue) for m in self.muscles)

    @property
    def budget_left(self) -> int:
        """Of the muscle that has the least [ms]."""
        return max(
            0, self._properties.budget - round(max((m.net for m in self.muscles), default=0.0))
        )

    def end(self, tick: int) -> int:
        """Return when the last action that waits will have ended, without staggering [ms]."""
        ends = []
        for m in self.muscles:
            begin = m.ends if m.running is not HOLD else max(tick, m.ready)
            ends.append(begin + sum(a.duration for a in m.queue) if m.busy else tick)
        return max(ends, default=tick)

    def append(self, action: f3.Timed) -> None:
        """Let an action wait behind those of its muscle."""
        if action.action != HOLD:
            self.muscles[action.muscle].queue.append(action)
            self._working.add(action.muscle)
            self._next = 0

    def step(self, tick: int) -> None:
        """Pass one millisecond."""
        self._tick = tick
        if self._venting_until is not None and tick >= self._venting_until:
            self._venting_until = None
            for i, m in enumerate(self.muscles):
                self._off(i, m)
                m.net = 0.0
            self._vented()
        if tick < self._next:
            return
        for i in sorted(self._working):
            if self.muscles[i].busy:
                self._work(i, self.muscles[i], tick)
            else:
                self._working.remove(i)
        working = [self.muscles[i] for i in self._working]
        nexts = [max(m.ready, self._pull_in) if m.running is HOLD else m.ends for m in working]
        self._next = min(nexts, default=0)

    def drop(self) -> None:
        """Close every valve and forget what waits."""
        self._venting_until = None
        self.close_all()

    def close_all(self) -> None:
        """Let every coil fall."""
        for i, m in enumerate(self.muscles):
            m.queue.clear()
            self._off(i, m)
        rest, self.coils = self.coils, 0
        for i in range(self.pairing.count):  # what was set by bitmap
            for kind in (0, 1):
                if rest & self.pairing.bit(i, kind):
                    self._switch(kind, i, False)

    def vent(self, tick: int) -> None:
        """Close every inflation valve and open every deflation valve for the vent time."""
        self.close_all()
        self._tick = tick
        # The last relay pulls in after its pause and all the staggering.
        last = f3.MIN_ACTION + self.pairing.count * STAGGER
        self._venting_until = tick + self._properties.vent_time + last
        for i in range(self.pairing.count):
            self.append(f3.Timed(i, f3.Action.DEFLATE, self._properties.vent_time + last))

    def set_bitmap(self, coils: int) -> None:
        """Set coils directly; the caller has checked the interlock."""
        for i in range(self.pairing.count):
            for kind in (0, 1):
                bit = self.pairing.bit(i, kind)
                if (coils ^ self.coils) & bit:
                    self._switch(kind, i, bool(coils & bit))
        self.coils = coils

    def times(self, time: int) -> f3.ValveTimes:
        """Return what every valve has done."""
        rows = []
        for m in self.muscles:
            worked = list(m.worked)
            if m.running is not HOLD:
                worked[m.running - 1] += self._tick - m.began
            rows.append(
                f3.Worked(
                    worked[0] & 0xFFFF,
                    worked[1] & 0xFFFF,
                    m.switched[0] & 0xFF,
                    m.switched[1] & 0xFF,
                )
            )
        return f3.ValveTimes(time, tuple(rows))

    def _work(self, i: int, m: _Muscle, tick: int) -> None:
        if m.running is not HOLD:
            if tick < m.ends:
                return
            if m.queue and m.queue[0].action == m.running:
                m.ends += m.queue.popleft().duration  # stays open: no dead time in between
                return
            self._off(i, m)
        if m.queue and tick >= m.ready and tick >= self._pull_in:
            action = m.queue.popleft()
            m.running, m.began = f3.Action(action.action), tick
            m.ends = tick + action.duration
            m.switched[m.running - 1] += 1
            self._pull_in = tick + STAGGER
            self.coils |= self.pairing.bit(i, m.running - 1)
            self._switch(m.running - 1, i, True)

    def _off(self, i: int, m: _Muscle) -> None:
        if m.running is HOLD:
            return
        kind, on = m.running - 1, self._tick - m.began
        m.worked[kind] += on
        leak = m.net * BUDGET_LEAK * max(0, self._tick - m.ready)
        m.net = max(0.0, m.net - leak + (on if kind == 0 else -DEFLATION_WEIGHT * on))
        self.coils &= ~self.pairing.bit(i, kind)
        m.running = HOLD
        m.ready = self._tick + f3.MIN_ACTION  # also lets the other valve close first
        self._switch(kind, i, False)
