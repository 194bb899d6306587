# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A robot that is not the one its file describes: parameters changed, discretised more finely.

A plant that shared every number with the solver would prove nothing. The changes stand in the
section ``emulator.body`` of the robot file and are applied to a copy of it, which is read and
checked like any other robot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
import os
from typing import Any

from soro_mechanics.actuator_models.hysteresis import LAWS
from soro_mechanics.core.errors import RobotFileError, UnknownName
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file import quantity
from soro_mechanics.robot_file.dotted_path import key_in, path_keys
from soro_mechanics.robot_file.reader import describe_robot, file_tree, RobotDescription
from soro_mechanics.robot_file.record import given, read_optional, read_record
from soro_mechanics.robot_file.section import MAX_PARTS, Section

NETWORK = 'network'  # model of whatever moves
PLANTS = ('quasi_static', 'dynamic')
OVERRIDE = 'SORO_PLANT'  # environment: the plant of every emulator, whatever the robot file says


@dataclass(frozen=True)
class MotionProperties:
    """How a dynamic plant moves and is integrated; all of it assumed."""

    step: float = given('s', 5e-3, minimum=1e-4, maximum=0.05)
    #: of every rod
    elements: int = given(default=8, minimum=1, maximum=MAX_PARTS)
    retardation: float = given('s', 5e-3, minimum=0.0)
    drag: float = given('1/s', 0.0, minimum=0.0)
    incompressible: bool = given(default=False)  #: sections get thinner under pressure


@dataclass(frozen=True)
class BodyProperties:
    """How the emulated body differs from the described one.

    A change is (path, factor, value): the number at the path is multiplied by the factor, or,
    where that is None, replaced.
    """

    model: str = given(default='')  #: one of the robot's; '' for its default
    #: largest difference between the ways up and down, part of the range
    hysteresis: float = given('1', 0.03, minimum=0.0, maximum=0.5)
    changes: tuple[tuple[str, float | None, Any], ...] = ()
    #: in equilibrium, or with inertia (network)
    plant: str = given(default=PLANTS[0], choices=PLANTS)
    #: of the hysteresis; '' for play operators, of a dynamic plant for Bouc-Wen
    law: str = given(default='', key='hysteresis_law', choices=LAWS)
    motion: MotionProperties = MotionProperties()
    #: coefficient, see `Capstan`; assumed
    tendon_friction: float = given('1', 0.15, minimum=0.0, maximum=1.0)


def read_body(root: Section) -> BodyProperties:
    """Read the optional mapping ``emulator.body``."""
    override = os.environ.get(OVERRIDE, '')
    if override not in ('', *PLANTS):
        raise UnknownName(OVERRIDE, override, PLANTS)
    with root.optional('body') as section:
        motion = read_optional(section, 'motion', MotionProperties)
        changes: list[tuple[str, float | None, Any]] = []
        for item in section.sections('changes', ()):
            with item:
                path = item.text('path')
                if 'factor' in item:
                    changes.append((path, item.number('factor', positive=True), None))
                else:
                    changes.append((path, None, item.raw('value')))
        body = read_record(section, BodyProperties, changes=tuple(changes), motion=motion)
    return replace(body, plant=override or body.plant)


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
    data = file_tree(robot.file)
    if body.model == NETWORK and isinstance(data['models'], dict):
        data['models'].setdefault(NETWORK, {})  # every body has one
    for path, factor, value in body.changes:
        _change(data, path, factor, value, robot.file)
    return data


def _change(data: Any, path: str, factor: float | None, value: Any, file: str) -> None:
    *way, end = path_keys(path)
    here = data
    try:
        for key in way:
            here = here[key_in(here, key)]
        # a key that was left out may be given; the reader knows which there are
        last = end if factor is None and isinstance(here, dict) else key_in(here, end)
    except LookupError as error:
        text = f'there is no {error.args[0]!r} in this robot file'
        raise RobotFileError('emulator.body.changes', path, text, file) from None
    old = here.get(last) if isinstance(here, dict) else here[last]
    if isinstance(old, dict) and 'value' in old:
        here, last, old = old, 'value', old['value']
    here[last] = value if factor is None else _scaled(old, factor, path, file)


def _scaled(value: Any, factor: float, path: str, file: str) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value * factor
    try:
        return quantity.changed(value, lambda x: repr(x * factor))
    except quantity.QuantityError:
        raise RobotFileError('emulator.body.changes', path, 'leads to no number', file) from None
