# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How processes are started and end together: no process of a robot outlives its launcher.

A launcher names itself to its nodes in the environment variable `LAUNCHER`; launch files do it for
`ros2 launch`. A node that was started so ends when that process is gone, however it went and
however early: the kernel signals the end of a parent only to those who asked before it, so
whoever has asked looks afterwards whether it is still there. A node started by hand knows no
launcher and goes on (a driver ends with whoever started it, unless under nohup).
"""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import ctypes
import os
from pathlib import Path
import select
import signal
import sys
import threading
from typing import Any

LAUNCHER = 'SORO_LAUNCHER'
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_PARENT = 1  # field of /proc/<pid>/stat behind the name and the state
# Looked up before any fork: between fork and exec nothing may be loaded.
_prctl = ctypes.CDLL(None).prctl if sys.platform == 'linux' else None


def die_with_parent(number: int = signal.SIGINT, parent: int | None = None) -> None:
    """Have the kernel send a signal when the thread that started this process ends (Linux).

    Does nothing where there is no prctl.

    - `parent`: process id of who started it. Where it is gone already, this process ends here and
      now.
    """
    if _prctl is None:
        return
    _prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def until_parent_dies(own_group: bool = False) -> Callable[[], None]:
    """Return a `preexec_fn` by which a child ends with this process.

    - `own_group`: the child leaves the process group: a Ctrl-C then reaches this process only,
      which passes it on.
    """
    parent = os.getpid()

    def prepare() -> None:
        if own_group:
            os.setpgid(0, 0)
        die_with_parent(parent=parent)

    return prepare


# Options of Popen for a process group of its own, where there are threads already: a `preexec_fn`
# is not safe beside them, and Python 3.10 knows no other way.
OWN_GROUP: dict[str, Any] = (
    {'process_group': 0} if sys.version_info >= (3, 11) else {'preexec_fn': os.setpgrp}
)


def launcher() -> int | None:
    """Return the process id of the launcher; None for a process that was started by hand."""
    text = os.environ.get(LAUNCHER, '')
    return int(text) if text.isdecimal() else None


def launcher_lives() -> bool:
    """Whether the launcher is still above this process; True where there is none."""
    pid = launcher()
    return pid is None or sys.platform != 'linux' or pid in _ancestors()


def end_with_launcher() -> None:
    """End with the launcher, where there is one: with SIGTERM, or at once where it has gone."""
    pid = launcher()
    if pid is None or _prctl is None:
        return
    parent = os.getppid()
    die_with_parent(signal.SIGTERM)
    if not launcher_lives():
        with contextlib.suppress(OSError):  # who would read it is gone as well
            os.write(2, f'error: not started: the launcher (process {pid}) has ended\n'.encode())
        os._exit(1)
    if parent != pid:  # a launch-prefix stands between (gdb, xterm), which may go on without it
        with contextlib.suppress(OSError):  # a kernel before 5.3
            descriptor = os.pidfd_open(pid)
            threading.Thread(target=_end_after, args=(descriptor,), daemon=True).start()


def _end_after(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    poll.poll()
    os.kill(os.getpid(), signal.SIGTERM)


def _ancestors() -> set[int]:
    """Return the process ids above this one, as far as they can be seen."""
    found = set()
    pid = os.getppid()
    while pid > 0 and pid not in found:
        found.add(pid)
        try:
            stat = Path(f'/proc/{pid}/stat').read_text(encoding='ascii', errors='replace')
        except OSError:
            break
        pid = int(stat.rsplit(')', 1)[1].split()[_PARENT])
    return found
