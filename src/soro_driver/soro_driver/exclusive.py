# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One driver per device: a file lock that the kernel takes back when its process ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
import re
import tempfile

from soro_driver.device import DeviceError, DeviceInUse

LOOPBACK = ('localhost', '127.0.0.1', '::1', '[::1]')


def is_loopback(host: str) -> bool:
    """Whether a host is this computer, so that its devices may be local ones by another name."""
    return host.lower() in LOOPBACK


class ExclusiveUse:
    """The right to use a device, among the processes of this computer.

    Parameters
    ----------
    resource : str
        Names the hardware the same way in every process: 'nidaq local Dev1', '/dev/ttyUSB0'.
    """

    def __init__(self, resource: str) -> None:
        self._resource = resource
        name = re.sub(r'[^\w.-]+', '_', resource)
        self._path = Path(tempfile.gettempdir()) / f'soro_{name}.lock'
        self._file = -1

    def acquire(self) -> None:
        """Take it.

        Raises
        ------
        DeviceInUse
            Another process has it; its process id is in the message.
        DeviceError
            The lock cannot be taken.
        """
        if self._file >= 0:
            return
        try:
            file = self._open()
        except OSError as error:
            raise DeviceError(f'{self._resource}: {error}; remove that file') from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.pread(file, 32, 0).decode(errors='replace').strip() or 'unknown'
            os.close(file)
            raise DeviceInUse(f'{self._resource} is in use by process {owner}') from None
        os.ftruncate(file, 0)
        os.pwrite(file, f'{os.getpid()}\n'.encode(), 0)
        self._file = file

    def _open(self) -> int:
        """Open the file for every user of the computer: another one may have made it."""
        flags = os.O_RDWR | os.O_CLOEXEC
        try:
            return os.open(self._path, flags)  # Linux creates nothing anew in /tmp that is there
        except FileNotFoundError:
            pass
        try:
            file = os.open(self._path, flags | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:  # by another process, just now
            return os.open(self._path, flags)
        os.fchmod(file, 0o666)  # whatever the mask of this user
        return file

    def release(self) -> None:
        """Give it back."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
