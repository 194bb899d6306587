# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How many inverse solves one robot serves per second, and what happens beyond that.

A solver on STIFF-FLOP in a process of its own, its state stream running at 100 Hz. A client keeps
a number of requests open: every answer is followed by the next request. Latency is that of
answered requests; what finds the queue full is refused with BUSY, and asked again after 10 ms.
"""

from __future__ import annotations

import sys
import threading
import time

from bench_ros import ACTUATION, beside_solver, FakeStream, NAMESPACE, ROBOT, spin
import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile

from soro_mechanics import load_robot
from soro_mechanics.core.status import Code
from soro_msgs.srv import SolveInverse
from soro_node.conversions import pose_to_message
from soro_node.main import SWITCH_INTERVAL
from soro_node.middleware import set_middleware
from soro_rigs.ros_session import wait_until

OPEN = (1, 2, 4, 8, 16, 32, 48, 64)
DURATION = 4.0  # s of each row
RETRY = 0.01  # s


class Client:
    """Keeps requests open for a while."""

    def __init__(self, node: Node, request: SolveInverse.Request) -> None:
        qos = QoSProfile(depth=2 * max(OPEN))
        self._client = node.create_client(
            SolveInverse, 'kinematics_solver/solve_inverse', qos_profile=qos
        )
        self._request = request
        self.ready = self._client.service_is_ready

    def run(self, count: int) -> tuple[list[float], int, int]:
        """Return latencies of the answers [s], refusals, and requests without any answer."""
        end = time.perf_counter() + DURATION
        times: list[float] = []
        refused, lost = [0], [0]

        def chain() -> None:
            while time.perf_counter() < end:
                done, begin = threading.Event(), time.perf_counter()
                future = self._client.call_async(self._request)
                future.add_done_callback(lambda _, done=done: done.set())
                if not done.wait(5.0):
                    lost[0] += 1
                elif future.result().error_code == Code.BUSY:
                    refused[0] += 1
                    time.sleep(RETRY)
                else:
                    times.append(time.perf_counter() - begin)

        threads = [threading.Thread(target=chain) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return times, refused[0], lost[0]


def measure() -> None:
    """Print a row for each number of open requests."""
    set_middleware()
    rclpy.init()
    sys.setswitchinterval(SWITCH_INTERVAL)
    robot = load_robot(ROBOT)
    client, driver = (Node(n, namespace=NAMESPACE) for n in ('bench_client', 'bench_driver'))
    request = SolveInverse.Request()
    request.target.pose = pose_to_message(robot.forward(ACTUATION).tip)
    asking = Client(client, request)
    stream = FakeStream(driver, [a.name for a in robot.actuators])
    spin(client)
    spin(driver)
    wait_until(asking.ready, timeout=300.0)
    wait_until(lambda: stream.delays, timeout=10.0)
    print('open requests   answers/s   median     p99 [ms]   refused   lost   tip_pose of states')
    for count in OPEN:
        stream.reset()
        times, refused, lost = asking.run(count)
        median, tail = np.percentile(1e3 * np.array(times), [50, 99])
        share = 100.0 * len(stream.delays) / stream.sent
        print(
            f'{count:13d} {len(times) / DURATION:11.0f} {median:8.1f} {tail:7.1f} '
            f'{refused:13d} {lost:6d} {share:17.0f} %',
            flush=True,
        )


if __name__ == '__main__':
    beside_solver(measure)
