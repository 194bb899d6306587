# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where rows get their robots from: the catalogue, or a changed copy of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from soro_mechanics.robot import Robot
from soro_studies.validation.row import Row


class Loader(Protocol):
    """Loads a robot by name, as `soro_mechanics.robot.load_robot` does."""

    def __call__(self, robot: str, model: str | None = None) -> Robot:
        """Return the robot and one of its models."""
        ...


# Rows that are computed together; a robot's rows are those of its groups in turn.
Group = Callable[[Loader], list[Row]]
