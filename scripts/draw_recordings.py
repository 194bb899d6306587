# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of recordings: `soro demo` launches a robot, records it and plots its bag."""

from __future__ import annotations

import functools
from pathlib import Path
import shutil
import subprocess

from photograph_demo import photograph_player

from soro_rigs.page_driver import find_browser

OUTPUT, PLAYER = Path('out/pictures'), 'player.html'
# Picture of the documentation: whose demo, and which of its figures.
FIGURES = {
    'recording_path.png': ('soft_parallel', 'path.png'),
    'recording_actuation.png': ('soft_parallel', 'actuation.png'),
    'recording_stiffness.png': ('soft_parallel', 'stiffness.png'),
    'recording_player.png': ('soft_parallel', PLAYER),
    'recording_shape.png': ('stiff_flop', 'shape.png'),
}


def draw(file: Path) -> None:
    """Copy a figure of a demo, photograph its player; a robot's demo is run once."""
    robot, figure = FIGURES[file.name]
    folder = demo(robot)
    if figure != PLAYER:
        shutil.copyfile(folder / figure, file)
    elif browser := find_browser():
        photograph_player(browser, folder / PLAYER, file)
    else:
        raise SystemExit('no Chromium on this machine (Debian: apt install chromium)')


@functools.cache
def demo(robot: str) -> Path:
    """Run the demo of a robot; returns the folder of its figures."""
    folder = OUTPUT / robot
    command = ['soro', 'demo', robot, '--no-experiment', '--output', folder]
    subprocess.run(command, check=True)
    return folder
