# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The robot file: reading and checking the YAML that describes a robot.

Sections common to every robot are read here; each family of models reads its own section
(see `registry`). ``driver``, ``emulator`` and ``viewer`` belong to other packages, which read
them with the same `Section` reader; here they are only kept.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from pathlib import Path
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray
import yaml

from soro_mechanics.core.actuators import (
    Actuator,
    CoupledLimit,
    read_actuators,
    read_coupled_limits,
)
from soro_mechanics.core.errors import RobotFileError, UnknownKey
from soro_mechanics.robot_file import quantity, registry
from soro_mechanics.robot_file.section import Provenance, Section

SCHEMA = 2
LARGEST = 10**6  # bytes of a robot file
MAX_ENTRIES = 20_000  # of a robot file, aliases written out
MAX_DEPTH = 100  # of its nesting; libyaml's loader recurses without a limit
NAME = '[a-z][a-z0-9_]*'
FOREIGN_SECTIONS = ('driver', 'emulator')
HEAD = ('schema', 'name', 'title', 'reference', 'gravity')
_NUMBERS = ('tag:yaml.org,2002:int', 'tag:yaml.org,2002:float')
_OLD_NUMBER = re.compile(r'[-+]?0[0-7_]+|.*:.*')


@dataclass(frozen=True, eq=False)
class RobotDescription:
    """Everything a robot file says, checked and in SI."""

    name: str  # identifier
    title: str  # one line for people
    reference: str  # the publication it follows
    file: str  # path the description was read from
    gravity: NDArray[np.float64]  # (3,) in base_link: the mounting as written [m/s^2]
    actuators: tuple[Actuator, ...]  # their order is that of every actuation vector
    coupled_limits: tuple[CoupledLimit, ...]
    models: tuple[str, ...]  # names of the models this robot has, the default first
    structure: dict[str, Any]  # parsed family sections (for example ``segments``), by section name
    foreign: dict[str, Any]  # sections of other packages as YAML has them
    origins: tuple[Provenance, ...]  # where each number comes from
    # parts of the family sections -> where the file states them
    paths: dict[str, str] = field(default_factory=dict)

    @property
    def rest(self) -> NDArray[np.float64]:
        """All actuators at rest, shape (m,) [SI]."""
        return np.array([a.rest for a in self.actuators])

    @property
    def minimum(self) -> NDArray[np.float64]:
        """All actuators at their lower limits, shape (m,) [SI]."""
        return np.array([a.minimum for a in self.actuators])

    @property
    def maximum(self) -> NDArray[np.float64]:
        """All actuators at their upper limits, shape (m,) [SI]."""
        return np.array([a.maximum for a in self.actuators])

    def written_path(self, path: str) -> str:
        """Return where in the file a part of a family section stands."""
        return written_path(self.paths, path)

    def foreign_section(self, name: str) -> Section | None:
        """Return a section that another package reads, or None where the file has none."""
        if name not in self.foreign:
            return None
        return Section(self.foreign[name], name, self.file)


def read_robot_file(path: Path | str) -> RobotDescription:
    """Read and check a robot file. Raises RobotFileError."""
    return describe_robot(read_yaml(Path(path)), str(path))


def describe_robot(data: Any, file: str) -> RobotDescription:
    """Check what a robot file holds; `data` is its parsed YAML, `file` where it came from.

    Raises RobotFileError: as `read_robot_file`.
    """
    root = Section(data, '', file)
    if root.integer('schema') != SCHEMA:
        remedy = f'this version reads schema {SCHEMA}; write it as docs/robot_file.md shows'
        raise root.error('schema', remedy)
    from soro_mechanics.robot_file.schema2.check import check_table
    from soro_mechanics.robot_file.schema2.derive import derive
    from soro_mechanics.robot_file.schema2.tables import TOP

    check_table(root, TOP)
    made = derive(root, data)
    tree = {**{k: root.raw(k) for k in HEAD if k in root}, **made.tree}
    tree |= {'models': list(made.models)} | {k: data[k] for k in FOREIGN_SECTIONS if k in data}
    try:
        return _describe(Section(tree, '', file), root, file, made.paths)
    except RobotFileError as error:
        path, value = _found(made.written, written_path(made.paths, error.path), error.value)
        remedy = error.remedy
        if isinstance(error, UnknownKey):  # the tables know it
            remedy = 'is not used beside the other keys that stand here; remove it, or them'
        raise RobotFileError(path, value, remedy, file) from None


def _describe(tree: Section, root: Section, file: str, paths: dict[str, str]) -> RobotDescription:
    """Build the description from the tree that the parsers read; `root` is the file itself."""
    with tree:
        tree.integer('schema')
        name = tree.text('name')
        if not re.fullmatch(NAME, name):
            raise tree.error('name', 'write lower-case letters, digits and _, a letter first')
        title = tree.text('title')
        reference = tree.text('reference', '')
        gravity = tree.vector('gravity', 'm/s^2', 3)
        gravity.setflags(write=False)
        actuators = read_actuators(tree)
        limits = read_coupled_limits(tree, actuators)
        structure = {}
        for key, reader in registry.PARSERS.items():
            if key in tree:
                structure[key] = registry.resolve(reader)(tree, actuators)
        models = tree.texts('models')
        foreign = {key: tree.raw(key) for key in FOREIGN_SECTIONS if key in tree}
    return RobotDescription(
        name,
        title,
        reference,
        file,
        gravity,
        actuators,
        limits,
        models,
        structure,
        foreign,
        tuple(dict.fromkeys(root.origins)),
        paths,
    )


