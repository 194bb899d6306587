# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Simulated actuators with a lag, a rate and the safe state of real ones, in any time. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
from typing import Any

import numpy as np

from soro_mechanics.actuator_models.motor import PositionDrive
from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.configuration import Array
from soro_simulated_driver.protocol import EXPIRED, Kind, Packet, State

Log = Callable[..., None]
PRESSURE = 1e-3  # of the range: below it nothing is pressurised
MAX_TTL = 10.0  # s, of a set-point, whatever it asks for


class SimulatedBank:
    """Actuators that follow set-points while armed, and go safe when none come.

    The safe action lets pressures go to rest and holds everything else where it is.

    - `axes`: what moves.
    - `boot`: identifies this run.
    - `log`: called with (event, time, **values).
    - `now` [s]

    Attribute `targets` (m,): what the axes act on [SI].
    """

    def __init__(
        self,
        actuators: Sequence[Actuator],
        axes: Sequence[PositionDrive],
        boot: int,
        log: Log,
        now: float,
    ) -> None:
        self._rest = np.array([a.rest for a in actuators])
        self._low = np.array([a.minimum for a in actuators])
        self._high = np.array([a.maximum for a in actuators])
        self._pressure = np.array([a.quantity == 'pressure' for a in actuators])
        self._boot, self._log = boot, log
        self.axes = axes
        self._time, self._end = now, math.inf
        self._heard, self._flags = 0, 0
        self.state = State.SAFE
        self.targets = self._rest.copy()

    def advance(self, now: float) -> None:
        """Let time pass up to `now` [s]."""
        if now <= self._time:
            return
        if self.state is State.ARMED and now > self._end:
            self._move(self._end)
            self._flags = EXPIRED
            self._go_safe(self._end, 'expired')
        self._move(now)

    def receive(self, packet: Packet, now: float) -> Packet | None:
        """Act on a packet; return the answer, or None where there is none."""
        self.advance(now)
        if packet.kind is Kind.HELLO:
            return Packet(Kind.IDENTITY, len(self.values), now, self._boot)
        if packet.kind not in (Kind.ARM, Kind.DISARM, Kind.RESET, Kind.SETPOINTS):
            return None
        self._heard = packet.sequence
        if packet.kind is Kind.ARM:
            self._flags = 0
            self._end = math.inf  # the time to live begins with the first set-point
            self._enter(State.ARMED, now)
        elif packet.kind is Kind.SETPOINTS:
            self._take(packet, now)
        else:
            if packet.kind is Kind.RESET:
                self._flags = 0
            self._go_safe(now, packet.kind.name.lower())
        return self.report()

    def report(self) -> Packet:
        """Return the present state."""
        both = np.concatenate([self.values, self.targets])
        return Packet(
            Kind.STATE, self._heard, self._time, self._boot, self.state, self._flags, both
        )

    def lost(self, now: float) -> None:
        """Go safe: whoever commanded has hung up."""
        self.advance(now)
        if self.state is State.ARMED:
            self._go_safe(now, 'disconnected')

    @property
    def values(self) -> Array:
        """What the actuators do, (m,) [SI]."""
        return np.array([axis.value for axis in self.axes])

    @property
    def pressurised(self) -> bool:
        """Whether a pressure is above rest."""
        above = self.values - self._rest > PRESSURE * (self._high - self._low)
        return bool((above & self._pressure).any())

    def _take(self, packet: Packet, now: float) -> None:
        if self.state is not State.ARMED or len(packet.values) != len(self.values):
            self._log('refused', now, state=self.state.name, values=len(packet.values))
            return
        targets = np.clip(packet.values, self._low, self._high)
        if not np.array_equal(targets, self.targets):
            self._log('output', now, values=targets.tolist())
        self.targets = targets
        self._end = now + min(max(packet.time, 0.0), MAX_TTL)

    def _go_safe(self, now: float, why: str) -> None:
        self.targets = np.where(self._pressure, self._rest, self.values)
        self._enter(State.SAFE, now, why=why)

    def _enter(self, state: State, now: float, **values: Any) -> None:
        if state is not self.state:
            self.state = state
            self._log('state', now, state=state.name, **values)

    def _move(self, now: float) -> None:
        step = now - self._time
        self._time = now
        before = self.pressurised
        for axis, target in zip(self.axes, self.targets.tolist(), strict=True):
            axis.follow(target, step)
        if self.pressurised != before:
            self._log('vented' if before else 'pressurised', now)
