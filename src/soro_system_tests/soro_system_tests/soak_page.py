# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The soak's section of docs/reliability.md, and its plot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

RESULT = Path('out/soak/soak.json')
PLOT = 'img/reliability_soak.png'
WARM = 0.25  # of the run; caches fill and libraries are loaded on first use
END = 0.25
MEBI = 2.0**20
# What still counts as flat, assumed: allocators and caches breathe, sockets of a lost link linger.
MEMORY_PART, MEMORY_LEAST = 0.03, 3.0  # of the memory; MiB
COUNT_GROWTH = 2


def growth(samples: list[Any], name: str, which: int) -> tuple[float, float]:
    """Return a figure of a process after warming up, and how much it had grown at the end.

    Parameters
    ----------
    samples : list
        Rows of [s, {process: [byte, threads, files]}].
    name : str
    which : int
        0: memory, 1: threads, 2: open files. Medians of parts of the run.
    """
    values = [row[name][which] for _, row in samples if name in row]
    count = len(values)
    first = values[int(WARM * count) : max(int(2 * WARM * count), int(WARM * count) + 1)]
    last = values[int((1.0 - END) * count) :]
    return float(np.median(first)), float(np.median(last) - np.median(first))


def verdict(samples: list[Any], name: str) -> str:
    """Return 'flat', or what grows."""
    memory, more = growth(samples, name, 0)
    grows = []
    if more > max(MEMORY_PART * memory, MEMORY_LEAST * MEBI):
        grows.append('memory')
    for which, word in ((1, 'threads'), (2, 'files')):
        if growth(samples, name, which)[1] > COUNT_GROWTH:
            grows.append(word)
    return ', '.join(grows) + ' grow' if grows else 'flat'


def largest(values: list[float | None]) -> str:
    """Return the largest of some times."""
    known = [v for v in values if v is not None]
    return f'{max(known):.2f} s' if known else '-'


def _left_of(robot: dict[str, Any]) -> str:
    """Say how many segments of shared memory were left behind, of how many."""
    memory = robot.get('shared_memory')
    return f'{len(memory["left"])} of {memory["seen"]}' if memory else 'not looked at'


def _starts(robots: list[dict[str, Any]]) -> list[str]:
    """Say which robots tripped while they started."""
    cleared = {r['robot']: r.get('start', {}).get('cleared', 0) for r in robots}
    words = [f'{name} ({count} times)' for name, count in cleared.items() if count]
    if not words:
        return []
    return [f'\nTripped while their nodes loaded, and cleared then: {", ".join(words)}.']


def _robot_row(robot: dict[str, Any]) -> str:
    missed = sum(v for k, v in robot['problems'].items() if 'stop' in k)
    faults, stops = robot['faults'], robot['stops']
    calls = sum(c['count'] for c in robot['calls'].values())
    slowest = max((c['p99'] for c in robot['calls'].values()), default=0.0)
    recovered = sum(f['recovered'] is not None for f in faults)
    return (
        f'| {robot["robot"]} | {robot["seconds"] / 60:.1f} min | {robot["targets"]} '
        f'| {calls} ({1e3 * slowest:.0f} ms) | {len(stops)}, {missed} missed '
        f'| {largest([s["stopped"] for s in stops])} | {len(faults)}, {recovered} recovered '
        f'| {largest([f["noticed"] for f in faults])} | {robot["exit"]} '
        f'| {_left_of(robot)} |'
    )


def _process_rows(robot: dict[str, Any]) -> list[str]:
    samples, rows = robot['samples'], []
    names = sorted({n for _, row in samples for n in row if len(samples) > 4})
    for name in names:
        seen = sum(name in row for _, row in samples)
        if seen < 0.5 * len(samples):
            continue  # helpers that come and go with a reconnection
        (memory, more), (threads, m), (files, n) = (growth(samples, name, i) for i in range(3))
        rows.append(
            f'| {robot["robot"]} | {name} | {memory / MEBI:.1f} | {more / MEBI:+.2f} '
            f'| {threads:.0f} ({m:+.0f}) | {files:.0f} ({n:+.0f}) | {verdict(samples, name)} |'
        )
    return rows


def draw(robots: list[dict[str, Any]], file: Path) -> None:
    """Draw the memory of every robot, all its processes together, and its open files."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 2.6), layout='constrained')
    FigureCanvasAgg(figure)
    memory, files = figure.subplots(1, 2)
    for robot in robots:
        times = [t / 60.0 for t, _ in robot['samples']]
        for axes, which, scale in ((memory, 0, MEBI), (files, 2, 1.0)):
            sums = [sum(p[which] for p in row.values()) / scale for _, row in robot['samples']]
            axes.plot(times, sums, linewidth=1.0, label=robot['robot'])
    memory.set_ylabel('memory, all processes [MiB]')
    files.set_ylabel('open files')
    for axes in (memory, files):
        axes.set_xlabel('time [min]')
        axes.set_ylim(bottom=0)
    memory.legend(fontsize=6)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)


def soak_section(result: dict[str, Any] | None, folder: Path) -> list[str]:
    """Return the lines of the section, and draw its plot below a folder."""
    if result is None or not result['robots']:
        return ['\n## Soak\n\nNot run yet: `make soak`.']
    robots = result['robots']
    draw(robots, folder / PLOT)
    dates = f'{min(r["began"] for r in robots)} to {max(r["began"] for r in robots)}'
    lines = [
        '\n## Soak\n',
        f'`make soak ARGS="--minutes {result["minutes"]:g} --together {result["together"]} --seed '
        f'{result["seed"]}"`, started {dates}, {result["machine"]}. Each robot as it is launched, '
        'with emulator, recorder and viewer: targets every one to two seconds, services one after '
        'the other, `driver/stop` against the running stream, and every fault of '
        '`soak_faults.py` in random order, each time recovered as a person would.\n',
        '| Robot | Duration | Targets | Service calls (p99) | Stops | Slowest stop | Faults '
        '| Slowest notice | Exit | Segments left |',
        '|---|---|---|---|---|---|---|---|---|---|',
        *(_robot_row(r) for r in robots),
        *_starts(robots),
        '\nExit: 0 when every process of the robot ended by itself after Ctrl-C. Segments left: '
        'shared memory of the middleware that processes of the robot had made and that was still '
        'there after their end. Times are those of a computer that other programs keep busy too.',
        f'\n![Memory and open files of every robot]({PLOT})\n',
        'Medians after the first quarter of the run, and how much they had grown in the last one. '
        f'Flat: less than {MEMORY_LEAST:g} MiB or {100 * MEMORY_PART:g} %, at most {COUNT_GROWTH} '
        'threads or files more.\n',
        '| Robot | Process | Memory [MiB] | Growth [MiB] | Threads | Open files | Verdict |',
        '|---|---|---|---|---|---|---|',
        *(line for r in robots for line in _process_rows(r)),
    ]
    if result['missing']:
        names = ', '.join(result['missing'])
        lines.append(f'\nOwed, no figures: {names} (not active in time, or interrupted).')
    problems = [f'- {r["robot"]}: {what} ({n} times)' for r in robots
                for what, n in r['problems'].items()]  # fmt: skip
    lines += ['\nProblems:\n', *problems] if problems else ['\nNo problems.']
    return lines
