# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Numbers of a robot file as parameters that a fit may change.

A parameter multiplies every number that its paths lead to, so that it is 1 for the file as it
stands and needs no unit. ``*`` in a path stands for every entry of a list or mapping.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
import copy
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
import re
from typing import Any

import yaml

from soro_mechanics.core.errors import InvalidInput, RobotFileError, UnknownName
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file import quantity
from soro_mechanics.robot_file.reader import describe_robot, file_tree, RobotDescription
from soro_mechanics.robot_file.schema2.round_trip import write_robot_file

Place = tuple[str | int, ...]
Span = tuple[int, int]  # first character of a value in the text, and the one after it
Line = tuple[float, float]  # slope and constant of what a number becomes
_PROPERTIES = re.compile(r'(?:[&!]\S*\s+)*')  # anchor and tag, in front of a YAML value


class Change(Enum):
    """What a parameter f does to a number v."""

    FACTOR = 'factor'  # f v
    GROWTH = 'growth'  # 1 + f (v - 1), for stretch ratios

    def line(self, f: float) -> Line:
        """Return slope and constant of what f makes of a number."""
        return f, 1.0 - f if self is Change.GROWTH else 0.0


@dataclass(frozen=True)
class FitParameter:
    """One number to identify; `paths` are dotted and may hold ``*``."""

    name: str
    paths: tuple[str, ...]
    change: Change = Change.FACTOR


class ParameterSpace:
    """A robot file and the parameters that are varied.

    `description`: of a file that still exists. Raises RobotFileError: a path leads nowhere, or to
    no number; InvalidInput: one name twice.
    """

    def __init__(self, description: RobotDescription, parameters: Sequence[FitParameter]) -> None:
        self.description = description
        self.parameters = tuple(parameters)
        names = [p.name for p in parameters]
        if len(set(names)) != len(names):
            raise InvalidInput('parameters', names, 'each name once')
        self._text = Path(description.file).read_text(encoding='utf-8')
        self._tree: Any = file_tree(description.file)
        self._places = [
            # A number that two paths of one parameter lead to is changed once.
            list(
                dict.fromkeys(
                    place
                    for path in p.paths
                    for place in places(self._tree, path, description.file)
                )
            )
            for p in parameters
        ]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(p.name for p in self.parameters)

    def shown(self, index: int, factor: float) -> str:
        """Return a number of a parameter as it would stand in the file: the last of its list."""
        value = _at(self._tree, self._places[index][-1])
        return _changed(value, self.parameters[index].change.line(factor), '', 5)

    def robot(self, factors: Sequence[float], model: str) -> Robot:
        """Return the robot with changed numbers.

        Raises RobotFileError: the changed robot is impossible.
        """
        tree = copy.deepcopy(self._tree)
        for place, line in self._lines(factors).items():
            node = _at(tree, place[:-1])
            node[place[-1]] = _read_back(
                _changed(node[place[-1]], line, self.description.file, 12)
            )
        return Robot(describe_robot(tree, self.description.file), model)

    def write(self, factors: Sequence[float], path: Path) -> RobotDescription:
        """Write the changed robot file; everything but the changed numbers stays as it was.

        `path` may be the robot's own file.

        Raises RobotFileError: an alias shares a number with one that stays or changes otherwise,
        or the new file could not be read back; nothing is written then.
        """
        text = self._text
        for (start, end), new in sorted(self._edits(factors).items(), reverse=True):
            text = text[:start] + new + text[end:]
        return write_robot_file(text, path)

    def _lines(self, factors: Sequence[float]) -> dict[Place, Line]:
        """Return what becomes of every number that changes, all its parameters together."""
        lines: dict[Place, Line] = {}
        for parameter, found, factor in zip(self.parameters, self._places, factors, strict=True):
            a, b = parameter.change.line(float(factor))
            for place in found:
                slope, constant = lines.get(place, (1.0, 0.0))
                lines[place] = a * slope, a * constant + b
        return lines

    def _edits(self, factors: Sequence[float]) -> dict[Span, str]:
        """Return the new text of every part of the file that changes."""
        file = self.description.file
        lines = {tuple(map(str, place)): (place, a) for place, a in self._lines(factors).items()}
        spans = dict(_spans(yaml.compose(self._text, Loader=yaml.SafeLoader), self._text, ()))
        twins: dict[Span, list[tuple[str, ...]]] = defaultdict(list)
        for name, span in spans.items():
            twins[span].append(name)
        edits = {}
        for name, (place, line) in lines.items():
            old, span = _at(self._tree, place), spans[name]
            for twin in twins[span]:
                if twin not in lines or lines[twin][1] != line:
                    remedy = f'shares its number with {".".join(twin)} by an alias; write it out'
                    raise RobotFileError('.'.join(name), old, remedy, file)
            edits[span] = _changed(old, line, file, 7)
        return edits


