# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Nothing of a launched robot can be reached from another machine, over TCP or UDP."""

from __future__ import annotations

import pytest

from soro_node.process.process_sockets import sockets_of_processes
from soro_studies.system.process_figures import processes_below

VIEWER = 60.0  # s; it stands back behind the nodes that the robot waits for


def check_loopback(robot):
    """Check what can be reached of a robot with its viewer."""

    def found(protocol):
        pids = processes_below(robot.process.process.pid, robot.process.output).values()
        own = [*pids, robot.process.process.pid]
        return [s for s in sockets_of_processes(own) if s.protocol == protocol]

    robot.wait(lambda: len(found('tcp')) >= 2, VIEWER, 'the emulated card and the viewer')
    assert len({s.pid for s in found('udp')}) >= 5  # or nothing was looked at
    sockets = found('tcp') + found('udp')
    assert [str(s) for s in sockets if not s.address.is_loopback] == []


@pytest.mark.robot('stiff_flop', 'tracker:=true', 'viewer:=true')
def test_every_socket_of_a_robot_is_loopback(running):
    check_loopback(running)
