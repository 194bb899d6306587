# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How fast two-node elements converge in every robot of the catalogue with a network.

    python -m soro_studies.mechanics.convergence --write docs/evidence/convergence.md

A bent, loaded configuration on meshes of 2 to 64 elements a rod: the stiffness of the tip (the
inverse of its compliance, by its largest eigenvalue) and the tip itself, against a much finer
mesh. Elements are equal, but none crosses a jump of the rest curvature: between these each part
has the same number.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
import numpy as np
import yaml

from soro_mechanics import load_robot, Robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import describe_robot
from soro_studies.system.measured_section import keep_values, replace_section

ROBOTS = ('haptic_5dof', 'pam_continuum', 'soft_parallel', 'stewart_gough', 'stiff_flop')
MESHES = (2, 4, 8, 16, 32, 64)
FINE = 256  # elements of the reference
PARTS = (0.15, 0.05, 0.1)  # of the range from rest, in turn
FORCE = np.array([0.05, 0.02, -0.03, 0.0, 0.0, 0.0])  # N
FIXED = ('mesh', 'rods')  # keys that are left out
RAMP = 1e-4  # of a rod: what is shorter is a jump
LENGTH = 0.1  # m: puts forces and moments of a stiffness on one scale


def meshed(name: str, elements: int) -> Robot:
    """Return a robot whose rods, or their parts, all have so many elements."""
    file = find_robot_file(name)
    data = yaml.safe_load(file.read_text(encoding='utf-8'))
    network = data['models'].get('network') or {}
    kept = {k: v for k, v in network.items() if k not in FIXED}
    rod = first_rod(load_robot(name).with_model('network'))
    data['models']['network'] = kept | {'mesh': split(rod.curvature[:, 0], elements)}
    return Robot(describe_robot(data, str(file)), 'network')


def first_rod(robot: Robot) -> Any:
    """Return the description of a network's first rod."""
    network: Any = robot.model_object
    return network.spec.rods[0]


def split(at: np.ndarray, elements: int) -> list[float]:
    """Return a mesh with so many elements between jumps of the curvature, given as steep ramps.

    There is a node in the middle of a ramp.
    """
    inner = [0.5 * (a + b) for a, b in zip(at, at[1:], strict=False) if b - a < RAMP]
    parts = [0.0, *inner, 1.0]
    mesh = [0.0]
    for a, b in zip(parts, parts[1:], strict=False):
        mesh += np.linspace(a, b, elements + 1)[1:].tolist()
    return mesh


def tip_and_stiffness(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Return the tip's pose and its stiffness (6, 6), moments over `LENGTH`."""
    rest = np.array([a.rest for a in robot.actuators])
    actuation = rest + np.resize(PARTS, len(rest)) * (robot.limits[:, 1] - rest)
    q = robot.forward(actuation, FORCE)
    if not q.status.converged:
        raise RuntimeError(f'{robot.name}: {q.status.message}')
    return q.tip, stiffness(robot.compliance(q))


def stiffness(compliance: np.ndarray) -> np.ndarray:
    """Return the stiffness (6, 6), moments over `LENGTH`."""
    scale = np.diag([1.0] * 3 + [1.0 / LENGTH] * 3)
    return np.asarray(scale @ np.linalg.inv(compliance) @ scale)


def relative(found: np.ndarray, right: np.ndarray) -> float:
    """Return how far a stiffness is off, by the largest singular value."""
    return float(np.linalg.norm(found - right, 2) / np.linalg.norm(right, 2))


def errors(name: str) -> dict[str, Any]:
    """Return relative errors of the stiffness and errors of the tip [m] per mesh."""
    tip, right = tip_and_stiffness(meshed(name, FINE))
    found: dict[str, Any] = {'elements': [], 'stiffness': [], 'tip': []}
    for count in MESHES:
        robot = meshed(name, count)
        there, stiff = tip_and_stiffness(robot)
        found['elements'].append(len(first_rod(robot).fractions) - 1)
        found['stiffness'].append(relative(stiff, right))
        found['tip'].append(float(np.linalg.norm(there[:3, 3] - tip[:3, 3])))
    return found


def order(values: list[float]) -> float:
    """Return the order between 8 and 32 elements."""
    return float(np.log(values[2] / values[4]) / np.log(4.0))


def draw(found: dict[str, Any], file: Path) -> None:
    """Plot both errors over the elements, with a slope of four."""
    figure = Figure(figsize=(9.0, 4.0), layout='constrained')
    for axes, (key, label) in zip(
        figure.subplots(1, 2),
        (('stiffness', 'relative error of the stiffness'), ('tip', 'error of the tip [m]')),
        strict=True,
    ):
        for name, row in found.items():
            axes.loglog(row['elements'], row[key], 'o-', ms=4, label=name)
        first = max(row[key][1] for row in found.values())
        counts = np.array([4.0, 64.0])
        axes.loglog(counts, first * (4.0 / counts) ** 4, 'k--', lw=1, label='order 4')
        axes.set(xlabel='elements a rod', ylabel=label)
        axes.grid(True, which='both', alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(file, dpi=110)


def section(found: dict[str, Any]) -> str:
    """Write the table."""
    head = ' | '.join(str(n) for n in MESHES)
    out = [
        '## Stiffness and tip',
        '',
        f'Written on {date.today()}; order between 8 and 32 elements a part.',
        '',
        '![errors over the number of elements](../img/convergence.png)',
        '',
        f'| Robot, parts of a rod | What | {head} | order |',
        '|---|---|' + '---|' * len(MESHES) + '---|',
    ]
    for name, row in found.items():
        for key, what in (('stiffness', 'stiffness, relative'), ('tip', 'tip [m]')):
            cells = ' | '.join(f'{v:.1e}' for v in row[key])
            out.append(
                f'| {name}, {row["elements"][0] // 2} | {what} | {cells} | {order(row[key]):.2f} |'
            )
    return '\n'.join(out) + '\n'


def keep(page: Path, found: dict[str, Any]) -> None:
    """Keep the numbers beside a page, and draw its picture."""
    keep_values(page, {'date': date.today().isoformat(), 'robots': found})
    draw(found, page.parent.parent / 'img/convergence.png')


def run(
    about: str,
    robots: Iterable[str],
    errors: Callable[[str], dict[str, Any]],
    section: Callable[[dict[str, Any]], str],
    keep: Callable[[Path, dict[str, Any]], None],
) -> None:
    """Compute one robot after the other; renew the section of a page, or print it."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument('--write', metavar='FILE', help='page whose section is renewed')
    arguments = parser.parse_args()
    found = {}
    for name in robots:
        found[name] = errors(name)
        print(name, found[name], flush=True)
    if arguments.write:
        page = Path(arguments.write)
        keep(page, found)
        replace_section(page, section(found))
    else:
        print(section(found))


if __name__ == '__main__':
    run(__doc__, ROBOTS, errors, section, keep)
