# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Recording of pressures and tips at rest: the table from which lambda(P) is identified."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from soro_studies.system.virtual_soft_parallel import VirtualRobot

SETTLE = 0.6  # s after a pressure was commanded
LOOK = 0.3  # s over which tips are averaged


def sequences(
    maximum: float, legs: int, together: int = 12, single: int = 6
) -> Iterator[list[list[float]]]:
    """Yield series of pressures, each up and down: all legs together, then each alone [Pa]."""
    yield [[maximum * k / together] * legs for k in _up_and_down(together)]
    for leg in range(legs):
        yield [
            [maximum * k / single if i == leg else 0.0 for i in range(legs)]
            for k in _up_and_down(single)
        ]


def record(
    robot: VirtualRobot, series: Sequence[Sequence[float]], camera_noise: float, seed: int
) -> list[list[float]]:
    """Visit a series of postures; returns rows of set-points [Pa] and tip [m].

    The set-points and not the monitors: a regulator's own error becomes part of the curve.

    Parameters
    ----------
    robot : VirtualRobot
    series : sequence of pressures
        In this order, so that loading and unloading stay apart.
    camera_noise : float
        Standard deviation added to each coordinate of the true tip [m].
    seed : int
    """
    random = np.random.default_rng(seed)
    rows = []
    for target in series:
        goal = np.array(target)
        robot.move(goal)
        robot.hold(SETTLE, goal)
        tips: list[np.ndarray] = []
        robot.hold(LOOK, goal, lambda time, tip, seen=tips: seen.append(tip))
        tip = np.mean(tips, axis=0) + camera_noise * random.standard_normal(3)
        rows.append([*robot.tick.applied.tolist(), *tip.tolist()])
    return rows


def write_table(file: Path, names: Sequence[str], rows: Sequence[Sequence[float]]) -> None:
    """Write rows as the CSV file that `soro identify` reads."""
    legs = len(names)
    lines = [','.join([f'{name} [kPa]' for name in names] + ['x [mm]', 'y [mm]', 'z [mm]'])]
    for row in rows:
        cells = [1e-3 * x for x in row[:legs]] + [1e3 * x for x in row[legs:]]
        lines.append(','.join(f'{x:.4f}' for x in cells))
    file.write_text('\n'.join(lines) + '\n', encoding='utf-8')


def _up_and_down(steps: int) -> list[int]:
    return [*range(steps + 1), *range(steps - 1, -1, -1)]
