# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The last soak of every robot, docs/evidence/soak/<robot>.json: what the page prints and draws.

What is judged (growth, slowest times) is computed from the whole run; only then are its samples
thinned to what a curve needs.
"""

from __future__ import annotations

from collections.abc import Iterable
import json
from pathlib import Path
from typing import Any

import numpy as np

from soro_studies.json_rows import json_rows
from soro_studies.system.soak_growth import KIBI, process_growth

FOLDER = Path('docs/evidence/soak')
MAX_ROWS = 120  # of the curves
PART = 0.5  # of what was asked for and of what is stored: a shorter run is not stored unasked
RUN = ('minutes', 'seed', 'together', 'machine')
MISSED = ('stop missed', 'moved again after a stop')  # how such problems begin


def thinned(rows: list[Any]) -> list[Any]:
    """Return at most `MAX_ROWS` of some rows, evenly, the first and the last among them."""
    if len(rows) <= MAX_ROWS:
        return rows
    return [rows[k] for k in np.linspace(0, len(rows) - 1, MAX_ROWS).round().astype(int)]


def largest(values: Iterable[float | None]) -> float | None:
    """Return the largest time that is known, to the millisecond."""
    return max((round(v, 3) for v in values if v is not None), default=None)


def compact(raw: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept of one robot's raw result.

    Its `curves` are rows of [s, KiB, open files], all processes together.
    """
    samples, stops, faults, problems = (raw[k] for k in ('samples', 'stops', 'faults', 'problems'))
    memory = raw.get('shared_memory')
    curves = [
        [round(time, 1), sum(p[0] for p in row.values()) // KIBI, sum(p[2] for p in row.values())]
        for time, row in thinned(samples)
    ]
    return {
        'robot': raw['robot'],
        'began': raw['began'],
        **{k: raw[k] for k in RUN},
        'seconds': round(raw['seconds'], 1),
        'targets': raw['targets'],
        'calls': {
            'count': sum(c['count'] for c in raw['calls'].values()),
            'p99': largest(c['p99'] for c in raw['calls'].values()),
            'refused': raw['service_refusals'],
        },
        'stops': {
            'count': len(stops),
            'slowest': largest(s['stopped'] for s in stops),
            'missed': sum(n for what, n in problems.items() if what.startswith(MISSED)),
        },
        'faults': {
            'count': len(faults),
            'slowest': largest(f['noticed'] for f in faults),
            'recovered': sum(f['recovered'] is not None for f in faults),
        },
        'cleared': raw.get('start', {}).get('cleared', 0),
        'exit': raw['exit'],
        'tracebacks': raw['tracebacks'],
        'problems': problems,
        'moments': raw.get('moments', []),
        'shared_memory': memory and {'seen': memory['seen'], 'left': len(memory['left'])},
        'processes': process_growth(samples),
        'curves': curves,
    }


def raw_results(file: Path) -> list[dict[str, Any]]:
    """Return the robots' raw results from the file of a run, or of one robot of it."""
    found = json.loads(file.read_text(encoding='utf-8'))
    if 'robots' not in found:
        return [found]
    return [{**{k: found[k] for k in RUN}, **raw} for raw in found['robots']]


def stored(folder: Path = FOLDER) -> dict[str, dict[str, Any]]:
    """Return what is stored, by robot."""
    files = sorted(folder.glob('*.json'))
    return {f.stem: json.loads(f.read_text(encoding='utf-8')) for f in files}


def minutes_of(result: dict[str, Any]) -> str:
    """Say how long a run was, and of how long when it was interrupted."""
    asked = result['minutes']
    short = f' of {asked:g}' if result['seconds'] < 60.0 * asked else ''
    return f'{result["seconds"] / 60.0:.1f}{short} min'


def has_figures(result: dict[str, Any]) -> bool:
    """Whether a run of the robot has ever been stored."""
    return 'seconds' in result


def objection(result: dict[str, Any], folder: Path = FOLDER) -> str:
    """Return why a result should not replace what is stored; empty: it may.

    A run that was cut short says little, and a short one less than the long one before it.
    """
    before = stored(folder).get(result['robot'], {})
    if has_figures(before) and result['seconds'] < PART * before['seconds']:
        return (
            f'{_file(result["robot"], folder)} stays, {minutes_of(before)} of '
            f'{before["began"][:10]}: this run was {minutes_of(result)}'
        )
    if result['seconds'] < PART * 60.0 * result['minutes']:
        return f'not stored: this run was cut short, {minutes_of(result)}'
    return ''


def store(result: dict[str, Any], folder: Path = FOLDER) -> str:
    """Store a result; returns what was done, in words."""
    before = stored(folder).get(result['robot'], {})
    file = _write(result, folder)
    if not has_figures(before):
        return f'stored {file}, {minutes_of(result)}'
    return (
        f'stored {file}, {minutes_of(result)}, instead of {minutes_of(before)} of '
        f'{before["began"][:10]}'
    )


def note_without_figures(robot: str, began: str, folder: Path = FOLDER) -> str:
    """Note that a robot's last run left no figures; those of the run before stay."""
    before = stored(folder).get(robot, {'robot': robot})
    return f'noted in {_write({**before, "without_figures": began}, folder)}: no figures'


def _file(robot: str, folder: Path) -> Path:
    return folder / f'{robot}.json'


def _write(result: dict[str, Any], folder: Path) -> Path:
    """Write a file whose versions can be compared line by line."""
    folder.mkdir(parents=True, exist_ok=True)
    file = _file(result['robot'], folder)
    lines = [f'{json.dumps(key)}: {_text(value)}' for key, value in result.items()]
    file.write_text('{\n' + ',\n'.join(lines) + '\n}\n', encoding='utf-8')
    return file


def _text(value: Any) -> str:
    if isinstance(value, list) and value:
        return json_rows(value)
    return json.dumps(value)
