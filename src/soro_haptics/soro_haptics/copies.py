# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Topics of the renderer, which are copies of a tick, from a process of their own.

Making and publishing the messages of a tick takes as long as the tick itself, handing over their
numbers a quarter of that. They go through a socket whose sender never waits: a process that leaves
no room there is ended. Before there is one, and where it has ended, the loop publishes.
"""

from __future__ import annotations

import contextlib
from multiprocessing.connection import Connection, Pipe
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.node import Node

from soro_driver.driver_report import Level, Status
from soro_haptics.haptic_messages import messages, Sample
from soro_haptics.real_time import favour_threads
from soro_msgs.msg import ActuatorCommand, ActuatorState, FlexState, TipEstimate
from soro_node.main import run
from soro_node.process.parent_death import OWN_GROUP
from soro_node.qos import NEWEST

OF_HAND = {TipEstimate: 'tip_estimate', PoseStamped: 'tip_pose', WrenchStamped: 'hand_wrench'}
OF_DEVICE = {ActuatorState: 'actuator_state', FlexState: 'flex_state'}
OF_DEVICE |= {ActuatorCommand: 'actuator_command'}
DISCOVERY = 1.0  # s until subscribers have found a new process. Assumed.


class Copies:
    """Publishes samples on topics with the given names; the others are left out."""

    def __init__(self, node: Node, names: dict[type, str], *about: Any) -> None:
        self._about = about  # for `messages`
        self._to = {
            kind: Node.create_publisher(
                node, kind, name, NEWEST if kind is ActuatorCommand else 10
            )
            for kind, name in names.items()
        }

    def publish(self, sample: Sample) -> None:
        """Publish what a sample has."""
        for message in messages(sample, *self._about):
            if type(message) in self._to:
                self._to[type(message)].publish(message)


class CopiesProcess:
    """The loop's side of a process with `Copies`, which ends with `connection`, or this process.

    `priority`: of its threads, under SCHED_FIFO; 0: none. Below that of the loop: others with such
    a priority would starve it for ever.
    """

    def __init__(self, node: Node, priority: int, *what: Any) -> None:
        self._ready = self._ended = False
        self.connection, theirs = Pipe()
        os.set_blocking(self.connection.fileno(), False)
        paths, domain = os.pathsep.join(filter(None, sys.path)), node.context.get_domain_id()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, '-m', 'soro_haptics.copies', str(theirs.fileno())],
                env={**os.environ, 'PYTHONPATH': paths, 'ROS_DOMAIN_ID': str(domain)},
                pass_fds=(theirs.fileno(),),
                **OWN_GROUP,  # Ctrl-C is for the renderer
            )
        name = f'{node.get_name()}_copies'
        self.connection.send((name, node.get_namespace(), priority, *what))

    def send(self, sample: Sample) -> bool:
        """Hand a sample over without waiting; whether there is somebody who publishes."""
        try:
            if not (self._ready or self._ended) and self.connection.poll():
                self._ready = self.connection.recv()
            if self._ready:
                self.connection.send(sample)
        except (OSError, EOFError):  # no room for half a second, or nobody any more
            self.process.kill()
            self._ready, self._ended = False, True
        return self._ready

    def status(self) -> Status:
        """Say how it does."""
        if not self._ended:
            return Status('copies', Level.OK, 'from a process of their own', {})
        text = 'their process ended or was too slow: the loop publishes, and may miss slots'
        return Status('copies', Level.WARN, text, {})


def serving(connection: Connection) -> Node:
    """Return a node that publishes what comes, and ends its process with the connection."""
    name, space, priority, *what = connection.recv()
    node = Node(name, namespace=space, start_parameter_services=False)
    copies = Copies(node, *what)
    if priority:
        favour_threads(priority)

    def serve() -> None:
        try:
            time.sleep(DISCOVERY)
            connection.send(True)
            with contextlib.suppress(OSError, EOFError):
                while True:
                    copies.publish(connection.recv())
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=serve, daemon=True).start()
    return node


if __name__ == '__main__':
    run(lambda: serving(Connection(int(sys.argv[1]))), [])
