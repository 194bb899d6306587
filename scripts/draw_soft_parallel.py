# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Stiffness and workspace of the soft parallel robot for several spacings of its legs.

Huang 2022, Fig. 12 (b) to (f).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import colormaps
from matplotlib.figure import Figure
import numpy as np

from soro_mechanics import load_robot
from soro_studies.mechanics.ancf_studies import boundary, payload_curve, redesigned, stiffness_map

RATIOS = (0.5, 0.75, 1.0, 1.25, 1.5)  # phi
FORCES = np.linspace(0.0, 0.2, 9)  # N
SIDEWAYS, DOWN = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, -1.0])
AZIMUTHS, ELEVATIONS = 24, 13
MILLIMETRES = 1e3


def draw_soft_parallel(file: Path) -> None:
    """Solve and draw."""
    robot = load_robot('soft_parallel')
    figure = Figure(figsize=(13.0, 7.0), layout='constrained')
    around = figure.add_subplot(2, 3, 1, projection='polar')
    upwards, pulled, pressed, ranges, shapes = (figure.add_subplot(2, 3, k) for k in range(2, 7))
    colours = colormaps['viridis'](np.linspace(0.0, 0.9, len(RATIOS)))
    extents, turns = [], []
    for ratio, colour in zip(RATIOS, colours, strict=True):
        other = redesigned(robot, spacing_ratio=ratio)
        style = {'color': colour, 'label': f'phi = {ratio:g}'}
        moved = MILLIMETRES * stiffness_map(other, 0.1, AZIMUTHS, ELEVATIONS)
        middle = moved[ELEVATIONS // 2]
        azimuths = np.linspace(0.0, 2.0 * np.pi, AZIMUTHS + 1)
        around.plot(azimuths, np.append(middle, middle[0]), **style)
        upwards.semilogy(np.linspace(-90.0, 90.0, ELEVATIONS), moved[:, 0], **style)
        for axes, way in ((pulled, SIDEWAYS), (pressed, DOWN)):
            path = MILLIMETRES * payload_curve(other, way, FORCES) @ way
            axes.plot(path, FORCES, **style)
        found = boundary(other)
        extents.append(MILLIMETRES * found.position_range)
        turns.append(np.degrees(found.rotation_range))
        shapes.plot(*(MILLIMETRES * found.positions[:, [0, 2]]).T, '.', markersize=2, **style)
    _label(around, '(b) displacement under 0.1 N sideways [mm]')
    _label(upwards, '(b) the same over elevation', 'elevation [deg]', 'displacement [mm]')
    _label(pulled, '(c, d) force along y', 'displacement [mm]', 'force [N]')
    _label(pressed, '(c, d) force along -z', 'displacement [mm]', 'force [N]')
    _label(ranges, '(e) ranges of the workspace', 'phi', 'position [mm]')
    _label(shapes, '(f) boundary of the workspace', 'x [mm]', 'z [mm]')
    pulled.legend(fontsize=8)
    shapes.set_aspect('equal')
    _ranges(ranges, np.array(extents), np.array(turns))
    figure.savefig(file, dpi=110, bbox_inches='tight', pad_inches=0.15)


def _label(axes: Any, title: str, across: str = '', up: str = '') -> None:
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(across)
    axes.set_ylabel(up)


def _ranges(axes: Any, extents: np.ndarray, turns: np.ndarray) -> None:
    """Draw ranges (n, 3) [mm] and (n, 3) [deg] over phi."""
    other = axes.twinx()
    other.set_ylabel('rotation [deg], dashed')
    for k, name in enumerate('xyz'):
        axes.plot(RATIOS, extents[:, k], 'o-', color=f'C{k}', label=name)
        other.plot(RATIOS, turns[:, k], 's--', color=f'C{k}')
    axes.legend(fontsize=8)
