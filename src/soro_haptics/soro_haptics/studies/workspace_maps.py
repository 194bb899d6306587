# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Isotropic force over the workspace, for two materials and three torque limits (Koehler 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from soro_mechanics.configuration import Array
from soro_mechanics.haptic_device import HapticDevice, softened
from soro_mechanics.polytope import (
    disc_grid,
    FORCE,
    isotropic_effort,
    IsotropicEffort,
    TORQUE,
)
from soro_mechanics.robot import Robot

MATERIALS = (1.0, 0.2)  # parts of the published modulus
TORQUES = (np.inf, 0.04, 0.01)  # N m, published
HEIGHTS = (-0.02, 0.0, 0.02)  # m
RADIUS = 0.04  # m


@dataclass(frozen=True)
class WorkspaceMap:
    """One material and one torque limit.

    Attributes
    ----------
    material : float
        Part of the modulus.
    torque : float
        [N m]
    points : ndarray, shape (n, 3) [m]
    force : ndarray, shape (n,) [N]
        NaN where the pose is not held within the limits.
    turning : ndarray, shape (n,) [N m]
        Isotropic torque, likewise.
    """

    material: float
    torque: float
    points: Array
    force: Array
    turning: Array

    @property
    def held(self) -> int:
        """Number of points that are held without a hand."""
        return int(np.isfinite(self.force).sum())

    def at_centre(self) -> tuple[float, float]:
        """Return force [N] and torque [N m] in the middle."""
        middle = int(np.argmin(np.linalg.norm(self.points, axis=1)))
        return float(self.force[middle]), float(self.turning[middle])


def workspace_maps(robot: Robot, spacing: float) -> list[WorkspaceMap]:
    """Compute all six maps; the states are solved once per material.

    Parameters
    ----------
    robot : Robot
    spacing : float
        Of the grid in each slice [m].
    """
    disc = disc_grid(RADIUS, spacing)
    points = np.array([[x, y, z] for z in HEIGHTS for x, y in disc])
    maps = []
    for material in MATERIALS:
        device = HapticDevice(robot if material == 1.0 else softened(robot, material))
        bound = device.motor_limits(np.inf)
        states = []
        for point in points:
            device.restart(np.zeros(len(robot.actuators)))
            states.append(device.reach(_upright(point), limits=bound))
        for torque in TORQUES:  # falling: what is not held by more is not held by less
            limits = device.motor_limits(torque)
            values = np.full((len(points), 2), np.nan)
            for k, (point, found) in enumerate(zip(points, states, strict=True)):
                if found is None:
                    continue
                # Six motors hold five motions in many ways: the nearest one within the limits.
                ports = states[k] = device.hold_within(_upright(point), found, limits)
                if ports is not None:
                    efforts: list[IsotropicEffort] = [
                        isotropic_effort(ports, limits, which) for which in (FORCE, TORQUE)
                    ]
                    values[k] = [e.radius for e in efforts]
            maps.append(WorkspaceMap(material, torque, points, values[:, 0], values[:, 1]))
    return maps


def _upright(point: Array) -> Array:
    pose = np.eye(4)
    pose[:3, 3] = point
    return pose


def draw_maps(maps: list[WorkspaceMap], path: Path) -> None:
    """Draw the middle slices, one row per material, one column per torque limit."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 5.4), layout='constrained')
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots(len(MATERIALS), len(TORQUES), sharex=True, sharey=True)
    for row, material in enumerate(MATERIALS):
        mine = [m for m in maps if m.material == material]
        most = max(float(np.nanmax(m.force, initial=0.0)) for m in mine) or 1.0
        for column, one in enumerate(mine):
            slice_ = one.points[:, 2] == 0.0
            x, y, force = 1e3 * one.points[slice_, 0], 1e3 * one.points[slice_, 1], one.force
            here = axes[row, column]
            here.scatter(x, y, s=14, c='0.85', marker='s')
            good = np.isfinite(force[slice_])
            drawn = here.scatter(
                x[good], y[good], s=28, marker='s', c=force[slice_][good], vmin=0.0, vmax=most
            )
            limit = 'none' if np.isinf(one.torque) else f'{one.torque:g} N m'
            here.set_title(f'{material:g} E, torque limit {limit}', fontsize=9)
            here.set_aspect('equal')
        figure.colorbar(drawn, ax=axes[row, :], label='isotropic force [N]')
    for here in axes[-1]:
        here.set_xlabel('x [mm]')
    for here in axes[:, 0]:
        here.set_ylabel('y [mm]')
    figure.savefig(path, dpi=110)
