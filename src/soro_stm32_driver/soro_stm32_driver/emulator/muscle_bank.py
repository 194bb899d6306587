# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Thirty pneumatic muscles behind sixty relays and valves: the physics behind the valve board.

Each muscle is a volume between a supply and a vacuum, through two throttled valves and a leak;
its length follows from its pressure. Relays open and close late. Integration is exact between
switchings.
"""

from __future__ import annotations

from dataclasses import dataclass
import heapq

import numpy as np

from soro_emulation.device_emulator import Array
from soro_mechanics.robot_file.record import given
from soro_stm32_driver.muscle_estimate import without_mean

INFLATE, DEFLATE = 0, 1
KINDS = ('inflate', 'deflate')  # their names
OFTEN = 0.01  # s between integrations when nothing switches and nobody looks
LOW, HIGH = -50e3, 50e3  # Pa: completely deflated, completely inflated


@dataclass(frozen=True, kw_only=True)
class MuscleProperties:
    """``emulator.stm32.muscles``: everything a bank of muscles is made of; gauge pressures."""

    supply: float = given('Pa', positive=True)
    vacuum: float = given('Pa', maximum=LOW)
    #: inflate_time, deflate_time, leak_time: time constants of the pressure
    inflate_time: float = given('s', positive=True)
    deflate_time: float = given('s', positive=True)
    leak_time: float = given('s', positive=True)
    #: open_delay, close_delay: of relay and valve together
    open_delay: float = given('s', 0.0, minimum=0.0, maximum=0.1)
    close_delay: float = given('s', 0.0, minimum=0.0, maximum=0.1)
    #: shortest, longest: free lengths
    shortest: float = given('m', positive=True)
    longest: float = given('m', positive=True)
    #: how much the length bulges over a straight line of the pressure
    curvature: float = given('1', 0.0, minimum=-0.5, maximum=0.5)
    #: loss of supply per inflating muscle, as a part
    sag: float = given('1', 0.0, minimum=0.0, maximum=0.05)
    #: muscles and relays differ by up to this part
    spread: float = given('1', 0.0, minimum=0.0, maximum=0.3)
    #: of the muscles in the module: how much it bends
    radius: float = given('m', positive=True)


class MuscleBank:
    """All muscles of a robot, from the coils of the relays to lengths.

    - `supply` [Pa]: may be changed: a compressor that fails.
    - `leak` (m,) [1/s]: may be changed: a torn airbag.
    - `blocked`, `stuck` (m,): a blocked line; a deflation relay that does not pull in.
    - `overlaps`: how often both valves of a muscle let air through at the same time.
    """

    def __init__(
        self,
        rest: Array,
        properties: MuscleProperties,
        generator: np.random.Generator,
        now: float,
        per_module: int = 3,
    ) -> None:
        p, count = properties, rest.size
        self._properties, self._rest, self._per = p, rest, per_module

        def spread(value: float) -> Array:
            return value * (1.0 + p.spread * generator.uniform(-1.0, 1.0, count))

        self.supply = p.supply
        self._rates = np.stack([1.0 / spread(p.inflate_time), 1.0 / spread(p.deflate_time)])
        self._delays = np.stack([spread(p.close_delay), spread(p.open_delay)])
        self._healthy_leak = 1.0 / spread(p.leak_time)
        self.leak = self._healthy_leak.copy()
        self._bulge = spread(p.curvature)
        self._pressure = np.zeros(count)  # nobody knows after a night
        self.blocked, self.stuck = np.zeros(count, bool), np.zeros(count, bool)
        self._coil = np.zeros((2, count), bool)
        self._contact = np.zeros((2, count), bool)
        self._due: list[tuple[float, int, int, int, bool]] = []
        self._order = 0
        self._now = self._until = now
        self.overlaps = 0

    def repair(self) -> None:
        """End every fault."""
        self.supply = self._properties.supply
        self.leak = self._healthy_leak.copy()
        self.blocked[:] = self.stuck[:] = False

    def switch(self, kind: int, muscle: int, on: bool, at: float) -> None:
        """Set the coil of a valve at a time [s]."""
        self.advance(at)
        if self._coil[kind, muscle] == on:
            return
        self._coil[kind, muscle] = on
        self._order += 1
        late = self._delays[int(on), muscle]
        heapq.heappush(self._due, (at + late, self._order, kind, muscle, on))

    def advance(self, now: float) -> None:
        """Let time pass up to `now` [s]."""
        while self._due and self._due[0][0] <= now:
            at, _, kind, muscle, on = heapq.heappop(self._due)
            self._flow(at)
            # A coil that changed its mind before the contact moved has cancelled the motion.
            if self._coil[kind, muscle] == on:
                self.overlaps += int(on and self._contact[1 - kind, muscle])
                self._contact[kind, muscle] = on
        self._until = max(self._until, now)
        if now - self._now >= OFTEN:
            self._flow(now)

    @property
    def pressure(self) -> Array:
        """Pressures by now, shape (m,) [Pa]."""
        self._flow(self._until)
        return self._pressure

    @property
    def free(self) -> Array:
        """Lengths the muscles would have alone, shape (m,) [m]."""
        p = self._properties
        x = np.clip((self.pressure - LOW) / (HIGH - LOW), 0.0, 1.0)
        shape = x + self._bulge * x * (1.0 - x)
        return p.shortest + (p.longest - p.shortest) * shape

    @property
    def lengths(self) -> Array:
        """Lengths in the modules, shape (m,) [m]: the backbone keeps the mean.

        The chord between two disks is shorter than the backbone by the bend squared over 24.
        """
        per = self._per
        if per == 1:
            return self.free
        difference = without_mean(self.free, per)
        turn = np.exp(2j * np.pi * np.arange(per) / per)
        share = 2.0 / (per * self._properties.radius)
        bend = np.abs(difference.reshape(-1, per) @ turn) * share
        chord = np.repeat(1.0 - bend**2 / 24.0, per)
        return self._rest * chord + difference

    def _flow(self, now: float) -> None:
        seconds, self._now = now - self._now, max(now, self._now)
        if seconds <= 0.0:
            return
        p = self._properties
        inflate, deflate = self._contact & ~self.blocked
        deflate = deflate & ~self.stuck
        supply = self.supply / (1.0 + p.sag * np.count_nonzero(inflate))
        fill, empty = self._rates[INFLATE] * inflate, self._rates[DEFLATE] * deflate
        rate = fill + empty + self.leak
        end = (fill * supply + empty * p.vacuum) / rate
        self._pressure = end + (self._pressure - end) * np.exp(-rate * seconds)
