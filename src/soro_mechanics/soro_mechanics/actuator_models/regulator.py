# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Proportional pressure regulators and what is behind them: lag, flow, leaks, blocked lines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.robot_file.section import Section

Array = NDArray[np.float64]
MAX_STEP = 0.002  # s, well below every time constant: exact exponentials in between
STILL = 1e-9  # Pa moved in a step: at rest


@dataclass(frozen=True)
class RegulatorProperties:
    """Properties of one kind of regulator; the defaults are assumed."""

    time_constant: float = 0.08  # s, of the pressure behind a step of the command
    flow_limit: float = 15e5  # Pa/s, fastest change of pressure
    supply: float = 4e5  # Pa, gauge
    vent_time_constant: float = 0.06  # s, with the supply cut and the line open to the air
    gain_error: float = 0.01  # standard deviation of the regulators' gains about one


def read_regulator(root: Section) -> RegulatorProperties:
    """Read the optional mapping ``regulator``."""
    default = RegulatorProperties()
    if 'regulator' not in root:
        return default
    with root.section('regulator') as s:
        return RegulatorProperties(
            s.quantity('time_constant', 's', default.time_constant, positive=True),
            s.quantity('flow_limit', 'Pa/s', default.flow_limit, positive=True),
            s.quantity('supply', 'Pa', default.supply, positive=True),
            s.quantity('vent_time_constant', 's', default.vent_time_constant, positive=True),
            s.number('gain_error', default.gain_error, minimum=0.0, maximum=0.2),
        )


class RegulatorBank:
    """Pressures behind m regulators as functions of time.

    `pressure` (m,) [Pa, gauge]. `leak` (m,) [1/s]: pressure lost per second, as a part of the
    pressure; the regulator works against it. `blocked`, `stuck_open` (m,): a blocked line keeps
    its pressure; a stuck regulator lets the supply through. `supply` [Pa]. `supplied`: False where
    the safety relay has cut the supply and opened the lines to the air.
    """

    def __init__(
        self, count: int, properties: RegulatorProperties, generator: np.random.Generator
    ) -> None:
        self._properties = properties
        self._gain = 1.0 + properties.gain_error * generator.standard_normal(count)
        self.pressure = np.zeros(count)
        self.clear_faults()
        self.supplied = True

    def clear_faults(self) -> None:
        """Repair everything."""
        count = len(self.pressure)
        self.leak = np.zeros(count)
        self.blocked = np.zeros(count, bool)
        self.stuck_open = np.zeros(count, bool)
        self.supply = self._properties.supply

    def advance(self, setpoint: Array, duration: float) -> None:
        """Let `duration` [s] pass with set-points [Pa]."""
        p = self._properties
        steps = max(1, int(np.ceil(duration / MAX_STEP)))
        dt = duration / steps
        regulated = np.minimum(self._gain * setpoint, self.supply)
        goal = np.where(self.stuck_open, self.supply, regulated)
        tau = p.time_constant
        if not self.supplied:
            goal, tau = np.zeros_like(goal), p.vent_time_constant
        follow = 1.0 - np.exp(-dt / tau)
        lost = np.exp(-self.leak * dt)
        limit = p.flow_limit * dt
        for _ in range(steps):
            change = np.clip(follow * (goal - self.pressure), -limit, limit)
            after = np.where(self.blocked, self.pressure, (self.pressure + change) * lost)
            moved = float(np.max(np.abs(after - self.pressure)))
            self.pressure = after
            if moved < STILL:
                break  # nothing moves any more, however long this lasts
