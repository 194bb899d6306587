# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""``python -m soro_studies.validation.tolerances``: freeze how near a row must be to be met.

What was frozen stands in tolerances.json beside this file, row by row, before the row's power was
scored. The command adds rows that are new and changes none: a tolerance that is to be another is
changed by hand in that file, where it is seen.
"""

from __future__ import annotations

from collections.abc import Iterable
import json
from pathlib import Path

from soro_mechanics.core.errors import SoroError
from soro_studies.validation.registry import ROBOTS, rows_of
from soro_studies.validation.row import Row, Verdict

FILE = Path(__file__).with_name('tolerances.json')


class NotFrozen(SoroError):
    """The tolerance of a row is not the one that was frozen."""


def frozen() -> dict[str, dict[str, list[str]]]:
    """Return [paper, within, kind] by robot and quantity."""
    found: dict[str, dict[str, list[str]]] = json.loads(FILE.read_text(encoding='utf-8'))
    return found


def terms(row: Row) -> list[str]:
    """Return what a row is judged by."""
    return [row.paper, row.within, row.kind.value]


def require_frozen(robot: str, rows: Iterable[Row]) -> None:
    """Refuse rows that are judged by other terms than the frozen ones.

    Raises
    ------
    NotFrozen
        With the row, its terms and the frozen ones.
    """
    known = frozen().get(robot, {})
    for row in rows:
        if row.verdict is Verdict.NOT_COMPARABLE:
            continue
        if row.quantity not in known:
            remedy = 'freeze it: python -m soro_studies.validation.tolerances'
            raise NotFrozen(f'{robot}: {row.quantity}: new; {remedy}')
        if known[row.quantity] != terms(row):
            raise NotFrozen(
                f'{robot}: {row.quantity}: judged by {terms(row)}, frozen as '
                f'{known[row.quantity]} in {FILE.name}'
            )


def main() -> int:
    """Add the rows that are new."""
    known = frozen() if FILE.is_file() else {}
    for robot in ROBOTS:
        own = known.setdefault(robot, {})
        judged = [r for r in rows_of(robot) if r.verdict is not Verdict.NOT_COMPARABLE]
        new = {r.quantity: terms(r) for r in judged if r.quantity not in own}
        for quantity in new:
            print(f'{robot}: {quantity}')
        own |= new
        gone = [quantity for quantity in own if quantity not in {r.quantity for r in judged}]
        for quantity in gone:
            print(f'{robot}: no longer a row that is judged: {quantity}')
            del own[quantity]
    FILE.write_text(written(known), encoding='utf-8')
    return 0


def written(known: dict[str, dict[str, list[str]]]) -> str:
    """Return what was frozen as JSON, a line for every row."""
    robots = []
    for robot, own in known.items():
        rows = [f'  {json.dumps(quantity)}: {json.dumps(of)}' for quantity, of in own.items()]
        robots.append(f' {json.dumps(robot)}: {{\n' + ',\n'.join(rows) + '\n }')
    return '{\n' + ',\n'.join(robots) + '\n}\n'


if __name__ == '__main__':
    raise SystemExit(main())
