# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A robot that is not the one its file describes: parameters changed, discretised more finely.

A plant that shared every number with the solver would prove nothing. The changes stand in the
section ``emulator.body`` of the robot file and are applied to a copy of it, which is read and
checked like any other robot.
"""

from __future__ import annotations

from dataclasses import dataclass
import os
from pathlib import Path
import re
from typing import Any

import yaml

from soro_mechanics.actuator_models.hysteresis import LAWS
from soro_mechanics.core.errors import RobotFileError, UnknownName
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.dotted_path import key_in, path_keys
from soro_mechanics.robot_file.reader import describe_robot, RobotDescription
from soro_mechanics.robot_file.section import Section

NETWORK = 'network'  # model of whatever moves
PLANTS = ('quasi_static', 'dynamic')
OVERRIDE = 'SORO_PLANT'  # environment: the plant of every emulator, whatever the robot file says
_NUMBER = re.compile(r'[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?')


@dataclass(frozen=True)
class MotionProperties:
    """How a dynamic plant moves and is integrated; all of it assumed."""

    step: float = 5e-3  # s
    elements: int = 8  # of every integrated piece of a rod
    retardation: float = 5e-3  # s
    drag: float = 0.0  # 1/s
    incompressible: bool = False  # sections get thinner under pressure


@dataclass(frozen=True)
class BodyProperties:
    """How the emulated body differs from the described one.

    A change is (path, factor, value): the number at the path is multiplied by the factor, or,
    where that is None, replaced.
    """

    model: str  # one of the robot's; '' for its default
    hysteresis: float  # largest difference between the ways up and down, part of the range
    changes: tuple[tuple[str, float | None, Any], ...]
    plant: str = 'quasi_static'  # one of `PLANTS`: in equilibrium, or with inertia (network)
    law: str = ''  # of the hysteresis; '' for play operators, of a dynamic plant for Bouc-Wen
    motion: MotionProperties = MotionProperties()
    tendon_friction: float = 0.15  # coefficient, see `Capstan`; assumed


def read_body(root: Section) -> BodyProperties:
    """Read the optional mapping ``emulator.body``."""
    override = os.environ.get(OVERRIDE, '')
    if override not in ('', *PLANTS):
        raise UnknownName(OVERRIDE, override, PLANTS)
    if 'body' not in root:
        return BodyProperties('', 0.03, (), override or PLANTS[0])
    with root.section('body') as body:
        model = body.text('model', '')
        plant = body.text('plant', PLANTS[0], choices=PLANTS)
        law = body.text('hysteresis_law', '', choices=LAWS)
        motion = _read_motion(body)
        friction = body.number('tendon_friction', 0.15, minimum=0.0, maximum=1.0)
        hysteresis = body.number('hysteresis', 0.03, minimum=0.0, maximum=0.5)
        changes: list[tuple[str, float | None, Any]] = []
        for item in body.sections('changes', ()):
            with item:
                path = item.text('path')
                if 'factor' in item:
                    changes.append((path, item.number('factor', positive=True), None))
                else:
                    changes.append((path, None, item.raw('value')))
    plant = override or plant
    return BodyProperties(model, hysteresis, tuple(changes), plant, law, motion, friction)


def _read_motion(body: Section) -> MotionProperties:
    default = MotionProperties()
    if 'motion' not in body:
        return default
    with body.section('motion') as s:
        return MotionProperties(
            s.quantity('step', 's', default.step, minimum=1e-4, maximum=0.05),
            s.count('elements', default.elements),
            s.quantity('retardation', 's', default.retardation, minimum=0.0),
            s.quantity('drag', '1/s', default.drag, minimum=0.0),
            s.boolean('incompressible', default.incompressible),
        )


def perturbed_robot(robot: RobotDescription, body: BodyProperties) -> Robot:
    """Load the changed copy of a robot.

    RobotFileError: A path leads nowhere, or the changed robot is impossible.
    """
    changed = describe_robot(changed_data(robot, body), robot.file)
    return Robot(changed, body.model or None)


def changed_data(robot: RobotDescription, body: BodyProperties) -> Any:
    """Return what the changed copy of a robot's file holds.

    RobotFileError: A path leads nowhere, or to no number.
    """
    data = yaml.safe_load(Path(robot.file).read_text(encoding='utf-8'))
    if body.model == NETWORK and isinstance(data['models'], dict):
        data['models'].setdefault(NETWORK, {})  # every body has one
    for path, factor, value in body.changes:
        _change(data, path, factor, value, robot.file)
    return data


def _change(data: Any, path: str, factor: float | None, value: Any, file: str) -> None:
    *way, end = path_keys(path)
    here = data
    for key in way:
        here = here[_key_in(here, key, path, file)]
    if factor is None and isinstance(here, dict) and isinstance(end, str):
        last: Any = end  # a key that was left out may be given; the reader knows which there are
    else:
        last = _key_in(here, end, path, file)
    old = here.get(last) if isinstance(here, dict) else here[last]
    if isinstance(old, dict) and 'value' in old:
        here, last, old = old, 'value', old['value']
    here[last] = value if factor is None else _scaled(old, factor, path, file)


def _key_in(node: Any, key: Any, path: str, file: str) -> Any:
    try:
        return key_in(node, key)
    except LookupError:
        raise RobotFileError(
            'emulator.body.changes', path, f'there is no {key!r} in this robot file', file
        ) from None


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
