# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""docs/evidence/reliability.md: the fault matrix from the evidence of its run, and sections."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import datetime
import json
import os
from pathlib import Path
import platform
from typing import Any

from soro_studies.system.injections import DEVICES, DRIVES, Injection, INJECTIONS, reason

PAGE = Path('docs/evidence/reliability.md')
EVIDENCE = Path('out/reliability/evidence.jsonl')
# A matrix by its title: devices, and where its results are stored. Either may be run alone.
MATRICES = {
    'Fault matrix': (tuple(DEVICES), Path('docs/evidence/fault_matrix.json')),
    'Faults of drives and of the task in C': (
        tuple(DRIVES),
        Path('docs/evidence/fault_matrix_drives.json'),
    ),
}
# in this order
TITLES = ('Soak', 'Launchers that end before their time', 'Trackers that fail', *MATRICES)
Attempts = dict[str, list[dict[str, Any]]]
HEAD = """# Reliability

Written by `make reliability` (fault matrix) and `make soak` (load with faults); nothing here is
typed by hand. Driver and emulator are separate processes that speak the real protocol over the
real kind of link, on loopback; commands stream at 50 Hz. None of this is a safety function: see
[hardware.md](../hardware.md).
"""
EXPLANATION = """
*Safe after* is the time from the injection until the device's own log says that it is safe or
on its way there: it has left its armed state, the supply is cut, every output is zero, or the
valves are closed. `-`: the log has none of these; the device went on as it should, refused what
was asked, or was itself what ended. In brackets behind the diagnostics: how long until they
said so. *State* is the driver's last one while commands still streamed: nothing but ACTIVE moves.
Tests marked (n) needed n attempts, because a busy computer tripped a robot or stopped a process
for too long; some attempts had real-time priority (`chrt -r 5`).
"""


def failures(runs: list[dict[str, Any]]) -> int:
    """Return how many attempts of a test failed."""
    return sum(run['outcome'] != 'passed' for run in runs)


def cells(attempts: Attempts) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """Return the last attempt of every test by device and number of injection."""
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for runs in attempts.values():
        last = {**runs[-1], 'attempts': 1 + failures(runs)}
        for device, number in last['cells']:
            found.setdefault((device, number), []).append(last)
    return found


def word(device: str, number: int, tests: list[dict[str, Any]]) -> str:
    """Return a cell of the overview."""
    if tests:
        good = sum(t['outcome'] == 'passed' for t in tests)
        return f'{good}/{len(tests)}'
    return 'n/a' if reason(device, number) else 'owed'


def overview(
    found: dict[tuple[str, int], list[dict[str, Any]]], devices: Sequence[str]
) -> list[str]:
    """Return the matrix: tests that passed of those that ran."""
    lines = ['| | Injection | ' + ' | '.join(devices) + ' |', '|---|---|' + '---|' * len(devices)]
    for number, injection in INJECTIONS.items():
        row = [word(d, number, found.get((d, number), [])) for d in devices]
        lines.append(f'| {number} | {injection.title} | ' + ' | '.join(row) + ' |')
    return lines


def seconds(value: float | None) -> str:
    """Return a time for a table."""
    return '-' if value is None else f'{value:.2f} s'


def row(device: str, test: dict[str, Any]) -> str:
    """Return the line of one test."""
    name = test['test'].partition('::')[2]
    again = f' ({test["attempts"]})' if test['attempts'] > 1 else ''
    good = test['outcome'] == 'passed'
    if 'injected' not in test:  # no two processes, or nothing was begun
        return f'| {device} | `{name}`{again} | | | | {"passed" if good else "FAILED"} |'
    log = '<br>'.join(x.replace('|', '/') for x in test['log'][:4]) or 'nothing'
    said = test['diagnostics'].replace('|', '/')[:140]
    noticed = '' if test['noticed'] is None else f' ({test["noticed"]:.2f} s)'
    injected = '; '.join(test['injected'][:3]).replace('|', '/')[:160]
    state = (test['state'] or '-') if good else f'FAILED, {test["state"]}'
    return (
        f'| {device} | {injected}<br>`{name}`{again} | {log} | {seconds(test["safe"])} '
        f'| {said}{noticed} | {state} |'
    )


