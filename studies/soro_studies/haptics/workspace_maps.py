# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Isotropic force and torque over the workspace, for two materials and three torque limits.

Koehler 2023, section V-B: places with the handle upright (Fig. 4), tilts in the middle (Fig. 5).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from soro_mechanics.analysis.polytope import (
    FORCE,
    isotropic_effort,
    IsotropicEffort,
    SENSES,
    TORQUE,
)
from soro_mechanics.core.configuration import Array
from soro_mechanics.haptics.device import HapticDevice, softened
from soro_mechanics.numerics.lie import so3_exp
from soro_mechanics.robot import Robot
from soro_studies.haptics.holding import disc_grid
from soro_studies.haptics.reach import hold_within, reach

MATERIALS = (1.0, 0.2)  # parts of the published modulus
TORQUES = (np.inf, 0.04, 0.01)  # N m, published
HEIGHTS = (-0.02, 0.0, 0.02)  # m
RADIUS = 0.04  # m
TILT = 0.6  # rad


@dataclass(frozen=True)
class WorkspaceMap:
    """One material and one torque limit.

    Attributes
    ----------
    material : float
        Part of the modulus.
    torque : float
        [N m]
    points : ndarray, shape (n, 3) [m], or (n, 2) [rad]
        Places, or tilts: rotation vectors along the two axes across the handle.
    force : ndarray, shape (n,) [N]
        NaN where the pose is not held within the limits.
    turning : ndarray, shape (n,) [N m]
        Isotropic torque, likewise.
    weak_force, weak_turning : ndarray, shape (n,) [N], [N m]
        The same where the hand may get a torque besides the force, or a force besides the torque.
    """

    material: float
    torque: float
    points: Array
    force: Array
    turning: Array
    weak_force: Array
    weak_turning: Array

    @property
    def held(self) -> int:
        """Number of points that are held without a hand."""
        return int(np.isfinite(self.force).sum())

    def at_centre(self) -> tuple[float, float, float, float]:
        """Return force [N] and torque [N m] in the middle, then both in the weak sense."""
        middle = int(np.argmin(np.linalg.norm(self.points, axis=1)))
        force, turning, weak_force, weak_turning = (
            float(part[middle])
            for part in (self.force, self.turning, self.weak_force, self.weak_turning)
        )
        return force, turning, weak_force, weak_turning


def workspace_maps(robot: Robot, spacing: float) -> list[WorkspaceMap]:
    """Compute the six maps over places, the handle upright.

    Parameters
    ----------
    robot : Robot
    spacing : float
        Of the grid in each slice [m].
    """
    disc = disc_grid(RADIUS, spacing)
    return _maps(robot, np.array([[x, y, z] for z in HEIGHTS for x, y in disc]), _upright)


def tilt_maps(robot: Robot, spacing: float) -> list[WorkspaceMap]:
    """Compute the six maps over tilts, the handle in the middle.

    Parameters
    ----------
    robot : Robot
    spacing : float
        Of the grid [rad].
    """
    across = HapticDevice(robot).ports.axes[3:, 3:].copy()

    def tilted(turn: Array) -> Array:
        pose = np.eye(4)
        pose[:3, :3] = so3_exp(across @ turn)
        return pose

    return _maps(robot, disc_grid(TILT, spacing), tilted)


def _maps(robot: Robot, points: Array, pose_of: Callable[[Array], Array]) -> list[WorkspaceMap]:
    """Return a map per material and torque limit; states are solved once per material."""
    maps = []
    for material in MATERIALS:
        device = HapticDevice(robot if material == 1.0 else softened(robot, material))
        bound = device.motor_limits(np.inf)
        states = []
        for point in points:
            device.restart(np.zeros(len(robot.actuators)))
            states.append(reach(device, pose_of(point), limits=bound))
        for torque in TORQUES:  # falling: what is not held by more is not held by less
            limits = device.motor_limits(torque)
            values = np.full((len(points), 4), np.nan)
            for k, (point, found) in enumerate(zip(points, states, strict=True)):
                if found is None:
                    continue
                # Six motors hold five motions in many ways: the nearest one within the limits.
                ports = states[k] = hold_within(device, pose_of(point), found, limits)
                if ports is not None:
                    efforts: list[IsotropicEffort] = [
                        isotropic_effort(ports, limits, which, sense=sense)
                        for sense in SENSES
                        for which in (FORCE, TORQUE)
                    ]
                    values[k] = [e.radius for e in efforts]
            maps.append(WorkspaceMap(material, torque, points, *values.T))
    return maps


def _upright(point: Array) -> Array:
    pose = np.eye(4)
    pose[:3, 3] = point
    return pose


def draw_maps(places: list[WorkspaceMap], tilts: list[WorkspaceMap], path: Path) -> None:
    """Draw middle slices of the force beside tilts of the torque, a row per material."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15.0, 5.4), layout='constrained')
    FigureCanvasAgg(figure)
    left, right = figure.subfigures(1, 2)
    slices = [np.nonzero(one.points[:, 2] == 0.0)[0] for one in places]
    _draw(
        left,
        places,
        [1e3 * m.points[s, :2] for m, s in zip(places, slices, strict=True)],
        [m.force[s] for m, s in zip(places, slices, strict=True)],
        ('x [mm]', 'y [mm]', 'isotropic force [N]'),
    )
    _draw(
        right,
        tilts,
        [m.points for m in tilts],
        [1e3 * m.turning for m in tilts],
        ('turn 1 [rad]', 'turn 2 [rad]', 'isotropic torque [mN m]'),
    )
    figure.savefig(path, dpi=110)


def _draw(
    figure: Any,
    maps: list[WorkspaceMap],
    points: list[Array],
    values: list[Array],
    labels: tuple[str, str, str],
) -> None:
    """Draw one row per material, one column per torque limit."""
    axes: Any = figure.subplots(len(MATERIALS), len(TORQUES), sharex=True, sharey=True)
    shown = list(zip(axes.flat, maps, points, values, strict=True))
    for row in range(len(MATERIALS)):
        mine = shown[row * len(TORQUES) : (row + 1) * len(TORQUES)]
        most = max(float(np.nanmax(value, initial=0.0)) for _, _, _, value in mine) or 1.0
        for here, one, point, value in mine:
            good = np.isfinite(value)
            here.scatter(*point.T, s=14, c='0.85', marker='s')
            drawn = here.scatter(
                *point[good].T, s=28, marker='s', c=value[good], vmin=0.0, vmax=most
            )
            limit = 'none' if np.isinf(one.torque) else f'{one.torque:g} N m'
            here.set_title(f'{one.material:g} E, torque limit {limit}', fontsize=9)
            here.set_aspect('equal')
        figure.colorbar(drawn, ax=axes[row, :], label=labels[2])
    for here in axes[-1]:
        here.set_xlabel(labels[0])
    for here in axes[:, 0]:
        here.set_ylabel(labels[1])
