# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Numbers that other commands measured, read off the pages of the workspace they wrote.

Nothing on the report is typed by hand. A row that is gone from its page is an error; without a
workspace around the package there are no pages, and the report says so.
"""

from __future__ import annotations

from collections.abc import Callable
import re

from soro_studies.validation.page_tables import NotOnPage, section, table_cells
from soro_studies.validation.provenance import workspace
from soro_studies.validation.row import Row, statement, yardstick

NUMBER = re.compile(r'([-+]?\d+(?:\.\d+)?)(?: ?(\S+))?')
NOT_MEASURED = 'not measured'

HAPTIC_STUDIES = 'docs/evidence/haptic_5dof_rendering.md'
HAPTIC_LOOP = 'docs/evidence/haptic_5dof_loop.md'
PARALLEL_TRACKING = 'docs/evidence/soft_parallel_tracking.md'
MUSCLE_TRACKING = 'docs/evidence/pam_continuum_tracking.md'
PERFORMANCE, PARALLEL_BENCHMARK = 'docs/evidence/performance.md', 'bench_ancf'
PAGES = (
    HAPTIC_STUDIES,
    HAPTIC_LOOP,
    PARALLEL_TRACKING,
    MUSCLE_TRACKING,
    f'{PERFORMANCE}#{PARALLEL_BENCHMARK}',
)
DURATION = re.compile(r'([\d.]+) (ns|us|ms|s)\b')
MILLISECONDS = {'ns': 1e-6, 'us': 1e-3, 'ms': 1.0, 's': 1e3}


def measured(page: str, heading: str, label: str, column: str) -> list[str]:
    """Return cells of the tables in a section of a generated page.

    Parameters
    ----------
    page : str
        Relative to the workspace.
    heading : str
        Words of the only heading that contains them; empty for the whole page.
    label : str
        First cells of the rows, joined by ' | '; '*' for every row.
    column : str

    Returns
    -------
    list of str
        Empty outside of a workspace.

    Raises
    ------
    NotOnPage
        The workspace has no such page, section, row or column.
    """
    root = workspace()
    if root is None:
        return []
    try:
        text = (root / page).read_text(encoding='utf-8')
    except FileNotFoundError:
        raise NotOnPage(f'there is no {page}, from which {label!r} is read') from None
    try:
        below = section(text, heading)[1] if heading else text
    except NotOnPage as error:
        raise NotOnPage(f'{page}: {error}') from None
    cells = [cell for cell in table_cells(below, label, column) if NUMBER.match(cell)]
    if not cells:
        raise NotOnPage(f'{page}: {heading}: no row {label!r} with a column {column!r}')
    return cells


def benchmarked(benchmark: str, label: str) -> list[str]:
    """Return the median of a benchmark's row, as `make bench` wrote it, in ms.

    Raises
    ------
    NotOnPage
        The workspace has no such section or row.
    """
    root = workspace()
    if root is None:
        return []
    try:
        below = section((root / PERFORMANCE).read_text(encoding='utf-8'), benchmark)[1]
    except (FileNotFoundError, NotOnPage) as error:
        raise NotOnPage(f'{PERFORMANCE}: {benchmark}: {error}') from None
    row = re.search(rf'^{re.escape(label)} +(\S.*)$', below, re.MULTILINE)
    durations = DURATION.findall(row[1]) if row else []
    if not durations:
        raise NotOnPage(f'{PERFORMANCE}: {benchmark}: no row {label!r} with a time')
    value, unit = durations[0]
    return [f'{float(value) * MILLISECONDS[unit]:.4g} ms']


def numbers(cells: list[str]) -> list[float]:
    """Return the numbers that cells begin with."""
    return [float(found[1]) for cell in cells if (found := NUMBER.match(cell))]


def span(cells: list[str]) -> str:
    """Return least and largest of some cells with their unit, as a report shows them."""
    if not cells:
        return NOT_MEASURED
    texts = [found for cell in cells if (found := NUMBER.match(cell))]
    texts.sort(key=lambda found: float(found[1]))
    unit = f' {texts[0][2] or ""}'.rstrip()
    least, largest = texts[0][1], texts[-1][1]
    return f'{least}{unit}' if least == largest else f'{least} to {largest}{unit}'


def measured_statement(
    quantity: str,
    paper: str,
    cells: list[str],
    text: str,
    holds: Callable[[list[float]], bool],
    note: str,
) -> Row:
    """Make the row of a statement that a generated page decides; `text` has {} for the cells."""
    if not cells:
        return yardstick(quantity, paper, NOT_MEASURED, note)
    return statement(quantity, paper, text.format(', '.join(cells)), holds(numbers(cells)), note)
