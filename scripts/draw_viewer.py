# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of the viewer: every robot launched, moved by its sliders, and photographed.

A browser that renders in software takes all cores, and a robot that gets none of them faults. So
the node that shows the robot runs in this process; when robot, ellipsoids and workspace are
shown it is frozen, the robot is stopped in order, and only then the browser is opened. Needs
Chromium (Debian: apt install chromium). SORO_PICTURES=alone shows robots without driver and
emulator, their actuation only said, for a computer too busy to drive one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
import os
from pathlib import Path
import tempfile
import threading
import time
from typing import Any

import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from robot_alone import without_driver

from soro_cli.robot_process import RobotProcess
from soro_mechanics.compilation.kernel_cache import use_kernel_cache
from soro_rigs.page_client import PageClient
from soro_rigs.page_driver import find_browser, Page
from soro_visualization.node import Visualization

SIZE = (1280, 860)
START = 240.0  # s, kernels compiled anew and a busy machine included
LOOK_FOR = 240.0  # s, for a workspace
TRIES = 4
AGAIN = 25.0  # s, between two attempts to arm a device


@dataclass(frozen=True)
class Shot:
    """What is shown of one robot: shares of the range of some sliders, and further arguments."""

    sliders: dict[int, float] = field(default_factory=dict)
    words: tuple[str, ...] = ()
    samples: int = 500


SHOTS = {
    'stiff_flop': Shot({0: 0.6, 1: 0.2}),
    'stiff_flop_two_segment': Shot({0: 0.6, 4: 0.6}),
    'soft_parallel': Shot({0: 0.75, 1: 0.35}),
    'spatial_cc': Shot({0: 0.7, 1: 0.2}),
    'pam_continuum': Shot({3 * i: 0.4 for i in range(10)}, samples=0),
    'haptic_5dof': Shot({0: 0.6, 1: 0.45, 3: 0.55}, ('haptics:=off',), 300),
    'stewart_gough': Shot({0: 0.42, 1: 0.42, 2: 0.36, 3: 0.36, 4: 0.40, 5: 0.40}, samples=300),
}


@contextmanager
def shown(robot: str) -> Iterator[Visualization]:
    """Run the node of a robot's viewer in this process."""
    use_kernel_cache()
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = Visualization(
        namespace=robot,
        parameter_overrides=[Parameter('robot', value=robot)],
        start_parameter_services=False,
    )
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin, daemon=True)
    try:
        if not node.autostart():
            raise RuntimeError(f'the viewer of {robot} does not start')
        thread.start()
        yield node
    finally:
        executor.shutdown()
        thread.join(5.0)
        node.make_safe()
        node.destroy_node()
        rclpy.try_shutdown()


def freeze(node: Visualization, page: PageClient) -> None:
    """Let the viewer show for ever what it shows now."""
    node.destroy_timer(node._timer)
    node._timer = None
    page.receive(1.0)


def move_launched(robot: str, node: Visualization, page: PageClient) -> None:
    """Launch the robot on its emulator, move it by its sliders, show everything, freeze."""
    shot = SHOTS[robot]
    with tempfile.TemporaryDirectory(prefix='soro-view-', ignore_cleanup_errors=True) as folder:
        words = [robot, f'namespace:={robot}', *shot.words, '--runner', 'soro']
        with RobotProcess(words, Path(folder) / 'output.txt', {'ROS_LOG_DIR': folder}) as process:
            try:
                arming = Arming()
                page.wait(lambda: '/target' in page.scene and arming.active(page), START, 'robot')
                show_everything(node, page, shot)
                freeze(node, page)
            except (AssertionError, TimeoutError):
                print(process.output[-3000:])
                raise


class Arming:
    """Arms a device that a busy computer has lost; one that is still starting is left in peace."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    def active(self, page: PageClient) -> bool:
        """Return whether the page says that the device is armed."""
        now = time.monotonic()
        if '>ACTIVE<' in page.text():
            self._since = now
            return True
        if now - self._since > AGAIN:
            self._since = now
            page.press('Clear')
        return False


def show_everything(node: Visualization, page: PageClient, shot: Shot) -> None:
    """Have the workspace computed, move sliders, switch ellipsoids on."""
    if shot.samples:
        node._requests.samples = shot.samples
        ready = node._requests._workspace.server_is_ready
        page.wait(ready, START, 'compliance node')
        page.press('Compute the workspace')
        page.wait(lambda: '/workspace' in page.scene, LOOK_FOR, 'workspace')
        page.wait(lambda: 'points, longest extent' in page.text(), LOOK_FOR, 'end of the action')
    for _ in range(TRIES):
        arming = Arming()
        page.wait(lambda: arming.active(page), START, 'armed device')  # noqa: B023 - called now
        page.set('compliance ellipsoids', False)
        moved = move(page, shot)
        page.set('compliance ellipsoids', True)
        page.wait(lambda: '/ellipsoids' in page.scene, START, 'ellipsoids')
        page.receive(3.0)
        if moved and '>ACTIVE<' in page.text():
            return
    raise AssertionError(f'the robot does not move\n{page.text()}')


def move(page: PageClient, shot: Shot) -> bool:
    """Move the sliders and wait until the robot rests; whether it has moved."""
    sliders = [e for e in page.gui.values() if 'max' in e and 'step' in e]
    page.press('All to rest')
    page.receive(1.0)
    before = tip_of(page)
    for index, share in shot.sliders.items():
        slider = sliders[index]
        value = slider['min'] + share * (slider['max'] - slider['min'])
        page.set(slider['label'], round(value, 6))
        page.receive(0.1)
    page.receive(4.0)
    last, moved = before, np.linalg.norm(tip_of(page) - before) > 0.02
    while np.linalg.norm(tip_of(page) - last) > 2e-3:
        last = tip_of(page)
        page.receive(1.0)
    return bool(moved)


def tip_of(page: PageClient) -> Any:
    """Return where the page shows the tip, in units of the scene."""
    page.receive(0.1)
    return np.array(page.scene['/tip']['position'])


def photograph(address: str, file: Path) -> None:
    """Open the page, wait until all of it is drawn, take the picture."""
    browser = find_browser()
    if browser is None:
        raise SystemExit('no Chromium on this machine (Debian: apt install chromium)')
    with Page(browser, address, SIZE) as page:
        page.open_viewer()
        page.picture(file)
        page.check()


def show_alone(robot: str, node: Visualization, page: PageClient) -> None:
    """Show a robot that is not driven: its solver and an actuation that is only said."""
    with without_driver(robot, SHOTS[robot].sliders):
        page.wait(lambda: '/tip' in page.scene, START, 'robot')
        page.set('compliance ellipsoids', True)
        page.wait(lambda: '/ellipsoids' in page.scene, START, 'ellipsoids')
        page.receive(2.0)
        freeze(node, page)


def draw(robot: str, file: Path) -> None:
    """Launch a robot, move it, stop it, and photograph what was last shown."""
    alone = os.environ.get('SORO_PICTURES') == 'alone'
    with shown(robot) as node, PageClient(node.address) as page:
        page.wait(lambda: 'Compute the workspace' in page.gui, START, 'panel')
        (show_alone if alone else move_launched)(robot, node, page)
        photograph(node.address, file)
