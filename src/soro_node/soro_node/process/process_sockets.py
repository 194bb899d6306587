# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""At which addresses processes of this machine can be reached."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
import ipaddress
import socket

import psutil

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# Ports of a DDS domain: OMG DDSI-RTPS 2.5, 9.6.2.
FIRST_PORT, DOMAIN_GAIN = 7400, 250


@dataclass(frozen=True)
class BoundSocket:
    """A UDP socket, or a listening TCP socket, of a process."""

    pid: int
    command: str  #: name of the process
    protocol: str  #: ``udp`` or ``tcp``
    address: Address  #: or ipaddress.IPv6Address
    port: int

    def __str__(self) -> str:
        """Return who listens where."""
        where = f'{self.protocol} {self.address}:{self.port}'
        return f'{self.command} (process {self.pid}) at {where}'


def dds_ports(domain: int) -> range:
    """Return the ports at which DDS participants of a domain receive."""
    begin = FIRST_PORT + DOMAIN_GAIN * domain
    return range(begin, begin + DOMAIN_GAIN)


def sockets_of_processes(pids: Iterable[int] | None = None) -> Iterator[BoundSocket]:
    """Yield the sockets of processes; default: of all whose files may be read."""
    for pid in psutil.pids() if pids is None else pids:
        try:
            process = psutil.Process(pid)
            command, connections = process.name(), process.net_connections('inet')
        except psutil.Error:
            continue  # it has ended, or belongs to somebody else
        for each in connections:
            udp = each.type == socket.SOCK_DGRAM
            if each.laddr and (udp or each.status == psutil.CONN_LISTEN):
                address = ipaddress.ip_address(each.laddr.ip)
                address = getattr(address, 'ipv4_mapped', None) or address
                yield BoundSocket(pid, command, 'udp' if udp else 'tcp', address, each.laddr.port)
