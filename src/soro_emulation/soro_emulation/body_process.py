# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The body of the emulated robot in a process of its own.

Loading, compiling and solving a model holds the interpreter for tens or hundreds of milliseconds;
a device that does not answer for so long counts as lost. So the device and its time run in the
emulator, and the shape is asked of this process, one request at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
import os
import signal
import subprocess
import sys
from typing import Any

import numpy as np
from soro_mechanics.configuration import Configuration
from soro_mechanics.errors import SoroError
from soro_node.parent_death import OWN_GROUP

from soro_emulation.device_emulator import Array

NICE = 5  # the device comes first on a busy computer


class BodyProcess:
    """The emulator's side.

    Parameters
    ----------
    robot_file : str
    device : str
        Name of the device, to read its part of the section ``emulator``.

    Attributes
    ----------
    error : str
        Why there is no body; empty while there is one.
    """

    def __init__(self, robot_file: str, device: str) -> None:
        self.error = ''
        self._asked: Any = 'loading'
        ours, theirs = os.pipe(), os.pipe()
        environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(p for p in sys.path if p)}
        arguments = [robot_file, device, str(theirs[0]), str(ours[1])]
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'soro_emulation.body_process', *arguments],
            env=environment,
            pass_fds=(theirs[0], ours[1]),
            **OWN_GROUP,  # Ctrl-C is for the emulator, which ends this process
        )
        os.close(theirs[0])
        os.close(ours[1])
        self._answers = Connection(ours[0], writable=False)
        self._questions = Connection(theirs[1], readable=False)

    def ask(self, actuation: Array, wrench: Array, tag: Any) -> bool:
        """Ask for the shape, unless an answer is due; whether it was asked.

        Parameters
        ----------
        actuation : ndarray, shape (m,)
            What the actuators really do [SI].
        wrench : ndarray, shape (6,)
            At the tip, axes of base_link [N, N m].
        tag : object
            Comes back with the answer.
        """
        if self.error or self._asked is not None:
            return False
        try:
            self._questions.send((actuation, wrench))
        except OSError:
            self.error = 'the process of the body has ended'
            return False
        self._asked = tag
        return True

    def answer(self) -> tuple[Any, Configuration] | None:
        """Return the answer that has come, with its tag; None when there is none yet."""
        try:
            if self.error or not self._answers.poll():
                return None
            result = self._answers.recv()
        except (EOFError, OSError):
            self.error = self.error or 'the process of the body has ended'
            return None
        tag, self._asked = self._asked, None
        if isinstance(result, str):
            self.error = result
            return None
        return None if result is None else (tag, result)

    def stop(self) -> None:
        """End the process."""
        self._questions.close()
        self._answers.close()
        self._process.terminate()
        self._process.wait()


def serve(robot_file: str, device: str, questions: Connection, answers: Connection) -> None:
    """Load the body, say so, and answer until the emulator is gone."""
    # Only here, in this process: scipy and numba.
    from soro_mechanics.robot_file import read_robot_file

    from soro_emulation.emulated_body import EmulatedBody
    from soro_emulation.emulator_settings import read_emulator_settings

    robot = read_robot_file(robot_file)
    body = EmulatedBody(robot, read_emulator_settings(robot, device).body)
    body.configuration(np.array([a.rest for a in robot.actuators]))
    answers.send(None)
    while True:
        actuation, wrench = questions.recv()
        body.set_wrench(wrench)
        # The state of the solver is large and nobody's business outside.
        answers.send(replace(body.configuration(actuation), state=None))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the process: robot file, device, two file descriptors."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICE)
    robot_file, device, read_from, write_to = arguments or sys.argv[1:]
    questions = Connection(int(read_from), writable=False)
    answers = Connection(int(write_to), readable=False)
    try:
        serve(robot_file, device, questions, answers)
    except (EOFError, BrokenPipeError):
        pass  # the emulator has ended
    except SoroError as error:
        answers.send(str(error))


if __name__ == '__main__':
    main()
