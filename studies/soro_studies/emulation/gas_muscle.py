# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A pneumatic muscle of constant cross-section: a sealed pouch is a gas spring.

Chen et al. 2022: square airbags with a side of 15 mm, contracted by vacuum. Their largest load is
that of an empty pouch, the ambient pressure on its cross-section: 22.8 N here, 22.7 N published.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.actuator_models.pneumatics import AMBIENT

Array = NDArray[np.float64]


@dataclass(frozen=True)
class GasMuscle:
    """Force, length and pressure of a muscle."""

    area: float  # m^2, cross-section
    exponent: float = 1.0  # of the gas: isothermal (assumed); 1.4 adiabatic
    skeleton: float = 0.0  # N/m, of the folded skeleton; not published, zero is assumed
    skeleton_length: float = 0.0  # m, at which that has no force
    ambient: float = AMBIENT  # Pa, absolute

    @property
    def capacity(self) -> float:
        """Largest pull [N], with a vacuum inside; the skeleton's own is not counted."""
        return self.ambient * self.area

    def pull(self, length: Array | float, pressure: Array | float) -> Array:
        """Return the pull [N] at a length [m] and absolute pressure [Pa] inside."""
        gas = (self.ambient - np.asarray(pressure)) * self.area
        return gas + self.skeleton * (np.asarray(length) - self.skeleton_length)

    def sealed_pressure(self, length: Array | float, free: Array | float) -> Array:
        """Return the absolute pressure [Pa] of a closed muscle at a length [m].

        `free` [m]: length at which it does not pull, which says how much air is in it.
        """
        free = np.asarray(free)
        at_free = self.ambient + self.skeleton * (free - self.skeleton_length) / self.area
        return at_free * (free / np.asarray(length)) ** self.exponent

    def sealed_stiffness(self, length: Array | float, free: Array | float) -> Array:
        """Return the slope of the pull of a closed muscle over its length [N/m]."""
        pressure = self.sealed_pressure(length, free)
        return self.exponent * pressure * self.area / np.asarray(length) + self.skeleton