def written_path(paths: dict[str, str], path: str) -> str:
    """Return where a part of the derived sections is written; the longest known start counts."""
    fits = [key for key in paths if path == key or path.startswith((f'{key}.', f'{key}['))]
    if not fits:
        return path
    longest = max(fits, key=len)
    found = paths[longest] + path[len(longest) :]
    return written_path(paths, found) if found.startswith('body') and found != path else found


def _found(data: Any, path: str, value: Any) -> tuple[str, Any]:
    """Return the part of a path that stands in the file, and the value that stands there.

    A key that is missing (no `value`) is named; of what was derived, where it was derived from.
    """
    node, known = data, 0
    for match in re.finditer(r'[^.\[\]]+', path):
        key: Any = match[0]
        if isinstance(node, list) and key.isdigit():
            key = int(key)
        try:
            node, known = node[key], match.end() + path.startswith(']', match.end())
        except (KeyError, IndexError, TypeError):
            return (path, None) if value is None else (path[:known], node)
    return path, node


# libyaml's is ten times as fast, but not everywhere a part of PyYAML.
_SafeLoader: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)


class _StrictLoader(_SafeLoader):
    """SafeLoader that refuses merge keys, and a key that stands twice in one mapping.

    Octal and sexagesimal numbers of YAML 1.1, 050 and 1:30, are texts.
    """

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        tag = super().resolve(kind, value, implicit)
        old = tag in _NUMBERS and _OLD_NUMBER.fullmatch(value)
        return self.DEFAULT_SCALAR_TAG if old else tag

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            # {length: 60,5 mm}
            if node.flow_style and value_node.value == '' and str(key_node.value)[:1].isdigit():
                raise RobotFileError(key_node.value, f'line {line}', quantity.COMMA)
            if key_node.tag == 'tag:yaml.org,2002:merge':
                remedy = 'merge keys are not taken; write the merged keys out'
                raise RobotFileError('<<', f'line {line}', remedy)
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise RobotFileError(str(key), f'line {line}', 'this key stands twice; keep one')
            seen.add(key)
        return super().construct_mapping(node, deep)


def _check_size(text: str) -> None:
    """Raise yaml.YAMLError: a text is nested too deep, or too long with aliases written out."""
    known: dict[str | None, tuple[int, int]] = {}  # by anchor: entries, and levels
    anchors: list[str | None] = []
    counts, levels = [0], [0]  # of what is open, the outermost first
    for event in yaml.parse(text, Loader=_SafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            anchors.append(event.anchor)
            counts.append(1)
            levels.append(1)
        elif isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
            count, level = 1, 0
            if isinstance(event, yaml.CollectionEndEvent):
                count, level = counts.pop(), levels.pop()
                known[anchors.pop()] = count, level
            elif not isinstance(event, yaml.AliasEvent):
                known[event.anchor] = count, level
            elif event.anchor in anchors:
                raise yaml.YAMLError('an alias stands inside of what it names')
            else:
                count, level = known.get(event.anchor, (count, level))
            counts[-1] += count
            levels[-1] = max(levels[-1], level + (len(levels) > 1))
        if len(levels) - 1 + levels[-1] > MAX_DEPTH + 1:
            line = event.start_mark.line + 1
            raise yaml.YAMLError(f'line {line} is nested deeper than {MAX_DEPTH}')
        if counts[-1] > MAX_ENTRIES:
            raise yaml.YAMLError(f'written out, its aliases make more than {MAX_ENTRIES} entries')


def read_yaml(path: Path) -> Any:
    """Read a YAML file as this library takes them: of bounded size and depth, no key twice.

    Raises RobotFileError: it cannot be read, or is not such a file.
    """
    file = str(path)
    try:
        with path.open('rb') as opened:
            data = opened.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise ValueError(f'longer than {LARGEST} bytes')
        text = data.decode('utf-8')
    except (OSError, ValueError) as error:
        raise RobotFileError('file', file, f'cannot be read: {error}', file) from None
    try:
        _check_size(text)
        return _StrictLoader(text).get_single_data()
    except RobotFileError as error:
        raise RobotFileError(error.path, error.value, error.remedy, file) from None
    except (yaml.YAMLError, TypeError, ValueError) as error:
        message = ' '.join(str(error).replace(' "<unicode string>",', '').split())
        raise RobotFileError('file', file, f'is not valid YAML: {message}', file) from None


def file_tree(file: str) -> Any:
    """Return a parsed robot file, every alias written out: no two places share an object."""
    return _unshared(read_yaml(Path(file)))


def _unshared(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _unshared(child) for key, child in node.items()}
    return [_unshared(child) for child in node] if isinstance(node, list) else node