def parameter_from_text(text: str) -> FitParameter:
    """Read ``name=path`` or ``name=path:growth``; several paths are joined by ``+``."""
    name, equals, rest = text.partition('=')
    paths, _, change = rest.partition(':')
    if not equals or not name or not paths:
        raise InvalidInput('parameter', text, 'name=path, for example EI=body.bending_stiffness')
    known = [c.value for c in Change]
    if change and change not in known:
        raise UnknownName('parameter', change, known)
    return FitParameter(name, tuple(paths.split('+')), Change(change or 'factor'))


def places(tree: Any, path: str, file: str) -> list[Place]:
    """Return every place in a parsed robot file that a path leads to.

    Raises RobotFileError: there is none, or no number stands there.
    """
    found = [
        place for start in _matching(tree, path.split('.'), ()) for place in _numbers(tree, start)
    ]
    if not found:
        raise RobotFileError(path, '', 'leads to no number of this robot file', file)
    return found


def _matching(node: Any, keys: Sequence[str], place: Place) -> Iterator[Place]:
    if not keys:
        yield place
        return
    key, rest = keys[0], keys[1:]
    entries: Mapping[Any, Any] = (
        node if isinstance(node, dict) else dict(enumerate(node)) if isinstance(node, list) else {}
    )
    for name, child in entries.items():
        if key in ('*', str(name)):
            yield from _matching(child, rest, (*place, name))


def _numbers(tree: Any, place: Place) -> Iterator[Place]:
    value = _at(tree, place)
    if isinstance(value, dict) and 'value' in value:
        yield from _numbers(tree, (*place, 'value'))
    elif isinstance(value, list):
        for i in range(len(value)):
            yield from _numbers(tree, (*place, i))
    elif (isinstance(value, int | float) and not isinstance(value, bool)) or (
        isinstance(value, str) and re.match(quantity.NUMBER, value)
    ):
        yield place


def _at(tree: Any, place: Place) -> Any:
    for key in place:
        tree = tree[key]
    return tree


def _spans(node: Any, text: str, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Span]]:
    """Return every place of a YAML tree, and where its value stands in the text."""
    if isinstance(node, yaml.ScalarNode):
        before = _PROPERTIES.match(text, node.start_mark.index)
        yield place, (before.end() if before else node.start_mark.index, node.end_mark.index)
        return
    entries = (
        enumerate(node.value)
        if isinstance(node, yaml.SequenceNode)
        else ((key.value, child) for key, child in node.value)
    )
    for key, child in entries:
        yield from _spans(child, text, (*place, str(key)))


def _changed(value: Any, line: Line, file: str, digits: int) -> str:
    slope, constant = line

    def new(number: float) -> str:
        return f'{slope * number + constant:.{digits}g}'

    if not isinstance(value, str):
        return new(float(value))
    if value.rstrip().endswith('%'):
        constant *= 100.0  # what is added is a pure number
    try:
        return quantity.changed(value, new)
    except quantity.QuantityError as error:
        raise RobotFileError('', value, str(error), file) from None


def _read_back(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def leads(node: Any, path: str) -> bool:
    """Tell whether a path leads to something below a node."""
    return any(True for _ in _matching(node, path.split('.'), ()))
