# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A recorded experiment on one clock: pressures, the model's shape, the plant's shape."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from soro_node.user_errors import UserError
from soro_recording.bag_reader import NANOSECONDS
from soro_recording.run_data import PRESENT, RunData, TRUTH
from soro_recording.series import Array

RATE = 40.0  # Hz, the rate at which the experiment was recorded (section 5.2)
SHAPE = ('x_m', 'y_m', 'z_m', 'bending_rad', 'elongation_m')


@dataclass(frozen=True)
class Recording:
    """One run on a common clock of `RATE`."""

    names: tuple[str, ...]
    begin: float  #: [s]; when the first sample is of, since 1970
    time: Array  #: (n,) [s]; from the first sample
    #: commanded, measured: (n, m) [Pa]; nothing (NaN) is commanded while the driver does not
    #: follow
    commanded: Array
    measured: Array
    #: model, plant: (n, 5); tip x, y, z [m], bending angle [rad], elongation of the backbone [m]
    model: Array
    plant: Array

    def part(self, start: float, end: float) -> Recording:
        """Return the samples between two times [s since 1970]."""
        keep = (self.time >= start - self.begin) & (self.time < end - self.begin)
        columns = ('time', 'commanded', 'measured', 'model', 'plant')
        return replace(self, **{name: getattr(self, name)[keep] for name in columns})

    def write_csv(self, path: Path) -> None:
        """Write every sample, SI units in the column names."""
        header = [f'{name}_{what}_Pa' for what in ('commanded', 'measured') for name in self.names]
        header += [f'{what}_{name}' for what in ('model', 'plant') for name in SHAPE]
        rows = np.column_stack([self.time, self.commanded, self.measured, self.model, self.plant])
        title = ','.join(['time_s', *header])
        np.savetxt(path, rows, '%.9g', ',', header=title, comments='', encoding='utf-8')


def read_recording(run: RunData) -> Recording:
    """Put what was recorded of an experiment on one clock, by linear interpolation.

    UserError: something of it was not recorded.
    """
    data = run.actuation
    # A tick without a reading: its neighbours stand for it.
    read = np.isfinite(data.measured).all(axis=1)
    streams = [
        (data.time[read], data.commanded[read]),
        (data.time[read], data.measured[read]),
        _shapes(run, PRESENT),
        _shapes(run, TRUTH),
    ]
    start = max(time[0] for time, _ in streams)
    clock = np.arange(start, min(time[-1] for time, _ in streams), 1.0 / RATE)
    columns = [
        np.column_stack([np.interp(clock, time, column) for column in values.T])
        for time, values in streams
    ]
    return Recording(data.names, NANOSECONDS * run.bag.start + start, clock - start, *columns)


def _shapes(run: RunData, topic: str) -> tuple[Array, Array]:
    """Return times (n,) [s] and shapes (n, 5), see `Recording`."""
    shapes = run.shapes(topic)
    if shapes is None or len(shapes.time) < 2:
        raise UserError(f'nothing was recorded of {run.namespace}/{topic}')
    backbones = next(run.entries(topic)).message.backbones
    unloaded = sum(b.arc_length[-1] - b.arc_length[0] for b in backbones)
    bending = 2.0 * np.arcsin(np.minimum(1.0, np.hypot(*shapes.tip[:, 3:5].T)))
    return shapes.time, np.column_stack([shapes.tip[:, :3], bending, shapes.lengths - unloaded])
