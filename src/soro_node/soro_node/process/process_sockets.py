# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""At which addresses processes of this machine can be reached, from /proc (proc(5))."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
import ipaddress
import os
from pathlib import Path
import struct

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
LISTEN = '0A'  # state of a listening socket in /proc/net/tcp; UDP has no such state
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
    bound = dict(_bound())
    if pids is None:
        pids = [int(entry.name) for entry in Path('/proc').glob('[0-9]*')]
    for pid in pids:
        try:
            command = Path(f'/proc/{pid}/comm').read_text().strip()
            files = list(Path(f'/proc/{pid}/fd').iterdir())
        except OSError:
            continue  # it has ended, or belongs to somebody else
        for file in files:
            try:
                inode = os.readlink(file).removeprefix('socket:[').removesuffix(']')
            except OSError:
                continue  # closed meanwhile
            if inode in bound:
                yield BoundSocket(pid, command, *bound[inode])


def _bound() -> Iterator[tuple[str, tuple[str, Address, int]]]:
    for name in ('tcp', 'tcp6', 'udp', 'udp6'):
        table = Path(f'/proc/net/{name}')
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            fields = line.split()
            protocol = name[:3]
            if protocol == 'tcp' and fields[3] != LISTEN:
                continue
            host, _, port = fields[1].partition(':')
            words = bytes.fromhex(host)
            count = len(words) // 4
            # The kernel prints words of the machine's byte order.
            data = struct.pack(f'>{count}I', *struct.unpack(f'={count}I', words))
            address = ipaddress.ip_address(data)
            mapped = getattr(address, 'ipv4_mapped', None)
            yield fields[9], (protocol, mapped or address, int(port, 16))
