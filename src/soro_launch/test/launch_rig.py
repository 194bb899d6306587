# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A prefix with one package of shell scripts, to launch without ROS."""

from __future__ import annotations

from dataclasses import dataclass
import os
from pathlib import Path

from soro_launch.evaluation import LaunchPlan, plan_launch


@dataclass
class LaunchRig:
    """A folder with a package ``pkg`` whose executables the test writes."""

    folder: Path

    def __post_init__(self) -> None:
        index = self.folder / 'share' / 'ament_index' / 'resource_index' / 'packages'
        index.mkdir(parents=True)
        (index / 'pkg').touch()
        (self.folder / 'share' / 'pkg').mkdir()
        self.add('run', 'exit 0')

    @property
    def environment(self) -> dict[str, str]:
        """Environment in which only this package is installed."""
        return {'AMENT_PREFIX_PATH': str(self.folder), 'PATH': os.environ['PATH']}

    def add(self, name: str, script: str) -> None:
        """Install an executable."""
        path = self.folder / 'lib' / 'pkg' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\n{script}\n')
        path.chmod(0o755)

    def file(self, body: str, name: str = 'test.launch.xml') -> Path:
        """Write a launch file around a body that begins on line 2."""
        path = self.folder / name
        path.write_text(f'<launch>\n{body}\n</launch>\n')
        return path

    def plan(self, body: str, **arguments: str) -> LaunchPlan:
        """Evaluate a launch file."""
        parameters = self.folder / 'parameters'
        parameters.mkdir(exist_ok=True)
        return plan_launch(self.file(body), arguments, self.environment, parameters)
