# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Air that flows through a valve (ISO 6358-1) into a chamber whose volume the body changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.robot_file.record import given

GAS_CONSTANT = 287.05  # J/(kg K), dry air
AMBIENT = 101325.0  # Pa
TEMPERATURE = 293.15  # K: reference of ISO 6358 (ISO 8778), 20 C
REFERENCE_DENSITY = 1.185  # kg/m^3, ISO 8778: 100 kPa, 20 C, 65 % relative humidity
LAMINAR = 0.999  # ratio of pressures above which the flow is taken as linear (assumed)
MAX_STEP = 2e-3  # s
STILL = 1e-9  # of the pressure moved in a step: at rest
MAX_CHANGE = 0.05  # of the pressure in a step


@dataclass(frozen=True)
class Valve:
    """A flow path by its two numbers of ISO 6358-1, which data sheets give."""

    #: C, sonic; 1 l/(s bar) is 1e-8
    conductance: float = given('m^3/(s Pa)', positive=True)
    #: b, of absolute pressures; 0.2 to 0.5 for valves (assumed)
    critical_ratio: float = given('1', 0.3, minimum=0.0, maximum=0.9)

    def mass_flow(
        self, before: Array | float, behind: Array | float, opening: Array | float = 1.0
    ) -> Array:
        """Return the mass flow [kg/s] between pressures [Pa, absolute], negative if it goes back.

        `opening`: part of the conductance, 0 to 1.
        """
        high, low = np.maximum(before, behind), np.minimum(before, behind)
        ratio, b = low / high, self.critical_ratio

        def subsonic(r: Array | float) -> Array:
            beyond = np.maximum(r - b, 0.0) / (1.0 - b)
            return np.sqrt(np.maximum(1.0 - beyond**2, 0.0))

        linear = subsonic(LAMINAR) * (1.0 - ratio) / (1.0 - LAMINAR)
        share = np.where(ratio > LAMINAR, linear, subsonic(ratio))
        flow = self.conductance * REFERENCE_DENSITY * high * share * opening
        return np.where(np.asarray(before) < behind, -flow, flow)


class Chamber:
    """Air in m chambers: n (R T q - p V') / V = p'.

    `volume` (m,) [m^3]; `pressure` (m,) [Pa, absolute]; `exponent`: n of the polytrope, 1
    isothermal (slow, thin walls; assumed), 1.4 adiabatic.
    """

    def __init__(
        self, volume: Array, pressure: Array | None = None, exponent: float = 1.0
    ) -> None:
        self.volume = np.array(volume, dtype=float)
        start = np.full_like(self.volume, AMBIENT) if pressure is None else pressure
        self.pressure = np.array(start, dtype=float)
        self.exponent = exponent

    def advance(
        self, flow: Callable[[Array], Array], duration: float, volume: Array | None = None
    ) -> Array:
        """Let `duration` [s] pass and return the pressures [Pa, absolute].

        Second order, and exact where the flow is linear (exponential Rosenbrock-Euler): a small
        chamber behind a large valve needs no small steps. Compression is exact.

        `flow`: mass flow [kg/s] into each chamber at pressures (m,); falls with the own pressure.
        `volume` (m,) [m^3]: at the end, reached at a constant rate: how the body presses back.
        """
        n, p = self.exponent, self.pressure
        rate = float(np.max(np.abs(n * GAS_CONSTANT * TEMPERATURE * flow(p) / self.volume / p)))
        steps = max(1, int(np.ceil(duration * max(1.0 / MAX_STEP, rate / MAX_CHANGE))))
        dt = duration / steps
        change = np.zeros_like(self.volume) if volume is None else (volume - self.volume) / steps
        for _ in range(steps):
            before = self.pressure
            self._compress(0.5 * change)
            p, gain = self.pressure, n * GAS_CONSTANT * TEMPERATURE / self.volume
            small = 1e-4 * p
            above, below = flow(p + small), flow(p - small)
            z = np.minimum(gain * (above - below) / (2.0 * small) * dt, -1e-12)
            self.pressure = p + gain * flow(p) * dt * np.expm1(z) / z
            self._compress(0.5 * change)
            if not change.any() and np.max(np.abs(self.pressure / before - 1.0)) < STILL:
                break
        return self.pressure.copy()

    def _compress(self, change: Array) -> None:
        after = self.volume + change
        self.pressure = self.pressure * (self.volume / after) ** self.exponent
        self.volume = after
