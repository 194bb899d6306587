# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Dataclasses whose fields say how a robot file gives them: name, unit, default, and bounds."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
from typing import Any, TypeVar

from soro_mechanics.robot_file.section import Section

Record = TypeVar('Record')
READERS: dict[str, Callable[..., Any]] = {  # by annotation; there are no others
    'float': Section.quantity,
    'float | None': Section.quantity,
    'int': Section.integer,
    'str': Section.text,
    'bool': Section.boolean,
}


def given(
    unit: str = '1', default: Any = dataclasses.MISSING, key: str = '', **bounds: Any
) -> Any:
    """Declare a field that `read_record` reads as the type says that it is annotated with.

    `unit`: of a float. `default`: in SI; without one the key must stand in the file. `key`: in the
    file, where that is not the name of the field. `bounds`: those of `Section.quantity`,
    `Section.integer` or `Section.text`.
    """
    return dataclasses.field(default=default, metadata={'given': (unit, key, bounds)})


def read_record(section: Section, kind: type[Record], **found: Any) -> Record:
    """Make a dataclass of what a section says of its `given` fields, and of values `found`.

    RobotFileError: as those of the readers in `Section`.
    """
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        if 'given' not in field.metadata or field.name in found:
            continue
        unit, key, bounds = field.metadata['given']
        if field.default is not dataclasses.MISSING:
            bounds = {'default': field.default, **bounds}
        read = READERS[str(field.type)]
        if read is Section.quantity:
            bounds = {'si_unit': unit, **bounds}
        found[field.name] = read(section, key or field.name, **bounds)
    return kind(**found)


def read_section(root: Section, key: str, kind: type[Record]) -> Record:
    """Read the mapping under a key into a dataclass. RobotFileError: it is missing, too."""
    with root.section(key) as section:
        return read_record(section, kind)


def read_optional(root: Section, key: str, kind: type[Record]) -> Record:
    """Read the mapping under a key into a dataclass; where it is missing, the defaults hold."""
    with root.optional(key) as section:
        return read_record(section, kind)
