#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Draw the three configurations of Shi 2023, Appendix E, with their compliance ellipsoids."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
import numpy as np

from soro_mechanics import load_robot
from soro_studies.validation.stewart_gough import pose_of, POSES

FILE = Path(__file__).resolve().parents[1] / 'docs' / 'img' / 'stewart_gough.png'
SHOWN = {'elongated': 'at 0.49 m', 'translated': 'translated', 'bent': 'bent'}
FORCES = {'elongated': 25.0, 'translated': 6.0, 'bent': 3.0}  # N: size of each ellipsoid


def ellipsoid(block: np.ndarray, centre: np.ndarray, sides: int = 24) -> np.ndarray:
    """Return where a point goes under a unit force in any direction, shape (3, n, n) [m]."""
    u, v = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, sides), np.linspace(0.0, np.pi, sides))
    unit = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)])
    return np.einsum('ij,jkl->ikl', block, unit) + centre[:, None, None]


def draw_stewart_gough(file: Path) -> None:
    """Solve and draw."""
    robot = load_robot('stewart_gough')
    figure = Figure(figsize=(10.0, 4.2), layout='constrained')
    for i, (name, pose) in enumerate(SHOWN.items()):
        q = robot.inverse(pose_of(*POSES[pose])).configuration
        block = robot.compliance(q)[:3, :3]
        axes = figure.add_subplot(1, 3, i + 1, projection='3d')
        for backbone in q.backbones:
            axes.plot(*backbone[:, :3, 3].T, color='0.25', linewidth=1.2)
        ends = np.array([b[-1, :3, 3] for b in q.backbones])
        axes.plot(*np.vstack([ends, ends[:1]]).T, color='C0', linewidth=2.0)
        shape = ellipsoid(block * FORCES[name], q.tip[:3, 3])
        axes.plot_wireframe(*shape, color='C3', linewidth=0.5, rstride=2, cstride=2)
        x, y, z = np.diag(block) * 1e3
        title = f'{name}, ellipsoid at {FORCES[name]:g} N\nx {x:.3g}, y {y:.3g}, z {z:.3g} mm/N'
        axes.set_title(title, fontsize=9)
        axes.set_xlim(-0.15, 0.2)
        axes.set_ylim(-0.175, 0.175)
        axes.set_zlim(0.0, 0.5)
        axes.set_box_aspect((0.35, 0.35, 0.5))
        axes.tick_params(labelsize=6)
        axes.locator_params(nbins=5)
        for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
            axis.set_label_text(f'{axis.axis_name} [m]', fontsize=8)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=130)


if __name__ == '__main__':
    draw_stewart_gough(FILE)
