#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Draw how a robot is wired, as its file says (SVG): `python scripts/draw_wiring.py [ROBOT FILE]`.

Without arguments: the figures of docs/hardware, one for each device. What stands at a terminal is
`Device.terminals`, as `soro doctor ROBOT` lists it.
"""

from __future__ import annotations

from pathlib import Path
import sys
from xml.sax.saxutils import escape

from soro_driver import devices
from soro_driver.settings import read_driver_settings
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_node.display_units import shown

EXAMPLES = 'src/soro_mechanics/soro_mechanics/robots/examples'
IMAGES = Path(__file__).resolve().parents[1] / 'docs' / 'img'
ROBOTS = (
    'stiff_flop',
    'soft_parallel',
    'pam_continuum',
    'haptic_5dof',
    f'{EXAMPLES}/tendon_arm_servos.yaml',
    f'{EXAMPLES}/tendon_arm_drives.yaml',
    f'{EXAMPLES}/tendon_arm_controllers.yaml',
)
PLACES = 'port', 'channel', 'address', 'command_topic'  # what a section calls its end of the cable
ROW, TOP, LEFT, WIDE, FAR, WIDTH = 20, 40, 10, 215, 590, 820  # px
STYLE = 'font-family="sans-serif" font-size="12"'


def wires(robot: str) -> tuple[str, str, list[tuple[str, str, str]]]:
    """Return device, its place, and for each actuator or sensor its name, terminal and range."""
    described = read_robot_file(find_robot_file(robot))
    settings = read_driver_settings(described)
    section = settings.section
    place = next((f'{key}: {section.text(key)}' for key in PLACES if key in section), '')
    device = devices.load(settings.device).from_section(section, described, None)
    ranges = {a.name: f'{a.quantity}, to {shown(a.maximum, a.unit)}' for a in described.actuators}
    rows = [(name, at, ranges.get(name, 'sensor')) for name, at in device.terminals().items()]
    return settings.device, place, rows


def box(x: int, y: int, width: int, height: int, *lines: str) -> str:
    """Return a box with words in it."""
    words = ''.join(
        f'<text x="{x + width // 2}" y="{y + height // 2 + 16 * i - 8 * len(lines) + 12}" '
        f'text-anchor="middle">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    frame = f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="#eef" stroke="black"/>'
    return frame + words


def drawing(robot: str) -> str:
    """Return the figure."""
    device, place, rows = wires(robot)
    height = TOP + ROW * len(rows) + 20
    middle = (TOP + height) // 2 - 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" {STYLE}>',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="20">{escape(Path(robot).stem)}: wiring by its robot file</text>',
        f'<path d="M{LEFT + WIDE} {middle} H{LEFT + WIDE + 40}" stroke="black"/>',
        box(LEFT, middle - 25, WIDE, 50, 'computer, soro_driver', place),
        box(LEFT + WIDE + 40, TOP - 8, 50, ROW * len(rows) + 10),
        f'<text transform="translate({LEFT + WIDE + 70} {middle}) rotate(-90)" '
        f'text-anchor="middle">{escape(device)}</text>',
    ]
    begin = LEFT + WIDE + 90
    for i, (name, terminal, what) in enumerate(rows):
        y = TOP + ROW * i + ROW // 2
        parts.append(f'<path d="M{begin} {y} H{FAR}" stroke="black"/>')
        parts.append(f'<text x="{begin + 6}" y="{y - 3}">{escape(terminal)}</text>')
        parts.append(f'<text x="{FAR + 6}" y="{y + 4}">{escape(name)} ({escape(what)})</text>')
    return '\n'.join([*parts, '</svg>', ''])


def figures() -> dict[Path, str]:
    """Return the figures of docs/hardware."""
    return {IMAGES / f'wiring_{wires(robot)[0]}.svg': drawing(robot) for robot in ROBOTS}


if __name__ == '__main__':
    if len(sys.argv) > 1:
        print(drawing(sys.argv[1]))
    else:
        for path, text in figures().items():
            path.write_text(text, encoding='utf-8')
