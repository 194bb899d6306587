# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Drives of emulated robots in virtual time: what a command makes of pressures and lengths.

`lag`: by how much time constants, latencies and delays of valves are longer than in the file.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np

from soro_mechanics.actuator_models.chamber_volume import chamber_volumes
from soro_mechanics.actuator_models.pneumatics import Valve
from soro_mechanics.actuator_models.regulator import read_regulator, RegulatorBank
from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.section import Section
from soro_studies.emulation.muscle_tracking import Player

STEP = 0.01  # s: of stream and device loop


class Regulators:
    """Pressures behind the regulators of the file, a period after their command."""

    period, age = STEP, 0.0  # s, of what is present

    def __init__(
        self, robot: Robot, lag: float, valve: Valve | None, device: Section, seed: int
    ) -> None:
        properties = read_regulator(device)
        properties = replace(properties, time_constant=lag * properties.time_constant, valve=valve)
        self._bank = RegulatorBank(len(robot.actuators), properties, np.random.default_rng(seed))
        self._late = deque([np.zeros(len(robot.actuators))])

    @property
    def true(self) -> Array:
        """What they are (m,) [SI]."""
        return self._bank.pressure.copy()

    present = true

    def advance(self, value: Array | None) -> None:
        """Let a period of the stream pass."""
        self._late.append(self._late[-1] if value is None else value)
        self._bank.advance(self._late.popleft(), STEP)

    def fill(self, parts: dict[str, Any], q: Configuration) -> None:
        """Let the body's chambers act back."""
        self._bank.fill(chamber_volumes(parts, q), 1.0 / 30.0)


class Muscles:
    """Lengths of muscles: the driver's loop and valve plan, radio, board, valves."""

    def __init__(
        self, robot: Robot, lag: float, valve: Valve | None, device: Section, seed: int
    ) -> None:
        self._player = Player(robot.description, seed=seed)
        self._rig, self._next = self._player.rig, 0.0
        self.period = self._rig.settings.period
        self._rig.bank._delays *= lag
        for line in (self._rig.link.to_device, self._rig.link.to_host):
            line._latency = tuple(lag * t for t in line._latency)
        self.present = np.array([a.rest for a in robot.actuators])
        self._taken = self._rig.clock.time

    @property
    def age(self) -> float:
        """How long ago the board told of what is present [s]."""
        return self._rig.clock.time - self._taken

    @property
    def true(self) -> Array:
        """What they are (m,) [m]."""
        return self._rig.bank.lengths.copy()

    def advance(self, value: Array | None) -> None:
        """Let a period of the stream pass; the driver takes what is newest at its own rate."""
        self._rig.link.pass_time(STEP)
        self._next -= STEP
        if self._next <= 0.0:
            self._next += self.period
            tick = self._player.command(value)
            there = np.where(np.isfinite(tick.measured), tick.measured, tick.applied)
            self.present = np.where(np.isfinite(there), there, self.present)
            self._taken = tick.time

    def fill(self, parts: dict[str, Any], q: Configuration) -> None:
        """Nothing acts back."""
