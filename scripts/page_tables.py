# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Sections and tables of a generated Markdown page, for whoever reads numbers off it.

What is not where it is looked for raises `NotOnPage`: a row that was renamed must not vanish in
silence.
"""

from __future__ import annotations

from collections.abc import Iterator
import re

from soro_mechanics.core.errors import SoroError

HEADING = re.compile(r'^(#+) +(.+?) *$', re.MULTILINE)
TABLE = re.compile(r'^\|.*\n\|[-:| ]+\n(?:\|.*\n?)*', re.MULTILINE)
FENCE = re.compile(r'^ *```.*?^ *```', re.MULTILINE | re.DOTALL)


class NotOnPage(SoroError):
    """What was looked for is not on the page, or is there more than once."""


def section(page: str, heading: str) -> tuple[str, str]:
    """Return the only heading that contains these words, and what stands below it.

    Sections of lower level belong to it. Without words: the first heading, and the whole page.
    """
    blank = FENCE.sub(lambda found: re.sub(r'[^\n]', ' ', found[0]), page)
    headings = list(HEADING.finditer(blank))
    chosen = [h for h in headings if heading in h[2]] if heading else headings[:1]
    if len(chosen) != 1:
        raise NotOnPage(f'{len(chosen)} headings contain {heading!r}')
    begin, level = chosen[0], len(chosen[0][1])
    later = (h.start() for h in headings if h.start() > begin.start() and len(h[1]) <= level)
    return begin[2], page[begin.end() : next(later, len(page))]


def table_cells(text: str, label: str, column: str) -> Iterator[str]:
    """Yield the cells of a column that are not empty.

    Parameters
    ----------
    text : str
        With any number of tables.
    label : str
        First cells of the rows, joined by ' | '; '*' for every row.
    column : str
        As its table calls it.
    """
    wanted = [] if label == '*' else label.split(' | ')
    for table in TABLE.finditer(text):
        head, _, *rows = map(_cells, table[0].splitlines())
        if column in head:
            at = head.index(column)
            yield from (row[at] for row in rows if row[: len(wanted)] == wanted and row[at])


def _cells(line: str) -> list[str]:
    return [cell.strip().strip('*') for cell in re.split(r'(?<!\\)\|', line)[1:-1]]
