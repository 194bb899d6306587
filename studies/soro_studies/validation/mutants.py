# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Robots that are wrong on purpose: named changes of a robot file, to see which rows notice.

A mutant is a list of changes at dotted paths of the file; where '*' stands, every entry of a list
or mapping is meant. `mutant_list` holds them; whoever misses one adds it there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soro_emulation.perturbation import BodyProperties, changed_data
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.dotted_path import key_in, path_keys
from soro_mechanics.robot_file.reader import describe_robot, read_robot_file, read_yaml


@dataclass(frozen=True)
class Change:
    """One change of what a robot file says.

    Attributes
    ----------
    path : str
        Dotted; '*' for every entry.
    factor : float, optional
        Numbers there are multiplied by it.
    value
        What stands there instead, where there is no factor.
    exchange : str
        Another path: what stands at both changes places, entry by entry where '*' stands.
    """

    path: str
    factor: float | None = None
    value: Any = None
    exchange: str = ''


@dataclass(frozen=True)
class Mutant:
    """A robot that is wrong on purpose.

    Attributes
    ----------
    name : str
    changes : tuple of Change
    """

    name: str
    changes: tuple[Change, ...]


class MutantLoader:
    """Loads robots as `load_robot` does, each with the changes of one mutant.

    Robots whose file lacks what is changed are refused: a mutant that changes nothing would say
    nothing about the rows.
    """

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        self._known: dict[str, Any] = {}

    def __call__(self, robot: str, model: str | None = None) -> Robot:
        """Return the changed robot and one of its models."""
        if robot not in self._known:
            file = str(find_robot_file(robot))
            self._known[robot] = describe_robot(mutated(file, self.mutant), file)
        return Robot(self._known[robot], model)


def mutated(file: str, mutant: Mutant) -> Any:
    """Return what the changed copy of a robot file holds.

    Raises
    ------
    InvalidInput
        A path leads nowhere.
    RobotFileError
        A path leads to no number where one is to be multiplied.
    """
    data = read_yaml(Path(file))
    listed: list[tuple[str, float | None, Any]] = []
    for change in mutant.changes:
        paths = _places(data, change.path, file)
        if not change.exchange:
            listed += [(path, change.factor, change.value) for path in paths]
            continue
        for one, other in zip(paths, _places(data, change.exchange, file), strict=True):
            listed += [(one, None, _copy(data, other)), (other, None, _copy(data, one))]
    return changed_data(read_robot_file(file), BodyProperties('', 0.0, tuple(listed)))


def _every(node: Any, keys: list[str], before: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the paths that exist, every '*' written out."""
    if not keys:
        yield '.'.join(before)
        return
    if keys[0] == '*' and isinstance(node, list | Mapping):
        here = list(node) if isinstance(node, Mapping) else list(map(str, range(len(node))))
    else:
        here = keys[:1]
    for key in here:
        try:
            below = node[key_in(node, key)]
        except LookupError:
            continue
        yield from _every(below, keys[1:], (*before, key))


def _places(data: Any, path: str, file: str) -> list[str]:
    found = list(_every(data, path_keys(path)))
    if not found:
        raise InvalidInput('path', path, f'a place in {file}')
    return found


def _copy(data: Any, path: str) -> Any:
    here = data
    for key in path_keys(path):
        here = here[key_in(here, key)]
    if isinstance(here, dict) and 'value' in here:  # its origin stays where it is
        here = here['value']
    return copy.deepcopy(here)
