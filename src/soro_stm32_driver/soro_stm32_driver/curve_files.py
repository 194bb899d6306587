# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Recorded runs as CSV, and identified curves as lines of a robot file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import csv
from pathlib import Path

import numpy as np

from soro_mechanics.core.errors import InvalidInput
from soro_stm32_driver.curve_identification import Run
from soro_stm32_driver.muscle_curves import MuscleCurve

COLUMNS = ('muscle', 'run', 'action', 'time_s', 'length_mm')
ACTIONS = ('inflate', 'deflate')


def write_runs(path: Path, runs: Iterable[tuple[str, int, Run]]) -> None:
    """Write runs: (muscle, number of the run, run)."""
    with path.open('w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for muscle, number, run in runs:
            for time, length in zip(run.time, run.length, strict=True):
                writer.writerow([muscle, number, run.action, f'{time:.4f}', f'{1e3 * length:.3f}'])


def read_runs(path: Path) -> dict[str, list[Run]]:
    """Read runs, by muscle.

    InvalidInput: another header, an action that is none, a number that is none; with the line.
    """
    rows: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    try:
        with path.open(newline='', encoding='utf-8') as file:
            reader = csv.DictReader(file)
            if tuple(reader.fieldnames or ()) != COLUMNS:
                raise InvalidInput(str(path), reader.fieldnames, f'columns {", ".join(COLUMNS)}')
            for line, row in enumerate(reader, start=2):
                if row['action'] not in ACTIONS:
                    raise InvalidInput(f'{path}:{line}', row['action'], ' or '.join(ACTIONS))
                try:
                    pair = float(row['time_s']), 1e-3 * float(row['length_mm'])
                except (TypeError, ValueError):
                    found = f'{row["time_s"]}, {row["length_mm"]}'
                    raise InvalidInput(f'{path}:{line}', found, 'two numbers') from None
                key = (row['muscle'], row['run'], row['action'])
                rows.setdefault(key, []).append(pair)
    except OSError as error:
        raise InvalidInput(str(path), error.strerror, 'a readable file') from None
    runs: dict[str, list[Run]] = {}
    for (muscle, _, action), pairs in rows.items():
        time, length = np.array(pairs).T
        runs.setdefault(muscle, []).append(Run(action, time, length))
    return runs


def robot_file_lines(curves: Mapping[str, MuscleCurve]) -> list[str]:
    """Return the section ``curves`` of a robot file, line by line."""
    lines = ['curves:']
    for name, c in curves.items():
        parts = [
            f'inflate_time: {_numbers(c.inflate_time, 3)} s',
            f'inflate_length: {_numbers(1e3 * c.inflate_length, 2)} mm',
            f'deflate_time: {_numbers(c.deflate_time, 3)} s',
            f'deflate_length: {_numbers(1e3 * c.deflate_length, 2)} mm',
        ]
        lines.append(f'  {name}: {{{", ".join(parts)}}}')
    return lines


def _numbers(values: np.ndarray, digits: int) -> str:
    return ' '.join(f'{x:.{digits}f}' for x in values)
