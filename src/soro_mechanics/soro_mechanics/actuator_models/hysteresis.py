# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rate-independent hysteresis of several inputs: Prandtl-Ishlinskii, with inverse, and Bouc-Wen.

Both keep nothing but the way that was gone: more points on the same straight way change nothing.
"""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput

LAWS = ('play', 'bouc_wen')
OPERATORS = 4  # plays of an input


class PrandtlIshlinskii:
    """Several inputs, each through a weighted sum of play operators.

    A play operator follows its input only when that pushes against one of its two walls, so
    the output lags behind by up to the threshold, differently on the way up and down.

    `thresholds` (m, k): half-widths, increasing from zero along each row. `weights` (k,) or
    (m, k): every sum from the first one on positive. `state` (m, k): of the operators at first.
    Raises InvalidInput: thresholds or weights that have no inverse.
    """

    def __init__(self, thresholds: Array, weights: Array, state: Array) -> None:
        self._r = np.array(thresholds, dtype=float)
        self._w = np.broadcast_to(np.asarray(weights, dtype=float), self._r.shape)
        self._state = np.array(state, dtype=float)
        if self._r[:, 0].any() or (np.diff(self._r, axis=1) < 0.0).any():
            raise InvalidInput('thresholds', self._r.tolist(), 'rows that increase from zero')
        self._total = np.cumsum(self._w, axis=1)
        if (self._total <= 0.0).any():
            raise InvalidInput('weights', self._w.tolist(), 'sums from the first on above zero')
        # Of the inverse operator, whose state follows from this one's.
        before = np.roll(self._total, 1, axis=1)
        self._late = np.cumsum(np.diff(self._r, axis=1, prepend=0.0) * before, axis=1)
        self._back = np.diff(1.0 / self._total, axis=1, prepend=0.0)

    def apply(self, values: Array) -> Array:
        """Return the output after the inputs went to `values`, shape (m,)."""
        x = np.asarray(values, dtype=float)[:, None]
        self._state = np.maximum(x - self._r, np.minimum(x + self._r, self._state))
        return (self._w * self._state).sum(axis=1)

    def undo(self, values: Array) -> Array:
        """Return inputs (m,) of which `apply` would give `values`, as Krejci and Kuhnen (2001).

        Nothing moves yet.
        """
        y, w, z = np.asarray(values, dtype=float)[:, None], self._w, self._state
        tail = np.cumsum((w * z)[:, ::-1], axis=1)[:, ::-1] - w * z
        state = np.maximum(y - self._late, np.minimum(y + self._late, self._total * z + tail))
        return (self._back * state).sum(axis=1)


class BoucWen:
    """Several inputs, each behind one Bouc-Wen element.

    y = x - height z,  z' = x' (1 - abs(z) (1 + sign(x' z)) / 2) / scale: the law with A = n = 1
    and beta = gamma (Wen 1976), whose pieces are straight lines and exponentials.

    `height` (m,): largest lag of the output, in units of the input. `scale` (m,): way on which the
    lag builds up. Raises InvalidInput: a scale not above the height, the output would turn back.
    """

    def __init__(self, height: Array, scale: Array, rest: Array) -> None:
        self._height = np.asarray(height, dtype=float)
        self._scale = np.asarray(scale, dtype=float)
        if (self._scale <= self._height).any():
            raise InvalidInput('scale', self._scale.tolist(), 'above the height')
        self._x = np.array(rest, dtype=float)
        self._z = np.zeros_like(self._x)

    def apply(self, values: Array) -> Array:
        """Return the output after the inputs went to `values`, shape (m,)."""
        x = np.asarray(values, dtype=float)
        way = (x - self._x) / self._scale
        up = np.where(way < 0.0, -1.0, 1.0)
        way, z = np.abs(way), up * self._z  # as if every input went up
        straight = np.minimum(way, np.maximum(-z, 0.0))  # until z is zero
        self._z = up * (1.0 - (1.0 - z - straight) * np.exp(straight - way))
        self._x = x.copy()
        return x - self._height * self._z


def hysteresis(law: str, span: Array, rest: Array, width: float) -> PrandtlIshlinskii | BoucWen:
    """Return a hysteresis whose largest loop is open by a part `width` of the range.

    `law`: one of `LAWS`: plays of evenly spread thresholds and equal weights, or one Bouc-Wen
    element that builds up along `width` of the range; both shapes are assumed. `span`, `rest`
    (m,): range of each input; where the inputs are at first, and have been for long.
    """
    span, rest = np.asarray(span, dtype=float), np.asarray(rest, dtype=float)
    if law == 'bouc_wen':
        largest = width * span
        return BoucWen(0.5 * largest, np.where(largest > 0.0, largest, 1.0), rest)
    # Mean half-width times two is the largest opening of the loop.
    thresholds = np.outer(span, np.linspace(0.0, width, OPERATORS))
    state = np.repeat(rest[:, None], OPERATORS, axis=1)
    return PrandtlIshlinskii(thresholds, np.full(OPERATORS, 1.0 / OPERATORS), state)
