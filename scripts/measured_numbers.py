# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Find a measured number in the JSON that a study stores, or in lines that a benchmark stored.

A number that is not where it is looked for raises `NotOnPage`: a row that was renamed must not
vanish in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
import math
import re
from typing import Any

from page_tables import NotOnPage, table_cells

NUMBER = r'[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?'
QUANTITY = re.compile(rf'({NUMBER})(?: ?([a-zA-Z%/]+))?')
SECONDS = {'us': 1e-6, 'ms': 1e-3, 's': 1.0, 'min': 60.0}
SHOWN = {'s': 1.0, 'ms': 1e-3, 'us': 0.0}  # unit of a time: from this many seconds on
COLUMNS = ['median', 'p99', 'least', 'processor']  # of the rows of a benchmark


@dataclass(frozen=True)
class Quantity:
    """A number as its page writes it, and its unit, empty where the page states none beside it."""

    text: str
    unit: str = ''

    @classmethod
    def read(cls, text: str) -> Quantity:
        """Read the number at the beginning of a text."""
        found = QUANTITY.match(text)
        if not found:
            raise NotOnPage(f'{text!r} is no number')
        return cls(found[1], found[2] or '')

    def value(self, unit: str) -> float:
        """Return the value in a unit; a number without unit is taken to be in it."""
        if self.unit in ('', unit):
            return float(self.text)
        if {self.unit, unit} <= set(SECONDS):
            return float(self.text) * SECONDS[self.unit] / SECONDS[unit]
        raise NotOnPage(f'{self.text} {self.unit} is no number in {unit or "no unit"}')


@dataclass(frozen=True)
class Place:
    """Where numbers stand in a section. One of the first four says how they are found.

    Attributes
    ----------
    key : str
        Place in stored JSON, keys joined by '/': `checks[robot=arm]/jacobian`; several places
        joined by ' | '. '*' is every entry; of a list, those whose fields have the values in
        brackets.
    unit, scale : str, float
        What is stored under a `key` times `scale` is in this unit.
    benchmark : str
        Label of a row that `soro_studies.mechanics.benchmark_rows` printed.
    table : str
        First cells of a row, or of several, joined by ' | '; '*' for all rows.
    pattern : str
        Regular expression whose groups hold the numbers.
    column : str
        Name of the column of a table; of a benchmark 'processor', where nothing else is named.
    part : str
        Regular expression whose groups hold the numbers inside a cell; else a cell begins with it.
    take : str
        What to make of several numbers, see `TAKE`; without it there must be one.
    count : str
        Count the cells that this regular expression finds, instead of reading them.
    """

    key: str = ''
    unit: str = ''
    scale: float = 1.0
    benchmark: str = ''
    table: str = ''
    pattern: str = ''
    column: str = ''
    part: str = ''
    take: str = ''
    count: str = ''

    def __post_init__(self) -> None:
        if sum(map(bool, (self.key, self.benchmark, self.table, self.pattern))) != 1:
            raise ValueError('one of key, benchmark, table and pattern finds a number')
        if not self.key and (self.unit or self.scale != 1.0):
            raise ValueError('unit and scale belong to a key')
        if (self.table and not self.column) or (self.pattern and self.column):
            raise ValueError('a table has a column, a pattern has none')
        if self.benchmark and self.column and self.column not in COLUMNS:
            raise ValueError(f'column: {self.column}; there are: {", ".join(COLUMNS)}')
        if self.take and self.take not in TAKE:
            raise ValueError(f'take: {self.take}; there are: {", ".join(TAKE)}')

    def __str__(self) -> str:
        fields = {k: v for k, v in vars(self).items() if v and v != 1.0}
        return ', '.join(f'{k} {v!r}' for k, v in fields.items())


def stored(data: Any, place: Place) -> Quantity:
    """Return the number that stands in stored JSON at a place.

    `data` is all that a study stores; of benchmarks, what is stored of one.
    """
    if place.benchmark:
        row = data['rows'].get(place.benchmark)
        if row is None:
            raise NotOnPage('no such row')
        seconds = row[place.column or 'processor']
        unit = next(u for u, size in SHOWN.items() if seconds >= size or u == 'us')
        return Quantity(f'{seconds / SECONDS[unit]:.3g}', unit)
    if not place.key:
        return measured('\n'.join(data['lines']), place)
    found = [v for key in place.key.split(' | ') for v in values_at(data, key.split('/'))]
    if found and place.count:
        return Quantity(str(sum(bool(re.search(place.count, str(v))) for v in found)))
    if not found:
        raise NotOnPage('no such value')
    try:
        numbers = [_shown(place.scale * float(v), place.unit) for v in found]
    except (TypeError, ValueError):
        raise NotOnPage(f'{found} are no numbers') from None
    return _taken(numbers, place)


