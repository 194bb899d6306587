# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""``python -m soro_studies.validation.mutation_score [robot ...]``: what each row can notice.

Every row of a robot is computed again with every mutant of it (`mutant_list`), and what became of
its verdict is kept in docs/evidence/validation/mutants.json. A row catches a mutant where it is
met or near for the robot, and not met for the mutant. What could not be computed counts for no
row; it is kept beside.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import datetime
import math
import sys
import time
from typing import Any

from soro_mechanics.core.errors import SoroError
from soro_mechanics.robot import load_robot
from soro_studies.validation.mutant_list import MUTANTS
from soro_studies.validation.mutants import Change, Mutant, MutantLoader
from soro_studies.validation.provenance import robot_digests
from soro_studies.validation.registry import groups_of
from soro_studies.validation.report import write_page
from soro_studies.validation.results import MUTANTS_FILE, read_results, ROWS_FILE, write_results
from soro_studies.validation.robots import Group, Loader
from soro_studies.validation.row import Row, Verdict
from soro_studies.validation.tolerances import require_frozen

# What solving an impossible robot may end with; anything else is a mistake of ours.
BREAKDOWNS = (SoroError, RuntimeError, ValueError, ArithmeticError, IndexError)


def score(robot: str, mutants: Sequence[Mutant], groups: Sequence[Group]) -> dict[str, Any]:
    """Return the verdicts of a robot's rows, and what they become under mutants.

    Parameters
    ----------
    robot : str
    mutants : sequence of Mutant
    groups : sequence of Group
        Some of the robot's; those without a row that is judged are left out.

    Raises
    ------
    NotFrozen
        The tolerance of a row is not the one that was frozen.
    """
    judged = []
    verdicts: dict[str, str] = {}
    for group in groups:
        rows = [r for r in group(load_robot) if r.verdict is not Verdict.NOT_COMPARABLE]
        if rows:
            require_frozen(robot, rows)
            judged.append(group)
            verdicts |= {r.quantity: r.verdict.value for r in rows}
    return {
        'date': datetime.date.today().isoformat(),
        'robot_file': robot_digests()[robot],
        'verdicts': verdicts,
        'mutants': [_under(mutant, judged, verdicts) for mutant in mutants],
    }


def _under(mutant: Mutant, groups: Sequence[Group], verdicts: dict[str, str]) -> dict[str, Any]:
    """Return what becomes of the rows under one mutant: only those whose verdict changes."""
    load = MutantLoader(mutant)
    became: dict[str, str] = {}
    broken: list[str] = []
    for group in groups:
        rows, why = _tried(group, load)
        if why:
            broken.append(why)
        for row in rows:
            if row.value is not None and math.isnan(row.value):
                broken.append(f'{row.quantity}: no number')
            elif row.quantity in verdicts and row.verdict.value != verdicts[row.quantity]:
                became[row.quantity] = row.verdict.value
    return {
        'name': mutant.name,
        'changes': [_words(change) for change in mutant.changes],
        'became': became,
        'broken': list(dict.fromkeys(broken)),
    }


def _tried(group: Group, load: Loader) -> tuple[list[Row], str]:
    """Return the rows of a group, or why they cannot be computed."""
    try:
        return group(load), ''
    except BREAKDOWNS as error:
        text = ' '.join(str(error).split())
        return [], f'{type(error).__name__}: {text[:120]}'


def _words(change: Change) -> str:
    if change.exchange:
        return f'{change.path} and {change.exchange} exchanged'
    if change.factor is not None:
        return f'{change.path} x {change.factor:g}'
    return f'{change.path}: {change.value}'


def merged(
    robot: str, before: Sequence[dict[str, Any]], found: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return what is kept of a robot's mutants, with those that were scored again."""
    known = {m['name']: m for m in (*before, *found['mutants'])}
    return [known[m.name] for m in MUTANTS[robot] if m.name in known]


def main() -> int:
    """Score robots, keeping each as soon as it is done, and write the page anew."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('robots', nargs='*', help=f'of {", ".join(MUTANTS)}')
    parser.add_argument(
        '--only', nargs='+', metavar='MUTANT', help='score these again, keep what others did'
    )
    options = parser.parse_args()
    unknown = set(options.robots) - set(MUTANTS)
    if unknown:
        parser.error(
            f'no mutants of {", ".join(sorted(unknown))}; there are: {", ".join(MUTANTS)}'
        )
    for robot in options.robots or MUTANTS:
        begin = time.monotonic()
        chosen = [m for m in MUTANTS[robot] if not options.only or m.name in options.only]
        try:
            found = score(robot, chosen, groups_of(robot))
        except SoroError as error:
            print(error, file=sys.stderr)
            return 2
        kept = read_results(MUTANTS_FILE)
        if options.only:
            found['mutants'] = merged(robot, kept.get(robot, {}).get('mutants', []), found)
        write_results(MUTANTS_FILE, {**kept, robot: found})
        print(
            f'{robot}: {len(found["mutants"])} mutants, {time.monotonic() - begin:.0f} s',
            flush=True,
        )
    if read_results(ROWS_FILE):  # otherwise there are no rows to show yet
        print(f'wrote {write_page()}')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
