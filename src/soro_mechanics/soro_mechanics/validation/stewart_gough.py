# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rows of the continuum Stewart-Gough robot (Shi 2023, Appendix E), model network."""

from __future__ import annotations

import numpy as np

from soro_mechanics.configuration import Array
from soro_mechanics.robot import load_robot, Robot
from soro_mechanics.validation.row import boundary, Kind, number, Row, statement

INDEPENDENT = 'a solution of the same six rods by other code than this'


def rows() -> list[Row]:
    """Return every row of the robot."""
    robot = load_robot('stewart_gough')
    return [*_elongated(robot), *_translated(robot), _bent(robot)]


def compliance_at(robot: Robot, pose: Array) -> Array:
    """Return the translational compliance (3, 3) [m/N] at a pose that must be reached."""
    s = robot.inverse(pose)
    if s.status.code != 0:
        raise RuntimeError(f'stewart_gough does not reach {pose[:3, 3]}: {s.status.message}')
    return robot.compliance(s.configuration)[:3, :3]


def _level(x: float, z: float) -> Array:
    pose = np.eye(4)
    pose[:3, 3] = [x, 0.0, z]
    return pose


def _elongated(robot: Robot) -> list[Row]:
    found = []
    for height, ratio, kind, printed, note in (
        (0.40, 72.9, Kind.CHECK, '72.9 (not the paper)',
         f'{INDEPENDENT}; the paper prints no ratio here'),
        (0.49, 110.0, Kind.FITTED, 'around 110',
         'the paper prints no height: this is the one at which an independent solution has 110'),
    ):  # fmt: skip
        c = compliance_at(robot, _level(0.0, height))
        found.append(number(
            f'compliance x over z, platform at {height:.2f} m', ratio, c[0, 0] / c[2, 2], '', 0.01,
            kind, note, printed=printed,
        ))  # fmt: skip
    same = abs(c[0, 0] / c[1, 1] - 1.0)
    found.append(statement(
        'x and y, elongated', 'isotropic', f'equal within {same:.1e}', same < 1e-4
    ))  # fmt: skip
    return found


def _translated(robot: Robot) -> list[Row]:
    c = compliance_at(robot, _level(0.1, 0.4))
    ratio = c[0, 0] / c[1, 1]
    return [
        boundary(
            'compliance x over y, tip at (0.1, 0, 0.4) m', 'about 2', ratio, '', 1.5, 2.5,
            note='the platform is level here and there; the paper reads the ratio off an '
            'ellipsoid, the cause is not known. See the next row',
        ),
        number(
            'compliance x over y, the same against an independent solution', 2.7, ratio, '', 0.02,
            Kind.CHECK, INDEPENDENT, printed='2.7 (not the paper)',
        ),
    ]  # fmt: skip


def _bent(robot: Robot) -> Row:
    s = robot.inverse([0.1, 0.0, 0.4])
    if s.status.code != 0:
        raise RuntimeError(f'stewart_gough does not bend: {s.status.message}')
    c = robot.compliance(s.configuration)[:3, :3]
    tilt = np.degrees(np.arccos(s.configuration.tip[2, 2]))
    ratio = c[0, 0] / c[1, 1]
    return statement(
        'x over y, bent', 'isotropic again', f'{ratio:.2f} at a tilt of {tilt:.0f} deg',
        abs(ratio - 1.0) < 0.1,
        'the paper does not print the bent pose: here the tip is at (0.1, 0, 0.4) m and the '
        'platform tilts as least energy has it',
    )  # fmt: skip
