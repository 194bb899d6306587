# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A launched robot with its viewer: what a hand does on the page happens to the robot.

The page is spoken to over its websocket, as the browser does it. The same things are done with a
real browser, pixels and mouse included, by `make pictures` (scripts/draw_viewer.py).
"""

from __future__ import annotations

import math
import re
import time
from typing import Any

import pytest

from soro_cli.motion import ACTIVE
from soro_rigs.page_client import PageClient
from soro_studies.system.launched_robot import LaunchedRobot
from soro_studies.system.venting import assert_vented
from soro_visualization.page.panel import LET_GO

MOTION = 15.0  # s


def address_of(robot: LaunchedRobot) -> str:
    """Return what the launch has printed."""
    found = re.search(r'viewer: (http://127\.0\.0\.1:\d+)', robot.process.output)
    assert found, robot.process.output
    return found.group(1)


def wait_both(robot: LaunchedRobot, page: PageClient, condition: Any, what: str) -> None:
    """Wait for the robot while the page is listened to as well."""

    def met() -> bool:
        robot.spin(0.02)
        return bool(condition())

    try:
        page.wait(met, MOTION, what)
    except AssertionError as error:
        raise AssertionError(f'{error}\n{page.text()}\n{robot.story}') from None


@pytest.mark.robot('stiff_flop', 'tracker:=true', 'viewer:=true')
def test_hands_on_the_page_move_the_robot_and_stop_vents_it(running):
    robot = running
    with PageClient(address_of(robot)) as page:
        watch = robot.watch
        wait_both(robot, page, lambda: '/target' in page.scene, 'robot on the page')
        wait_both(robot, page, lambda: 'EMULATOR' in page.text(), 'badge')
        assert '/parts/tip/0' in page.scene  # rigid parts of the description

        # The test before has stopped the robot; no hand is on it since.
        free = time.monotonic() + 2.0 * LET_GO
        wait_both(robot, page, lambda: time.monotonic() > free, 'time')
        page.set('pair_1 [bar]', 0.8)
        wait_both(robot, page, lambda: watch.near_actuation((8e4, 0.0, 0.0), 0.04), 'pressure')
        wait_both(robot, page, lambda: watch.tip[0] < -5e-3, 'bending')
        wait_both(robot, page, lambda: 'trajectory_planner' in page.text(), 'owner')

        # The gizmo stands at the tip; drag it to where this robot can go.
        target = robot.mechanics.forward([2e4, 6e4, 0.0], [0.0] * 6, '').configuration.tip
        zoom = 1.0 / first_extent(robot)
        page.drag('/target', tuple(zoom * x for x in position(target)))
        near = 1.5e-3  # m; the emulated robot is not the solver's twin
        wait_both(
            robot, page, lambda: math.dist(watch.tip, position(target)) < near, 'motion to target'
        )
        wait_both(robot, page, lambda: 'solved, residual' in page.text(), 'answer of the solver')

        page.press('STOP')
        wait_both(robot, page, lambda: robot.state() != ACTIVE, 'stop')
        wait_both(robot, page, lambda: max(watch.measured) < 3e3, 'vented chambers')
        wait_both(robot, page, lambda: 'SAFE' in page.text(), 'state on the page')
        robot.process.stop()
        assert '[visualization] ended with 0' in robot.process.output, robot.process.output
        assert_vented(robot)


def position(pose: Any) -> tuple[float, float, float]:
    """Return the position of a message as numbers."""
    x, y, z = (
        pose.position
        if hasattr(pose.position, '__len__')
        else (pose.position.x, pose.position.y, pose.position.z)
    )
    return x, y, z


def first_extent(robot: LaunchedRobot) -> float:
    """Return the extent the page counts in: that of the robot at rest, when it was first seen."""
    q = robot.mechanics.forward([0.0] * 3, [0.0] * 6, '').configuration
    return math.hypot(*position(q.tip))
