# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How the beam network grows: with elements, with legs, with samples, with cores.

One step of Newton's method (assembly, elimination, bodies, nodes) of a cantilever of 10 to 10,000
elements and of handles on 2 to 24 legs; the workspace of soft_parallel from 300 to 10,000 samples,
and of 5000 samples on one core and on more. The least of several times: a shared computer doubles
some of them. Writes docs/img/performance_scaling.png.
"""

from concurrent.futures import ThreadPoolExecutor
import os
from pathlib import Path

from bench_compare import cantilever
from bench_hot_loops import TIMES, whole_step
from bench_network import handle
import numpy as np

from soro_mechanics import load_robot
from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.models.network.equilibrium import Equilibrium, Problem
from soro_mechanics.models.network.kernels.element_strain_kernels import LANES
from soro_mechanics.models.network.layout import build_layout
from soro_studies.mechanics.benchmark_rows import measure

HERE = Path(__file__).resolve()
PICTURE = next(p for p in HERE.parents if (p / 'colcon.meta').is_file()) / 'docs' / 'img'
ELEMENTS = (10, 30, 100, 300, 1000, 3000, 10000)
LEGS, PER_LEG = (2, 3, 4, 6, 8, 12, 16, 24), 14
SAMPLES, MOST = (300, 1000, 3000, 10000), 5000


def step_time(spec, motors):
    """Return the time of one step of Newton's method on a network at rest [s]."""
    layout = build_layout(spec, motors)
    solver = Equilibrium(layout)
    rest = np.zeros(motors)
    problem = Problem(rest, LoadCase())
    outcome = solver.solve(problem, rest, None)
    if not outcome.converged:
        raise SystemExit(f'a network of {len(spec.rods)} rods does not assemble')
    x, (work, there) = solver.inputs(problem), solver.scratch
    held = np.zeros((len(spec.rods), 2))

    def step(_):
        whole_step(TIMES, layout.structure, x, outcome.state, there, work, held, LANES)

    return measure('step', step, 40).least / TIMES


def workspace_time(samples, threads):
    """Return the wall time of a workspace, warm [s]."""
    robot = load_robot('soft_parallel', 'network')

    def workspace(pool):
        if not robot.workspace(samples, pool).solved.all():
            raise SystemExit(f'samples of {samples} failed')

    if threads == 1:
        return measure('workspace', lambda _: workspace(None), 4, warm_up=1).least
    with ThreadPoolExecutor(threads) as pool:
        return measure('workspace', lambda _: workspace(pool), 4, warm_up=1).least


def order(counts, seconds):
    """Return the exponent of growth, fitted to the last four points."""
    return np.polyfit(np.log(counts[-4:]), np.log(seconds[-4:]), 1)[0]


def show(title, unit, counts, seconds, per):
    """Print a table; return it."""
    print(f'{title}')
    for count, time in zip(counts, seconds, strict=True):
        print(f'  {count:6d} {unit:9s} {1e3 * time:10.4f} ms   {1e6 * time / count:8.3f} us {per}')
    print(f'  grows as the power {order(counts, seconds):.2f} at the end')
    return np.array(counts), np.array(seconds)


def draw(panels):
    """Write docs/img/performance_scaling.png."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FormatStrFormatter, NullFormatter

    plain = FormatStrFormatter('%g')

    figure = Figure(figsize=(12.0, 3.4), layout='constrained')
    for i, (title, label, (counts, seconds)) in enumerate(panels):
        axes = figure.add_subplot(1, 4, i + 1)
        axes.loglog(counts, 1e3 * seconds, 'o-', ms=4, label='measured')
        power, word = (-1.0, 'ideal') if label == 'cores' else (1.0, 'linear')
        ideal = 1e3 * seconds[-1] * (counts / counts[-1]) ** power
        if label == 'cores':
            ideal *= seconds[0] / seconds[-1] / (counts[0] / counts[-1]) ** power
        axes.loglog(counts, ideal, ':', color='0.5', label=word)
        axes.set_title(title, fontsize=9)
        axes.set_xlabel(label)
        axes.set_xticks(counts, [f'{n:g}' for n in counts], fontsize=7)
        axes.set_xticks([], minor=True)
        axes.yaxis.set_major_formatter(plain)
        few = seconds.max() < 20.0 * seconds.min()
        axes.yaxis.set_minor_formatter(plain if few else NullFormatter())
        axes.tick_params(which='both', labelsize=7)
        axes.set_ylabel('time [ms]')
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7)
    figure.savefig(PICTURE / 'performance_scaling.png', dpi=130)


def main():
    """Measure, print, draw."""
    straight = (0.0, 0.0, 0.0)
    elements = show(
        'one step of a cantilever',
        'elements',
        ELEMENTS,
        [step_time(cantilever(straight, False, n), 0) for n in ELEMENTS],
        'per element',
    )
    legs = show(
        f'one step of a handle on legs of {PER_LEG} elements',
        'legs',
        LEGS,
        [step_time(handle(PER_LEG, n), n) for n in LEGS],
        'per leg',
    )
    samples = show(
        'workspace of soft_parallel (network) on one core',
        'samples',
        SAMPLES,
        [workspace_time(n, 1) for n in SAMPLES],
        'per sample',
    )
    cores = list(range(1, (os.cpu_count() or 1) + 1))
    times = [workspace_time(MOST, n) for n in cores]
    print(f'workspace of {MOST} samples')
    for count, time in zip(cores, times, strict=True):
        print(
            f'  {count:6d} cores     {1e3 * time:10.1f} ms   {times[0] / time:8.2f} times one core'
        )
    draw(
        [
            ('one step, cantilever', 'elements', elements),
            (f'one step, legs of {PER_LEG} elements', 'legs', legs),
            ('workspace, one core', 'samples', samples),
            (f'workspace of {MOST} samples', 'cores', (np.array(cores), np.array(times))),
        ]
    )
    print('Picture: docs/img/performance_scaling.png')


if __name__ == '__main__':
    main()
