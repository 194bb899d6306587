# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What happens on a tour, noted line by line while it is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from soro_cli.demo.pattern import Stretch
from soro_mechanics.robot_file.reader import RobotDescription


class Mark(NamedTuple):
    """When one stretch of the experiment was sent [s since 1970]."""

    stretch: Stretch
    start: float
    end: float


@dataclass
class Tour:
    """What happened, line by line, and where the recording is."""

    robot: RobotDescription
    bag: Path
    say: Callable[[str], None]  #: gets each line as it comes
    #: of (str, str); what was done, and with which result
    lines: list[tuple[str, str]] = field(default_factory=list)
    numbers: dict[str, Any] = field(default_factory=dict)  #: the same for scripts, SI
    #: of the published experiment; empty where it was not played
    marks: list[Mark] = field(default_factory=list)

    @property
    def experiment(self) -> Path:
        """A second bag, of the published experiment; there where it has `marks`."""
        return self.bag.with_name('experiment')

    def add(self, what: str, result: str, **numbers: Any) -> None:
        """Note one step and say it."""
        self.lines.append((what, result))
        self.numbers |= numbers
        self.say(f'{what}: {result}')
