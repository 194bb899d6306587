# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rows of a benchmark: median and 99th percentile of repeated calls, beside a target.

    rows = [measure('forward', lambda k: robot.forward(samples[k]), 200, target=1e-3)]
    report(rows)

`report` prints a table. Where the environment variable `ROWS_FILE` names a file, the rows go
there too, with the time of a fixed piece of work in the same run: what a row costs relative to it
hardly depends on the machine, so that a slower row can be told from a slower machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import gc
import json
import os
from pathlib import Path
import time

import numpy as np

from soro_mechanics.core.status import Code
from soro_studies.mechanics.cycle_counter import CycleCounter

ROWS_FILE = 'SORO_BENCHMARK_ROWS'
SOLVED = (Code.NONE, Code.UNSTABLE)  # an equilibrium that would not stand is one as well
MISSED = 3  # exit code: all is measured and printed, and something was not as it should be


@dataclass(frozen=True)
class BenchmarkRow:
    """One figure.

    Attributes
    ----------
    name : str
    median, p99, least : float
        Wall time per call [s].
    processor : float
        Median of the processor time of this thread per call [s]: what the call costs when other
        work on the machine does not interrupt it.
    calls : int
    target : float
        What is judged must not exceed it [s]; infinite where nothing is asked.
    note : str
    cycles : float
        Mean clock cycles per call, in user mode; NaN where the processor's counter cannot be read.
    by_wall : bool
        Whether the median of the wall time is judged instead of the processor time: of calls that
        mostly wait, or whose work is done by other processes.
    """

    name: str
    median: float
    p99: float
    least: float
    processor: float
    calls: int
    target: float = float('inf')
    note: str = ''
    by_wall: bool = False
    cycles: float = float('nan')

    @property
    def met(self) -> bool:
        """Whether the time that is judged keeps the target."""
        return (self.median if self.by_wall else self.processor) <= self.target


def measure(
    name: str,
    call: Callable[[int], object],
    calls: int,
    target: float = float('inf'),
    note: str = '',
    warm_up: int = 3,
) -> BenchmarkRow:
    """Time `call(k)` for k in range(calls), after `warm_up` calls that do not count.

    Raises
    ------
    SystemExit
        A call returned something with a `status` that is not good: what does not solve is fast.
    """
    for k in range(warm_up):
        call(k % calls)
    times = np.empty(calls)
    processor = np.empty(calls)
    gc.collect()
    collecting = gc.isenabled()
    gc.disable()
    counter = _counter()
    try:
        first = 0 if counter is None else counter.read()
        for k in range(calls):
            began, spent = time.perf_counter(), time.thread_time()
            result = call(k)
            times[k] = time.perf_counter() - began
            processor[k] = time.thread_time() - spent
            status = getattr(result, 'status', None)
            if status is not None and status.code not in SOLVED:
                raise SystemExit(f'{name}: call {k} has not solved: {status}')
        cycles = float('nan') if counter is None else (counter.read() - first) / calls
    finally:
        if counter is not None:
            counter.close()
        if collecting:
            gc.enable()
    return BenchmarkRow(
        name,
        float(np.median(times)),
        float(np.percentile(times, 99)),
        float(times.min()),
        float(np.median(processor)),
        calls,
        target,
        note,
        cycles=cycles,
    )


def _counter() -> CycleCounter | None:
    try:
        return CycleCounter()
    except OSError:
        return None


def table(rows: Sequence[BenchmarkRow]) -> str:
    """Return the rows as text for a terminal."""
    width = max(len(r.name) for r in rows)
    counted = any(np.isfinite(r.cycles) for r in rows)
    head = ['median', 'p99', 'least', 'processor', *(['cycles'] if counted else []), 'target']
    lines = [f'{"":{width}}  ' + ' '.join(f'{word:>9}' for word in head)]
    for r in rows:
        target = _time(r.target) if np.isfinite(r.target) else ''
        verdict = '' if not target else ' ok' if r.met else ' MISSED'
        lines.append(
            f'{r.name:{width}}  {_time(r.median):>9} {_time(r.p99):>9} {_time(r.least):>9} '
            f'{_time(r.processor):>9} '
            + (f'{r.cycles:9.3g} ' if counted else '')
            + f'{target:>9}{verdict}'
            + (f'  {r.note}' if r.note else '')
        )
    return '\n'.join(lines)


def report(rows: Sequence[BenchmarkRow]) -> None:
    """Print the rows with the load of the machine; write them as JSON where asked."""
    print(table(rows))
    load = os.getloadavg()[0]
    cycles = '' if any(np.isfinite(r.cycles) for r in rows) else '; no counter of cycles here'
    print(f'load average {load:.1f} on {os.cpu_count()} cores{cycles}')
    file = os.environ.get(ROWS_FILE)
    if file:
        reference = measure('reference', reference_work, 200)
        shown = ('median', 'p99', 'least', 'processor')
        data = {
            'reference': reference.processor,
            'rows': {r.name: r.processor for r in rows},
            'times': {r.name: {what: getattr(r, what) for what in shown} for r in rows},
        }
        Path(file).write_text(json.dumps(data, indent=1), encoding='utf-8')


def reference_work(_: int) -> None:
    """Do what the rows are made of: interpreted code around small dense matrices."""
    matrix, right = np.eye(6) + 0.1, np.arange(6.0)
    for _ in range(20):
        right = np.linalg.solve(matrix, right)
        right /= np.linalg.norm(right)


def _time(seconds: float) -> str:
    for factor, unit in ((1.0, 's'), (1e3, 'ms')):
        if seconds * factor >= 1.0:
            return f'{seconds * factor:.3g} {unit}'
    return f'{seconds * 1e6:.3g} us'
