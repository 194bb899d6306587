# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How long a robot takes to be ready: `soro launch ROBOT` on its emulator, kernels compiled.

From the launch to a driver that is active, a tip that is known and services that answer, as the
system tests wait for it. One start of every robot comes first and does not count: it compiles what
is not compiled yet and brings the files into memory. *processor* is that of the launcher and all
its nodes together. Most of a start is waiting and several processes at once, so the wall time of
the median start is what a target is for.

`SORO_BENCH_ROBOTS="stiff_flop spatial_cc"` chooses robots, `SORO_BENCH_STARTS=10` how many starts
of each count.
"""

from __future__ import annotations

import os
from pathlib import Path
import tempfile

import numpy as np

from soro_rigs.domains import own_domain
from soro_studies.mechanics.benchmark_rows import BenchmarkRow, report
from soro_studies.system.launched_robot import launched_robot

STARTS = 10
PATIENCE = 600.0  # s; the first start may compile
TARGETS = {'stiff_flop': 5.0}  # s
NOTES = {
    'pam_continuum': 'muscles are vented first, 12 s',
    'haptic_5dof': 'haptic renderer, no planner',
}
ROBOTS = (
    'stiff_flop',
    'stiff_flop_two_segment',
    'spatial_cc',
    'soft_parallel',
    'stewart_gough',
    'haptic_5dof',
    'pam_continuum',
)
# run_benchmarks holds libraries to one thread; a robot that a person launches has no such limit.
ONE_THREAD = ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS', 'NUMBA_NUM_THREADS')


def start(robot: str, folder: Path) -> tuple[float, float]:
    """Start a robot and stop it; return wall time and processor time until it was ready [s]."""
    with launched_robot([robot], folder, robot=robot, patience=PATIENCE) as running:
        times = running.ready_after, running.start_work
        code = running.process.stop()
        if code:
            raise SystemExit(f'{robot} ended with {code}:\n{running.process.output}')
    return times


def bench(robot: str, starts: int) -> BenchmarkRow:
    """Start a robot again and again; return its row."""
    times = []
    for i in range(starts + 1):
        with tempfile.TemporaryDirectory(prefix='soro_start_') as folder:
            times.append(start(robot, Path(folder)))
        print(f'{robot}: {"first" if i == 0 else i}: {times[-1][0]:.2f} s', flush=True)
    wall, work = np.array(times[1:]).T
    return BenchmarkRow(
        f'soro launch {robot}: ready',
        float(np.median(wall)),
        float(np.percentile(wall, 99)),
        float(wall.min()),
        float(np.median(work)),
        starts,
        TARGETS.get(robot, float('inf')),
        NOTES.get(robot, ''),
        by_wall=True,
    )


def main() -> None:
    """Start every robot and print the rows."""
    for name in ONE_THREAD:
        os.environ.pop(name, None)
    os.environ.setdefault('ROS_DOMAIN_ID', str(own_domain()))
    robots = os.environ.get('SORO_BENCH_ROBOTS', ' '.join(ROBOTS)).split()
    starts = int(os.environ.get('SORO_BENCH_STARTS', STARTS))
    report([bench(robot, starts) for robot in robots])


if __name__ == '__main__':
    main()
