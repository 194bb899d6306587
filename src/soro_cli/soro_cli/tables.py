# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Tables: drawn by rich on a terminal, plain aligned columns into a pipe, JSON for scripts."""

from __future__ import annotations

from collections.abc import Sequence
import json
import math
import sys
from typing import Any

from soro_node.user_errors import UserError

Row = Sequence[str]


def some(names: Sequence[str], most: int = 3) -> str:
    """Return the first names of a list, and how many more there are."""
    more = len(names) - most
    return ', '.join(names[:most]) + (f' and {more} more' if more > 0 else '')


def print_table(title: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
    """Print a table, numbers right-aligned; of names and values only those that are known."""
    rows = [row for row in rows if any(columns) or not row[-1].startswith('nan')]
    if sys.stdout.isatty():
        _print_rich(title, columns, rows)
        return
    if title:
        print(title)
    header = [list(columns)] if any(columns) else []
    lines = header + [list(row) for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for line in lines:
        cells = [
            cell.ljust(width) if i == 0 or not _numeric(rows, i) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print('  ' + '  '.join(cells).rstrip())
    print()


def print_json(value: Any) -> None:
    """Print a value as JSON; numbers that are not finite become null."""
    print(json.dumps(_finite(value), allow_nan=False))


def ask(question: str) -> str:
    """Return what a person answers."""
    try:
        return input(question)
    except EOFError:
        raise UserError('nobody answers; write --yes to be asked nothing') from None


def note(text: str) -> None:
    """Tell the person something that is no result, without spoiling what a script reads."""
    print(text, file=sys.stderr)


def _print_rich(title: str, columns: Sequence[str], rows: Sequence[Row]) -> None:
    from rich import box  # slow to load, and of use on a terminal only
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shape = box.SIMPLE_HEAD if any(columns) else box.SIMPLE
    table = Table(title=title or None, box=shape, title_justify='left', show_header=any(columns))
    for i, name in enumerate(columns):
        table.add_column(name, justify='right' if i and _numeric(rows, i) else 'left')
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


def _numeric(rows: Sequence[Row], column: int) -> bool:
    return all(row[column][:1] in '+-.0123456789' for row in rows)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
