# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The lock of a device: for every user of the computer, and refusals that a person can read."""

from __future__ import annotations

import os
from pathlib import Path
import signal
import subprocess
import sys

import pytest

from soro_driver.device import DeviceError
from soro_driver.safety.device_lock import DeviceLock, hold_inherited

RESOURCE = f'test /dev/ttyUSB0 {os.getpid()}'
HOLD = """
import sys
from soro_driver.safety.device_lock import DeviceLock
use = DeviceLock(sys.argv[1])
use.acquire()
print('held', flush=True)
sys.stdin.read()
"""


def holder(resource=RESOURCE, **environment):
    """Start a process that has it."""
    process = subprocess.Popen(
        [sys.executable, '-c', HOLD, resource],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    assert process.stdout.readline() == 'held\n'
    return process


def test_one_has_it_until_it_gives_it_back():
    first, second = DeviceLock(RESOURCE), DeviceLock(RESOURCE)
    assert first.holder() is None
    first.acquire()
    first.acquire()
    with pytest.raises(DeviceError, match=f'in use by process {os.getpid()}'):
        second.acquire()
    first.release()
    second.acquire()
    second.release()


@pytest.mark.parametrize('resource', [RESOURCE, f'{RESOURCE} {"é" * 200}'])
def test_whatever_the_temporary_folder_and_home_are(resource, tmp_path):
    places = {name: str(tmp_path) for name in ('TMPDIR', 'HOME', 'XDG_RUNTIME_DIR')}
    with holder(resource, **places) as other:
        with pytest.raises(DeviceError, match=f'in use by process {other.pid}'):
            DeviceLock(resource).acquire()
        other.send_signal(signal.SIGKILL)
        other.wait()
        use = DeviceLock(resource)
        use.acquire()
        use.release()
    assert list(tmp_path.iterdir()) == []


def test_another_user_is_refused():
    with holder() as other:
        code = (
            'import os, sys; from soro_driver.safety.device_lock import *\n'
            'if os.geteuid() == 0: os.setuid(65534)\n'  # else another process is all there is
            'try: DeviceLock(sys.argv[1]).acquire()\n'
            'except DeviceError as error: print(error)\n'
        )
        said = subprocess.run(
            [sys.executable, '-c', code, RESOURCE], capture_output=True, text=True, check=True
        ).stdout
        assert f'in use by process {other.pid}' in said
        other.stdin.close()


def test_who_inherits_it_holds_it_when_the_first_has_gone():
    first = DeviceLock(RESOURCE)
    first.acquire()
    inherited = hold_inherited(os.dup(first.fileno()))
    first.release()
    with pytest.raises(DeviceError, match='in use by process'):
        first.acquire()
    inherited.close()
    first.acquire()
    first.release()


def test_asking_for_the_holder_disturbs_nobody():
    use = DeviceLock(RESOURCE)
    use.acquire()
    before = len(list(Path('/proc/self/fd').iterdir()))
    assert {DeviceLock(RESOURCE).holder() for _ in range(500)} == {os.getpid()}
    assert len(list(Path('/proc/self/fd').iterdir())) == before
    use.release()
    assert use.holder() is None
