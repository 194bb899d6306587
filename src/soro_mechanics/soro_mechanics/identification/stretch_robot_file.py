# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Identified curves lambda(P) put into a robot file; comments and origins of the rest stay."""

from __future__ import annotations

from collections.abc import Sequence
import os

from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.identification.stretch_fit import LegFit
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.schema2.round_trip import RoundTrip


def write_identified(
    robot: RobotDescription, fits: Sequence[LegFit], target: str | os.PathLike[str]
) -> RobotDescription:
    """Write a copy of a robot file with identified curves; returns the robot it describes.

    `target` may be the robot's own file.

    Raises RobotFileError: the file does not hold the legs; nothing is written then.
    """
    document = RoundTrip(robot.file)
    for fit in fits:
        _put(document, fit, robot)
    return document.save(target)


def _put(document: RoundTrip, fit: LegFit, robot: RobotDescription) -> None:
    legs = document.tree['body'].get('legs', ())
    drives = [leg['drive'] for leg in legs if leg['name'] == fit.leg]
    for i, drive in enumerate(document.tree['drives']):
        if drive['name'] in drives:
            pressures = ' '.join(f'{p / 1e3:g}' for p in fit.curve.pressures)
            values = [round(float(v), 8) for v in fit.curve.values]
            note = f'rms {fit.rms:.4f}, hysteresis {fit.hysteresis:.4f}, {fit.points} points'
            stretch = {'value': values, 'source': 'measured', 'note': note}
            document.put(f'drives.{i}.curve.at', f'{pressures} kPa')
            document.put(f'drives.{i}.curve.stretch', stretch)
            return
    raise RobotFileError('body.legs', fit.leg, 'there is no leg of this name', robot.file)
