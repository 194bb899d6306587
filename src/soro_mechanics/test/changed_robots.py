# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Robot files of the catalogue with something else in them."""

from __future__ import annotations

from collections.abc import Mapping
import re
from typing import Any

from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_yaml
from soro_mechanics.robot_file.schema2.check import plain

REMOVED: Any = object()


def data_of(name: str) -> Any:
    """Return a robot file of the catalogue or of its examples, without origins."""
    try:
        return plain(read_yaml(find_robot_file(name)))
    except ValueError:
        folder = find_robot_file('stiff_flop').with_name('examples')
        return plain(read_yaml(folder / f'{name}.yaml'))


def keys_of(path: str) -> list[Any]:
    """Return the keys of a path such as ``body.segments[0].length``."""
    return [int(key) if key.isdigit() else key for key in re.findall(r'[^.\[\]]+', path)]


def put(data: Any, path: str, value: Any) -> None:
    """Replace, add or remove one value."""
    *parents, last = keys_of(path)
    for key in parents:
        data = data[key]
    if value is REMOVED:
        del data[last]
    else:
        data[last] = value


def with_changes(name: str, changes: Mapping[str, Any]) -> Any:
    """Return the data of a robot file after some changes."""
    data = data_of(name)
    for path, value in changes.items():
        put(data, path, value)
    return data
