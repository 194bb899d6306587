# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One row of the validation table, and how its verdict is reached."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
import math


class Kind(Enum):
    """What part a published number plays."""

    FITTED = 'used for fitting'
    PREDICTED = 'predicted'
    YARDSTICK = 'yardstick'  # an error or a time of the paper's own, which nobody can reproduce


class Verdict(Enum):
    """Outcome of a row."""

    MET = 'met'
    NEAR = 'near'
    NOT_MET = 'not met'
    NOT_COMPARABLE = 'not comparable'


@dataclass(frozen=True)
class Row:
    """One published number, ours, and what follows.

    Attributes
    ----------
    quantity, paper, ours, difference : str
        As they stand in the table.
    verdict : Verdict
    kind : Kind
    note : str
        Required unless the row is met.
    """

    quantity: str
    paper: str
    ours: str
    difference: str
    verdict: Verdict
    kind: Kind
    note: str = ''

    def __post_init__(self) -> None:
        """Refuse a row that is not met and not explained."""
        if self.verdict in (Verdict.NOT_MET, Verdict.NOT_COMPARABLE) and not self.note:
            raise ValueError(f'{self.quantity}: {self.verdict.value}, but not explained')


def number(
    quantity: str,
    paper: float,
    ours: float,
    unit: str,
    within: float,
    kind: Kind = Kind.PREDICTED,
    note: str = '',
    digits: int = 3,
) -> Row:
    """Make the row of a number.

    Parameters
    ----------
    paper, ours : float
        In `unit`.
    within : float
        Relative difference up to which the row is met; up to twice as much it is near.
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
        quantity, f'{paper:g}{tail}', f'{ours:.{digits}g}{tail}', difference, verdict, kind, note
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
) -> Row:
    """Make the row of a number that the paper only bounds (``paper`` says how)."""
    inside = low <= ours <= high  # false for NaN
    nearest = low if ours < low else high
    verdict = Verdict.NOT_MET
    if inside:
        verdict = Verdict.MET
    elif abs(ours - nearest) <= 0.1 * abs(nearest):
        verdict = Verdict.NEAR
    difference = 'inside' if inside else f'{ours - nearest:+.{digits}g}'
    return Row(
        quantity, paper, f'{ours:.{digits}g} {unit}'.rstrip(), difference, verdict, kind, note
    )


def statement(
    quantity: str, paper: str, ours: str, holds: bool, note: str = '', kind: Kind = Kind.PREDICTED
) -> Row:
    """Make the row of something the paper states in words."""
    verdict = Verdict.MET if holds else Verdict.NOT_MET
    return Row(quantity, paper, ours, '', verdict, kind, note)


def yardstick(quantity: str, paper: str, ours: str, note: str) -> Row:
    """Make the row of a number of the paper that depends on data it does not print."""
    return Row(quantity, paper, ours, '', Verdict.NOT_COMPARABLE, Kind.YARDSTICK, note)
