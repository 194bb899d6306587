# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The lock of a device: for every user of the computer, and refusals that a person can read."""

from __future__ import annotations

import errno
import os
import stat
import tempfile

import pytest
from soro_driver.device import DeviceError
from soro_driver.exclusive import ExclusiveUse

RESOURCE = 'serial /dev/ttyUSB0'


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    return tmp_path


def lock_file(folder):
    (file,) = folder.iterdir()
    return file


def test_one_has_it_until_it_gives_it_back():
    first, second = ExclusiveUse(RESOURCE), ExclusiveUse(RESOURCE)
    first.acquire()
    first.acquire()
    with pytest.raises(DeviceError, match=f'in use by process {os.getpid()}'):
        second.acquire()
    first.release()
    second.acquire()
    second.release()


def test_the_file_is_for_all_whatever_the_mask_of_who_came_first(folder):
    mask = os.umask(0o077)
    try:
        use = ExclusiveUse(RESOURCE)
        use.acquire()
    finally:
        os.umask(mask)
    assert stat.S_IMODE(lock_file(folder).stat().st_mode) == 0o666
    use.release()


def test_a_file_of_another_user_is_opened_without_creating_it(folder, monkeypatch):
    """Linux refuses O_CREAT on it in /tmp, even to root (fs.protected_regular)."""
    other = ExclusiveUse(RESOURCE)
    other.acquire()
    other.release()
    real = os.open

    def protected(path, flags, *mode):
        if flags & os.O_CREAT and os.path.exists(path) and not flags & os.O_EXCL:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path, flags, *mode)

    monkeypatch.setattr(os, 'open', protected)
    use = ExclusiveUse(RESOURCE)
    use.acquire()
    with pytest.raises(DeviceError, match='in use by process'):
        ExclusiveUse(RESOURCE).acquire()
    use.release()


def test_a_file_that_cannot_be_opened_is_said(folder):
    use = ExclusiveUse(RESOURCE)
    use.acquire()
    use.release()
    file = lock_file(folder)
    file.unlink()
    file.mkdir()
    with pytest.raises(DeviceError, match=r'ttyUSB0.*remove'):
        ExclusiveUse(RESOURCE).acquire()
