# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the viewer costs: processor time of its process while messages arrive at full rates.

The visualization node runs in a process of its own; this process plays solver (30 Hz, shape and
ghost) and driver (up to 500 Hz), and opens a page. The robot never stands still. On a busy machine
fewer pictures are made than asked for; what counts is the share that all of them would take.
"""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path
import re
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from visualization_msgs.msg import MarkerArray

from soro_mechanics import load_robot
from soro_msgs.msg import ActuatorState, Configuration
from soro_node.conversions import configuration_to_message
from soro_node.middleware import set_middleware
from soro_rigs.domains import own_domain
from soro_rigs.page_client import PageClient
from soro_rigs.ros_session import wait_until
from soro_studies.mechanics.benchmark_rows import MISSED

ROBOTS = {'stiff_flop': 0.01, 'haptic_5dof': 0.002}  # name: period of its driver [s]
RATE = 30.0
WARM, DURATION = 2.0, 8.0  # s
ALLOWED = 0.25  # of a core
NODE = 'import sys; from soro_visualization.node import main; sys.exit(main())'


class Robot:
    """Solver and driver of a swinging robot, as topics."""

    def __init__(self, name: str, node: rclpy.node.Node) -> None:
        self.robot = load_robot(name)
        low, high = self.robot.limits.T
        rest = np.array([a.rest for a in self.robot.actuators])
        self._node, self.published = node, 0
        self._shapes = []
        for i in range(60):  # solved before, so that solving is not measured
            swing = 0.15 * np.sin(2 * np.pi * i / 60)
            q = self.robot.forward(np.clip(rest + (0.2 + swing) * (high - low), low, high))
            frame = f'{name}/base_link'
            stamp = node.get_clock().now().to_msg()
            self._shapes.append(configuration_to_message(q, self.robot, frame, stamp, 1))
        self._shape = node.create_publisher(Configuration, 'configuration', 5)
        self._ghost = node.create_publisher(Configuration, 'commanded_configuration', 5)
        self._state = node.create_publisher(ActuatorState, 'actuator_state', 10)
        names, count = [a.name for a in self.robot.actuators], len(rest)
        self._message = ActuatorState(
            name=names,
            quantity=[a.quantity_code for a in self.robot.actuators],
            commanded=rest.tolist(),
            applied=rest.tolist(),
            measured=rest.tolist(),
            flags=[0] * count,
            device_state=2,
        )
        node.create_timer(1.0 / RATE, self._on_shape)
        node.create_timer(ROBOTS[name], lambda: self._state.publish(self._message))

    def _on_shape(self) -> None:
        self.published += 1
        self._shape.publish(self._shapes[self.published % 60])
        self._ghost.publish(self._shapes[(self.published + 5) % 60])


def processor_time(pid: int) -> float:
    """Return the processor time of a process so far [s]."""
    fields = Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()
    return (float(fields[11]) + float(fields[12])) / os.sysconf('SC_CLK_TCK')


def measured(pid: int, meanwhile: Callable[[float], None]) -> float:
    """Return the share of a core that a process takes."""
    meanwhile(WARM)
    used, begin = processor_time(pid), time.monotonic()
    meanwhile(DURATION)
    return (processor_time(pid) - used) / (time.monotonic() - begin)


def bench(name: str, domain: int) -> bool:
    """Measure one robot; whether it stays below what is allowed."""
    node = rclpy.create_node('bench', namespace=name)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    robot = Robot(name, node)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    words = ['--ros-args', '-r', f'__ns:=/{name}', '-p', f'robot:={name}']
    begin = time.monotonic()
    with tempfile.NamedTemporaryFile('w+', suffix='.txt') as log:
        process = subprocess.Popen(
            [sys.executable, '-c', NODE, *words],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, 'ROS_DOMAIN_ID': str(domain)},
        )
        try:
            output = Path(log.name)
            found = wait_until(
                lambda: re.search(r'viewer: (http://\S+)', output.read_text()), 120.0
            )
            alone = measured(process.pid, time.sleep)
            with PageClient(found.group(1)) as page:
                page.wait(lambda: page.pictures, 60.0, 'picture')
                first, since, size = page.pictures, page.picture_at, page.bytes
                published = robot.published
                seen = measured(process.pid, page.receive)
                duration = page.picture_at - since  # from picture to picture
                rate = (page.pictures - first) / duration
                offered = (robot.published - published) / (WARM + DURATION)
                kilobytes = (page.bytes - size) / duration / 1e3
                node.create_subscription(MarkerArray, 'markers', lambda _: None, 5)
                both = measured(process.pid, page.receive)
        finally:
            process.terminate()
            try:
                process.wait(20.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    executor.shutdown()
    thread.join(5.0)
    node.destroy_node()
    stations = sum(len(b.poses) for b in robot._shapes[0].backbones)
    print(f'{name}: {stations} stations, driver at {1 / ROBOTS[name]:g} Hz')
    print(f'  share of a core, nobody looks      {100 * alone:5.1f} %')
    print(f'  share of a core, one page          {100 * seen:5.1f} %   (allowed {ALLOWED:.0%})')
    print(f'  share of a core, page and markers  {100 * both:5.1f} %')
    of = f'of {offered:.1f} shapes/s, {kilobytes:.0f} kB/s'
    print(f'  pictures on the page               {rate:5.1f} /s {of}')
    at_full_rate = seen * RATE / rate
    print(f'  at {RATE:g} pictures/s that would be     {100 * at_full_rate:5.1f} %')
    print(f'  (measured in {time.monotonic() - begin:.0f} s)')
    return at_full_rate < ALLOWED


def main() -> int:
    """Measure every robot."""
    domain = own_domain()
    set_middleware()
    rclpy.init(domain_id=domain)
    good = [bench(name, domain) for name in ROBOTS]
    rclpy.try_shutdown()
    return 0 if all(good) else MISSED


if __name__ == '__main__':
    sys.exit(main())
