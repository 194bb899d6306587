# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What happens on a tour, noted line by line while it is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from soro_mechanics.robot_file.reader import RobotDescription

Say = Callable[[str], None]


@dataclass
class Tour:
    """What happened, line by line, and where the recording is.

    Attributes
    ----------
    lines : list of (str, str)
        What was done, and with which result.
    bag : path
    view : path or None
        Picture of the browser viewer.
    numbers : dict
        The same for scripts, SI.
    """

    robot: RobotDescription
    bag: Path
    view: Path | None = None
    lines: list[tuple[str, str]] = field(default_factory=list)
    numbers: dict[str, Any] = field(default_factory=dict)

    def add(self, say: Say, what: str, result: str, **numbers: Any) -> None:
        """Note one step and say it."""
        self.lines.append((what, result))
        self.numbers |= numbers
        say(f'{what}: {result}')
