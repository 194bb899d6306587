# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""NI cards: a server that is none, and a card that is not there.

Not collected by `make test`: `make reliability` runs it, or pytest with this file's name.
"""

from __future__ import annotations

import os
import socket
import threading

import pytest
from robot_processes import BENCH, CLEANUP, CONFIGURE, DEACTIVATE, end, RobotProcesses, start_node
from soro_driver.device import DeviceState
from soro_driver.endpoint import derive

pytestmark = pytest.mark.timeout(240)


class GarbageServer:
    """Answers whoever connects with random bytes."""

    def __init__(self, port: int) -> None:
        self.clients = 0
        self._listener = socket.create_server(('127.0.0.1', port))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.clients += 1
            with client:
                client.sendall(os.urandom(10_000))

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()


@pytest.mark.injection('nidaq', 4)
def test_a_server_that_talks_garbage(tmp_path):
    robot = RobotProcesses(tmp_path)
    server = GarbageServer(derive(robot.namespace, 'nidaq').port)
    try:
        robot.struck('a server that sends 10 kB of random bytes where the cards should be')
        robot.start_driver()
        robot.wait_for(lambda: server.clients > 3, 60.0, 'connections')
        robot.spin(2.0)
        assert robot.driver.poll() is None
        assert robot.state is None or robot.state.device_state != DeviceState.ACTIVE
    finally:
        server.close()
        robot.close()


@pytest.mark.injection('nidaq', 9)
def test_a_card_that_is_not_there_is_named(robot, tmp_path, said):
    assert robot.transition(DEACTIVATE)
    assert robot.transition(CLEANUP)
    file = tmp_path / 'bench.yaml'
    file.write_text(BENCH.read_text(encoding='utf-8').replace('Dev1', 'Dev2'), encoding='utf-8')
    robot.struck('the robot file names Dev2, there is only Dev1')
    node = start_node('soro_driver.node', robot.namespace, robot=file, autostart=True)
    try:
        robot.wait_for(lambda: any('Dev2' in line for line in said), 40.0, 'the card')
        assert any('-200220' in line for line in said if 'Dev2' in line)
        assert node.poll() is None
    finally:
        end(node)
    assert robot.transition(CONFIGURE)
