# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The body of the emulated robot in a process of its own, asked one request at a time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing.connection import Connection
import os
import time
from typing import Any

import numpy as np

from soro_emulation.body_time import BodyTime
from soro_emulation.device_emulator import Array
from soro_emulation.worker_process import answer, WorkerProcess
from soro_mechanics.core.configuration import Configuration

NICE = 5  # the device comes first on a busy computer


class BodyProcess(WorkerProcess):
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
        super().__init__('soro_emulation.body_process', robot_file, device)

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
            self._questions.send((actuation, wrench, time.monotonic()))
        except OSError:
            self.error = 'the process of the body has ended'
            return False
        self._asked = tag
        return True

    def answer(self) -> tuple[Any, Configuration, BodyTime | None] | None:
        """Return the tag, the shape and the body's time, None of a body without inertia.

        None when there is no answer yet.
        """
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
        return None if result is None else (tag, *result)


def serve(robot_file: str, device: str, questions: Connection, answers: Connection) -> None:
    """Load the body, say so, and answer until the emulator is gone."""
    # Only here, in this process: scipy and numba.
    from soro_emulation.emulated_body import EmulatedBody
    from soro_emulation.emulator_settings import read_emulator_settings
    from soro_emulation.moving_body import MovingBody
    from soro_mechanics.robot_file.reader import read_robot_file

    robot = read_robot_file(robot_file)
    properties = read_emulator_settings(robot, device).body
    body: EmulatedBody | MovingBody = EmulatedBody(robot, properties)
    body.configuration(np.array([a.rest for a in robot.actuators]))
    loading = None  # its kernels compile for minutes the first time: in equilibrium until then
    if properties.plant == 'dynamic':
        loading = ThreadPoolExecutor(1).submit(MovingBody, robot, properties)
    answers.send(None)
    while True:
        actuation, wrench, now = questions.recv()
        if loading is not None and loading.done():
            body, loading = loading.result(), None
        body.set_wrench(wrench)
        if isinstance(body, MovingBody):
            answers.send((body.configuration(actuation, now), body.time))
        else:
            # the state of the solver is large
            answers.send((replace(body.configuration(actuation), state=None), None))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the process: robot file, device, two file descriptors."""
    os.nice(NICE)
    answer(serve, arguments)


if __name__ == '__main__':
    main()
