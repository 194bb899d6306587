#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Draw the pictures of the documentation from models, viewer and demos (`make pictures`)."""

from __future__ import annotations

import argparse
from pathlib import Path

from draw_eigenstiffness import draw_eigenstiffness
import draw_recordings
from draw_soft_parallel import draw_soft_parallel
from draw_spatial_cc import draw_spatial_cc
from draw_stewart_gough import draw_stewart_gough
from draw_tracking import draw_curves, draw_muscles
from matplotlib import colormaps
from matplotlib.figure import Figure
import numpy as np

from soro_mechanics import load_robot

IMAGES = Path(__file__).resolve().parents[1] / 'docs' / 'img'
PRESSURES = (0.0, 0.6, 1.0, 1.3, 1.5)  # bar in the first chamber pair
STATIONS = (0.5, 1.0)  # of the backbone, where an ellipsoid is drawn
FORCE = 0.5  # N, in every direction: an ellipsoid is where the point goes under it
SPACING = 0.075  # m between two copies of the robot
CENTIMETRES = 100.0


def tube(backbone: np.ndarray, radius: np.ndarray, sides: int = 32) -> np.ndarray:
    """Return the surface of a round rod, shape (3, n, sides + 1) [m]."""
    angle = np.linspace(0.0, 2.0 * np.pi, sides + 1)
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)])
    section = np.einsum('nij,jk->nik', backbone[:, :3, :3], ring) * radius[:, None, None]
    return np.moveaxis(backbone[:, :3, 3, None] + section, 1, 0)


def ellipsoid(compliance: np.ndarray, centre: np.ndarray, sides: int = 24) -> np.ndarray:
    """Return where a point goes under a force in any direction, shape (3, sides, sides) [m]."""
    u, v = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, sides), np.linspace(0.0, np.pi, sides))
    unit = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)])
    block = compliance[:3, :3]
    return np.einsum('ij,jkl->ikl', block, unit) * FORCE + centre[:, None, None]


def draw_stiff_flop(file: Path) -> None:
    """One chamber pair from 0 to 1.5 bar, with compliance ellipsoids along the backbone."""
    robot = load_robot('stiff_flop')
    figure = Figure(figsize=(9.0, 3.4))
    axes = figure.add_axes((-0.33, -0.85, 1.66, 2.5), projection='3d')
    colours = colormaps['viridis'](np.linspace(0.05, 0.8, len(PRESSURES)))
    guess = None
    for i, (pressure, colour) in enumerate(zip(PRESSURES, colours, strict=True)):
        guess = q = robot.forward([pressure * 1e5, 0.0, 0.0], guess=guess)
        shift = np.array([SPACING * i, 0.0, 0.0])[:, None, None]
        surface = (tube(q.backbones[0], q.radii[0]) + shift) * CENTIMETRES
        axes.plot_surface(*surface, color=colour, alpha=0.35, linewidth=0)
        for station in STATIONS:
            n = round(station * (len(q.backbones[0]) - 1))
            block = robot.compliance_along(q)[0][n]
            shape = (ellipsoid(block, q.backbones[0][n, :3, 3]) + shift) * CENTIMETRES
            axes.plot_wireframe(*shape, color=colour, linewidth=0.5, rstride=2, cstride=2)
        axes.text(shift[0, 0, 0] * CENTIMETRES, 0.0, -2.2, f'{pressure:g} bar', ha='center')
    bar = SPACING * (len(PRESSURES) - 1) * CENTIMETRES + 3.5
    axes.plot([bar, bar], [0, 0], [0, 2], color='black', linewidth=2)
    axes.text(bar + 0.5, 0, 0.7, '2 cm')
    axes.set_axis_off()
    axes.set_aspect('equal')
    axes.view_init(elev=14, azim=-80)
    figure.text(
        0.5,
        0.93,
        f'{robot.description.title}: one chamber pair, model {robot.model}; '
        f'wire frames: where the middle and the tip go under {FORCE:g} N',
        ha='center',
        fontsize=9,
    )
    figure.savefig(file, dpi=130)


def draw_viewer(file: Path) -> None:
    """Photograph the browser viewer with a robot in it; needs Chromium, takes a minute."""
    from draw_viewer import draw

    draw(file.stem.removeprefix('viewer_'), file)


def draw_own(file: Path) -> None:
    """Photograph a robot that is not in the catalogue, without ROS; needs Chromium."""
    import photograph_robot

    robot, *words = OWN[file.name].split()
    if photograph_robot.main([robot, str(file), *words]):
        raise SystemExit(f'{file}: the page complains')


# Robots that are not in the catalogue; paths are from the top of the workspace.
OWN = {
    'viewer_own_delta.png': 'src/soro_visualization/test/robots/soft_delta.yaml leg_1=.7 leg_2=.3'
}
ROBOTS = (
    'stiff_flop',
    'stiff_flop_two_segment',
    'soft_parallel',
    'spatial_cc',
    'pam_continuum',
    'haptic_5dof',
    'stewart_gough',
)
PICTURES = {
    'stiff_flop.png': draw_stiff_flop,
    'stiff_flop_eigenstiffness.png': draw_eigenstiffness,
    'soft_parallel_stiffness.png': draw_soft_parallel,
    'spatial_cc_workspace.png': draw_spatial_cc,
    'pam_continuum_tracking.png': draw_muscles,
    'soft_parallel_tracking.png': draw_curves,
    'stewart_gough.png': draw_stewart_gough,
    **{f'viewer_{robot}.png': draw_viewer for robot in ROBOTS},
    **dict.fromkeys(OWN, draw_own),
    **dict.fromkeys(draw_recordings.FIGURES, draw_recordings.draw),
}


def main() -> None:
    """Draw every picture, or the ones named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('names', nargs='*', help=f'of {", ".join(PICTURES)}; default all')
    IMAGES.mkdir(parents=True, exist_ok=True)
    names = parser.parse_args().names
    for name in names or PICTURES:
        PICTURES[name](IMAGES / name)
        print(f'docs/img/{name}')
    if not names:
        import check_viewer

        if check_viewer.main():
            raise SystemExit('the viewer did not pass its check with mouse and keyboard')


if __name__ == '__main__':
    main()
