# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""NI cards: a server that is none, and a card that is not there.

Not collected by `make test`: `make reliability` runs it, or pytest with this file's name.
"""

from __future__ import annotations

import os
import socket
import threading

from fault_counts import rises
import pytest
from robot_processes import (
    BAR,
    BENCH,
    CLEANUP,
    CONFIGURE,
    DEACTIVATE,
    end,
    RobotProcesses,
    start_node,
)
from test_faults_device import assert_lost

from soro_driver.device import DeviceState
from soro_driver.endpoint import derive

pytestmark = pytest.mark.timeout(240)


class GarbageServer:
    """Answers whoever connects with random bytes."""

    def __init__(self, port: int) -> None:
        self.served = 0  # clients that got their bytes
        self._listener = socket.create_server(('127.0.0.1', port))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client:
                client.sendall(os.urandom(10_000))
            self.served += 1

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
        robot.wait_for(lambda: server.served > 3, 60.0, 'connections')
        robot.spin(2.0)
        assert robot.driver.poll() is None
        assert robot.state is None or robot.state.device_state != DeviceState.ACTIVE
    finally:
        server.close()
        robot.close()


BUSY = 1.5  # s that a busy computer may add


@pytest.mark.injection('nidaq', 7)
def test_late_answers_are_a_lost_device_and_late_calls_have_no_effect(robot):
    robot.move(0.8 * BAR, 0.4 * BAR, 0.0)
    since = robot.inject('late', delay=0.3)
    assert assert_lost(robot, since) < 0.3 + BUSY
    assert rises(robot, since)['late'] > 0
    off = robot.outputs_off(since, 3.0)
    assert off < 0.3 + BUSY
    robot.spin(1.0)  # the stream goes on, and every call that was late has been taken up by now
    assert robot.raised_after(since + off) == []
    robot.inject('none')
    robot.wait_for(lambda: robot.state.device_state == DeviceState.INACTIVE, 30.0, 'connected')
    robot.spin(1.0)
    assert robot.raised_after(since + off) == []


@pytest.mark.injection('nidaq', 9)
def test_a_card_that_is_not_there_is_named(robot, tmp_path, said):
    assert robot.transition(DEACTIVATE)
    assert robot.transition(CLEANUP)
    file = tmp_path / 'rig.yaml'
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
