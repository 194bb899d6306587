# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where bench protocols move the actuators, and how their tables are written. Pure."""

from __future__ import annotations

from collections.abc import Sequence
import os
from pathlib import Path
from typing import Any

import numpy as np

from soro_mechanics.analysis.trajectory import Schedule
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.atomic_write import write_whole

PROTOCOLS = ('stretch', 'step', 'chirp', 'pull')
COMMANDED = '_commanded'  # after the name of an actuator
STEP, LONGEST = 0.01, 3600.0  # s, between points of a chirp, and of one at most


def reach(robot: Robot, goal: Any) -> tuple[Array, Array]:
    """Return rest and the farthest actuation (m,) of a protocol, equal where it moves nothing.

    It is on the way to the limit farther from rest, the upper one where both are about as far.
    Raises UnknownName: no such protocol or actuator; InvalidInput: another field.
    """
    known = [a.name for a in robot.actuators]
    for field, names, valid in (
        ('protocol', [goal.protocol], PROTOCOLS),
        ('actuator_name', goal.actuator_name, known),
    ):
        for name in names:
            if name not in valid:
                raise UnknownName(field, name, valid)
    if not 0.0 <= goal.amplitude <= 1.0:
        raise InvalidInput('amplitude', goal.amplitude, 'a part of the range, in (0, 1]; 0: 0.5')
    for name in ('settle_time', 'duration', 'lowest_frequency', 'highest_frequency'):
        if not 0.0 <= getattr(goal, name) < 1e6:
            raise InvalidInput(name, getattr(goal, name), 'zero (the default) or more')
    rest = robot.description.rest
    moving = np.array([not goal.actuator_name or name in goal.actuator_name for name in known])
    down, up = (robot.limits - rest[:, None]).T
    return rest, rest + moving * (goal.amplitude or 0.5) * np.where(up > 0.999 * -down, up, down)


def levels(robot: Robot, goal: Any) -> Array:
    """Return the postures (n, m) of stretch: each actuator by itself, up to its end and back."""
    rest, end = reach(robot, goal)
    up = np.linspace(0.0, 1.0, goal.count or 10)
    ways = [axis * (end - rest) for axis in np.eye(len(rest)) if axis @ (end - rest) != 0.0]
    return np.array([rest + share * way for way in ways for share in [*up, *up[-2::-1]]])


def chirp(robot: Robot, goal: Any, rates: Array) -> Schedule:
    """Return a sine of rising frequency about the middle, as large as `rates` allow by default.

    Raises InvalidInput: faster than `rates`, or the end of the swing violates a limit.
    """
    rest, end = reach(robot, goal)
    if violated := robot.violations(end):
        raise InvalidInput('amplitude', goal.amplitude, f'less, within {"; ".join(violated)}')
    first, last = goal.lowest_frequency or 0.1, goal.highest_frequency or 2.0
    duration, swing = goal.duration or 10.0, 0.5 * (end - rest)
    fastest = 1.0 / float(np.max(2.0 * np.pi * np.abs(swing) / rates))
    if goal.amplitude == 0.0:
        swing = swing * min(1.0, fastest / max(first, last))
    elif max(first, last) > fastest:
        expected = f'at most {fastest:.3g} Hz at this amplitude: the rates of the actuators'
        raise InvalidInput('highest_frequency', max(first, last), expected)
    if duration > LONGEST:
        expected = f'at most {LONGEST:g} s: a chirp is laid out whole'
        raise InvalidInput('duration', duration, expected)
    time = np.arange(0.0, duration + STEP, STEP)
    phase = 2.0 * np.pi * (first * time + 0.5 * (last - first) / duration * time**2)
    values = rest + swing + np.sin(phase)[:, None] * swing
    return Schedule(time, values, np.zeros((len(time), 3)), 0.0)


def table_path(text: str, mapped: bool = True) -> Path:
    """Return where a table, and its mapping where it is `mapped`, go.

    InvalidInput: they cannot, or something is there: what was measured is not replaced.
    """
    path = Path(text)
    if not path.is_absolute() or path.suffix != '.csv' or not os.access(path.parent, os.W_OK):
        expected = 'the absolute path of a .csv file in a folder that can be written to'
        raise InvalidInput('save_to', text, expected)
    for file in (path, path.with_suffix('.yaml'))[: 1 + mapped]:
        if file.exists():
            raise InvalidInput('save_to', text, f'another name: {file.name} exists')
    return path


def write_table(path: Path, drives: Sequence[str], columns: Sequence[str], rows: Array) -> None:
    """Write a table, whole or not at all, and beside it a mapping, by which `identify` reads it.

    `drives`: which columns are measured actuators, as ``name [unit]``; none: no mapping.
    """
    lines = [', '.join(columns), *(', '.join(f'{v:.9g}' for v in row) for row in rows.tolist())]
    write_whole(path, lambda file: file.write('\n'.join([*lines, '']).encode()))
    if not drives:
        return
    text = 'actuators:\n'
    for drive in drives:
        name, _, unit = drive[:-1].partition(' [')
        asked = f'{name}{COMMANDED} [{unit}]'
        more = f", commanded: '{asked}'" if asked in columns else ''
        text += f"  {name}: {{from: '{drive}'{more}, unit: {unit}}}\n"
    text += "tip: {position: ['x [m]', 'y [m]', 'z [m]'], unit: m}\n"
    text += "time: {from: 'time [s]', unit: s}\n" if 'time [s]' in columns else ''
    write_whole(path.with_suffix('.yaml'), lambda file: file.write(text.encode()))
