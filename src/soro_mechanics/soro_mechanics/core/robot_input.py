# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Checks of what `Robot` is asked with: loads, targets, tasks, methods, counts."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
import math
from typing import Any, TypeVar

import numpy as np

from soro_mechanics.core.array_input import finite_array, has_shape, pose_array
from soro_mechanics.core.configuration import Array, Load, LoadAxes, Target, Task
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.core.model import Model
from soro_mechanics.core.status import Code

POSITIVE = 'a finite number greater than zero'
METHODS = ('tangent', 'integral', 'midpoint', 'trapezoid')
Kind = TypeVar('Kind', bound=Enum)


def wrench_array(wrench: Any) -> Array:
    """Return a wrench (6,); zero for None."""
    return np.zeros(6) if wrench is None else finite_array('wrench', wrench, (6,))


def load_tuple(loads: Sequence[Load], model: Model) -> tuple[Load, ...]:
    """Return loads with checked numbers, which the model can carry."""
    if type(loads) is tuple and not loads:  # nearly always: solvers count microseconds
        return ()
    if not isinstance(loads, Sequence) or not all(isinstance(x, Load) for x in loads):
        raise InvalidInput('loads', loads, 'a sequence of Load')
    return tuple(_load(f'loads[{i}]', load, model) for i, load in enumerate(loads))


def _load(field: str, load: Load, model: Model) -> Load:
    start = float(finite_array(f'{field}.arc_length', load.arc_length, ()))
    until = load.until
    if until is not None:
        until = float(finite_array(f'{field}.until', until, ()))
        if not model.spreads_loads:
            raise model.unsupported(f'{field}.until', until, 'a load at a point')
        if not until > start:
            raise InvalidInput(f'{field}.until', until, f'beyond arc_length ({start:g} m)')
    wrench = finite_array(f'{field}.wrench', load.wrench, (6,))
    axes = _member(f'{field}.axes', load.axes, LoadAxes)
    return Load(wrench, load.on, start, axes, until)


def checked_target(target: Any, task: Task | None, tolerances: tuple[float, float]) -> Target:
    """Return a target with what of it must be met: by default all that is given."""
    tolerances = (
        positive('position_tolerance', tolerances[0]),
        positive('orientation_tolerance', tolerances[1]),
    )
    if task is not None:
        task = _member('task', task, Task)
    if has_shape(target, (3,)):
        if task not in (None, Task.POSITION):
            raise InvalidInput('target', target, f'a (4, 4) pose for task {task!r}')
        pose = np.eye(4)
        pose[:3, 3] = finite_array('target', target, (3,))
        return Target(pose, Task.POSITION, tolerances)
    if not has_shape(target, (4, 4)):
        expected = 'a (3,) position or a (4, 4) pose'
        raise InvalidInput('target', target, expected, Code.INVALID_SIZE)
    return Target(pose_array('target', target), Task.POSE if task is None else task, tolerances)


def method_name(method: str) -> str:
    """Return the name of a way to compute compliance."""
    if method not in METHODS:
        raise UnknownName('method', method, METHODS)
    return method


def positive(field: str, value: float) -> float:
    """Return a finite number above zero."""
    if type(value) is float and 0.0 < value < math.inf:
        return value
    number = float(finite_array(field, value, ()))
    if not number > 0.0:
        raise InvalidInput(field, value, POSITIVE)
    return number


def whole(field: str, value: int) -> int:
    """Return a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidInput(field, value, 'a whole number of at least 1')
    return value


def _member(field: str, value: object, kind: type[Kind]) -> Kind:
    try:
        return kind(value)
    except ValueError:
        names = ', '.join(f'{kind.__name__}.{one.name}' for one in kind)
        raise InvalidInput(field, value, f'one of {names}') from None
