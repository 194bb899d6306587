# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Models of a robot that are not compiled yet, compiled by a process beside a node.

A robot has up to five models and a node uses one of them at once. On a fresh machine the others
would hold its start up for minutes; and compiling in a thread would hold the node's streams up.
"""

from __future__ import annotations

from collections.abc import Iterable
import subprocess
import sys
import threading
import time

from soro_mechanics.errors import SoroError
from soro_mechanics.robot import Robot
from soro_mechanics.status import Code

from soro_node.warm_up import is_compiled, warm_up


class ModelCompiling(SoroError):
    """A model is asked for whose kernels are being compiled."""

    code = Code.BUSY


class BackgroundCompilation:
    """Compiles models in a child process; the process ends with the node.

    Parameters
    ----------
    file : str
        The robot file.
    models : iterable of str
        Not compiled yet.
    """

    def __init__(self, file: str, models: Iterable[str]) -> None:
        self.models = set(models)
        self._begin = time.monotonic()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        if self.models:
            command = [sys.executable, '-m', 'soro_node.warm_up', str(file), *sorted(self.models)]
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip

    def require(self, robot: Robot) -> None:
        """Load the kernels of a model that has been waited for.

        Should the process have ended without them, they are compiled here.

        Raises
        ------
        ModelCompiling
            Not ready yet.
        """
        model = robot.model
        with self._lock:
            if model not in self.models:
                return
            running = self._process is not None and self._process.poll() is None
            if running and not is_compiled(robot):
                seconds = time.monotonic() - self._begin
                raise ModelCompiling(
                    f'the kernels of model {model} are being compiled, once, for {seconds:.0f} s '
                    'now; ask again in a minute'
                )
            warm_up(robot)
            self.models.discard(model)
