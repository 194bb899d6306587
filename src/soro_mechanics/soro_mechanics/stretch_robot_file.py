# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Identified curves lambda(P) put into a robot file, the rest of its text left as it is."""

from __future__ import annotations

from collections.abc import Sequence
import os
from pathlib import Path
import re

import numpy as np

from soro_mechanics.errors import RobotFileError
from soro_mechanics.robot_file import read_robot_file, RobotDescription
from soro_mechanics.stretch_identification import LegFit


def write_identified(
    robot: RobotDescription, fits: Sequence[LegFit], target: str | os.PathLike[str]
) -> RobotDescription:
    """Write a copy of a robot file with identified curves; returns the robot it describes.

    Both the section ``ancf`` and, where there is one, the ``network`` get the curves. `target` may
    be the robot's own file.

    Raises
    ------
    RobotFileError
        The file does not hold the legs where they are expected; nothing is written then.
    """
    text = Path(robot.file).read_text(encoding='utf-8')
    for fit in fits:
        text = _replace_leg(text, fit, robot.file)
        text = _replace_rod(text, fit, robot.structure['ancf'].length)
    path = Path(target)
    fresh = path.with_name(f'.{path.stem}.new.yaml')
    fresh.write_text(text, encoding='utf-8')
    try:
        curves = read_robot_file(fresh).structure['ancf'].curves
        for fit, curve in zip(fits, curves, strict=True):
            if not np.allclose(curve.values, fit.curve.values, rtol=0.0, atol=1e-5):
                raise RobotFileError('ancf.legs', fit.leg, 'could not be replaced', robot.file)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    return read_robot_file(path)


def _replace_leg(text: str, fit: LegFit, file: str) -> str:
    pressures = ' '.join(f'{p / 1e3:g}' for p in fit.curve.pressures)
    values = ', '.join(f'{v:.5f}' for v in fit.curve.values)
    note = f'rms {fit.rms:.4f}, hysteresis {fit.hysteresis:.4f}, {fit.points} points'
    pattern = re.compile(
        rf'(?P<head>- name: {re.escape(fit.leg)}\n(?:\s+angle:[^\n]*\n)?)'
        r'(?P<indent>\s+)pressures:[^\n]*\n\s+stretch:[^\n]*\n'
    )
    fresh, count = pattern.subn(
        lambda m: (
            f'{m["head"]}{m["indent"]}pressures: {pressures} kPa\n'
            f'{m["indent"]}stretch: {{value: [{values}], source: measured, note: "{note}"}}\n'
        ),
        text,
    )
    if count != 1:
        raise RobotFileError(
            'ancf.legs', fit.leg, 'expected name, angle, pressures, stretch', file
        )
    return fresh


def _replace_rod(text: str, fit: LegFit, length: float) -> str:
    """Replace the curve of a rod's length at rest, lambda(P) L_f, where the file has one."""
    pattern = re.compile(
        rf'(- actuator: {re.escape(fit.leg)}\n\s+drives: length\n\s+rods:[^\n]*\n\s+curve:\n)'
        r'(\s+)- \{at:[^\n]*\n(?:\s+- \{at:[^\n]*\n)*'
    )

    def points(match: re.Match[str]) -> str:
        pairs = zip(fit.curve.pressures, fit.curve.values, strict=True)
        lines = [
            f'{match[2]}- {{at: {p / 1e3:g} kPa, value: {v * length:.7f} m}}\n' for p, v in pairs
        ]
        return match[1] + ''.join(lines)

    return pattern.sub(points, text)
