# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Tables that a person measured: CSV files whose header carries the units, ``pressure [kPa]``."""

from __future__ import annotations

from collections.abc import Mapping
import csv
from dataclasses import dataclass
import os
from pathlib import Path
import re

import numpy as np

from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.robot_file import quantity

LARGEST = 2**23  # bytes of a file: a hundred thousand measurements
_CELL = re.compile(r'([\w.]+)\s*(?:\[(.+)\])?$')

# Where a column is, and its unit in SI.
Column = tuple[int, float]


@dataclass(frozen=True)
class UnitTable:
    """Cells of a file, without empty lines and lines that begin with #."""

    file: str  # its name, for messages
    header: list[str]
    body: list[tuple[int, list[str]]]  # number of the line in the file, and its cells

    def columns(self, wanted: Mapping[str, str]) -> dict[str, Column]:
        """Return where each column is that is wanted (name -> SI unit, '' for text), and no other.

        Raises InvalidInput: a column that is missing, unknown, there twice, or of another
        dimension.
        """
        where = f'{self.file}, header'
        found: dict[str, Column] = {}
        for index, cell in enumerate(self.header):
            match = _CELL.match(cell)
            name = match.group(1) if match else cell
            if match is None or name not in wanted:
                raise InvalidInput(where, cell, f'one of {", ".join(wanted)}')
            if name in found:
                raise InvalidInput(where, cell, f'the column {name} once')
            si = wanted[name]
            factor = 1.0
            if si not in ('', '1'):
                try:
                    factor = quantity.parse(f'1 {match.group(2) or ""}'.strip(), si)[0]
                except quantity.QuantityError as error:
                    raise InvalidInput(where, cell, f'{name} [unit]: {error}') from None
            found[name] = (index, factor)
        missing = [name for name in wanted if name not in found]
        if missing:
            raise InvalidInput(where, list(self.header), f'a column {missing[0]}')
        return found

    def text(self, line: int, cells: list[str], index: int) -> str:
        """Return one cell of a line."""
        if index >= len(cells):
            raise InvalidInput(f'{self.file}, line {line}', cells, 'as many cells as the header')
        return cells[index]

    def number(self, line: int, cells: list[str], column: Column) -> float:
        """Return one cell of a line as a number in SI."""
        text = self.text(line, cells, column[0])
        try:
            value = float(text) * column[1]
        except ValueError:
            value = float('nan')
        if not np.isfinite(value):
            where = f'{self.file}, line {line}, {self.header[column[0]]}'
            raise InvalidInput(where, text, 'a finite number', Code.NOT_FINITE)
        return value


def read_unit_table(file: str | os.PathLike[str]) -> UnitTable:
    """Read a file.

    Raises InvalidInput: it cannot be read, is too large, or has no row below its header.
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
    return UnitTable(path.name, numbered[0][1], numbered[1:])
