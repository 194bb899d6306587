# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The kinematics solver over ROS: what a call costs beside its solve, what calls cost the stream.

The solver runs in a process of its own on STIFF-FLOP; this process calls it and plays the driver
at 100 Hz. Times include both ends of the transport and this client's own share.
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import itertools
import os
import subprocess
import sys
import threading
import time
import traceback
from typing import Any

from geometry_msgs.msg import PoseStamped
import numpy as np
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

from soro_mechanics import load_robot
from soro_mechanics.compilation.kernel_cache import use_kernel_cache
from soro_mechanics.core.status import Code
from soro_msgs.msg import ActuatorState
from soro_msgs.srv import SolveForward, SolveInverse
from soro_node.conversions import pose_to_message
from soro_node.executor.single_executor import SingleExecutor
from soro_node.main import SWITCH_INTERVAL
from soro_node.middleware import set_middleware
from soro_rigs.domains import own_domain
from soro_rigs.ros_session import wait_for, wait_until

ROBOT, NAMESPACE = 'stiff_flop', '/bench'
ACTUATION = np.array([0.5e5, 0.2e5, 0.1e5])
PERIOD = 0.01  # s
DURATION = 4.0  # s of each row
SOLVER = 'import sys; from soro_kinematics.node import main; sys.exit(main())'


def swinging(count: int) -> np.ndarray:
    """Return the actuation of a state."""
    return ACTUATION * (1.0 + 0.2 * np.sin(0.02 * count))


class FakeStream:
    """States at 100 Hz, and how long each took to come back as a tip pose."""

    def __init__(self, node: Node, names: list[str]) -> None:
        self.delays: list[float] = []
        self.sent = 0
        self._node, self._names = node, names
        self._times: dict[tuple[int, int], float] = {}
        self._publisher = node.create_publisher(ActuatorState, 'actuator_state', 1)
        qos = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
        node.create_subscription(PoseStamped, 'tip_pose', self._on_tip, qos)
        node.create_timer(PERIOD, self._publish)

    def reset(self) -> None:
        """Forget what was counted."""
        self.delays, self.sent = [], 0

    def _publish(self) -> None:
        self.sent += 1
        values = swinging(self.sent).tolist()
        count = len(values)
        message = ActuatorState(
            name=self._names,
            quantity=[1] * count,
            commanded=values,
            applied=values,
            measured=values,
            flags=[0] * count,
            device_state=ActuatorState.ACTIVE,
        )
        message.header.stamp = stamp = self._node.get_clock().now().to_msg()
        self._times[stamp.sec, stamp.nanosec] = time.perf_counter()
        self._publisher.publish(message)

    def _on_tip(self, message: PoseStamped) -> None:
        begin = self._times.pop((message.header.stamp.sec, message.header.stamp.nanosec), None)
        if begin is not None:
            self.delays.append(time.perf_counter() - begin)


def row(name: str, seconds: list[float]) -> None:
    """Print one row."""
    ms = 1e3 * np.array(seconds)
    median, tail = np.percentile(ms, [50, 99])
    print(f'{name:58s} {median:8.2f} {tail:8.2f} {len(ms):7d}', flush=True)


def repeat(action: Callable[[], Any]) -> list[float]:
    """Return how long each call took, back to back."""
    times, end = [], time.perf_counter() + DURATION
    while time.perf_counter() < end:
        begin = time.perf_counter()
        action()
        times.append(time.perf_counter() - begin)
    return times


def spin(node: Node) -> None:
    """Spin a node in a thread of its own."""
    executor = SingleExecutor()
    executor.add_node(node)

    def work() -> None:
        with contextlib.suppress(ExternalShutdownException):  # the end of the run
            executor.spin()

    threading.Thread(target=work, daemon=True).start()


def measure() -> None:
    """Print all rows."""
    set_middleware()
    rclpy.init()
    sys.setswitchinterval(SWITCH_INTERVAL)  # three threads here; the nodes do the same
    robot = load_robot(ROBOT)
    client, driver = (Node(n, namespace=NAMESPACE) for n in ('bench_client', 'bench_driver'))
    inverse = client.create_client(SolveInverse, 'kinematics_solver/solve_inverse')
    forward = client.create_client(SolveForward, 'kinematics_solver/solve_forward')
    stream = FakeStream(driver, [a.name for a in robot.actuators])
    spin(client)
    spin(driver)
    wait_until(inverse.service_is_ready, timeout=300.0)
    wait_until(lambda: stream.delays, timeout=10.0)
    q = robot.forward(ACTUATION)
    near, far = SolveInverse.Request(), SolveInverse.Request()
    near.target.pose = pose_to_message(q.tip)
    far.target.pose.position.z = 1.0
    # The solver starts from the present state, which swings about the target's.
    guesses = itertools.cycle([robot.forward(swinging(n)) for n in range(0, 314, 10)])
    empty = SolveForward.Request(actuation=[0.0])  # answered at once: wrong size
    full = SolveForward.Request(actuation=ACTUATION.tolist())

    print(f'{"":58s} {"median":>8s} {"p99":>8s}   calls   [ms]')
    alone = repeat(
        lambda: robot.inverse(q.tip[:3, 3], guess=next(guesses), position_tolerance=1e-5)
    )
    row('solve_inverse, the solve alone, in this process', alone)
    stream.reset()
    time.sleep(DURATION)
    row('actuator_state to tip_pose, no calls', stream.delays)
    solves: list[float] = []
    for name, service, request, code in (
        ('refused request', forward, empty, Code.INVALID_SIZE),
        ('solve_forward', forward, full, Code.NONE),
        ('solve_inverse', inverse, near, Code.NONE),
        ('solve_inverse, out of reach', inverse, far, Code.UNREACHABLE),
    ):
        stream.reset()

        def call(service: Any = service, request: Any = request, code: Code = code) -> None:
            answer = wait_for(service.call_async(request), 30.0)
            if answer.error_code != code:
                raise RuntimeError(f'answered with {answer.error_code}: {answer.error_message}')
            solves.append(answer.configuration.status.solve_time)

        solves.clear()
        times = repeat(call)
        row(f'{name}, round trip', times)
        if request is near:
            row('   the solve, as the answer says', solves)
            beside = [t - s for t, s in zip(times, solves, strict=True)]
            row('   beside the solve (wanted: below 2)', beside)
        row(f'   actuator_state to tip_pose, meanwhile ({stream.sent} sent)', stream.delays)


def beside_solver(action: Callable[[], None]) -> None:
    """Run an action beside a solver in a process of its own, then end this process.

    The threads that spin hold on to the context; nothing is left to tidy.
    """
    use_kernel_cache()
    os.environ['ROS_DOMAIN_ID'] = str(own_domain())
    arguments = ['--ros-args', '-r', f'__ns:={NAMESPACE}', '-p', f'robot:={ROBOT}']
    solver = subprocess.Popen([sys.executable, '-c', SOLVER, *arguments])
    code = 1
    try:
        action()
        code = 0
    except Exception:  # noqa: BLE001 - the boundary of the process
        traceback.print_exc()
    finally:
        solver.terminate()
        solver.wait(20.0)
        rclpy.try_shutdown()
    sys.stdout.flush()
    os._exit(code)


if __name__ == '__main__':
    beside_solver(measure)
