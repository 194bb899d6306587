# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Error against time for two cantilevers, beside exudyn, mujoco and pyelastica where installed.

A straight rod under F L^2 / (E I) = 3 across its tip (all libraries), and a precurved rod under a
force and a moment in space (ours and pyelastica: the others' start straight). Every solve is cold;
mujoco and pyelastica have no statics, their rods swing to rest. The others run in the interpreter
that SORO_PEERS_PYTHON names (`make bench`: .venv-peers; default: this one). Then the cost of
assembly and elimination up to 10,000 elements, and docs/img/network_compare.png.
"""

import json
import os
from pathlib import Path
import subprocess
import sys
import time

import numpy as np

from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.models.network.description.cross_section import ShapedSection
from soro_mechanics.models.network.description.spec import BodySpec, EndSpec, NetworkSpec, RodSpec
from soro_mechanics.models.network.equilibrium import Equilibrium, Problem
from soro_mechanics.models.network.kernels.element_strain_kernels import LANES
from soro_mechanics.models.network.kernels.system_kernels import condense, evaluate
from soro_mechanics.models.network.layout import build_layout

HERE = Path(__file__).resolve()
PICTURE = next(p for p in HERE.parents if (p / 'colcon.meta').is_file()) / 'docs' / 'img'
LENGTH, BENDING, RADIUS = 0.4, 0.03, 2e-3
YOUNG = BENDING / (np.pi / 4.0 * RADIUS**4)
SECTION = ShapedSection('circle', np.array([RADIUS]), YOUNG, YOUNG / 3.0, 1.0, 0.0)
ACROSS = np.array([3.0 * BENDING / LENGTH**2, 0.0, 0.0, 0.0, 0.0, 0.0])
IN_SPACE = np.array([0.4, -0.3, -0.2, 0.02, 0.01, 0.03])
CASES = {'straight': ((0.0, 0.0, 0.0), ACROSS), 'precurved': ((1.0, 2.0, 0.5), IN_SPACE)}
# A library looks the same in every panel, whichever others are in it.
LOOK = {
    'soro elements': ('C1', 's'),
    'exudyn': ('C2', '^'),
    'pyelastica': ('C3', 'D'),
    'mujoco': ('C4', 'v'),
}
ELEMENTS, FINE = (4, 8, 16, 32, 64, 128, 256), 2048
LONGEST = 300.0  # s that the peers may take
REPEAT = 5


def cantilever(curvature, count):
    """Return a rod on `count` elements."""
    z, frame = np.array([0.0, 0.0, 1.0]), np.eye(4)
    ends = tuple(
        EndSpec(b, frame, z, frame, 'clamped', np.zeros((2, 3))) for b in ('ground', 'tip')
    )
    fractions = np.linspace(0.0, 1.0, count + 1)
    bend = np.array([[0.0, *curvature]])
    rod = RodSpec('rod', LENGTH, SECTION, None, bend, ends, fractions)
    bodies = (BodySpec('ground', frame, 0.0, np.zeros(3)), BodySpec('tip', None, 0.0, np.zeros(3)))
    return NetworkSpec(bodies, (rod,), (), 'tip', frame)


def solve(curvature, wrench, count):
    """Return tip and processor time of a cold solve; the layout is not counted."""
    layout = build_layout(cantilever(curvature, count), 0)
    problem = Problem(np.zeros(0), LoadCase(wrench))
    least = np.inf
    for _ in range(REPEAT):
        solver = Equilibrium(layout)
        start = time.thread_time()
        outcome = solver.solve(problem, np.zeros(0), None)
        least = min(least, time.thread_time() - start)
    if not outcome.converged:
        raise SystemExit(f'{count} elements do not converge')
    return outcome.state.body[1, :3, 3], least


def ours(case):
    """Return rows (library, count, error [m], seconds) and the converged tip."""
    curvature, wrench = CASES[case]
    best, _ = solve(curvature, wrench, FINE)
    rows = []
    for count in ELEMENTS:
        tip, seconds = solve(curvature, wrench, count)
        rows.append(('soro elements', count, float(np.linalg.norm(tip - best)), seconds))
    return rows, best


def peers(case, best):
    """Return the rows of the libraries that are installed; says which are not."""
    curvature, wrench = CASES[case]
    problem = {
        'length': LENGTH,
        'radius': RADIUS,
        'young': YOUNG,
        'shear_modulus': YOUNG / 3.0,
        'bending': BENDING,
        'torsion': BENDING * 2.0 / 3.0,
        'axial': YOUNG * np.pi * RADIUS**2,
        'shear': YOUNG / 3.0 * np.pi * RADIUS**2,
        'wrench': wrench.tolist(),
        'curvature': list(curvature),
    }
    python = os.environ.get('SORO_PEERS_PYTHON', sys.executable)
    clean = {k: v for k, v in os.environ.items() if k != 'PYTHONPATH'}
    command = [python, str(HERE.with_name('peer_rods.py')), json.dumps(problem)]
    with subprocess.Popen(
        command, env=clean, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            text, complaints = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            text, _ = process.communicate()
            print(f'the peers were stopped after {LONGEST:g} s')
        else:
            if process.returncode:
                raise SystemExit(f'the peers ended with {process.returncode}:\n{complaints}')
    rows = []
    for line in text.splitlines():
        if not line.startswith('{'):
            continue
        found = json.loads(line)
        if found.get('absent'):
            print(f'{found["library"]} is not installed: no rows of it')
            continue
        error = float(np.linalg.norm(np.array(found['tip']) - best))
        rows.append((found['library'], found['elements'], error, found['seconds']))
    return rows


def ratios(rows):
    """Return lines: how much longer a peer takes than our cheapest solve with no larger error."""
    lines = []
    for name, count, error, seconds in rows:
        if name.startswith('soro'):
            continue
        equal = [r for r in rows if r[0].startswith('soro') and r[2] <= error]
        if equal:
            best = min(equal, key=lambda r: r[3])
            lines.append(
                f'{name} {count} / {best[0]} {best[1]}: {seconds / best[3]:.3g} times the '
                'processor time'
            )
    return lines


def cost():
    """Return processor time of one assembly and elimination by number of elements."""
    rows = []
    for count in (10, 30, 100, 300, 1000, 3000, 10000):
        layout = build_layout(cantilever((0.0, 0.0, 0.0), count), 0)
        solver = Equilibrium(layout)
        problem = Problem(np.zeros(0), LoadCase())
        state = solver.assembled(np.zeros(0)).state
        x, (work, _) = solver.inputs(problem), solver.scratch
        least = np.inf
        for _ in range(20):
            start = time.thread_time()
            evaluate(layout.structure, x, state, work, False, False, LANES)
            condense(layout.structure, x, state, work, False, False)
            least = min(least, time.thread_time() - start)
        rows.append((count, least))
    return rows


def draw(tables, costs):
    """Write docs/img/network_compare.png."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.0, 4.0), layout='constrained')
    first = None
    for i, (case, rows) in enumerate(tables.items()):
        axes = figure.add_subplot(1, 3, i + 1, sharex=first, sharey=first)
        first = first or axes
        for name in dict.fromkeys(r[0] for r in rows):
            own = [r for r in rows if r[0] == name]
            colour, marker = LOOK[name]
            axes.loglog(
                [r[3] * 1e3 for r in own],
                [r[2] / LENGTH for r in own],
                color=colour,
                marker=marker,
                label=name,
                ms=4,
            )
        axes.set_title(f'{case} cantilever, cold solve', fontsize=9)
        axes.set_xlim(0.1, 2e4)
        axes.set_xlabel('processor time [ms]')
        axes.set_ylabel('error of the tip / length')
        axes.legend(fontsize=7, loc='lower right')
        axes.grid(alpha=0.3)
    axes = figure.add_subplot(1, 3, 3)
    count, seconds = np.array(costs).T
    colour, marker = LOOK['soro elements']
    axes.loglog(count, seconds * 1e3, color=colour, marker=marker, ms=4, label='soro elements')
    axes.loglog(count, seconds[-1] * 1e3 * count / count[-1], ':', color='0.5', label='linear')
    axes.set_title('one assembly and elimination', fontsize=9)
    axes.set_xlabel('two-node elements')
    axes.set_ylabel('processor time [ms]')
    axes.legend(fontsize=7)
    axes.grid(alpha=0.3)
    figure.savefig(PICTURE / 'network_compare.png', dpi=130)


def main():
    """Measure, print, draw."""
    tables = {}
    for case in CASES:
        rows, best = ours(case)
        rows += peers(case, best)
        tables[case] = rows
        print(f'{case} cantilever: library, elements, error / length, time of a cold solve')
        for name, count, error, seconds in rows:
            print(f'  {name:14s} {count:5d}   {error / LENGTH:8.1e}   {seconds * 1e3:10.3f} ms')
        for line in ratios(rows):
            print(f'  {line}')
    costs = cost()
    print('one assembly and elimination')
    for count, seconds in costs:
        print(
            f'  {count:6d} elements  {seconds * 1e3:8.3f} ms  {seconds / count * 1e6:6.2f} us each'
        )
    print(f'errors against {FINE} elements; processor time, of ours the least of several')
    print(
        'runs. pyelastica swings to rest, and clamps the middle of its first element: first order'
    )
    print('Picture: docs/img/network_compare.png')
    draw(tables, costs)


if __name__ == '__main__':
    main()