def section(
    number: int,
    injection: Injection,
    found: dict[tuple[str, int], list[dict[str, Any]]],
    devices: Sequence[str],
) -> Iterable[str]:
    """Yield the lines of one injection."""
    yield f'\n### {number}. {injection.title}\n\nExpected: {injection.expected}.'
    if injection.owed:
        yield f'\nNot injected: {injection.owed}.'
    tests = [(d, t) for d in devices for t in found.get((d, number), [])]
    if tests:
        yield "\n| Device | Injected, test | Device's log | Safe after | Diagnostics | State |"
        yield '|---|---|---|---|---|---|'
        yield from (row(device, test) for device, test in tests)
    rest = [d for d in devices if not found.get((d, number))]
    if rest:
        reasons = [f'{d}: {reason(d, number) or "owed, no test yet"}' for d in rest]
        yield '\nNot applicable or owed: ' + '; '.join(reasons) + '.'


def part_of(attempts: Attempts, devices: Sequence[str]) -> Attempts:
    """Return the tests of some devices."""
    return {t: r for t, r in attempts.items() if any(c[0] in devices for c in r[-1]['cells'])}


def matrix_section(attempts: Attempts, title: str = 'Fault matrix') -> list[str]:
    """Return the lines of a fault matrix."""
    devices = MATRICES[title][0]
    found = cells(attempts)
    newest = max((runs[-1]['at'] for runs in attempts.values()), default=0.0)
    date = datetime.datetime.fromtimestamp(newest, datetime.timezone.utc)
    lasts = [runs[-1] for runs in attempts.values()]
    again = sum(failures(runs) > 0 for runs in attempts.values())
    good = sum(t['outcome'] == 'passed' for t in lasts)
    lines = [
        f'\n## {title}\n',
        f'`make reliability`, {date:%Y-%m-%d %H:%M} UTC, {platform.machine()}, {os.cpu_count()} '
        f'shared cores, Python {platform.python_version()}: {good} of {len(lasts)} tests passed; '
        f'{again} needed more than one attempt.',
        EXPLANATION,
        *overview(found, devices),
    ]
    for number, injection in INJECTIONS.items():
        lines += section(number, injection, found, devices)
    return lines


def matrix_results(attempts: Attempts, devices: Sequence[str]) -> dict[str, Any]:
    """Return what is stored: of all tests, and of each injection what passed on which device."""
    found, newest = cells(attempts), max(runs[-1]['at'] for runs in attempts.values())
    return {
        'date': f'{datetime.datetime.fromtimestamp(newest, datetime.timezone.utc):%Y-%m-%d}',
        'tests': len(attempts),
        'passed': sum(runs[-1]['outcome'] == 'passed' for runs in attempts.values()),
        'repeated': sum(failures(runs) > 0 for runs in attempts.values()),
        'injections': {
            str(n): {d: word(d, n, found.get((d, n), [])) for d in devices} for n in INJECTIONS
        },
    }


def read_evidence(file: Path = EVIDENCE) -> Attempts:
    """Return the attempts of every test, oldest first."""
    attempts: Attempts = {}
    if file.exists():
        for line in file.read_text(encoding='utf-8').splitlines():
            one = json.loads(line)
            attempts.setdefault(one['test'], []).append(one)
    return attempts


def sections_of(text: str) -> dict[str, str]:
    """Return the sections of the page by their titles; a title is the first line of each."""
    parts = (part.rstrip() for part in text.split('\n## ')[1:])
    return {part.partition('\n')[0]: part for part in parts}


def write_section(lines: Iterable[str], page: Path = PAGE) -> None:
    """Write one section of the page, its heading first; every other one stays as it is."""
    text = page.read_text(encoding='utf-8') if page.exists() else ''
    found = sections_of(text) | sections_of('\n'.join(lines))
    order = [title for title in TITLES if title in found]
    order += [title for title in found if title not in TITLES]
    written = [HEAD.rstrip(), *(f'## {found[title]}' for title in order)]
    page.write_text('\n\n'.join(written) + '\n', encoding='utf-8')
    print(f'wrote {page}', flush=True)
