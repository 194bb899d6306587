# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Checks of what `Robot` is asked with: loads, targets, tasks, methods, counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
import math
from typing import Any, TypeVar

import numpy as np

from soro_mechanics.compilation import first_calls
from soro_mechanics.core.array_input import finite_array, pose_array, shape_of
from soro_mechanics.core.configuration import (
    Array,
    Configuration,
    Guess,
    InverseSolution,
    Load,
    LoadAxes,
    LoadCase,
    Target,
    Task,
)
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.core.model import Model
from soro_mechanics.core.status import Code
from soro_mechanics.robot_file.reader import RobotDescription

POSITIVE = 'a finite number greater than zero'
METHODS = ('tangent', 'integral', 'midpoint', 'trapezoid')
CONVERGED = 'a converged Configuration'
HERE = np.eye(4)
FARTHEST = 1e6  # m: of what is farther a double cannot hold every square
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
    if not isinstance(load.on, str):
        raise InvalidInput(f'{field}.on', load.on, 'the name of a backbone or body, or no text')
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
    shape = shape_of(target)
    if shape == (3,):
        if task not in (None, Task.POSITION):
            raise InvalidInput('target', target, f'a (4, 4) pose for task {task!r}')
        pose, task = HERE.copy(), Task.POSITION
        pose[:3, 3] = finite_array('target', target, (3,))
    elif shape == (4, 4):
        pose, task = pose_array('target', target), Task.POSE if task is None else task
    else:
        expected = 'a (3,) position or a (4, 4) pose'
        raise InvalidInput('target', target, expected, Code.INVALID_SIZE)
    if math.hypot(pose.item(3), pose.item(7), pose.item(11)) > FARTHEST:
        raise InvalidInput('target', target, f'within {FARTHEST:g} m of base_link')
    return Target(pose, task, tolerances)


def method_name(method: str, model: Model) -> str:
    """Return the name of a way in which a model computes compliance."""
    if not isinstance(method, str) or method not in METHODS:
        raise UnknownName('method', method, METHODS)
    if model.only_tangent and method != 'tangent':
        raise model.unsupported('method', method, model.only_tangent)
    return method


def positive(field: str, value: float) -> float:
    """Return a finite number above zero."""
    if type(value) is float and 0.0 < value < math.inf:
        return value
    number = float(finite_array(field, value, ()))
    if not number > 0.0:
        raise InvalidInput(field, value, POSITIVE)
    return number


def whole(field: str, value: int, least: int = 1, most: int = 10**9) -> int:
    """Return a whole number, also one of numpy."""
    integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not integer or not least <= value <= most:
        raise InvalidInput(field, value, f'a whole number of at least {least}, at most {most}')
    return int(value)


def _member(field: str, value: Any, kind: type[Kind]) -> Kind:
    try:
        if np.iscomplexobj(value) or shape_of(value) != ():  # 0j is equal to 0
            raise ValueError
        return kind(value)
    except ValueError:
        names = ', '.join(f'{kind.__name__}.{one.name}' for one in kind)
        raise InvalidInput(field, value, f'one of {names}') from None


class RobotInput:
    """What a robot checks of the questions that it is asked."""

    description: RobotDescription
    _model: Model
    _gravity: Array

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse what a robot does not have: a misspelt `gravity` would turn nothing over."""
        if not name.startswith('_') and name != 'description' and not hasattr(type(self), name):
            raise AttributeError(f'a robot has no {name!r}; what can be set is gravity')
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        names = ', '.join(f'{a.name} [{a.unit}]' for a in self.description.actuators)
        return f'<Robot {self.description.name}, model {self.model}: {names}>'

    @property
    def model(self) -> str:
        """Name of the model; `with_model` gives the robot computed by another one."""
        return self._model.name

    def _load(self, wrench: Any, loads: Sequence[Load]) -> LoadCase:
        further = load_tuple(loads, self._model)
        return LoadCase(wrench_array(wrench), further, self._gravity.copy())

    def _guess(self, guess: Configuration | InverseSolution | None) -> Guess:
        q = guess.configuration if isinstance(guess, InverseSolution) else guess
        if q is None or not self._own(q, 'guess').status.converged:
            return None  # what was not solved is no start
        return q

    def _own(self, q: Configuration, field: str = 'q') -> Configuration:
        if not isinstance(q, Configuration):
            hint = '; write s.configuration' if isinstance(q, InverseSolution) else ''
            raise InvalidInput(field, type(q).__name__, f'a Configuration of this robot{hint}')
        if q.model != self.model or q.actuation.shape != (len(self.description.actuators),):
            raise InvalidInput(field, q.model, f'a Configuration made by model {self.model}')
        if field == 'q' and (q.state is None or not self._model.fits(q)):
            raise InvalidInput(field, q.backbone_names, 'a solution of this robot, on its mesh')
        return q

    def _solved(self, q: Configuration) -> Configuration:
        solved = self._own(q)
        if not solved.status.converged:
            raise InvalidInput('q', q.status.code.name, CONVERGED)
        first_calls.finish()  # studies solve many times
        return solved

    def _at_wrench(self, q: Configuration, wrench: Any) -> Configuration:
        if wrench is None:
            return q
        load = replace(q.load, wrench=wrench_array(wrench))
        return self._model.forward(q.actuation, load, q if q.status.converged else None)
