# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Nothing of a launched robot can be reached from another machine over TCP."""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path
import struct

from soro_system_tests.launched_robot import launched_robot
from soro_system_tests.process_figures import processes_below

LISTEN = '0A'  # state of a socket in /proc/net/tcp
VIEWER = 60.0  # s; it stands back behind the nodes that the robot waits for


def sockets_of(processes: dict[str, int]) -> set[str]:
    """Return the inodes of the sockets that some processes hold."""
    found = set()
    for pid in processes.values():
        for file in Path(f'/proc/{pid}/fd').glob('*'):
            try:
                target = os.readlink(file)
            except OSError:
                continue  # closed meanwhile
            if target.startswith('socket:['):
                found.add(target[8:-1])
    return found


def listeners() -> dict[str, ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """Return the address of every listening TCP socket of this machine, by inode."""
    found = {}
    for name in ('tcp', 'tcp6'):
        for line in Path(f'/proc/net/{name}').read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] != LISTEN:
                continue
            words = bytes.fromhex(fields[1].partition(':')[0])
            count = len(words) // 4
            # The kernel prints words of the machine's byte order.
            data = struct.pack(f'>{count}I', *struct.unpack(f'={count}I', words))
            address = ipaddress.ip_address(data)
            found[fields[9]] = getattr(address, 'ipv4_mapped', None) or address
    return found


def test_every_listener_of_a_robot_is_loopback(tmp_path):
    with launched_robot(['stiff_flop', 'viewer:=true'], tmp_path) as robot:

        def found():
            own = sockets_of(processes_below(robot.process.process.pid, robot.process.output))
            return [address for inode, address in listeners().items() if inode in own]

        robot.wait(lambda: len(found()) >= 2, VIEWER, 'the emulated card and the viewer')
        assert [str(a) for a in found() if not a.is_loopback] == []
        assert robot.process.stop() == 0, robot.process.output
