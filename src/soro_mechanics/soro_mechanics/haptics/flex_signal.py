# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a converter reads from a flex sensor: offset, gain, drift, noise, faults, 12 bits.

For emulators and for tests of the calibration; no scipy, no numba.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from soro_mechanics.core.configuration import Array

FULL_SCALE = 4095  # of a 12-bit converter [counts]


class FlexFault(Enum):
    """Ways in which a flex sensor fails."""

    NONE = 'none'
    STUCK = 'stuck'
    OPEN = 'open'
    SHORTED = 'shorted'
    DRIFTING = 'drifting'


FAULT_DRIFT = 50.0  # of a DRIFTING sensor [counts/s]: crosses its range in about a minute


@dataclass(frozen=True, eq=False)
class FlexSignal:
    """One sensor and its converter, or several with arrays of the same shape."""

    offset: float | Array  #: or ndarray; at zero elongation [counts]
    gain: float | Array  #: or ndarray; [counts/m]
    drift: float | Array = 0.0  #: or ndarray; of the offset [counts/s]
    noise: float | Array = 0.0  #: or ndarray; standard deviation [counts]

    def counts(
        self,
        elongation: float | Array,
        time: float | Array,
        random: np.random.Generator,
        fault: FlexFault = FlexFault.NONE,
        held: float = 0.0,
    ) -> Array:
        """Return what the converter reads, whole counts from 0 to `FULL_SCALE`.

        Parameters
        ----------
        elongation : float or ndarray [m]
        time : float or ndarray [s]
            Since the drift began.
        random : Generator
        fault : FlexFault
        held : float
            What a STUCK sensor reads [counts].
        """
        elongation = np.asarray(elongation, float)
        drift = self.drift + (FAULT_DRIFT if fault is FlexFault.DRIFTING else 0.0)
        ideal = self.offset + self.gain * elongation + drift * np.asarray(time, float)
        value = ideal + self.noise * random.normal(size=np.shape(ideal))
        if fault is FlexFault.STUCK:
            value = np.full(np.shape(ideal), held)
        elif fault is FlexFault.OPEN:
            value = np.full(np.shape(ideal), float(FULL_SCALE))
        elif fault is FlexFault.SHORTED:
            value = np.zeros(np.shape(ideal))
        return np.clip(np.round(value), 0.0, FULL_SCALE)
