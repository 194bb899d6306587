# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Write the validation report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
import datetime
from importlib import import_module
from typing import Any

from soro_mechanics.core.errors import UnknownName
from soro_studies.validation.measured_page import PAGES
from soro_studies.validation.provenance import provenance
from soro_studies.validation.registry import ROBOTS
from soro_studies.validation.row import Kind, Row, Verdict

COMMAND = 'python -m soro_studies.validation'


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
        '| Quantity | Paper | Ours | Difference | Met within | Verdict | Kind | Note |',
        '|---|---|---|---|---|---|---|---|',
    ]
    lines += [
        f'| {r.quantity} | {r.paper} | {r.ours} | {r.difference} | {r.within} '
        f'| {r.verdict.value} | {r.kind.value} | {r.note} |'
        for r in rows
    ]
    return lines


def summary(rows: Sequence[Row]) -> str:
    """Count the verdicts in one sentence, and in another those that say something of the paper."""
    counts = Counter(r.verdict for r in rows)
    parts = [f'{counts[v]} {v.value}' for v in Verdict if counts[v]]
    predicted = [r for r in rows if r.kind is Kind.PREDICTED]
    met = sum(r.verdict is Verdict.MET for r in predicted)
    shown = f'{len(predicted)}, of them {met} met' if predicted else 'none'
    return f'{len(rows)} rows: {", ".join(parts)}. Predicted: {shown}.'


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
        *provenance(PAGES),
        'Rows "used for fitting" fixed parameters, or follow from what did, and prove little;',
        '"predicted" rows were computed after the robot file was frozen. An "own check" holds a',
        'computation against itself, a closed form or other code: it finds mistakes of ours and',
        'says nothing about the robot of the paper. "Yardstick" rows show what cannot be judged:',
        'errors and times of the paper that rest on data it does not print, figures, words',
        'without a number. *Met within* is our choice where the paper prints no uncertainty. A',
        'row is *near* within twice that, or within a tenth of the bound it leaves. What is not',
        'met is explained, as far as we know why, never tuned away.',
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
