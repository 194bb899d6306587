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

from collections.abc import Sequence
import csv
from dataclasses import dataclass
import os
from pathlib import Path
import re

import numpy as np

from soro_mechanics import quantity
from soro_mechanics.ancf import Ancf
from soro_mechanics.ancf_solve_kernels import INVERSE
from soro_mechanics.configuration import Array
from soro_mechanics.errors import InvalidInput
from soro_mechanics.status import Code

LARGEST = 2**23  # bytes of a file: a hundred thousand measurements
_CELL = re.compile(r'([\w.]+)\s*(?:\[(.+)\])?$')
_SI = {'pressure': 'Pa', 'length': 'm', 'stretch': '1', 'x': 'm', 'y': 'm', 'z': 'm'}


@dataclass(frozen=True)
class StretchTable:
    """Measurements per leg, in the order in which they were made.

    Attributes
    ----------
    legs : tuple of str
    pressures, stretches : tuple of ndarray
        One pair of arrays per leg [Pa], [1].
    """

    legs: tuple[str, ...]
    pressures: tuple[Array, ...]
    stretches: tuple[Array, ...]


def read_stretch_table(file: str | os.PathLike[str], model: Ancf) -> StretchTable:
    """Read a table of either kind.

    Parameters
    ----------
    file : path
    model : Ancf
        Of the robot that was measured.

    Raises
    ------
    InvalidInput
        With the line and what stands there.
    """
    path = Path(file)
    try:
        with path.open('rb') as stream:
            data = stream.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise InvalidInput('table', str(path), f'a file of at most {LARGEST} bytes')
        rows = list(csv.reader(data.decode('utf-8-sig').splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput('table', str(path), f'a readable CSV file ({error})') from None
    numbered = [
        (i, [c.strip() for c in row])
        for i, row in enumerate(rows, start=1)
        if any(c.strip() for c in row) and not row[0].lstrip().startswith('#')
    ]
    if len(numbered) < 2:
        raise InvalidInput('table', str(path), 'a header and at least one row')
    header, body = numbered[0][1], numbered[1:]
    names = [a.name for a in model.description.actuators]
    if 'leg' in header:
        return _per_leg(path.name, header, body, model, names)
    return _per_posture(path.name, header, body, model, names)


def stretches_at(model: Ancf, positions: Array) -> Array:
    """Return the stretches (n, legs) with which the tip is at each position (n, 3) [m].

    The model's weight and stiffness are those of the robot file; Algorithm 3 of Huang 2022 needs
    no lambda(P).

    Raises
    ------
    InvalidInput
        A position that the model cannot hold, with its index.
    """
    weight = model.kernel_loads(np.zeros(6), (), model.description.gravity)
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


def _per_leg(
    file: str, header: list[str], body: list[tuple[int, list[str]]], model: Ancf, names: list[str]
) -> StretchTable:
    value = 'length' if any(c.startswith('length') for c in header) else 'stretch'
    columns = _columns(file, header, {'leg': 'leg', 'pressure': 'pressure', value: value})
    pressures: dict[str, list[float]] = {n: [] for n in names}
    stretches: dict[str, list[float]] = {n: [] for n in names}
    for line, cells in body:
        leg = _cell(file, line, cells, columns['leg'][0])
        if leg not in pressures:
            expected = f'one of {", ".join(names)}'
            raise InvalidInput(f'{file}, line {line}', leg, expected, Code.UNKNOWN_NAME)
        pressures[leg].append(_number(file, line, cells, columns['pressure']))
        measured = _number(file, line, cells, columns[value])
        stretches[leg].append(measured / model.legs.length if value == 'length' else measured)
    return StretchTable(
        tuple(names),
        tuple(np.array(pressures[n]) for n in names),
        tuple(np.array(stretches[n]) for n in names),
    )


def _per_posture(
    file: str, header: list[str], body: list[tuple[int, list[str]]], model: Ancf, names: list[str]
) -> StretchTable:
    wanted = {name: 'pressure' for name in names} | {axis: axis for axis in 'xyz'}
    columns = _columns(file, header, wanted)
    order = [columns[name] for name in (*names, 'x', 'y', 'z')]
    values = np.array([[_number(file, i, cells, c) for c in order] for i, cells in body])
    stretches = stretches_at(model, values[:, len(names) :])
    return StretchTable(
        tuple(names), tuple(values[:, : len(names)].T.copy()), tuple(stretches.T.copy())
    )


def _columns(
    file: str, header: Sequence[str], wanted: dict[str, str]
) -> dict[str, tuple[int, float]]:
    """Return where each wanted column is, and its unit in SI."""
    found: dict[str, tuple[int, float]] = {}
    for index, cell in enumerate(header):
        match = _CELL.match(cell)
        name = match.group(1) if match else cell
        if match is None or name not in wanted:
            raise InvalidInput(f'{file}, header', cell, f'one of {", ".join(wanted)}')
        if name in found:
            raise InvalidInput(f'{file}, header', cell, f'the column {name} once')
        si = _SI.get(wanted[name], '')
        unit = match.group(2) or ''
        if si in ('', '1'):
            factor = 1.0
        else:
            try:
                factor = quantity.parse(f'1 {unit}'.strip(), si)[0]
            except quantity.QuantityError as error:
                raise InvalidInput(f'{file}, header', cell, f'{name} [unit]: {error}') from None
        found[name] = (index, factor)
    missing = [name for name in wanted if name not in found]
    if missing:
        raise InvalidInput(f'{file}, header', list(header), f'a column {missing[0]}')
    return found


def _cell(file: str, line: int, cells: list[str], index: int) -> str:
    if index >= len(cells):
        raise InvalidInput(f'{file}, line {line}', cells, 'as many cells as the header')
    return cells[index]


def _number(file: str, line: int, cells: list[str], column: tuple[int, float]) -> float:
    text = _cell(file, line, cells, column[0])
    try:
        value = float(text) * column[1]
    except ValueError:
        value = float('nan')
    if not np.isfinite(value):
        raise InvalidInput(f'{file}, line {line}', text, 'a finite number', Code.NOT_FINITE)
    return value
