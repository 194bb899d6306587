# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What makes a slot late: time stamps of every stage of the renderer's loop, slot by slot.

``python -m soro_studies.haptics.slot_probe FILE [arguments of the node]`` runs the renderer with
its stages stamped and stores the table when it ends; `slots_in_words` reads it. Stamps cost about
10 us of a slot.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from pathlib import Path
import resource
import sys
import threading
import time
from typing import Any

import numpy as np

from soro_studies.haptics.yardstick import missed_by_speed, SlotGauge, Speeds

SLOTS = 300_000
STAGES = ('begin', 'read', 'law', 'sent', 'model', 'copies')  # when each was over [s]
COUNTS = ('cpu', 'others', 'queued', 'switched', 'pushed', 'faults')
COLUMNS = ('late', *STAGES, *COUNTS, 'solved', 'yard')


class SlotProbe:
    """One row per slot.

    `late` [s]: after the deadline; `yard` [s]: what the yardstick took before it begins; `cpu`,
    `others` [s]: processor time of the loop's thread and of all others of the process meanwhile;
    `queued` [s]: runnable without a core; `switched`, `pushed`: gave the core away, had it taken;
    `faults`: of pages; `solved`: the model, or a part.
    """

    def __init__(self, file: Path) -> None:
        self._file, self._table, self._row = file, np.zeros((SLOTS, len(COLUMNS))), 0
        self._now, self._schedstat = self._table[0], None
        self._gauge = SlotGauge(1)
        atexit.register(self._store)

    def stamped(self, call: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """Return a method that stamps the end of a stage."""
        column = COLUMNS.index(stage)

        def stamp(*words: Any, **named: Any) -> Any:
            try:
                return call(*words, **named)
            finally:
                self._now[column] = time.monotonic()

        return stamp

    def slot(self, step: Callable[[Any, float], None]) -> Callable[[Any, float], None]:
        """Return a step of the loop that fills a row."""

        def counted(loop: Any, lateness: float) -> None:
            if self._schedstat is None:
                self._schedstat = open(f'/proc/self/task/{threading.get_native_id()}/schedstat')  # noqa: SIM115
            row = self._now = self._table[self._row % SLOTS]
            row[:] = np.nan
            row[-1] = self._gauge.look(lateness)
            row[0], row[1] = lateness + row[-1], time.monotonic()
            before = self._counts()
            try:
                step(loop, lateness)
            finally:
                row[1 + len(STAGES) : -2] = np.subtract(self._counts(), before)
                row[-2] = float(self.solves)
                self._row += 1

        return counted

    solves = False

    def _counts(self) -> tuple[float, ...]:
        own = time.thread_time()
        self._schedstat.seek(0)
        queued = 1e-9 * int(self._schedstat.read().split()[1])
        used = resource.getrusage(resource.RUSAGE_THREAD)
        faults = used.ru_minflt + used.ru_majflt
        return own, time.process_time() - own, queued, used.ru_nvcsw, used.ru_nivcsw, faults

    def _store(self) -> None:
        np.save(self._file, self._table[: min(self._row, SLOTS)])


def probe_renderer(file: Path) -> None:
    """Stamp every stage of the renderer in this process from now on."""
    from soro_driver.loop.control_loop import ControlLoop
    from soro_haptics import node
    from soro_haptics.haptic_control import HapticControl
    from soro_mechanics.haptics.loop import HapticLoop

    probe = SlotProbe(file)
    ControlLoop._step = probe.slot(ControlLoop._step)  # type: ignore[method-assign]
    with_times, advance = node.with_times, HapticLoop.advance

    def stamped_device(device: Any, *times: Any) -> Any:
        device = with_times(device, *times)
        device.read = probe.stamped(device.read, 'read')
        device.write = probe.stamped(device.write, 'sent')
        return device

    def noted(loop: Any, *room: float) -> Any:
        code = advance(loop, *room)
        probe.solves = loop.computed
        return code

    node.with_times = stamped_device  # type: ignore[assignment]
    HapticLoop.advance = noted  # type: ignore[method-assign]
    control: Any = HapticControl
    control.command = probe.stamped(control.command, 'law')
    control.after_write = probe.stamped(control.after_write, 'model')
    renderer: Any = node.HapticRenderer
    renderer.publish = probe.stamped(renderer.publish, 'copies')


def run_probed(file: Path) -> None:
    """Run the renderer with its stages stamped."""
    probe_renderer(file)
    from soro_haptics.node import main

    main()


def slots_by_speed(file: Path, begin: float, end: float, period: float) -> Speeds:
    """Return `missed_by_speed` of the slots between two times of CLOCK_MONOTONIC [s]."""
    t = _columns(np.load(file))
    due = t['begin'] - t['late']
    there = (due >= begin) & (due < end)
    return missed_by_speed(due[there], t['yard'][there], period)


def _columns(table: np.ndarray) -> dict[str, np.ndarray]:
    """Return the columns by name, slots in order: a long run has begun to overwrite its first."""
    return dict(zip(COLUMNS, table[np.argsort(table[:, 1])].T, strict=True))


def slots_in_words(table: np.ndarray, period: float) -> str:
    """Return what the slots were made of, all and those that the next one felt."""
    t = _columns(table)
    whole = ~np.isnan(t['copies'] + t['sent'] + t['law'])
    ends = [t[stage] for stage in STAGES]
    parts = {b: 1e3 * (e - s) for b, s, e in zip(STAGES[1:], ends[:-1], ends[1:], strict=True)}
    parts['wall'] = 1e3 * (t['copies'] - t['begin'])
    parts |= {k: 1e3 * t[k] for k in ('late', 'cpu', 'others', 'queued')}
    parts['waits'] = parts['wall'] - parts['cpu'] - parts['queued']  # GIL, locks, the wire
    parts |= {k: t[k] for k in ('switched', 'pushed', 'faults')}
    begins = t['begin'] - t['late']
    gaps = np.round(np.diff(begins) / period) - 1.0
    found = missed_by_speed(begins, t['yard'], period)
    missed, slots = (sum(found[key]) for key in ('missed', 'slots'))
    long = whole & (parts['wall'] > 1e3 * period)
    lines = [
        f'{len(table)} slots, {missed} missed ({missed / slots:.3%}); '
        f'{int(long.sum())} longer than the period; where the computer was as fast as in its '
        f'median, slow and very slow {found["missed"]} of {found["slots"]}'
    ]
    kinds = {
        'all': whole,
        'model': whole & (t['solved'] > 0),
        'copies': whole & (parts['copies'] > 0.05),
        'neither': whole & ~(t['solved'] > 0) & ~(parts['copies'] > 0.05),
        'long': long,
        'before a miss': whole & np.append(gaps > 0, False),
    }
    for kind, which in kinds.items():
        if not which.any():
            continue
        lines.append(f'{kind}: {int(which.sum())} slots')
        for name, values in parts.items():
            p = np.nanpercentile(values[which], (50.0, 90.0, 99.0, 99.9, 100.0))
            mean = np.nanmean(values[which])
            lines.append(f'  {name:9s} mean {mean:.3f}  ' + '  '.join(f'{x:.3f}' for x in p))
    return '\n'.join(lines)


if __name__ == '__main__':
    if len(sys.argv) == 3 and sys.argv[1].endswith('.npy'):
        print(slots_in_words(np.load(sys.argv[1]), float(sys.argv[2])))
    else:
        run_probed(Path(sys.argv.pop(1)))
