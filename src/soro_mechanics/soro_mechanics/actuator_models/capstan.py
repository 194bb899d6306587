# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Friction of a tendon around a guide: the far end feels the tension late (Euler, Eytelwein)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Capstan:
    """m tendons, each around guides by a total angle.

    The tension behind the guides stays until it differs from that before them by more than the
    factor exp(friction wrap): a play operator of logarithms, rate-independent.

    `friction`: coefficient; 0.1 to 0.3 of steel or polymer ropes on polymer (assumed where not
    measured). `tension` (m,) [N]: behind the guides at first.
    """

    def __init__(self, friction: float, tension: Array) -> None:
        self._friction = friction
        self._tension = np.array(tension, dtype=float)

    def apply(self, tension: Array, wrap: Array | float) -> Array:
        """Return the tensions (m,) [N] behind guides wrapped by `wrap` [rad], at least zero."""
        pulled = np.maximum(tension, 0.0)
        factor = np.exp(self._friction * np.abs(wrap))
        self._tension = np.clip(self._tension, pulled / factor, pulled * factor)
        return self._tension.copy()
