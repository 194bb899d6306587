# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the emulated device of one robot listens.

Derived from the robot's namespace, so that two robots, two users and two ROS domains on one
machine never meet.
"""

from __future__ import annotations

from dataclasses import dataclass
import os
from pathlib import Path
import tempfile
import zlib

FIRST_PORT, PORTS = 20000, 12000  # below the ports the kernel hands out by itself


@dataclass(frozen=True)
class Endpoint:
    """Loopback address of an emulator.

    Attributes
    ----------
    port : int
        TCP port on 127.0.0.1 (gRPC, socketcand).
    path : Path
        For links that are files (a pty's name); its folder belongs to this user.
    """

    port: int
    path: Path

    @property
    def address(self) -> str:
        """Host and port."""
        return f'127.0.0.1:{self.port}'


def derive(namespace: str, device: str, port: int = 0) -> Endpoint:
    """Return the endpoint of the robot in a namespace; `port` overrides the derived one.

    The driver and the emulator call this with the same arguments and meet there. A clash of two
    derived ports shows as "address in use" when the second emulator starts; give it a port then.
    """
    domain = os.environ.get('ROS_DOMAIN_ID', '0')
    key = f'{os.getuid()}|{domain}|{namespace.strip("/")}|{device}'
    number = zlib.crc32(key.encode())
    runtime = os.environ.get('XDG_RUNTIME_DIR') or tempfile.gettempdir()
    folder = Path(runtime) / f'soro-{os.getuid()}'
    return Endpoint(port or FIRST_PORT + number % PORTS, folder / f'{device}-{number:08x}')
