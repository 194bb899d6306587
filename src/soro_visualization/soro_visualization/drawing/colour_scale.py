# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Colours for values, and the legend that says which colour means what, with its unit."""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import NDArray

from soro_visualization.drawing.shape import Array

# Two scales that the colour-blind can read too: one that starts pale, for a surface in the light,
# and one that grows evenly in lightness, for points.
BLUE_TO_RED = '74add1 abd9e9 e0f3f8 ffffbf fee090 fdae61 f46d43 d73027'
RED_TO_BLUE = ' '.join(reversed(BLUE_TO_RED.split()))
PALE_TO_BLUE = 'f1eef6 bdc9e1 74a9cf 2b8cbe 045a8d'  # for what drives, in front of the others
PLASMA = '0d0887 41049d 6a00a8 8f0da4 b12a90 cc4778 e16462 f2844b fca636 fcce25 f0f921'


class ColourScale:
    """A row of colours between two values."""

    def __init__(self, colours: str) -> None:
        self.names = [f'#{c}' for c in colours.split()]
        self._rgb = np.array([[int(c[i : i + 2], 16) for i in (0, 2, 4)] for c in colours.split()])
        self._at = np.linspace(0.0, 1.0, len(self._rgb))

    def colours(self, values: Array, low: float, high: float) -> NDArray[np.uint8]:
        """Return colours (n, 3), 0-255; outside the range the last colour."""
        width = high - low
        part = (np.asarray(values) - low) / width if width > 0.0 else np.zeros(len(values))
        part = np.clip(np.nan_to_num(part), 0.0, 1.0)
        columns = [np.interp(part, self._at, self._rgb[:, i]) for i in range(3)]
        return np.stack(columns, axis=1).astype(np.uint8)

    def legend(self, title: str, low: str, high: str) -> str:
        """Return HTML of the scale with a title and what its ends mean, units included."""
        return (
            f'<div style="font-size:0.75em;padding:0 0.5em 0.3em">{escape(title)}'
            f'<div style="height:0.7em;border-radius:0.2em;background:linear-gradient(to right,'
            f'{",".join(self.names)})"></div>'
            f'<div style="display:flex;justify-content:space-between">'
            f'<span>{escape(low)}</span><span>{escape(high)}</span></div></div>'
        )


def rounded(value: float) -> float:
    """Return the largest of 1, 2, 5 times a power of ten that is not above a positive value."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(max(f for f in (1.0, 2.0, 5.0) if f * power <= value * (1 + 1e-12)) * power)
