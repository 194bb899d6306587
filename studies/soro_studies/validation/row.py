# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One row of the validation table, and how its verdict is reached."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
import math

from soro_mechanics.core.errors import SoroError


class Kind(Enum):
    """What part a published number plays."""

    PREDICTED = 'predicted'
    CHOSEN = 'posture chosen'  # of the postures the paper may mean, the one that fits
    FITTED = 'used for fitting'
    ASSUMPTION = 'assumption'  # follows from what was assumed where the paper prints nothing
    CHECK = 'own check'  # ours against itself, a closed form or other code
    YARDSTICK = 'yardstick'  # an error, a time, a figure, a word without a number: no test


class Verdict(Enum):
    """Outcome of a row."""

    MET = 'met'
    NEAR = 'near'
    NOT_MET = 'not met'
    NOT_COMPARABLE = 'not comparable'


class NotExplained(SoroError):
    """A row is not met and does not say why."""


@dataclass(frozen=True)
class Row:
    """One published number, ours, and what follows.

    Attributes
    ----------
    quantity, paper, ours, difference : str
        As they stand in the table. `quantity` names the row: it holds nothing that is computed.
    verdict : Verdict
    kind : Kind
    note : str
        Required of a robot's own rows unless they are met, see `explained`.
    within : str
        How far apart paper and ours may be for the row to be met; empty where an order decides.
    printed : bool
        Whether the paper prints a number, or bounds of one, for it.
    value : float, optional
        Ours, where the row is decided by one number.
    """

    quantity: str
    paper: str
    ours: str
    difference: str
    verdict: Verdict
    kind: Kind
    note: str = ''
    within: str = ''
    printed: bool = False
    value: float | None = None


def explained(rows: Iterable[Row]) -> list[Row]:
    """Return rows that are all met or say why not.

    Raises
    ------
    NotExplained
    """
    listed = list(rows)
    for row in listed:
        if row.verdict is not Verdict.MET and not row.note:
            raise NotExplained(f'{row.quantity}: {row.verdict.value}, but not explained')
    return listed


def number(
    quantity: str,
    paper: float,
    ours: float,
    unit: str,
    within: float,
    kind: Kind = Kind.PREDICTED,
    note: str = '',
    digits: int = 3,
    printed: str = '',
) -> Row:
    """Make the row of a number.

    Parameters
    ----------
    paper, ours : float
        In `unit`.
    within : float
        Relative difference up to which the row is met; up to twice as much it is near.
    printed : str
        What stands in the paper's column instead of the number, where that says more.
    """
    gap = ours - paper
    relative = abs(gap) / abs(paper) if paper else math.inf if gap else 0.0
    verdict = Verdict.NOT_MET
    if relative <= within:
        verdict = Verdict.MET
    elif relative <= 2.0 * within:
        verdict = Verdict.NEAR
    sign = '+' if gap >= 0.0 else '-'
    share = 100.0 * relative
    shown = f'{share:.1f}' if share >= 0.05 or not share else f'{share:.0e}'
    difference = f'{sign}{shown} %' if paper else f'{gap:+.{digits}g}'
    tail = f' {unit}'.rstrip()
    return Row(
        quantity,
        printed or f'{paper:g}{tail}',
        f'{ours:.{digits}g}{tail}',
        difference,
        verdict,
        kind,
        note,
        f'{100.0 * within:.2g} %',
        kind is not Kind.CHECK,
        float(ours),
    )


def boundary(
    quantity: str,
    paper: str,
    ours: float,
    unit: str,
    low: float,
    high: float,
    kind: Kind = Kind.PREDICTED,
    note: str = '',
    digits: int = 3,
    shown: str = '',
    printed: bool = True,
) -> Row:
    """Make the row of a number that the paper only bounds (``paper`` says how).

    Outside by no more than a tenth of the nearest bound the row is near. `high` may be infinite.

    Parameters
    ----------
    shown : str
        What stands in our column instead of the number, where that says more.
    printed : bool
        False where the bound is our reading of the paper's words.
    """
    inside = low <= ours <= high  # false for NaN
    nearest = low if ours < low else high
    verdict = Verdict.NOT_MET
    if inside:
        verdict = Verdict.MET
    elif abs(ours - nearest) <= 0.1 * abs(nearest):
        verdict = Verdict.NEAR
    difference = 'inside' if inside else f'{ours - nearest:+.{digits}g}'
    within = f'at least {low:g}' if math.isinf(high) else f'{low:g} to {high:g}'
    return Row(
        quantity,
        paper,
        shown or f'{ours:.{digits}g} {unit}'.rstrip(),
        difference,
        verdict,
        kind,
        note,
        f'{within} {unit}'.rstrip(),
        printed and kind is not Kind.CHECK,
        float(ours),
    )


def statement(
    quantity: str, paper: str, ours: str, holds: bool, note: str = '', kind: Kind = Kind.PREDICTED
) -> Row:
    """Make the row of an order that the paper states in words: what is more, what rises.

    Where a number of ours decides how much is enough, `boundary` shows it.
    """
    verdict = Verdict.MET if holds else Verdict.NOT_MET
    return Row(quantity, paper, ours, '', verdict, kind, note)


def yardstick(quantity: str, paper: str, ours: str, note: str) -> Row:
    """Make the row of what cannot be judged: it depends on data the paper does not print."""
    return Row(quantity, paper, ours or '-', '', Verdict.NOT_COMPARABLE, Kind.YARDSTICK, note)
