#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Write docs/evidence/targets.md: every target in numbers, beside what was measured.

    . scripts/env.sh && python scripts/targets_page.py

`make bench` does it at its end, `make lint` checks that the page is as new as those it reads. The
targets stand in targets.yaml.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
import json
import operator
import os
from pathlib import Path
import re
import sys
from typing import Any, TypeVar

import house_rules
from measured_numbers import NUMBER, Place, Quantity, stored
from page_tables import NotOnPage, section
import yaml

ROOT = Path(__file__).resolve().parent.parent
TARGETS = ROOT / 'scripts' / 'targets.yaml'
PAGE = ROOT / 'docs' / 'evidence' / 'targets.md'
T = TypeVar('T')
RELATIONS = {
    'at most': operator.le,
    'below': operator.lt,
    'at least': operator.ge,
    'above': operator.gt,
    'exactly': operator.eq,
}
LIMIT = re.compile(
    rf'(?:({"|".join(RELATIONS)}) ({NUMBER})|({NUMBER}) \+- ({NUMBER})|stated in)(?: (\S+))?'
)
HEAD = """\
# Targets

Written by `python scripts/targets_page.py`, which `make bench` calls at its end; do not edit.
Measured numbers are read from what the studies store as JSON; the tables link the pages, where
date, machine and load stand beside them. Targets, causes and ideas stand in
`scripts/targets.yaml`. A measurement without a date has none on its page either: what is computed
in virtual time is the same on every computer.
Published numbers beside ours: [validation](validation.md).
"""


class TargetError(Exception):
    """What keeps the page from being written, a line each."""


class Verdict(Enum):
    """How a target stands."""

    MET = 'met'
    MISSED = 'missed'
    NOT_MEASURED = 'not measured'


@dataclass(frozen=True)
class Source:
    """A section of a page, and the command that writes it.

    Attributes
    ----------
    page, command, section : str
    data : str
        JSON file that holds the numbers, or a folder of them, by their names; '' where nothing is
        measured.
    stored : str
        Key of what belongs to the section, where the file holds more; of benchmarks, whose keys
        are files, the file's name.
    """

    page: str
    command: str
    section: str = ''
    data: str = ''
    stored: str = ''


@dataclass(frozen=True)
class Target:
    """A target as targets.yaml has it, see there."""

    what: str
    target: str
    source: Source
    read: Place | None = None
    not_measured: str = ''
    cause: str = ''
    next: str = ''

    def __post_init__(self) -> None:
        if self.read is None and not self.not_measured:
            raise ValueError('neither read, nor said why it is not measured')
        if self.read and not self.source.data:
            raise ValueError('its source stores nothing')
        if self.read and not LIMIT.fullmatch(self.target):
            raise ValueError(f'{self.target!r} is no target')

    def holds(self, quantity: Quantity) -> bool:
        """Return whether a measured number keeps the target."""
        relation, limit, middle, tolerance, _ = self._parts()
        value = quantity.value(self.unit)
        if relation:
            return RELATIONS[relation](value, float(limit))
        return not middle or abs(value - float(middle)) <= float(tolerance)

    @property
    def unit(self) -> str:
        """The unit of the target, empty where there is none."""
        return self._parts()[-1] or ''

    def _parts(self) -> tuple[str | None, ...]:
        found = LIMIT.fullmatch(self.target)
        return found.groups() if found else ()


@dataclass(frozen=True)
class Result:
    """A target and how it stands.

    Attributes
    ----------
    target : Target
    verdict : Verdict
    measured : str
        Number and unit; '' where nothing was measured.
    date : str
        Of the measurement, where its page has one.
    place : str
        Anchor of the section that was read; '' for a whole page.
    """

    target: Target
    verdict: Verdict
    measured: str = ''
    date: str = ''
    place: str = ''


def read_targets(file: Path) -> dict[str, list[Target]]:
    """Return the targets by subject."""
    data = yaml.safe_load(file.read_text(encoding='utf-8'))
    sources = {name: _made(Source, name, entry) for name, entry in data['sources'].items()}
    subjects = {s: [_target(e, sources) for e in group] for s, group in data['subjects'].items()}
    used = {id(target.source) for group in subjects.values() for target in group}
    unused = [name for name, source in sources.items() if id(source) not in used]
    if unused:
        raise TargetError(f'{file.name}: nothing is read from: {", ".join(unused)}')
    return subjects


def _target(entry: dict[str, Any], sources: dict[str, Source]) -> Target:
    name, source = entry.get('what', str(entry)), entry.get('source')
    if source not in sources:
        raise TargetError(f'{TARGETS.name}: {name}: no such source: {source}')
    place = _made(Place, name, entry['read']) if 'read' in entry else None
    return _made(Target, name, {**entry, 'source': sources[source], 'read': place})


def _made(kind: type[T], name: str, entry: dict[str, Any]) -> T:
    try:
        return kind(**entry)
    except (TypeError, ValueError) as error:
        raise TargetError(f'{TARGETS.name}: {name}: {error}') from error


