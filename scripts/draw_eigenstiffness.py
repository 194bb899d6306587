# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Eigenstiffness over the workspace of the STIFF-FLOP segment (Shi 2023, Fig. 10)."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from matplotlib.figure import Figure
import numpy as np

from soro_mechanics import load_robot
from soro_mechanics.analysis.stiffness import eigenscrews

LEVELS = np.linspace(0.0, 1e5, 13)  # Pa in every pair of chambers
PLANES = (('x', 'y'), ('y', 'z'), ('z', 'x'))
CENTIMETRES = 100.0
CELLS = 24  # across a map


def draw_eigenstiffness(file: Path) -> None:
    """Tips for all pressures up to 1 bar, coloured by the greatest and least eigenstiffness."""
    tips, greatest, least = eigenstiffness_map()
    figure = Figure(figsize=(12.0, 5.6), layout='constrained')
    dome = figure.add_subplot(2, 4, (1, 5), projection='3d')
    dome.scatter(*tips.T, c=greatest, s=6)
    dome.set(
        xlabel='x [cm]', ylabel='y [cm]', zlabel='z [cm]', title='tips, coloured by the greatest'
    )
    dome.set_zticks((4, 5, 6))
    dome.set_box_aspect(np.ptp(tips, axis=0), zoom=0.85)
    for row, (name, values, pick) in enumerate(
        (('greatest', greatest, np.max), ('least positive', least, np.min))
    ):
        for column, plane in enumerate(PLANES):
            axes = figure.add_subplot(2, 4, 4 * row + column + 2)
            a, b = ('xyz'.index(axis) for axis in plane)
            cells = axes.hexbin(
                tips[:, a],
                tips[:, b],
                C=values,
                reduce_C_function=pick,
                gridsize=CELLS,
                vmin=values.min(),
                vmax=values.max(),
            )
            axes.set(xlabel=f'{plane[0]} [cm]', ylabel=f'{plane[1]} [cm]', aspect='equal')
        figure.colorbar(cells, ax=axes, label=f'{name} [N]')
    figure.suptitle(
        f'Eigenstiffness at the tip, pressures up to 1 bar: greatest from {greatest.max():.2f} N '
        f'down to {greatest.min():.2f} N (printed: 4.37 N to 1.49 N)'
    )
    figure.savefig(file, dpi=110, bbox_inches='tight', pad_inches=0.15)


def eigenstiffness_map() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return tips (n, 3) [cm], greatest and least positive eigenstiffness (n,) [N]."""
    robot = load_robot('stiff_flop')
    tips, greatest, least = [], [], []
    guess = None
    for pressures in product(LEVELS, repeat=3):
        guess = q = robot.forward(pressures, guess=guess)
        values = eigenscrews(robot.compliance(q, method='integral')).values
        tips.append(q.tip[:3, 3] * CENTIMETRES)
        greatest.append(values[0])
        least.append(values[2])
    return np.array(tips), np.array(greatest), np.array(least)
