# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A robot that is not the one its file describes: parameters changed, discretised more finely.

A plant that shared every number with the solver would prove nothing. The changes stand in the
section ``emulator.body`` of the robot file and are applied to a copy of it, which is read and
checked like any other robot.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
import re
from typing import Any

import yaml

from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.dotted_path import key_in, path_keys
from soro_mechanics.robot_file.reader import describe_robot, RobotDescription
from soro_mechanics.robot_file.section import Section

_NUMBER = re.compile(r'[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?')


@dataclass(frozen=True)
class BodyProperties:
    """How the emulated body differs from the described one.

    Attributes
    ----------
    model : str
        One of the robot's models; '' for its default.
    hysteresis : float
        Largest difference between the way up and the way down, as a part of the range.
    changes : tuple of (path, factor, value)
        Either every number at the path is multiplied by a factor, or the value is replaced
        (then the factor is None).
    """

    model: str
    hysteresis: float
    changes: tuple[tuple[str, float | None, Any], ...]


def read_body(root: Section) -> BodyProperties:
    """Read the optional mapping ``emulator.body``."""
    if 'body' not in root:
        return BodyProperties('', 0.03, ())
    with root.section('body') as body:
        model = body.text('model', '')
        hysteresis = body.number('hysteresis', 0.03, minimum=0.0, maximum=0.5)
        changes: list[tuple[str, float | None, Any]] = []
        for item in body.sections('changes', ()):
            with item:
                path = item.text('path')
                if 'factor' in item:
                    changes.append((path, item.number('factor', positive=True), None))
                else:
                    changes.append((path, None, item.raw('value')))
    return BodyProperties(model, hysteresis, tuple(changes))


def perturbed_robot(robot: RobotDescription, body: BodyProperties) -> Robot:
    """Load the changed copy of a robot.

    Raises
    ------
    RobotFileError
        A path leads nowhere, or the changed robot is impossible.
    """
    changed = describe_robot(changed_data(robot, body), robot.file)
    return Robot(changed, body.model or None)


def changed_data(robot: RobotDescription, body: BodyProperties) -> Any:
    """Return what the changed copy of a robot's file holds.

    Raises
    ------
    RobotFileError
        A path leads nowhere, or to no number.
    """
    data = yaml.safe_load(Path(robot.file).read_text(encoding='utf-8'))
    for path, factor, value in body.changes:
        _change(data, path, factor, value, robot.file)
    return data


def _change(data: Any, path: str, factor: float | None, value: Any, file: str) -> None:
    node, here, last = None, data, ''
    for key in path_keys(path):
        try:
            node, last = here, key_in(here, key)
        except LookupError:
            raise RobotFileError(
                'emulator.body.changes', path, f'there is no {key!r} in this robot file', file
            ) from None
        here = node[last]
    if isinstance(here, dict) and 'value' in here:
        node, last, here = here, 'value', here['value']
    node[last] = value if factor is None else _scaled(here, factor, path, file)


def _scaled(value: Any, factor: float, path: str, file: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise RobotFileError('emulator.body.changes', path, 'leads to no number', file)
    if not isinstance(value, str):
        return value * factor
    # The unit may contain digits (mm^2): only numbers before it are scaled.
    match = re.match(rf'\s*(?:{_NUMBER.pattern}\s*)+', value)
    if match is None:
        raise RobotFileError('emulator.body.changes', path, 'leads to no number', file)
    numbers = ' '.join(repr(float(x) * factor) for x in match.group().split())
    return f'{numbers} {value[match.end() :]}'.strip()
