# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of recordings: `soro demo` launches a robot, records it and plots its bag."""

from __future__ import annotations

import functools
from pathlib import Path
import shutil
import subprocess

OUTPUT = Path('out/pictures')
# Picture of the documentation: whose demo, and which of its figures.
FIGURES = {
    'recording_path.png': ('soft_parallel', 'path.png'),
    'recording_actuation.png': ('soft_parallel', 'actuation.png'),
    'recording_stiffness.png': ('soft_parallel', 'stiffness.png'),
    'recording_player.png': ('soft_parallel', 'player.png'),
    'recording_shape.png': ('stiff_flop', 'shape.png'),
}


def draw(file: Path) -> None:
    """Copy a figure of a demo; a robot's demo is run once."""
    robot, figure = FIGURES[file.name]
    shutil.copyfile(demo(robot) / figure, file)


@functools.cache
def demo(robot: str) -> Path:
    """Run the demo of a robot; returns the folder of its figures."""
    folder = OUTPUT / robot
    command = ['soro', 'demo', robot, '--no-experiment', '--output', folder]
    subprocess.run(command, check=True)
    return folder
