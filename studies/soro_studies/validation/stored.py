# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Numbers that other commands measured, from the JSON they keep beside their pages.

Nothing on the report is typed by hand. Without a workspace around the package nothing was
measured, and the report says so.
"""

from __future__ import annotations

from collections.abc import Iterable
import json
from pathlib import Path
from typing import Any

from soro_mechanics.core.errors import SoroError
from soro_studies.validation.provenance import workspace
from soro_studies.validation.row import Kind, Row, statement, yardstick

NOT_MEASURED = 'not measured'

HAPTIC_STUDIES = 'docs/evidence/haptic_5dof_rendering.md'
HAPTIC_LOOP = 'docs/evidence/haptic_5dof_loop.md'
PARALLEL_TRACKING = 'docs/evidence/soft_parallel_tracking.md'
MUSCLE_TRACKING = 'docs/evidence/pam_continuum_tracking.md'
PERFORMANCE, PARALLEL_BENCHMARK = 'docs/evidence/performance.md', 'bench_ancf'
PAGES = (HAPTIC_STUDIES, HAPTIC_LOOP, PARALLEL_TRACKING, MUSCLE_TRACKING, PERFORMANCE)


class NotStored(SoroError):
    """What was looked for is not stored where its study keeps it."""


def stored(page: str) -> dict[str, Any]:
    """Return what the study of a page keeps, from the JSON file beside the page.

    Parameters
    ----------
    page : str
        Relative to the workspace.

    Returns
    -------
    dict
        Empty outside of a workspace.

    Raises
    ------
    NotStored
        The workspace has no such file.
    """
    root = workspace()
    if root is None:
        return {}
    file = (root / page).with_suffix('.json')
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding='utf-8'))
    except FileNotFoundError:
        raise NotStored(f'there is no {file.relative_to(root)}, beside {page}') from None
    return found


def benchmarked(benchmark: str, label: str) -> float | None:
    """Return the median of a benchmark's row [s], as `make bench` stored it.

    None outside of a workspace.

    Raises
    ------
    NotStored
        The workspace has no such benchmark or row.
    """
    kept = stored(PERFORMANCE)
    if not kept:
        return None
    for name, run in kept.items():
        if Path(name).stem == benchmark and label in run['rows']:
            return float(run['rows'][label]['median'])
    raise NotStored(f'{PERFORMANCE}: {benchmark}: no row {label!r}')


def span(values: Iterable[float], unit: str, digits: int) -> str:
    """Return least and largest of some values, as a report shows them."""
    listed = sorted(values)
    if not listed:
        return NOT_MEASURED
    least, largest = (f'{x:.{digits}f}' for x in (listed[0], listed[-1]))
    text = least if least == largest else f'{least} to {largest}'
    return f'{text} {unit}'.rstrip()


def assumed_order(
    quantity: str, paper: str, values: Iterable[float], shown: str, holds: bool, note: str
) -> Row:
    """Make the row of an order that a stored study shows and its assumptions decide."""
    if not list(values):
        return yardstick(quantity, paper, NOT_MEASURED, note)
    return statement(quantity, paper, shown, holds, note, Kind.ASSUMPTION)
