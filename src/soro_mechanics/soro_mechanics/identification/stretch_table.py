# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Recorded tables of pressure and stretch: what a person measured, read and checked.

Two kinds of CSV file, each with a header whose cells carry units, ``pressure [kPa]``:

- one row per leg and measurement: ``leg``, ``pressure [..]`` and ``stretch`` or ``length [..]``;
- one row per posture of the whole robot: a pressure column named as each actuator, and ``x``,
  ``y``, ``z`` of the tip. The stretches are then those that the model needs to be there.

Rows stand in the order of their measurement, so that loading and unloading can be told apart.
"""

from __future__ import annotations

from dataclasses import dataclass
import os

import numpy as np

from soro_mechanics.core.configuration import Array, LoadCase
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.models.ancf.model import Ancf
from soro_mechanics.models.ancf.solve_kernels import INVERSE
from soro_mechanics.robot_file.unit_table import read_unit_table, UnitTable


@dataclass(frozen=True, eq=False)
class StretchTable:
    """Measurements per leg, in the order in which they were made."""

    legs: tuple[str, ...]  # names of the legs
    pressures: tuple[Array, ...]  # per leg [Pa]
    stretches: tuple[Array, ...]  # per leg


def read_stretch_table(file: str | os.PathLike[str], model: Ancf) -> StretchTable:
    """Read a table of either kind, legs by their names or by those of their drives.

    Raises InvalidInput: with the line and what stands there.
    """
    table = read_unit_table(file)
    if 'leg' in table.header:
        return _per_leg(table, model)
    return _per_posture(table, model)


def stretches_at(model: Ancf, positions: Array) -> Array:
    """Return the stretches (n, legs) with which the tip is at each position (n, 3) [m].

    The model's weight and stiffness are those of the robot file; Algorithm 3 of Huang 2022 needs
    no lambda(P).

    Raises InvalidInput: a position that the model cannot hold, with its index.
    """
    weight = model.kernel_loads(LoadCase(gravity=model.description.gravity))
    state, found = model.rest, []
    for i, position in enumerate(positions):
        point = np.array(position, float)
        state_here, status = model.solve(state, weight, INVERSE, point, 0.0)
        if status.code is not Code.NONE:
            raise InvalidInput(
                f'positions[{i}]', point.tolist(), 'a place where this robot can be (units? axes?)'
            )
        state = state_here
        found.append(state.stretch.copy())
    return np.array(found)


def _per_leg(table: UnitTable, model: Ancf) -> StretchTable:
    names = model.legs.names
    drives = [a.name for a in model.description.actuators]
    leg_of = dict(zip(drives, names, strict=True)) | {name: name for name in names}
    by_length = any(c.startswith('length') for c in table.header)
    value, unit = ('length', 'm') if by_length else ('stretch', '1')
    columns = table.columns({'leg': '', 'pressure': 'Pa', value: unit})
    pressures: dict[str, list[float]] = {n: [] for n in names}
    stretches: dict[str, list[float]] = {n: [] for n in names}
    for line, cells in table.body:
        written = table.text(line, cells, columns['leg'][0])
        if written not in leg_of:
            expected = f'one of {", ".join(names)}'
            raise InvalidInput(f'{table.file}, line {line}', written, expected, Code.UNKNOWN_NAME)
        leg = leg_of[written]
        pressures[leg].append(table.number(line, cells, columns['pressure']))
        measured = table.number(line, cells, columns[value])
        stretches[leg].append(measured / model.legs.length if by_length else measured)
    return StretchTable(
        names,
        tuple(np.array(pressures[n]) for n in names),
        tuple(np.array(stretches[n]) for n in names),
    )


def _per_posture(table: UnitTable, model: Ancf) -> StretchTable:
    names = list(model.legs.names)
    drives = [a.name for a in model.description.actuators]
    if set(drives) <= {cell.partition('[')[0].strip() for cell in table.header}:
        names = drives
    columns = table.columns(dict.fromkeys(names, 'Pa') | dict.fromkeys('xyz', 'm'))
    order = [columns[name] for name in (*names, 'x', 'y', 'z')]
    values = np.array([[table.number(i, cells, c) for c in order] for i, cells in table.body])
    stretches = stretches_at(model, values[:, len(names) :])
    return StretchTable(
        model.legs.names, tuple(values[:, : len(names)].T.copy()), tuple(stretches.T.copy())
    )
