#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a person does in the browser, done with mouse and keyboard, on a robot that runs.

Drags an arrow of the gizmo: the robot must follow. Moves a slider: the pressure must follow.
Presses Esc, then, cleared and moved again, clicks STOP: the chambers must vent. No request may
leave this machine. Needs Chromium (Debian: apt install chromium), which has to take what the robot
leaves of the processor.
"""

from __future__ import annotations

from pathlib import Path
import re
import sys
import tempfile
import time
from typing import Any

import numpy as np
from page_hands import HandledPage

from soro_cli.robot_process import RobotProcess
from soro_rigs.page_client import PageClient
from soro_rigs.page_driver import find_browser
from soro_visualization.page.scene import ASIDE, CAMERA, FIELD_OF_VIEW, GIZMO

ROBOT, SLIDER = 'stiff_flop', 'pair_1 [bar]'
SIZE = (1000, 640)
START, PATIENCE, MOTION = 240.0, 240.0, 60.0  # s
RAISED = 0.4  # bar in every chamber pair: from there the tip can go to all sides
GRASP = 0.75 * GIZMO  # along an arrow, from its root


def projected(point: Any, middle: Any) -> tuple[float, float]:
    """Return the pixel of a point of the scene as the page's first camera sees it."""
    ahead = -CAMERA / np.linalg.norm(CAMERA)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    seen = np.asarray(point) - (middle + ASIDE + CAMERA)
    scale = 0.5 * SIZE[1] / np.tan(0.5 * FIELD_OF_VIEW) / (seen @ ahead)
    up = np.cross(right, ahead)
    return 0.5 * SIZE[0] + scale * (seen @ right), 0.5 * SIZE[1] - scale * (seen @ up)


def tip_of(client: PageClient) -> Any:
    """Return where the page shows the tip, in units of the scene."""
    client.receive(0.2)
    return np.array(client.scene['/tip']['position'])


def pressure_of(client: PageClient) -> float:
    """Return the first measured pressure in the panel [bar]."""
    client.receive(0.1)
    found = re.search(r'pair_1</td><td[^>]*>(-?[0-9.]+) bar', client.text())
    return float(found.group(1)) if found else float('nan')


def drag(page: HandledPage, address: str, middle: Any) -> None:
    """Drag the arrow along x; the tip must go that way."""
    with PageClient(address) as client:
        client.wait(lambda: 'position' in client.scene.get('/target', {}), MOTION, 'gizmo')
        tip, arrow = tip_of(client), np.array(client.scene['/target']['position'])
    start = projected(arrow + [GRASP, 0.0, 0.0], middle)
    end = projected(arrow + [GRASP + 0.2, 0.0, 0.0], middle)
    page.drag(start, end)
    with PageClient(address) as client:
        client.wait(lambda: '/tip' in client.scene, MOTION, 'robot')
        page.wait(lambda: tip_of(client)[0] - tip[0] > 0.1, MOTION, 'motion')
        went = np.round(tip_of(client) - tip, 3)
    print(f'gizmo dragged 0.20 along x: the tip went {went} extents')


def slide(page: HandledPage, address: str) -> None:
    """Move the first slider to its end with the keyboard; the pressure must follow."""
    with PageClient(address) as client:
        client.wait(lambda: 'All to rest' in client.gui, MOTION, 'panel')
        client.press('All to rest')
        client.wait(lambda: abs(pressure_of(client)) < 0.02, MOTION, 'rest')
    page.evaluate('document.querySelectorAll("[role=slider]")[0].focus()')
    page.key('End', 35)
    with PageClient(address) as client:
        page.wait(lambda: pressure_of(client) > 1.4, MOTION, 'pressure')
        print(f'slider at its end: {pressure_of(client):.3f} bar measured')


def stop_by_key(page: HandledPage, address: str) -> None:
    """Press Esc; the robot must go safe. Then clear it and move it again."""
    page.key('Escape', 27)
    with PageClient(address) as client:
        page.wait(lambda: client.receive(0.1) or '>SAFE<' in client.text(), MOTION, 'safe state')
        print('Esc pressed: SAFE')
        client.press('Clear')
        page.wait(lambda: client.receive(0.1) or '>ACTIVE<' in client.text(), MOTION, 'device')
        client.set(SLIDER, RAISED)
        page.wait(lambda: pressure_of(client) > 0.7 * RAISED, MOTION, 'pressure')


def stop(page: HandledPage, address: str) -> None:
    """Click STOP; the robot must go safe and vent."""
    buttons = '[...document.querySelectorAll("button")]'
    page.click(*page.place_of(f'{buttons}.find(b => b.textContent.trim() == "STOP")'))
    with PageClient(address) as client:
        page.wait(lambda: client.receive(0.1) or '>SAFE<' in client.text(), MOTION, 'safe state')
        page.wait(lambda: abs(pressure_of(client)) < 0.02, MOTION, 'venting')
        print(f'STOP clicked: SAFE, {pressure_of(client):.3f} bar')


def main() -> int:
    """Run the check."""
    browser = find_browser()
    if browser is None:
        print('no Chromium on this machine (Debian: apt install chromium)')
        return 1
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        words = [ROBOT, 'viewer:=true', '--runner', 'soro']
        with RobotProcess(words, Path(folder) / 'out.txt', {'ROS_LOG_DIR': folder}) as process:
            begin = time.monotonic()
            while not (found := re.search(r'viewer: (http://\S+)', process.output)):
                if time.monotonic() - begin > START:
                    print(process.output)
                    return 1
                time.sleep(0.1)
            try:
                check(browser, found.group(1), begin)
            except (AssertionError, TimeoutError, LookupError):
                print(process.output[-3000:])
                raise
    return 0


def check(browser: str, address: str, begin: float) -> None:
    """Do everything once; nobody but the browser listens while it is busy."""
    with PageClient(address) as client:
        client.wait(
            lambda: '/target' in client.scene and '>ACTIVE<' in client.text(), START, 'robot'
        )
        print(f'robot on the page {time.monotonic() - begin:.1f} s after the launch')
        points = np.array(client.scene['/robot']['batched_positions']).reshape(-1, 3)
        middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
        for label in [k for k in client.gui if k.endswith('[bar]')]:
            client.set(label, RAISED)
            client.receive(0.5)
    opened = time.monotonic()
    with HandledPage(browser, address, SIZE, niceness=19) as page:
        page.wait(lambda: page.evaluate('!!document.querySelector("canvas")'), PATIENCE, 'canvas')
        page.settle(4, PATIENCE)
        print(f'first picture {time.monotonic() - opened:.1f} s after opening the browser')
        try:
            drag(page, address, middle)
        except TimeoutError:
            page.picture(Path(__file__).parents[1] / 'out/check_viewer.png')
            raise
        slide(page, address)
        stop_by_key(page, address)
        stop(page, address)
        page.check()
        print(f'{len(page.requests)} requests, all to this machine')


if __name__ == '__main__':
    sys.exit(main())
