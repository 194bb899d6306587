#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Write the launch file of every robot from the arguments of launch/robot.launch.xml.

A robot's launch file only sets defaults and includes that one. It declares every argument again,
because `ros2 launch --show-args` does not look through an include: they are written down once, in
robot.launch.xml, and copied by this script. `make lint` says when a copy is stale.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / 'launch' / 'robot.launch.xml'
ROBOTS = {
    'haptic_5dof': 'the haptic device',
    'pam_continuum': 'the robot of thirty muscles',
    'soft_parallel': 'the soft parallel robot',
    'spatial_cc': 'the spatial arm of three actuators',
    'stewart_gough': 'the continuum Stewart-Gough robot',
    'stiff_flop': 'STIFF-FLOP, one segment',
    'stiff_flop_two_segment': 'STIFF-FLOP, two segments',
}
HAPTIC = {'haptic_5dof'}
HEAD = """<?xml version="1.0"?>
<!-- Copyright 2026 soro contributors -->
<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Defaults for {title}; robot.launch.xml does the work. Written by
     scripts/launch_files.py: edit the arguments in robot.launch.xml. -->
<launch>
"""
TAIL = """
  <include file="$(dirname)/robot.launch.xml"/>
</launch>
"""
ARGUMENT = re.compile(r'  <arg name="(\w+)"(?:[^>]*/>|.*?</arg>)\n', re.DOTALL)


def written(robot: str) -> str:
    """Return the launch file of a robot."""
    parts = [HEAD.format(title=ROBOTS[robot])]
    for match in ARGUMENT.finditer(SOURCE.read_text()):
        name, text = match[1], match[0]
        if name == 'haptics':
            if robot not in HAPTIC:
                continue
            text = text.replace('default="off"', 'default="direct"')
        elif name == 'robot':
            text = text.replace(' (`soro list`)', '')
            text = text.replace('a robot file', 'a variant of this robot')
            text = text.replace('default="stiff_flop"', f'default="{robot}"')
        elif name == 'autostart' and robot not in HAPTIC:
            text = text.replace(' (haptics: the renderer)', '')
        elif name == 'use_emulator' and robot == 'stewart_gough':  # has no hardware of its own
            text = re.sub(
                r'description="[^"]*"',
                'description="true: simulated actuators; false: hardware, once its robot file '
                'names some"',
                text,
            )
        text = text.replace('$(var robot)', robot)
        parts.append(re.sub('; (must be given|give it) when robot is a path', '', text))
    return ''.join([*parts, TAIL])


def stale() -> Iterator[str]:
    """Yield the launch files that are not what would be written."""
    for robot in ROBOTS:
        file = SOURCE.with_name(f'{robot}.launch.xml')
        if not file.exists() or file.read_text() != written(robot):
            yield f'{file.relative_to(ROOT)}: stale, run `python3 scripts/launch_files.py`'


if __name__ == '__main__':
    for name in ROBOTS:
        SOURCE.with_name(f'{name}.launch.xml').write_text(written(name))
