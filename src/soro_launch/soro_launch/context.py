# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""State while a launch file is evaluated: launch configurations, environment, current folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from soro_launch.xml_reader import Element

MAX_INCLUDES = 500  # in one launch, files that come twice counted twice


class Context:
    """Launch configurations and environment, with the scoping of ROS 2 launch.

    Arguments, ``let`` values, the pushed namespace, global parameters and remappings all live in
    one mapping that is copied shallowly when a group begins and restored when it ends. An include
    opens no scope. The lists of global parameters and remappings are shared by the copies, as
    they are in ROS 2 launch: once such a list exists, additions made inside a group stay after it.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.configurations: dict[str, Any] = {}
        self.environment = dict(environment)
        self.folder: Path | None = None
        self.folder_of_last_include: Path | None = None
        self._includes = 0
        self._first_environment = dict(environment)
        self._stack: list[tuple[dict[str, Any], dict[str, str]]] = []

    def count_include(self, element: Element) -> None:
        """Refuse includes that multiply: some files, each naming the next one twice."""
        self._includes += 1
        if self._includes > MAX_INCLUDES:
            raise element.error(f'there are more than {MAX_INCLUDES} includes')

    def push(self) -> None:
        """Begin a group."""
        self._stack.append((dict(self.configurations), dict(self.environment)))

    def pop(self) -> None:
        """End a group."""
        self.configurations, self.environment = self._stack.pop()

    def reset_environment(self) -> None:
        """Return to the environment the launch began with."""
        self.environment = dict(self._first_environment)

    def append(self, key: str, items: list[tuple[str, Any]]) -> None:
        """Add to the list under a key, creating it in the present scope if there is none."""
        self.configurations.setdefault(key, []).extend(items)
