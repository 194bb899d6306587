# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Models of a robot that are not compiled yet, compiled by a process beside its nodes.

A robot has up to five models and a node uses one of them at once. On a fresh machine the others
would hold its start up for minutes; and compiling in a thread would hold the node's streams up.

Of all nodes of a robot one has that process: it holds a lock, and the others do without. Should
it end early, with its node, the next one that is asked for a model goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time

from soro_mechanics import load_robot
from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.robot import Robot
from soro_node.process.parent_death import die_with_parent
from soro_node.process.warm_up import is_compiled, open_lock, robot_key, warm_up

MIN_PRIORITY = 19


class BackgroundCompilation:
    """Compiles models in a child process, one for all nodes of a robot; it ends with its node.

    `file`: the robot file; `models`: not compiled yet.
    """

    def __init__(self, file: str, models: Iterable[str]) -> None:
        self.models = set(models)
        self._begin = time.monotonic()
        self._file = str(file)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        if self.models:
            self._start()

    def require(self, robot: Robot) -> None:
        """Load the kernels of a model that has been waited for.

        Should the process have ended without them, they are compiled here.

        SoroError: BUSY: not ready yet.
        """
        model = robot.model
        with self._lock:
            if model not in self.models:
                return
            if not is_compiled(self._file, model) and self._running():
                seconds = time.monotonic() - self._begin
                raise SoroError(
                    f'the kernels of model {model} are being compiled, once, for {seconds:.0f} s '
                    'now; ask again in a minute',
                    Code.BUSY,
                )
            warm_up(robot)
            self.models.discard(model)

    def _running(self) -> bool:
        """Whether the process of a node, this one or another, compiles; if none has, begin."""
        if self._process is None:
            self._start()
            return True
        return self._process.poll() is None

    def _start(self) -> None:
        """Start the process, unless another node of this robot has it."""
        with contextlib.ExitStack() as stack:
            lock = open_lock(f'models-{robot_key(self._file)}.lock')
            if lock is not None:
                stack.enter_context(lock)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return
            module, parent = 'soro_node.process.background_compilation', str(os.getpid())
            self._process = subprocess.Popen(
                [sys.executable, '-m', module, parent, self._file, *sorted(self.models)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # The lock is the process's from now on, and free however it ends.
                pass_fds=() if lock is None else (lock.fileno(),),
            )
            # Somebody has to take note of its end; else it stays in the table of processes.
            threading.Thread(target=self._process.wait, daemon=True).start()


def main(parent: int, file: str, models: Sequence[str]) -> None:
    """Compile at low priority what is not compiled yet, and end with the node that asked."""
    die_with_parent(signal.SIGTERM, parent)
    os.nice(MIN_PRIORITY)
    for model in models:
        if not is_compiled(file, model):
            warm_up(load_robot(file, model))


if __name__ == '__main__':
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
