# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A converter: noise of the sensor, quantisation, range, and its faults."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.robot_file.record import given


@dataclass(frozen=True)
class AnalogProperties:
    """Properties of an analog input."""

    noise: float = given('V', 3e-3, minimum=0.0)  #: standard deviation of one sample
    range: float = given('V', 10.0, positive=True)  #: the converter covers plus and minus this
    bits: int = given(default=16, minimum=4)


class AnalogInputs:
    """m inputs of one converter.

    - `forced` (m,): voltage that a fault puts on an input; NaN: none.
    - `frozen` (m,): inputs that repeat their last conversion for ever.
    """

    def __init__(
        self, count: int, properties: AnalogProperties, generator: np.random.Generator
    ) -> None:
        self._properties = properties
        self._generator = generator
        self._step = 2.0 * properties.range / 2**properties.bits
        self.forced = np.full(count, math.nan)
        self.frozen = np.zeros(count, bool)
        self._last = np.zeros(count)

    def clear_faults(self) -> None:
        """Repair everything."""
        self.forced[:] = math.nan
        self.frozen[:] = False

    def convert(self, volts: Array) -> Array:
        """Return what the converter says about voltages, shape (m,)."""
        p = self._properties
        noisy = volts + p.noise * self._generator.standard_normal(len(volts))
        # An X series card converts a little beyond its nominal range.
        within = np.maximum(np.minimum(noisy, 1.07 * p.range), -1.07 * p.range)
        sample = np.rint(within / self._step) * self._step
        np.copyto(sample, self.forced, where=~np.isnan(self.forced))
        np.copyto(self._last, sample, where=~self.frozen)
        return self._last.copy()
