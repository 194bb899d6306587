#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A picture of any robot in the viewer, without ROS: its file, some actuators, light or dark.

python scripts/photograph_robot.py my_robot.yaml my_robot.png pressure_1=0.6 --dark --width 390

Values are shares of an actuator's range. Needs Chromium (Debian: apt install chromium). With
`--axe FILE` axe-core (its axe.min.js) examines the page too, and what is serious is printed. Esc
must press STOP.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import json
from pathlib import Path
import sys
from typing import Any, NamedTuple

from builtin_interfaces.msg import Time
import numpy as np
from page_hands import HandledPage

from soro_mechanics import load_robot
from soro_msgs.msg import Configuration
from soro_node.conversions import configuration_to_message
from soro_rigs.page_driver import find_browser, PATIENCE
from soro_visualization.description_file import expand, find_description
from soro_visualization.drawing.rigid_parts import read_urdf
from soro_visualization.drawing.shape import shape_from_message
from soro_visualization.page.readout import ActuatorReadout, Snapshot
from soro_visualization.page.viewer import Viewer

HEIGHTS = {1280: 860, 390: 844}
SCRIPT = (
    'axe.run().then(r => r.violations.filter(v => ["serious", "critical"].includes(v.impact))'
    '.map(v => [v.impact, v.id, v.nodes.length, v.nodes[0].html.slice(0, 200)]))'
)


class Look(NamedTuple):
    """A picture and how its page looks."""

    picture: Path
    dark: bool
    width: int
    scale: float = 1.0  # of a picture's pixels to those of the page


class Nobody:
    """Controls of a page behind which nothing moves; notes what is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *words: self.asked.append(name)


def main(words: list[str] | None = None) -> int:
    """Take the picture; exit code 1 where the page complains or axe-core does."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else '')
    parser.add_argument('robot', help='name or file')
    parser.add_argument('picture', type=Path)
    parser.add_argument('shares', nargs='*', metavar='ACTUATOR=SHARE')
    parser.add_argument('--dark', action='store_true')
    parser.add_argument('--width', type=int, choices=tuple(HEIGHTS), default=1280)
    parser.add_argument('--still', action='store_true', help='nobody drives it')
    parser.add_argument('--axe', type=Path, help='axe.min.js')
    arguments = parser.parse_args(words)
    look = Look(arguments.picture, arguments.dark, arguments.width)
    return take(
        arguments.robot,
        dict(word.split('=') for word in arguments.shares),
        [look],
        arguments.axe,
        arguments.still,
    )


def take(
    name: str,
    shares: dict[str, Any],
    looks: Sequence[Look],
    axe: Path | None = None,
    still: bool = False,
) -> int:
    """Take pictures of a robot, all in one browser, which compiles what it draws with once."""
    browser = find_browser()
    if browser is None:
        print('no Chromium on this machine (Debian: apt install chromium)')
        return 1
    robot = load_robot(name)
    actuation = np.array([
        a.minimum + float(shares[a.name]) * (a.maximum - a.minimum) if a.name in shares else a.rest
        for a in robot.actuators
    ])  # fmt: skip
    nobody = Nobody()
    viewer, found = shown(robot, actuation, still, nobody), False
    try:
        with HandledPage(browser, 'about:blank') as page:
            for look in looks:
                complaints = photograph(page, viewer.address, look, axe, nobody)
                text = json.dumps(complaints, indent=1) if complaints else 'no complaint'
                print(f'{look.picture}: {text}', flush=True)
                found |= bool(complaints)
    finally:
        viewer.close()
    return 1 if found else 0


def shown(robot: Any, actuation: Any, still: bool, nobody: Nobody) -> Viewer:
    """Return a viewer that shows a robot at an actuation, as if it were measured."""
    description = robot.description
    solved = robot.forward(actuation)
    message = configuration_to_message(
        solved, description, 'base_link', Time(), Configuration.FROM_MEASUREMENT
    )
    file = find_description(description.name)
    parts = None if file is None else read_urdf(expand(file, ''))
    viewer = Viewer(description, controls=nobody, parts=parts)
    state = ActuatorReadout(
        actuation, actuation, actuation, (0,) * len(actuation), 2, '/trajectory_planner'
    )
    viewer.show(
        Snapshot(
            shape=shape_from_message(message),
            actuators=None if still else state,
            driven=not still,
            emulated=True,
        )
    )
    return viewer


def photograph(
    page: HandledPage, address: str, look: Look, axe: Path | None, nobody: Nobody
) -> list[Any]:
    """Take the picture and press Esc; return complaints of the page, its requests or axe-core."""
    page.problems.clear()
    page.requests.clear()
    nobody.asked.clear()
    page.resize(look.width, HEIGHTS[look.width], look.scale)
    scheme = {'name': 'prefers-color-scheme', 'value': 'dark' if look.dark else 'light'}
    page.call('Emulation.setEmulatedMedia', features=[scheme])
    page.call('Page.navigate', url=address)
    page.open_viewer()
    shots: list[str] = []
    part = {'x': 0, 'y': 0, 'width': min(look.width, 600), 'height': 300, 'scale': 1.0}

    def still() -> bool:
        """Whether the robot, without the panel, looks as a moment ago: lights come late."""
        shots.append(page.call('Page.captureScreenshot', format='png', clip=part)['data'])
        return shots[-2:-1] == shots[-1:]

    page.wait(still, PATIENCE, 'a picture that stays')
    page.picture(look.picture)
    page.key('Escape', 27)
    page.wait(lambda: 'stop' in nobody.asked, PATIENCE, 'STOP by Esc')
    found = [*page.problems, *page.strangers]
    if axe is not None:
        page.evaluate(axe.read_text(encoding='utf-8'))
        found += page.evaluate(SCRIPT)
    return found


if __name__ == '__main__':
    sys.exit(main())