def judge(target: Target) -> Result:
    """Read the number of a target; refuse a miss that nobody explains."""
    source = target.source
    try:
        whole = (ROOT / source.page).read_text(encoding='utf-8')
        heading, _ = section(whole, source.section)
    except FileNotFoundError:
        raise TargetError(f'{target.what}: there is no {source.page}') from None
    except NotOnPage as error:
        if target.not_measured:
            return Result(target, Verdict.NOT_MEASURED)
        raise TargetError(f'{target.what}: {source.page}: {error}') from error
    anchor = house_rules.anchor(heading) if source.section else ''
    if target.read is None:
        return Result(target, Verdict.NOT_MEASURED, place=anchor)
    kept = _kept(target)
    try:
        quantity = stored(kept, target.read)
        met = target.holds(quantity)
    except NotOnPage as error:
        raise TargetError(f'{target.what}: {source.data}: {target.read}: {error}') from error
    if not met and not (target.cause and target.next):
        raise TargetError(f'{target.what}: missed ({quantity.text}), without cause or next idea')
    shown = f'{quantity.text} {quantity.unit or target.unit}'.strip()
    verdict = Verdict.MET if met else Verdict.MISSED
    return Result(target, verdict, shown, _date(kept), anchor)


def _date(kept: dict[str, Any]) -> str:
    """Return when it was measured; of a folder of results, the newest."""
    began = [one.get('began', '')[:10] for one in kept.values() if isinstance(one, dict)]
    return kept.get('date', max(began, default=''))


def _kept(target: Target) -> dict[str, Any]:
    """Return what a source stores."""
    source, data = target.source, ROOT / target.source.data
    files = sorted(data.glob('*.json')) if data.is_dir() else [data]
    try:
        found = {file.stem: json.loads(file.read_text(encoding='utf-8')) for file in files}
    except FileNotFoundError:
        raise TargetError(f'{target.what}: there is no {source.data}') from None
    if data.is_dir():
        return found
    found = found[data.stem]
    if not source.stored:
        return found
    chosen = [v for k, v in found.items() if source.stored in (k, Path(k).stem)]
    if len(chosen) != 1:
        raise TargetError(f'{target.what}: {source.data}: no {source.stored}')
    return chosen[0]


def page() -> str:
    """Return the page as it should be; TargetError names everything that is in the way."""
    groups: dict[str, list[Result]] = {}
    errors = []
    for subject, targets in read_targets(TARGETS).items():
        for target in targets:
            try:
                groups.setdefault(subject, []).append(judge(target))
            except TargetError as error:
                errors.append(str(error))
    if errors:
        raise TargetError('\n'.join(errors))
    return '\n'.join([HEAD, *_summary(groups), *_open(groups), *_tables(groups)])


def _summary(groups: dict[str, list[Result]]) -> Iterator[str]:
    yield '| Subject | Targets | Met | Missed | Not measured |'
    yield '| --- | --- | --- | --- | --- |'
    everything = [result for results in groups.values() for result in results]
    for subject, results in {**groups, '**all**': everything}.items():
        counts = (sum(r.verdict is verdict for r in results) for verdict in Verdict)
        link = subject if subject not in groups else f'[{subject}](#{house_rules.anchor(subject)})'
        yield f'| {link} | {len(results)} | {" | ".join(map(str, counts))} |'
    yield ''


def _open(groups: dict[str, list[Result]]) -> Iterator[str]:
    """Yield what is missed and what is not measured, with the reasons."""
    found = [(s, r) for s, results in groups.items() for r in results]
    missed = [(s, r) for s, r in found if r.verdict is Verdict.MISSED]
    if missed:
        yield '## Missed\n'
        yield '| Subject | What | Target | Measured | Cause | Next idea |'
        yield '| --- | --- | --- | --- | --- | --- |'
    for subject, r in missed:
        t, number = r.target, f'[{r.measured}]({_address(r)})'
        yield f'| {subject} | {t.what} | {t.target} | {number} | {t.cause} | {t.next} |'
    if missed:
        yield ''
    absent = [(s, r) for s, r in found if r.verdict is Verdict.NOT_MEASURED]
    if absent:
        yield '## Not measured\n'
    for subject, r in absent:
        yield f'- {subject}: {r.target.what}: {r.target.not_measured}.'
    if absent:
        yield ''


def _tables(groups: dict[str, list[Result]]) -> Iterator[str]:
    for subject, results in groups.items():
        yield f'## {subject}\n'
        yield '| What | Target | Measured | Verdict | Command | Page | Date |'
        yield '| --- | --- | --- | --- | --- | --- | --- |'
        for r in results:
            t = r.target
            page_link = f'[{Path(t.source.page).stem}]({_address(r)})'
            verdict = f'**{r.verdict.value}**' if r.verdict is Verdict.MISSED else r.verdict.value
            yield (
                f'| {t.what} | {t.target} | {r.measured or "-"} | {verdict} '
                f'| `{t.source.command}` | {page_link} | {r.date or "-"} |'
            )
        yield ''


def _address(result: Result) -> str:
    file = os.path.relpath(ROOT / result.target.source.page, PAGE.parent)
    return f'{file}#{result.place}' if result.place else file


def check(files: list[Path]) -> Iterator[str]:
    """Yield what keeps the page from being written, or that it is older than what it reads."""
    try:
        wanted = page()
    except TargetError as error:
        yield from str(error).splitlines()
        return
    if not PAGE.is_file() or PAGE.read_text(encoding='utf-8') != wanted:
        yield f'{PAGE.name}: older than what it reads; python scripts/targets_page.py'


def main() -> int:
    """Write the page; return 1 when a number is not found or a miss not explained."""
    try:
        PAGE.write_text(page(), encoding='utf-8')
    except TargetError as error:
        print(f'docs/evidence/targets.md is not written:\n{error}')
        return 1
    print('docs/evidence/targets.md is written')
    return 0


if __name__ == '__main__':
    sys.exit(main())
