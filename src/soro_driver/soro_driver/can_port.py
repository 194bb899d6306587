# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where a CAN bus is: keys that the sections of all devices on one have alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from soro_driver.endpoint import Endpoint
from soro_driver.safety.device_lock import is_loopback
from soro_mechanics.robot_file.section import Section

SERVER_PORT = 29536  # where a socketcand server listens unless it is told otherwise
FRAME_BITS = 127  # of a classic frame of eight bytes: 111 and stuffing, on average
MAX_LOAD = 0.9  # of a bus
Port = TypeVar('Port', bound='CanPort')
Raw = tuple[int, bytes]  # a frame: identifier and data


@dataclass(frozen=True)
class CanPort:
    """One bus, as a computer reaches it."""

    #: interface, channel: of python-can: 'socketcan' with 'can0', 'socketcand' with a host, ..
    interface: str
    channel: str
    #: host, port: int; of a socketcand server; not used by other interfaces
    host: str
    port: int
    #: bitrate, data_bitrate: [bit/s]
    bitrate: int
    data_bitrate: int
    framing: str  #: 'classic', or 'fd'

    @property
    def resource(self) -> str:
        """The name of the bus, the same for every driver of this computer."""
        if self.interface != 'socketcand':
            return f'can {self.interface} {self.channel}'
        host = 'localhost' if is_loopback(self.host) else self.host.lower()
        if (host, self.port) == ('localhost', SERVER_PORT):
            return f'can socketcan {self.channel}'  # it serves the interfaces of this computer
        # At another port of this computer are emulators and tunnels: buses of their own.
        return f'can socketcand {host}:{self.port} {self.channel}'

    def emulated(self: Port, endpoint: Endpoint) -> Port:
        """Return the same at the server of an emulator."""
        return replace(self, interface='socketcand', host='127.0.0.1', port=endpoint.port)


def read_port(section: Section, framings: Sequence[str]) -> CanPort:
    """Read the keys of a bus whose frames may be `framings`."""
    return CanPort(
        section.text('interface'),
        section.text('channel'),
        section.text('host', '127.0.0.1'),
        section.integer('port', SERVER_PORT, minimum=1),
        section.integer('bitrate', 1_000_000, minimum=10_000),
        section.integer('data_bitrate', 5_000_000, minimum=10_000) if 'fd' in framings else 0,
        section.text('framing', framings[0], choices=framings) if framings[1:] else framings[0],
    )
