# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The set-point: where it starts when a robot is armed, and how it goes on from there. Pure."""

from __future__ import annotations

import math

import numpy as np

from soro_driver.device import Array, Flags, Reading
from soro_driver.safety.command_gate import CommandGate
from soro_driver.settings import MAX_STEP

AT_REST = 1e-6  # of the range: the ramp has arrived; below the resolution of any converter
NOISE = 0.01  # of the range: so near to rest, a robot that is armed is at rest


class SetPoint:
    """What a device was told last.

    `period`: nominal time between two ticks [s]; `engage_band`: a pressure this near to rest is
    let out instead of being held, as a part of the range.

    Its attributes:
    - `values` (m,): SI, order of the robot file; feasible.
    - `hold` (m,): where an armed robot stays until somebody commands.
    """

    def __init__(self, gate: CommandGate, period: float, engage_band: float) -> None:
        self._gate, self._period = gate, period
        self._band = np.where(gate.is_pressure, engage_band, NOISE) * gate.span
        near = (AT_REST * gate.span).tolist()
        self._near_rest = list(zip(gate.rest.tolist(), near, strict=True))
        self._written = math.nan
        self.hold = gate.rest.copy()
        self.rest()

    def rest(self) -> None:
        """Take note that the device was made safe."""
        self.values = self._gate.rest.copy()

    @property
    def at_rest(self) -> bool:
        """Whether every output is at rest."""
        pairs = zip(self.values.tolist(), self._near_rest, strict=True)
        return all(abs(value - rest) <= most for value, (rest, most) in pairs)

    def start_from(self, reading: Reading) -> None:
        """Begin where the robot is.

        Arming moves nothing. Only what is at rest but for noise stays there exactly, and the rest
        of a pressure near it is let out, so that noise is not driven.
        """
        here = np.where(np.isnan(reading.measured), self._gate.rest, reading.measured)
        near = np.abs(here - self._gate.rest) <= self._band
        self.values = self._gate.clamp(here)
        self.hold = self._gate.clamp(np.where(near, self._gate.rest, here))
        self._written = math.nan

    def reference(self, reading: Reading) -> Array:
        """Return where the robot is: measured, and where nothing measures as it was told."""
        return np.where(np.isnan(reading.measured), self.values, reading.measured)

    def toward(self, target: Array, now: float, rate: Array | None = None) -> tuple[Array, Flags]:
        """Return the next set-point on the way to a target, within every limit, and its flags."""
        # A late tick must not make a longer step than the device would allow.
        dt = self._period if math.isnan(self._written) else now - self._written
        return self._gate.shape(target, self.values, min(dt, MAX_STEP * self._period), rate)

    def written(self, values: Array, now: float) -> None:
        """Keep what the device has been told."""
        self.values, self._written = values, now
