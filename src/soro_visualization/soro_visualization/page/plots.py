# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Small plots of the last seconds: actuators, and how far the tip is from what was asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from soro_mechanics.core.actuators import Actuator
from soro_node.display_units import size_of, unit_of
from soro_visualization.drawing.shape import Array
from soro_visualization.page.readout import Snapshot

COLOURS = ('#1c7ed6', '#e8590c', '#2f9e44', '#9c36b5', '#c2255c', '#0c8599')
RATE = 10.0  # rows kept per second
HEIGHT = 170
AXIS, GRID = '#868e96', '#868e9640'  # read on white and on dark grey


class History:
    """The last seconds of a few numbers: rows over time, in a ring of fixed size.

    - `duration` [s]
    - `rate`: rows kept per second; more are left out.
    """

    def __init__(self, columns: int, duration: float, rate: float) -> None:
        self._period, self._duration, self._columns = 1.0 / rate, duration, columns
        self._rows: deque[tuple[float, ...]] = deque(maxlen=int(duration * rate))

    def add(self, time: float, values: Array) -> None:
        """Keep a row, unless the last one is too young; time that jumps back starts anew."""
        if self._rows:
            last = self._rows[-1][0]
            if time < last:
                self._rows.clear()
            elif time - last < self._period * 0.9:
                return
        self._rows.append((time, *values))

    def table(self, now: float) -> Array:
        """Return rows (n, 1 + columns), oldest first; the first column is seconds before now."""
        rows = np.array(self._rows, dtype=float).reshape(-1, 1 + self._columns)
        rows[:, 0] -= now
        return rows[rows[:, 0] >= -self._duration]


class ViewerPlots:
    """Two plots: the actuators measured (and commanded, faint), and the error of the tip.

    `actuators`: the first six are drawn; `duration` [s].
    """

    def __init__(self, gui: Any, actuators: Sequence[Actuator], duration: float) -> None:
        from viser import uplot

        self._drawn = tuple(actuators[: len(COLOURS)])
        self._sizes = np.array([size_of(a) for a in self._drawn])
        count = len(self._drawn)
        self._values = History(2 * count, duration, RATE)
        self._errors = History(2, duration, RATE)
        self._target: Array | None = None
        time = uplot.Series(label='s')
        style = {'stroke': AXIS, 'grid': {'stroke': GRID, 'width': 1}}
        axes = (
            uplot.Axis(show=True, label='seconds before now', labelSize=18, size=30, **style),
            uplot.Axis(show=True, size=45, **style),
        )
        unit = ', '.join(dict.fromkeys(map(unit_of, self._drawn)))
        more = '' if len(actuators) == count else f', the first {count} of {len(actuators)}'

        def plot(title: str, *series: Any) -> Any:
            return gui.add_uplot(
                _columns(np.full((2, 1 + len(series)), np.nan)),
                (time, *series),
                title=title,
                scales={'x': uplot.Scale(time=False)},
                axes=axes,
                height=HEIGHT,
                legend=uplot.Legend(show=True, live=False),
            )

        drawn = list(zip(self._drawn, COLOURS, strict=False))
        with gui.add_folder('Plots'):
            self._actuators = plot(
                f'actuators [{unit}]{more}',
                *(uplot.Series(label=a.name, stroke=c, width=2) for a, c in drawn),
                *(
                    uplot.Series(label=f'{a.name} asked', stroke=c + '70', width=1)
                    for a, c in drawn
                ),
            )
            self._error = plot(
                'tip: distance [mm]',
                uplot.Series(label='to command', stroke=COLOURS[0], width=2),
                uplot.Series(label='to target', stroke=COLOURS[1], width=2),
            )

    def target(self, position: Array | None) -> None:
        """Take the position (3,) that was asked for last."""
        self._target = position

    def keep(self, snapshot: Snapshot) -> None:
        """Keep a moment."""
        readout, shape = snapshot.actuators, snapshot.shape
        count = len(self._drawn)
        if readout is not None:
            values = np.concatenate(
                [readout.measured[:count] / self._sizes, readout.commanded[:count] / self._sizes]
            )
            self._values.add(snapshot.time, values)
        if shape is not None and not snapshot.silent:
            tip = shape.tip[:3, 3]
            ghost = snapshot.ghost
            command = np.nan if ghost is None else np.linalg.norm(ghost.tip[:3, 3] - tip)
            target = np.nan if self._target is None else np.linalg.norm(self._target - tip)
            errors = 1e3 * np.array([command, target])
            self._errors.add(snapshot.time, np.round(errors, 3))  # um: nobody reads 1e-15 mm

    def draw(self, now: float) -> None:
        """Send what was kept; called a few times a second."""
        for handle, history in ((self._actuators, self._values), (self._error, self._errors)):
            table = history.table(now)
            if len(table) >= 2:
                handle.data = _columns(table)


def _columns(table: Array) -> tuple[Array, ...]:
    return tuple(np.ascontiguousarray(column) for column in table.T)
