# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A module of this package in a process of its own, which is asked through two pipes.

Loading, compiling and solving a model holds the interpreter for tens or hundreds of milliseconds;
a device that does not answer for so long counts as lost. So the device and its time run in the
emulator, and what needs a model is asked of such a process.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.connection import Connection
import os
import signal
import subprocess
import sys
from typing import Any

from soro_mechanics.core.errors import SoroError
from soro_node.process.parent_death import die_with_parent, OWN_GROUP


class WorkerProcess:
    """The emulator's side.

    - `module`: full name; as a program it calls `answer`.
    - `robot_file`, `device`: for the other side.

    Its attributes:
    - `error`: why it answers nothing any more; empty while it does.
    """

    def __init__(self, module: str, robot_file: str, device: str) -> None:
        self.error, self._due = '', True  # it says when it is loaded
        ours, theirs = os.pipe(), os.pipe()
        environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(p for p in sys.path if p)}
        arguments = [str(os.getpid()), robot_file, device, str(theirs[0]), str(ours[1])]
        self._process = subprocess.Popen(
            [sys.executable, '-m', module, *arguments],
            env=environment,
            pass_fds=(theirs[0], ours[1]),
            **OWN_GROUP,  # Ctrl-C is for the emulator, which ends this process
        )
        os.close(theirs[0])
        os.close(ours[1])
        self._answers = Connection(ours[0], writable=False)
        self._questions = Connection(theirs[1], readable=False)

    def ask(self, question: Any) -> bool:
        """Ask something, unless an answer is due; whether it was asked. Never waits."""
        if self.error or self._due:
            return False
        try:
            self._questions.send(question)
        except OSError:
            self.error = 'its process has ended'
        self._due = not self.error
        return self._due

    def answer(self) -> Any:
        """Return the answer that has come; None: none yet, or there is an `error`."""
        try:
            if self.error or not self._answers.poll():
                return None
            result = self._answers.recv()
        except (EOFError, OSError):
            self.error = 'its process has ended'
            return None
        self._due = False
        if isinstance(result, str):
            self.error, result = result, None
        return result

    def stop(self) -> None:
        """End the process."""
        self._questions.close()
        self._answers.close()
        self._process.kill()  # a frozen one would never hear of SIGTERM; it keeps nothing
        self._process.wait()


def answer(serve: Callable[[str, str, Connection, Connection], None]) -> None:
    """Be the other side: serve until the emulator is gone; an error is the last answer.

    The arguments of the process: that of the emulator, robot file, device, two file descriptors.

    - `serve`: gets robot file, device, questions and answers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent, robot_file, device, read_from, write_to = sys.argv[1:]
    # The end of the pipes would be noticed only after what is being computed or compiled.
    die_with_parent(signal.SIGKILL, int(parent))
    questions = Connection(int(read_from), writable=False)
    answers = Connection(int(write_to), readable=False)
    try:
        serve(robot_file, device, questions, answers)
    except (EOFError, BrokenPipeError):
        pass  # the emulator has ended
    except SoroError as error:
        answers.send(str(error))
