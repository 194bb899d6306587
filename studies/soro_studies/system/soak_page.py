# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The soak in docs/evidence/reliability.md, and its plot, from the last run of every robot."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from soro_studies.system.soak_growth import COUNT_GROWTH, FLAT, KIBI, MEMORY_LEAST, MEMORY_PART
from soro_studies.system.soak_results import FOLDER, has_figures, minutes_of

PLOT = '../img/reliability_soak.png'
COMMAND = 'make soak ARGS="--robots NAMES --minutes M --together T --seed S"'


def _seconds(value: float | None) -> str:
    return '-' if value is None else f'{value:.2f} s'


def _refused(calls: dict[str, Any]) -> str:
    """Say how many calls were answered with an error code; older runs did not keep it."""
    return f'{calls["refused"]} refused' if 'refused' in calls else 'refused not counted'


def _left_of(robot: dict[str, Any]) -> str:
    """Say how many segments of shared memory were left behind, of how many."""
    memory = robot['shared_memory']
    return f'{memory["left"]} of {memory["seen"]}' if memory else 'not looked at'


def _robot_row(robot: dict[str, Any]) -> str:
    name, calls, stops, faults = (robot[k] for k in ('robot', 'calls', 'stops', 'faults'))
    return (
        f'| [{name}]({FOLDER.name}/{name}.json) | {robot["began"][:10]} | {minutes_of(robot)} '
        f'| {robot["seed"]} | {robot["together"]} | {robot["targets"]} '
        f'| {calls["count"]} ({1e3 * (calls["p99"] or 0.0):.0f} ms), {_refused(calls)} '
        f'| {stops["count"]}, {stops["missed"]} missed | {_seconds(stops["slowest"])} '
        f'| {faults["count"]}, {faults["count"] - faults["recovered"]} lost '
        f'| {_seconds(faults["slowest"])} '
        f'| {robot["exit"]} | {_left_of(robot)} |'
    )


def _process_rows(robot: dict[str, Any]) -> Iterable[str]:
    for process in robot['processes']:
        (memory, more), (threads, m), (files, n) = (
            process[k] for k in ('memory', 'threads', 'files')
        )
        yield (
            f'| {robot["robot"]} | {process["process"]} | {memory / KIBI:.1f} '
            f'| {more / KIBI:+.2f} | {threads:.0f} ({m:+.0f}) | {files:.0f} ({n:+.0f}) '
            f'| {process["verdict"]} |'
        )


def _machines(robots: list[dict[str, Any]]) -> str:
    """Return the computer of the runs; where there were several, with the robots of each."""
    found: dict[str, list[str]] = {}
    for robot in robots:
        found.setdefault(robot['machine'], []).append(robot['robot'])
    if len(found) == 1:
        return next(iter(found))
    return '; '.join(f'{machine} ({", ".join(names)})' for machine, names in found.items())


def _starts(robots: list[dict[str, Any]]) -> list[str]:
    """Say which robots tripped while they started."""
    words = [f'{r["robot"]} ({r["cleared"]} times)' for r in robots if r['cleared']]
    if not words:
        return []
    return [f'\nTripped while their nodes loaded, and cleared then: {", ".join(words)}.']


def _without(results: dict[str, dict[str, Any]], names: Iterable[str]) -> list[str]:
    """Name the robots that have not run, and those whose last run left no figures."""
    lines = []
    waiting = [name for name in names if name not in results]
    if waiting:
        lines.append(f'\nNot run: {", ".join(waiting)}.')
    for name, result in results.items():
        if 'without_figures' in result:
            rest = ' The figures are those of the run before.' if has_figures(result) else ''
            lines.append(
                f'\n{name}: its last run, {result["without_figures"][:10]}, left no figures: not '
                f'active in time, or ended.{rest}'
            )
    return lines


def _problems(robots: list[dict[str, Any]]) -> list[str]:
    lines = []
    for r in robots:
        for what, n in r['problems'].items():
            lines += [f'- {r["robot"]}: {what} ({n} times{_moments(r, what)})', *_said(r, what)]
    lines += [
        f'- {r["robot"]}: an error printed with its traceback ({r["tracebacks"]} times)'
        for r in robots
        if r['tracebacks']
    ]
    lines += [
        f'- {r["robot"]}: {process["process"]}: {process["verdict"]}'
        for r in robots
        for process in r['processes']
        if process['verdict'] != FLAT
    ]
    other = sum(sum(r['problems'].values()) + r['tracebacks'] for r in robots)
    return [f'\n{other} problems other than growth{":" if lines else "."}\n', *lines]


def _moments(robot: dict[str, Any], problem: str) -> str:
    """Say when a problem was seen and how late the computer woke; older runs do not tell."""
    seen = [
        f'{m["after"]:.0f} s ({m["late"]:.2f} s)'
        for m in robot.get('moments', [])
        if m['problem'] == problem
    ]
    if not seen:
        return ''
    return f', at {", ".join(seen)}; in brackets how late an idle thread woke just before'


def _said(robot: dict[str, Any], problem: str) -> list[str]:
    """Say what the nodes logged before each moment of a problem; older runs do not tell."""
    return [
        f'  - before {m["after"]:.0f} s: ' + '; '.join(f'`{line}`' for line in m['said'])
        for m in robot.get('moments', [])
        if m['problem'] == problem and m.get('said')
    ]


def draw(robots: list[dict[str, Any]], file: Path) -> None:
    """Draw the memory of every robot, all its processes together, and its open files."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 2.6), layout='constrained')
    FigureCanvasAgg(figure)
    memory, files = figure.subplots(1, 2)
    for robot in robots:
        times = [t / 60.0 for t, _, _ in robot['curves']]
        for axes, which, scale in ((memory, 1, KIBI), (files, 2, 1)):
            values = [row[which] / scale for row in robot['curves']]
            axes.plot(times, values, linewidth=1.0, label=robot['robot'])
    memory.set_ylabel('memory, all processes [MiB]')
    files.set_ylabel('open files')
    for axes in (memory, files):
        axes.set_xlabel('time [min]')
        axes.set_ylim(bottom=0)
    memory.legend(fontsize=6)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110)


def soak_section(
    results: dict[str, dict[str, Any]], names: Iterable[str], folder: Path
) -> list[str]:
    """Return the lines of the section, and draw its plot below a folder.

    Parameters
    ----------
    results : dict
        What is stored, by robot.
    names : iterable of str
        Robots that the soak can break; those without a result are named.
    folder : path
        Of the page.
    """
    robots = [result for result in results.values() if has_figures(result)]
    if not robots:
        return ['\n## Soak\n', 'Not run yet: `make soak`.', *_without(results, ())]
    draw(robots, folder / PLOT)
    return [
        '\n## Soak\n',
        f'`{COMMAND}`: the last run of every robot, on {_machines(robots)}. Each robot as it is '
        'launched, with emulator, recorder and viewer: targets every one to two seconds, services '
        'one after the other, `driver/stop` against the running stream, and every fault of '
        '`soak_faults.py` in random order, each time recovered as a person would.\n',
        '| Robot | Began | Duration | Seed | Robots at a time | Targets | Service calls (p99) '
        '| Stops | Slowest stop | Faults | Slowest notice | Exit | Segments left |',
        '|---|---|---|---|---|---|---|---|---|---|---|---|---|',
        *(_robot_row(r) for r in robots),
        *_without(results, names),
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
        *_problems(robots),
    ]
