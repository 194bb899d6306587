# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rate-independent hysteresis by play operators (Prandtl-Ishlinskii)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Hysteresis:
    """Several inputs, each through the mean of play operators of growing width.

    A play operator follows its input only when that pushes against one of its two walls, so
    the output lags behind by up to the width, differently on the way up and down. Closed
    cycles give closed loops that do not depend on speed.

    Parameters
    ----------
    span : ndarray, shape (m,)
        Range of each input.
    rest : ndarray, shape (m,)
        Where the inputs are at first, and have been for long.
    width : float
        Largest difference between the way up and the way down, as a part of the range.
    operators : int
        Their half-widths are spread evenly; the first one has none.
    """

    def __init__(self, span: Array, rest: Array, width: float, operators: int = 4) -> None:
        # Mean half-width times two is the largest opening of the loop.
        half = np.linspace(0.0, width, operators)
        self._half = np.outer(np.asarray(span, dtype=float), half)
        self._state = np.repeat(np.asarray(rest, dtype=float)[:, None], operators, axis=1)

    def apply(self, values: Array) -> Array:
        """Return the output after the inputs went to `values`, shape (m,)."""
        x = np.asarray(values, dtype=float)[:, None]
        self._state = np.maximum(x - self._half, np.minimum(x + self._half, self._state))
        result: Array = self._state.mean(axis=1)
        return result
