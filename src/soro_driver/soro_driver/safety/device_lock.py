# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One driver per device: a name that the kernel takes back when its last holder ends.

The name is that of an abstract Unix socket (unix(7)). No file stands for it, so neither TMPDIR
nor a folder of one's own, another user or a link in /tmp makes two locks of one. Whoever has
another network namespace has other names: docs/hardware.md says what containers cannot share.
"""

from __future__ import annotations

import errno
import hashlib
import socket
import struct

from soro_driver.device import DeviceError, DeviceInUse

LOOPBACK = ('localhost', '127.0.0.1', '::1', '[::1]')
LONGEST = 100  # bytes of a name; the kernel takes 107
WAITING = 4096  # who asked for the holder stays in its queue: nobody takes them out
CREDENTIALS = struct.Struct('3i')  # process, user, group


def is_loopback(host: str) -> bool:
    """Whether a host is this computer, so that its devices may be local ones by another name."""
    return host.lower() in LOOPBACK


class DeviceLock:
    """The right to use a device, among the processes of this computer.

    - `resource`: names the hardware the same way in every process: 'nidaq local Dev1',
      '/dev/ttyUSB0'.
    """

    def __init__(self, resource: str) -> None:
        self._resource = resource
        name = resource.encode()
        if len(name) > LONGEST:
            name = hashlib.sha256(name).hexdigest().encode()
        self._address = b'\0soro/' + name
        self._socket: socket.socket | None = None

    def acquire(self) -> None:
        """Take it.

        DeviceInUse: another process has it; its process id is in the message.
        DeviceError: it cannot be taken.
        """
        if self._socket is not None:
            return
        holder = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            holder.bind(self._address)
            holder.listen(WAITING)
        except OSError as error:
            holder.close()
            if error.errno != errno.EADDRINUSE:
                raise DeviceError(f'{self._resource}: {error}') from None
            raise DeviceInUse(
                f'{self._resource} is in use by process {self.holder() or "unknown"}'
            ) from None
        self._socket = holder

    def holder(self) -> int | None:
        """Return the process that has it; 0: not known which, None: nobody."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as question:
            question.setblocking(False)
            try:
                question.connect(self._address)
            except ConnectionRefusedError:
                return None
            except OSError:
                return 0
            found = question.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
        return int(CREDENTIALS.unpack(found)[0])

    def fileno(self) -> int:
        """Return the descriptor that another process may inherit: it then holds on as well."""
        return -1 if self._socket is None else self._socket.fileno()

    def release(self) -> None:
        """Give it back."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def hold_inherited(descriptor: int) -> socket.socket:
    """Hold what another process has handed on, in the name of this one."""
    holder = socket.socket(fileno=descriptor)
    holder.listen(WAITING)  # from here on `holder` tells of this process
    return holder
