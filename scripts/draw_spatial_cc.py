# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Actuator lengths and tips of the constant-curvature arm (Akbari 2021, Fig. 3)."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
import numpy as np

from soro_mechanics import load_robot
from soro_studies.mechanics.constant_curvature_workspace import length_workspace

REST_LENGTH = 0.2  # m, that of the published study
SAMPLES = 20000
MILLIMETRES = 1e3


def draw_spatial_cc(file: Path) -> None:
    """Lengths within (4) that keep the geometric constraints, and where they put the tip."""
    arm = load_robot('spatial_cc').description.structure['constant_curvature']
    study = length_workspace(REST_LENGTH, arm.offset, arm.angles, arm.radius, SAMPLES)
    good = study.feasible
    height = MILLIMETRES * study.points[good, 2]
    figure = Figure(figsize=(12.0, 4.6), layout='constrained')
    for k, (values, title) in enumerate(
        ((study.lengths, 'lengths, coloured by z of the tip'), (study.points, 'tips, by z'))
    ):
        axes = figure.add_subplot(1, 3, k + 1, projection='3d')
        axes.scatter(*(MILLIMETRES * values[good]).T, c=height, s=1)
        names = ('l1', 'l2', 'l3') if k == 0 else ('x', 'y', 'z')
        axes.set(**{f'{a}label': f'{n} [mm]' for a, n in zip('xyz', names, strict=True)})
        axes.set_title(title, fontsize=10)
        axes.patch.set_visible(False)  # else it hides the label of its neighbour
        axes.locator_params(nbins=4)
        axes.set_box_aspect(None if k == 0 else np.ptp(study.points[good], axis=0))
    axes = figure.add_subplot(1, 3, 3)
    across = MILLIMETRES * np.hypot(*study.points[:, :2].T)
    up = MILLIMETRES * study.points[:, 2]
    turned = study.struck & ~study.folded
    for chosen, colour, label in (
        (study.folded, '0.85', 'folds'),
        (turned, 'C1', 'half a turn or more'),
        (good, 'C0', 'reached'),
    ):
        axes.plot(across[chosen], up[chosen], '.', markersize=1, color=colour, label=label)
    axes.set(xlabel='distance from the axis [mm]', ylabel='z [mm]', aspect='equal')
    axes.legend(fontsize=8, markerscale=8)
    axes.set_title(f'of {len(study.points)} samples {good.mean():.0%} are reached', fontsize=10)
    figure.savefig(file, dpi=110, bbox_inches='tight', pad_inches=0.15)
