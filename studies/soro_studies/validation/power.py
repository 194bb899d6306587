# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a row's power says: which mutants it catches, and which rows count for that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from soro_studies.validation.mutant_list import ENOUGH, REQUIRED
from soro_studies.validation.row import Kind, Row, Verdict

HELD = (Verdict.MET.value, Verdict.NEAR.value)
PAPER = (Kind.PREDICTED, Kind.CHOSEN, Kind.FITTED)  # rows that hold ours against the paper


@dataclass(frozen=True)
class Power:
    """What the rows of a robot catch, from what `mutation_score` kept.

    Attributes
    ----------
    robot : str
    mutants : list of dict
        As `mutation_score` kept them.
    verdicts : dict of str to str
        Of the rows, unchanged robot.
    robot_file : str
        Digest of the file that was scored; '' where nothing was.
    date : str
    """

    robot: str
    mutants: list[dict[str, Any]]
    verdicts: dict[str, str]
    robot_file: str = ''
    date: str = ''

    @classmethod
    def of(cls, robot: str, kept: dict[str, Any]) -> Power:
        """Read what was kept of a robot, which may be nothing."""
        found = kept.get(robot, {})
        return cls(
            robot,
            found.get('mutants', []),
            found.get('verdicts', {}),
            found.get('robot_file', ''),
            found.get('date', ''),
        )

    def catches(self, quantity: str, mutant: dict[str, Any]) -> bool:
        """Whether a row that is met or near is no longer so under a mutant."""
        held = self.verdicts.get(quantity) in HELD
        return held and mutant['became'].get(quantity) == Verdict.NOT_MET.value

    def caught(self, quantity: str) -> list[str]:
        """Return the mutants that a row catches."""
        return [m['name'] for m in self.mutants if self.catches(quantity, m)]

    def catchers(self, mutant: dict[str, Any], rows: Sequence[Row]) -> list[Row]:
        """Return the rows that catch a mutant."""
        return [r for r in rows if self.catches(r.quantity, mutant)]

    def can_fail(self, row: Row) -> bool:
        """Whether a row has shown that it can fail: by a mutant, or by failing."""
        return row.verdict is Verdict.NOT_MET or bool(self.caught(row.quantity))

    def met_under(self, mutant: dict[str, Any], rows: Sequence[Row]) -> int:
        """Return how many of some rows are met under a mutant."""
        after = (mutant['became'].get(r.quantity, self.verdicts.get(r.quantity)) for r in rows)
        return sum(verdict == Verdict.MET.value for verdict in after)


def shown_kind(row: Row, power: Power) -> str:
    """Return the kind a row is listed as: what catches nothing is a yardstick."""
    scored = power.mutants and row.verdict is not Verdict.NOT_COMPARABLE
    if scored and row.kind in PAPER and not power.can_fail(row):
        return f'{Kind.YARDSTICK.value} ({row.kind.value}, catches nothing)'
    return row.kind.value


def counted(rows: Sequence[Row], power: Power) -> list[Row]:
    """Return the predicted rows that can fail: those the headline counts."""
    return [r for r in rows if r.kind is Kind.PREDICTED and power.can_fail(r)]


def by_power(rows: Sequence[Row], power: Power) -> list[Row]:
    """Sort rows: those that count first, then by kind, each by what they catch."""
    kinds = [kind.value for kind in Kind]

    def place(row: Row) -> tuple[int, int]:
        kind = shown_kind(row, power)
        return kinds.index(kind.partition(' (')[0]), -len(power.caught(row.quantity))

    return sorted(rows, key=place)


def blind_spots(rows: Sequence[Row], power: Power) -> list[str]:
    """Say for each required mutant how many rows catch it, or that the paper cannot tell."""
    paper = [r for r in rows if r.kind in PAPER]
    by_name = {m['name']: m for m in power.mutants}
    found = []
    for name in REQUIRED:
        if name not in by_name:
            found.append(f'*{name}* is what the paper prints, so there is no such mutant.')
            continue
        own = len(power.catchers(by_name[name], paper))
        text = f'*{name}*: caught by {own} of the rows that hold ours against the paper'
        if own < ENOUGH:
            text = f'*{name}*: what the paper prints cannot tell; {own or "none"} of its rows '
            text += 'notice' if own != 1 else 'notices'
        checks = sum(r.kind is Kind.CHECK for r in power.catchers(by_name[name], rows))
        found.append(f'{text}, {checks} of our own checks.' if checks else f'{text}.')
    return found
