# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the emulated device of one robot listens.

Derived from the robot's namespace, so that two robots, two users and two ROS domains on one
machine never meet. No variable of the environment but ROS_DOMAIN_ID changes it: driver and
emulator meet from whatever shell or service they were started.
"""

from __future__ import annotations

from dataclasses import dataclass
import os
from pathlib import Path
import stat
import zlib

from soro_mechanics.core.errors import InvalidInput

FIRST_PORT, PORTS = 20000, 12000  # below the ports the kernel hands out by itself


@dataclass(frozen=True)
class Endpoint:
    """Loopback address of an emulator."""

    port: int  #: TCP port on 127.0.0.1 (gRPC, socketcand)
    path: Path  #: for links that are files (a pty's name); its folder belongs to this user

    @property
    def address(self) -> str:
        """Host and port."""
        return f'127.0.0.1:{self.port}'


def derive(namespace: str, device: str, port: int = 0) -> Endpoint:
    """Return the endpoint of the robot in a namespace; `port` overrides the derived one.

    The driver and the emulator call this with the same arguments and meet there. A clash of two
    derived ports shows as "address in use" when the second emulator starts; give it a port then.

    InvalidInput: the folder for links is there, and is not this user's alone.
    """
    domain = os.environ.get('ROS_DOMAIN_ID', '0')
    key = f'{os.getuid()}|{domain}|{namespace.strip("/")}|{device}'
    number = zlib.crc32(key.encode())
    runtime = Path('/run/user', str(os.getuid()))
    folder = (runtime if runtime.is_dir() else Path('/tmp')) / f'soro-{os.getuid()}'  # noqa: S108
    _check_private(folder)
    return Endpoint(port or FIRST_PORT + number % PORTS, folder / f'{device}-{number:08x}')


def make_private(folder: Path) -> None:
    """Make the folder of an endpoint for this user alone. Raises InvalidInput."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_private(folder)


def _check_private(folder: Path) -> None:
    """Refuse a folder, or a link, that another user has put where everybody may write."""
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return
    wanted = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if not wanted or found.st_mode & 0o077:
        raise InvalidInput(
            'endpoint',
            f'{stat.filemode(found.st_mode)} {folder} of user {found.st_uid}',
            'a folder that only this user may enter (drwx------); remove that one',
        )
