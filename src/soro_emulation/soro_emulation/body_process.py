# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The body of the emulated robot in a process of its own, asked one request at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing.connection import Connection
import os
import time
from typing import Any

from soro_emulation.body_time import BodyTime
from soro_emulation.device_emulator import Array
from soro_emulation.perturbation import NETWORK
from soro_emulation.worker_process import answer, WorkerProcess
from soro_mechanics.core.configuration import Configuration

NICE = 5  # the device comes first on a busy computer


class BodyProcess(WorkerProcess):
    """The emulator's side: of actuation (m,) and wrench (6,) at the tip, axes of base_link [SI].

    Its answers are a Configuration, the body's time, None of a body without inertia, and what it
    does to its actuators, see `DeviceEmulator.bear`.
    """

    def __init__(self, robot_file: str, device: str) -> None:
        self._tag: Any = None
        super().__init__('soro_emulation.body_process', robot_file, device)

    def ask_shape(self, actuation: Array, wrench: Array, tag: Any) -> bool:
        """Ask for the shape, unless an answer is due; whether it was asked."""
        asked = self.ask((actuation, wrench, time.monotonic()))
        self._tag = tag if asked else self._tag
        return asked

    def shape(self) -> tuple[Any, Configuration, BodyTime | None, Array] | None:
        """Return the tag of the question and the answer; None when there is no answer yet."""
        result = self.answer()
        return None if result is None else (self._tag, *result)


def serve(robot_file: str, device: str, questions: Connection, answers: Connection) -> None:
    """Load the body, say so, and answer until the emulator is gone."""
    # Only here, in this process: scipy and numba.
    from soro_emulation.emulated_body import EmulatedBody
    from soro_emulation.emulator_settings import read_emulator_settings
    from soro_emulation.moving_body import MovingBody
    from soro_mechanics.robot_file.reader import read_robot_file

    robot = read_robot_file(robot_file)
    properties = read_emulator_settings(robot, device).body
    body = EmulatedBody(robot, properties)
    body.configuration(robot.rest)
    loading = None  # its kernels compile for minutes the first time: in equilibrium until then
    if properties.plant == 'dynamic':
        loading = ThreadPoolExecutor(1).submit(MovingBody, robot, properties)
    answers.send(None)
    while True:
        actuation, wrench, now = questions.recv()
        if loading is not None and loading.done():
            body, loading = loading.result(), None
        body.set_wrench(wrench)
        moving = isinstance(body, MovingBody)
        q = body.configuration(actuation, now) if moving else body.configuration(actuation)
        found = reaction(body, q)
        # the state of the solver is large
        answers.send((replace(q, state=None), body.time if moving else None, found))


def reaction(body: Any, q: Configuration) -> Array:
    """Return what a body does to its actuators where it is, (m,), see `DeviceEmulator.bear`."""
    from soro_mechanics.actuator_models.chamber_volume import chamber_volumes
    from soro_mechanics.models.network.drive_values import drive_efforts

    out = chamber_volumes(body.robot.description.structure, q)
    turned = [a.quantity in ('length', 'angle') for a in body.robot.actuators]
    if any(turned) and q.model == NETWORK and q.status.converged:
        of = body.stepper if q.state is None else q.state.linearisation
        effort = drive_efforts(of, q.actuation)
        out[turned] = body.friction.borne(effort, q.actuation)[turned]
    return out


if __name__ == '__main__':
    os.nice(NICE)
    answer(serve)
