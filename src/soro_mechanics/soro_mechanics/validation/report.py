# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Write the validation report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
import datetime
from importlib import import_module
from typing import Any

from soro_mechanics.errors import UnknownName
from soro_mechanics.validation.registry import ROBOTS
from soro_mechanics.validation.row import Row, Verdict

COMMAND = 'python -m soro_mechanics.validation'


def rows_of(robot: str) -> list[Row]:
    """Compute the rows of one robot.

    Raises
    ------
    UnknownName
        The robot has no published numbers registered.
    """
    if robot not in ROBOTS:
        raise UnknownName('robot', robot, tuple(ROBOTS))
    rows: list[Row] = _call(ROBOTS[robot][1])
    return rows


def _call(place: str) -> Any:
    module, _, name = place.partition(':')
    return getattr(import_module(module), name)()


def table(rows: Sequence[Row]) -> list[str]:
    """Return the lines of one Markdown table."""
    lines = [
        '| Quantity | Paper | Ours | Difference | Verdict | Kind | Note |',
        '|---|---|---|---|---|---|---|',
    ]
    lines += [
        f'| {r.quantity} | {r.paper} | {r.ours} | {r.difference} | {r.verdict.value} '
        f'| {r.kind.value} | {r.note} |'
        for r in rows
    ]
    return lines


def summary(rows: Sequence[Row]) -> str:
    """Count the verdicts in one sentence."""
    counts = Counter(r.verdict for r in rows)
    parts = [f'{counts[v]} {v.value}' for v in Verdict if counts[v]]
    return f'{len(rows)} rows: ' + ', '.join(parts) + '.'


def write_report(
    robots: Sequence[str], command: str = COMMAND, sections: Sequence[str] = ()
) -> str:
    """Return the report as Markdown: the rows of some robots, then whole sections."""
    today = datetime.date.today().isoformat()
    lines = [
        '# Published numbers and ours',
        '',
        f'Generated on {today} by `{command}` (`make validate`). Do not edit.',
        '',
        'Rows "used for fitting" fixed parameters and prove little; "predicted" rows were',
        'computed after the robot file was frozen; "yardstick" rows are errors or times of the',
        'paper itself that rest on data it does not print. A row is *near* within twice its',
        'tolerance. What is not met is explained, never tuned away.',
        '',
    ]
    for robot in robots:
        rows = rows_of(robot)
        title, _, text = ROBOTS[robot]
        lines += [f'## {title}', '', text, '', summary(rows), '']
        lines += [*table(rows), '']
    for section in sections:
        lines += _call(section)
    return '\n'.join(lines)