def _shown(value: float, unit: str) -> Quantity:
    return Quantity(f'{value:.4g}' if abs(value) < 1e4 else f'{value:.9g}', unit)


def values_at(data: Any, keys: Sequence[str]) -> Iterator[Any]:
    """Yield what stands in JSON at keys, see `Place.key`."""
    if not keys:
        yield data
        return
    name, *filters = re.findall(r'[^\[\]]+', keys[0])
    if isinstance(data, list):
        below = data if name == '*' else []
    elif isinstance(data, dict):
        below = list(data.values()) if name == '*' else [data[name]] if name in data else []
    else:
        below = []
    wanted = dict(f.split('=', 1) for f in filters)
    for entry in below:
        inside = entry if wanted and isinstance(entry, list) else [entry]
        for one in inside:
            if not wanted or (
                isinstance(one, dict) and all(str(one.get(k)) == v for k, v in wanted.items())
            ):
                yield from values_at(one, keys[1:])


def measured(text: str, place: Place) -> Quantity:
    """Return the number that stands in a section of a page at a place."""
    if place.benchmark:
        cells = [_benchmark_cell(text, place.benchmark, place.column or 'processor')]
    elif place.table:
        cells = list(table_cells(text, place.table, place.column))
    else:
        cells = _groups(place.pattern, text)
    if cells and place.count:
        return Quantity(str(sum(bool(re.search(place.count, c)) for c in cells)))
    if place.part:
        cells = [group for c in cells for group in _groups(place.part, c)]
    if not cells:
        raise NotOnPage('no such row')
    return _taken([Quantity.read(c) for c in cells], place)


def _taken(numbers: Sequence[Quantity], place: Place) -> Quantity:
    if place.take:
        return TAKE[place.take](numbers)
    if len(numbers) != 1:
        raise NotOnPage(f'found {len(numbers)} times')
    return numbers[0]


def _groups(pattern: str, text: str) -> list[str]:
    found = re.finditer(pattern, text, flags=re.MULTILINE)
    return [group for match in found for group in match.groups()]


def _benchmark_cell(text: str, label: str, column: str) -> str:
    lines = text.splitlines()
    rows = [line for line in lines if re.match(rf'{re.escape(label)} +\d', line)]
    if not any(line.split()[:4] == COLUMNS for line in lines):
        raise NotOnPage(f'no head with the columns {", ".join(COLUMNS)}')
    if len(rows) != 1:
        raise NotOnPage(f'{len(rows)} such rows')
    times = re.findall(rf'{NUMBER} (?:us|ms|s)\b', rows[0][len(label) :])
    if len(times) < len(COLUMNS):
        raise NotOnPage(f'{rows[0]!r} has fewer than {len(COLUMNS)} times')
    return times[COLUMNS.index(column)]


def _computed(combine: Callable[[list[float]], float]) -> Callable[[Sequence[Quantity]], Quantity]:
    def taken(numbers: Sequence[Quantity]) -> Quantity:
        unit = numbers[0].unit
        return Quantity(f'{round(combine([n.value(unit) for n in numbers]), 3):g}', unit)

    return taken


TAKE: dict[str, Callable[[Sequence[Quantity]], Quantity]] = {
    'largest': lambda numbers: max(numbers, key=lambda n: n.value(numbers[0].unit)),
    'least': lambda numbers: min(numbers, key=lambda n: n.value(numbers[0].unit)),
    'sum': _computed(sum),
    # Of two kinds, the first half of the numbers and the second.
    'difference': _computed(
        lambda values: sum(values[: len(values) // 2]) - sum(values[len(values) // 2 :])
    ),
    # Of convergence: errors with n and with 2 n elements.
    'order': _computed(lambda values: math.log2(values[0] / values[1])),
    'mean': _computed(lambda values: math.fsum(values) / len(values)),
    # In per cent: the first of all.
    'share': _computed(lambda values: 100.0 * values[0] / math.fsum(values)),
}
