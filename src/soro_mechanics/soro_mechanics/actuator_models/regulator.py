# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Proportional pressure regulators and what is behind them: lag, flow, leaks, blocked lines.

Pressures follow a lag, or, where the file gives the valves' conductance, the air that flows
through them into chambers: these lose pressure as the body makes them larger, and a blocked one
is a gas spring.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from soro_mechanics.actuator_models.pneumatics import (
    AMBIENT,
    Chamber,
    GAS_CONSTANT,
    TEMPERATURE,
    Valve,
)
from soro_mechanics.core.configuration import Array
from soro_mechanics.robot_file.record import given, read_record
from soro_mechanics.robot_file.section import Section

MAX_STEP = 0.002  # s, well below every time constant: exact exponentials in between
LONGEST = 5.0  # s that valves take at most to come to rest: a computer may have slept
STILL = 1e-9  # Pa moved in a step: at rest


@dataclass(frozen=True)
class RegulatorProperties:
    """Properties of one kind of regulator; the defaults are assumed."""

    #: of the pressure behind a step of the command
    time_constant: float = given('s', 0.08, positive=True)
    flow_limit: float = given('Pa/s', 15e5, positive=True)  #: fastest change of pressure
    supply: float = given('Pa', 4e5, positive=True)  #: gauge
    #: with the supply cut and the line open to the air
    vent_time_constant: float = given('s', 0.06, positive=True)
    #: standard deviation of the regulators' gains about one
    gain_error: float = given('1', 0.01, minimum=0.0, maximum=0.2)
    valve: Valve | None = None  #: inlet and outlet; None: a lag
    #: of the line behind a valve; chambers of segments come on top
    volume: float = given('m^3', 5e-6, positive=True)
    full_opening: float = given('Pa', 1e4, positive=True)  #: error at which a valve is open


def read_regulator(root: Section) -> RegulatorProperties:
    """Read the optional mapping ``regulator``."""
    with root.optional('regulator') as s:
        valve = read_record(s, Valve) if 'conductance' in s else None
        return read_record(s, RegulatorProperties, valve=valve)


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
        self._volume, self._within = np.full(count, properties.volume), 0.0
        self._chamber = Chamber(self._volume)
        self.clear_faults()
        self.supplied = True

    def clear_faults(self) -> None:
        """Repair everything."""
        count = len(self.pressure)
        self.leak = np.zeros(count)
        self.blocked = np.zeros(count, bool)
        self.stuck_open = np.zeros(count, bool)
        self.supply = self._properties.supply

    def fill(self, volume: Array, within: float) -> None:
        """Let the body's chambers (m,) [m^3] have other volumes `within` a time [s]."""
        self._volume, self._within = self._properties.volume + volume, within

    def advance(self, setpoint: Array, duration: float) -> None:
        """Let `duration` [s] pass with set-points [Pa]."""
        p = self._properties
        if p.valve is not None:
            return self._flow(p.valve, np.minimum(self._gain * setpoint, self.supply), duration)
        steps = max(1, int(np.ceil(duration / MAX_STEP)))
        dt = duration / steps
        goal = np.minimum(self._gain * setpoint, self.supply)
        np.copyto(goal, self.supply, where=self.stuck_open)
        tau = p.time_constant
        if not self.supplied:
            goal, tau = np.zeros_like(goal), p.vent_time_constant
        follow = 1.0 - math.exp(-dt / tau)
        kept = np.exp(-self.leak * dt)
        limit = p.flow_limit * dt
        for _ in range(steps):
            change = np.maximum(np.minimum(follow * (goal - self.pressure), limit), -limit)
            after = (self.pressure + change) * kept
            np.copyto(after, self.pressure, where=self.blocked)
            moved = max(map(abs, (after - self.pressure).tolist()))
            self.pressure = after
            if moved < STILL:
                break  # nothing moves any more, however long this lasts

    def _flow(self, valve: Valve, goal: Array, duration: float) -> None:
        """Let air flow while the body changes the volumes."""
        chamber, full = self._chamber, self._properties.full_opening
        duration = min(duration, LONGEST)

        def flow(inside: Array) -> Array:
            opening = np.clip((goal + AMBIENT - inside) / full, -1.0, 1.0)
            opening[self.stuck_open] = 1.0
            if not self.supplied:
                opening[:] = -1.0
            fed = valve.mass_flow(self.supply + AMBIENT, inside, np.maximum(opening, 0.0))
            let = valve.mass_flow(inside, AMBIENT, np.maximum(-opening, 0.0))
            lost = self.leak * (inside - AMBIENT) * chamber.volume / (GAS_CONSTANT * TEMPERATURE)
            return np.where(self.blocked, 0.0, fed - let - lost)

        moving = min(duration, self._within)
        share = moving / self._within if self._within > 0.0 else 1.0
        self._within -= moving
        chamber.advance(flow, moving, chamber.volume + share * (self._volume - chamber.volume))
        self.pressure = chamber.advance(flow, duration - moving) - AMBIENT
