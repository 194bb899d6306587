# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How fast the motion of a robot converges in time and along its rods.

    python -m soro_studies.mechanics.motion_convergence --write docs/evidence/convergence.md

From rest half of the actuators ramp to a part of their ranges within 0.2 s, and the robot swings
on to 0.6 s. The largest distance of the tip's path is given from one with an eighth of the
shortest step on the same mesh, and from one with twice the finest mesh at the same step.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
import numpy as np

from soro_mechanics import load_robot
from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.dynamics.robot_motion import stepper
from soro_mechanics.dynamics.stepper import Options
from soro_studies.mechanics.convergence import run
from soro_studies.system.measured_section import keep_values

ROBOTS = {'stiff_flop': 0.3, 'soft_parallel': 0.15}  # part of the ranges
STEPS = (8e-3, 4e-3, 2e-3, 1e-3, 5e-4)  # s
MESHES = (2, 4, 8, 16)  # elements of a rod
RAMP, END = 0.2, 0.6  # s
MESH, STEP = 4, 2e-3  # where the other is varied
REFERENCE = 8  # times finer in time; twice along the rods


def path(name: str, elements: int, step: float) -> np.ndarray:
    """Return the way of the tip, a row every longest step, (n, 3) [m]."""
    robot = load_robot(name, model='network')
    rest = np.array([a.rest for a in robot.actuators])
    half = np.arange(len(rest)) % 2 == 0
    goal = rest + ROBOTS[name] * (robot.limits[:, 1] - rest) * half
    moving, found = stepper(robot, options=Options(elements=elements)), []
    every = round(STEPS[0] / step)
    for k in range(1, round(END / step) + 1):
        smooth = np.sin(0.5 * np.pi * min(k * step / RAMP, 1.0)) ** 2
        said = moving.step(step, rest + smooth * (goal - rest), LoadCase(gravity=robot.gravity))
        if not said.taken:
            raise RuntimeError(f'{name}: no solution at {k * step:g} s')
        if k % every == 0:
            found.append(moving.tip[:3, 3].copy())
    return np.array(found)


def errors(name: str) -> dict[str, list[float]]:
    """Return the largest distances [m] for the steps and the meshes."""

    def apart(a: np.ndarray, b: np.ndarray) -> float:
        return float(np.linalg.norm(a - b, axis=1).max())

    fast = path(name, MESH, STEPS[-1] / REFERENCE)
    fine = path(name, 2 * MESHES[-1], STEP)
    return {
        'steps': [apart(path(name, MESH, h), fast) for h in STEPS],
        'elements': [apart(path(name, n, STEP), fine) for n in MESHES],
    }


def order(values: list[float]) -> float:
    """Return the order over the last two halvings; the reference takes part in the last."""
    return float(np.log2(values[-3] / values[-2]))


def draw(found: dict[str, Any], file: Path) -> None:
    """Plot errors over steps and elements, with slopes of two."""
    figure = Figure(figsize=(9.0, 4.0), layout='constrained')
    left, right = figure.subplots(1, 2)
    for axes, key, at, label in (
        (left, 'steps', 1e3 * np.array(STEPS), 'step [ms]'),
        (right, 'elements', np.array(MESHES), 'elements of a piece'),
    ):
        for name, row in found.items():
            axes.loglog(at, 1e3 * np.array(row[key]), 'o-', ms=4, label=name)
        first = 1e3 * max(row[key][0] for row in found.values())
        slope = (at / at[0]) ** (2 if key == 'steps' else -2)
        axes.loglog(at, first * slope, 'k--', lw=1, label='order 2')
        axes.set(xlabel=label, ylabel='largest error of the tip [mm]')
        axes.set_xticks(at, [f'{x:g}' for x in at])
        axes.minorticks_off()
        axes.grid(True, alpha=0.3)
    right.legend(fontsize=8)
    figure.savefig(file, dpi=110)


def section(found: dict[str, Any]) -> str:
    """Write the table."""
    out = [
        '## In motion',
        '',
        f'Written on {date.today()}: largest error of the tip in mm over {END:g} s, of steps with '
        f'{MESH} elements a rod, and of elements with {1e3 * STEP:g} ms.',
        '',
        '![errors over step and elements](../img/convergence_motion.png)',
        '',
        '| Robot | '
        + ' | '.join(f'{1e3 * h:g} ms' for h in STEPS)
        + ' | order | '
        + ' | '.join(f'{n} elements' for n in MESHES)
        + ' | order |',
        '|---|' + '---|' * (len(STEPS) + len(MESHES) + 2),
    ]
    for name, row in found.items():
        cells = (
            [f'{1e3 * v:.2g}' for v in row['steps']]
            + [f'{order(row["steps"]):.2f}']
            + [f'{1e3 * v:.2g}' for v in row['elements']]
            + [f'{order(row["elements"]):.2f}']
        )
        out.append(f'| {name} | ' + ' | '.join(cells) + ' |')
    return '\n'.join(out) + '\n'


def keep(page: Path, found: dict[str, Any]) -> None:
    """Keep the numbers beside a page, and draw its picture."""
    keep_values(page, {'motion': found})
    draw(found, page.parent.parent / 'img/convergence_motion.png')


if __name__ == '__main__':
    run(__doc__, ROBOTS, errors, section, keep)
