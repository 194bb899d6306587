# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How evenly actuators move a tip, at a stated characteristic length."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from soro_mechanics.core.array_input import finite_array
from soro_mechanics.core.configuration import Array


@dataclass(frozen=True, eq=False)
class Conditioning:
    """Singular values of a Jacobian whose rotations were multiplied by a length."""

    values: Array  #: (min(6, m),); largest first: metres of the tip per unit of the actuators
    #: (6, min(6, m)); the motion of the tip that belongs to each, rotations times `length`
    directions: Array
    length: float  #: characteristic length [m]

    @property
    def condition(self) -> float:
        """Largest over smallest singular value; infinite where a direction is lost."""
        smallest = float(self.values[-1])
        return float(self.values[0]) / smallest if smallest > 0.0 else math.inf


def conditioning(jacobian: Array, length: float) -> Conditioning:
    """Return the conditioning of a (6, m) Jacobian, linear first."""
    length = float(finite_array('length', length, ()))
    jacobian = finite_array('jacobian', jacobian, (6, np.shape(jacobian)[-1]))
    scaled = jacobian * np.array([[1.0]] * 3 + [[length]] * 3)
    directions, values, _ = np.linalg.svd(scaled, full_matrices=False)
    return Conditioning(values, directions, length)
