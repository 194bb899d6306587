# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Curves that the emulated robots followed, beside what was wanted (takes minutes).

Chen 2022, Figs 9 to 14: three curves under three loads. Huang 2022: star, spiral, circle.
"""

from __future__ import annotations

from pathlib import Path
import tempfile
from typing import Any

from matplotlib.figure import Figure
import numpy as np

from soro_mechanics import load_robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_studies.emulation.muscle_tracking import MuscleTracking
from soro_studies.system.soft_parallel_tracking import (
    CURVES,
    follow,
    IDENTIFIED,
    identify,
    NOMINAL,
    plan,
)
from soro_studies.system.virtual_soft_parallel import VirtualRobot
from soro_studies.validation.pam_continuum import LOADS, PAPER

SPEED = 0.02  # m/s
MILLIMETRES = 1e3
POINTS = 2000  # of a drawn path


def draw_muscles(file: Path) -> None:
    """Twenty points of every published curve, with nothing, 0.2 and 0.5 N at the tip."""
    tracking = MuscleTracking(read_robot_file(find_robot_file('pam_continuum')))
    figure, panels = _panels(len(PAPER))
    for axes, name in zip(panels, PAPER, strict=True):
        for load, mark in zip(LOADS, 'ox+', strict=True):
            row = tracking.play(name, load)
            if load == LOADS[0]:
                closed = np.vstack([row.wanted, row.wanted[:1]])
                axes.plot(*(MILLIMETRES * closed[:, :2]).T, '.-', color='0.6', label='wanted')
            tips = MILLIMETRES * row.tips[:, :2]
            axes.plot(*tips.T, mark, fillstyle='none', label=f'{load:g} N, {row.mean:.1%}')
        axes.set_title(f'{name} (printed: {PAPER[name]})', fontsize=10)
        axes.legend(fontsize=7)
    figure.savefig(file, dpi=110, bbox_inches='tight', pad_inches=0.15)


def draw_curves(file: Path) -> None:
    """Three curves at 2 cm/s, with the robot file's lambda(P) and the identified one."""
    source = Path(find_robot_file('soft_parallel'))
    figure, panels = _panels(len(CURVES))
    with tempfile.TemporaryDirectory(prefix='soro_tracking_') as folder:
        identified, _, _ = identify(source, Path(folder))
        for kind, robot_file in ((NOMINAL, source), (IDENTIFIED, identified)):
            robot, emulated = load_robot(robot_file), VirtualRobot(robot_file)
            for axes, curve in zip(panels, CURVES, strict=True):
                schedule = plan(robot, curve, SPEED)
                if kind == NOMINAL:
                    times = np.linspace(0.0, schedule.duration, POINTS)
                    wanted = np.array([schedule.position_at(t) for t in times])
                    axes.plot(*(MILLIMETRES * wanted[:, :2]).T, color='0.6', label='wanted')
                (found,), _ = follow(emulated, schedule, (0.0,))
                path = MILLIMETRES * found.actual_path(POINTS)[:, :2]
                error = MILLIMETRES * found.summary()[0]
                axes.plot(*path.T, linewidth=1.0, label=f'{kind}, {error:.1f} mm')
                axes.set_title(f'{curve}, {100 * SPEED:g} cm/s', fontsize=10)
                axes.legend(fontsize=7)
    figure.savefig(file, dpi=110, bbox_inches='tight', pad_inches=0.15)


def _panels(count: int) -> tuple[Figure, Any]:
    figure = Figure(figsize=(4.2 * count, 4.2), layout='constrained')
    panels = figure.subplots(1, count)
    for axes in panels:
        axes.set_aspect('equal')
        axes.set_xlabel('x [mm]')
    panels[0].set_ylabel('y [mm]')
    return figure, panels
