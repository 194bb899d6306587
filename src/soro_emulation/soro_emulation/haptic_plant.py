# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The body of an emulated haptic device with a hand on it, in a process of its own.

Motor angles and what the hand does go in, elongations of the flex strips come back. As for
`body_process`: compiling and solving the model must not hold up the device's wire.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
import os
import signal
import subprocess
import sys
import threading

import numpy as np
from numpy.typing import NDArray
from soro_mechanics.errors import SoroError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Hand:
    """A hand that is a spring to a place; without stiffness it only presses.

    Attributes
    ----------
    place : ndarray, shape (5,) [m, rad]
        Along x, y, z and about the two axes across the handle.
    stiffness : ndarray, shape (5,) [N/m, N m/rad]
    force : ndarray, shape (5,) [N, N m]
    times : ndarray, shape (n,) [s, CLOCK_MONOTONIC]
        Of a way that the place follows in straight lines; empty: it stays at `place`.
    way : ndarray, shape (n, 5)
    """

    place: Array
    stiffness: Array
    force: Array
    times: Array = field(default_factory=lambda: np.zeros(0))
    way: Array = field(default_factory=lambda: np.zeros((0, 5)))

    def at(self, time: float) -> Hand:
        """Return the hand that stands still where this one is at a time [s]."""
        if not self.times.size:
            return self
        place = np.array([np.interp(time, self.times, column) for column in self.way.T])
        return Hand(place, self.stiffness, self.force)


RELEASED = Hand(np.zeros(5), np.zeros(5), np.zeros(5))


@dataclass(frozen=True)
class PlantState:
    """Answer of the plant: elongations [m], where the handle is, the hand's wrench on it."""

    elongation: Array
    place: Array
    wrench: Array


class HapticPlant:
    """The perturbed device in balance with a hand, quasi-static."""

    def __init__(self, robot_file: str, device: str) -> None:
        # Only here, in the process of the plant: scipy and numba.
        from soro_mechanics.haptic_device import HapticDevice
        from soro_mechanics.lie import so3_log
        from soro_mechanics.robot_file import read_robot_file

        from soro_emulation.emulator_settings import read_emulator_settings
        from soro_emulation.perturbation import perturbed_robot

        robot = read_robot_file(robot_file)
        settings = read_emulator_settings(robot, device)
        self._device = HapticDevice(perturbed_robot(robot, settings.body))
        self._log = so3_log
        self.force = np.zeros(5)

    def place(self) -> Array:
        """Return where the handle is, in the coordinates of `Hand.place`."""
        p = self._device.ports
        return p.axes.T @ np.concatenate([p.pose[:3, 3], self._log(p.pose[:3, :3])])

    def update(self, angle: Array, hand: Hand, wrench: Array | None = None) -> PlantState:
        """Move to motor angles, shape (6,) [rad], with a hand and a wrench, shape (6,), on it."""
        p = self._device.ports
        outside = np.zeros(5) if wrench is None else p.axes.T @ wrench
        jacobian = p.ea @ np.linalg.inv(p.aa)
        held = p.ee - jacobian @ p.ae
        ahead = self.place() + jacobian @ (angle - p.angle)
        grip = np.diag(hand.stiffness)
        # Balance of the hand's spring with the device, on the last linearisation.
        pull = outside + hand.force + grip @ (hand.place - ahead + held @ p.force)
        self.force = np.linalg.solve(np.eye(5) + grip @ held, pull)
        self._device.update(angle, self.force)
        p = self._device.ports
        return PlantState(p.sensor.copy(), self.place(), p.axes @ p.force)


class HapticPlantProcess:
    """The emulator's side; `error` says why there is no plant, empty while there is one."""

    def __init__(self, robot_file: str, device: str, sensors: int) -> None:
        self.error = ''
        self.state = PlantState(np.zeros(sensors), np.zeros(5), np.zeros(6))
        self.ready = False
        self._lock = threading.Lock()
        self._waiting = True  # for the plant to say that it is loaded
        ours, theirs = os.pipe(), os.pipe()
        environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(p for p in sys.path if p)}
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'soro_emulation.haptic_plant', robot_file, device,
             str(theirs[0]), str(ours[1])],
            env=environment, pass_fds=(theirs[0], ours[1]), start_new_session=True,
        )  # fmt: skip
        os.close(theirs[0])
        os.close(ours[1])
        self._answers = Connection(ours[0], writable=False)
        self._questions = Connection(theirs[1], readable=False)

    def update(self, angle: Array, hand: Hand, wrench: Array) -> bool:
        """Take an answer that has come, and ask again; never waits. Safe from any thread.

        Returns
        -------
        bool
            Whether `state` is new.
        """
        with self._lock:
            if self.error:
                return False
            try:
                return self._exchange(angle, hand, wrench)
            except (EOFError, OSError):
                self.error = 'the process of the plant has ended'
                return False

    def _exchange(self, angle: Array, hand: Hand, wrench: Array) -> bool:
        new = False
        if self._waiting and self._answers.poll():
            answer = self._answers.recv()
            if isinstance(answer, str):
                self.error = answer
                return False
            self.state, self.ready = PlantState(*answer), True
            self._waiting, new = False, True
        if not self._waiting:
            self._questions.send((angle, hand, wrench))
            self._waiting = True
        return new

    def stop(self) -> None:
        """End the process."""
        self._questions.close()
        self._answers.close()
        self._process.terminate()
        self._process.wait()


def serve(robot_file: str, device: str, questions: Connection, answers: Connection) -> None:
    """Load the plant, answer once for the rest shape, then whatever is asked."""
    plant = HapticPlant(robot_file, device)
    answers.send(_parts(plant.update(np.zeros(6), RELEASED)))
    while True:
        answers.send(_parts(plant.update(*questions.recv())))


def _parts(state: PlantState) -> tuple[Array, Array, Array]:
    """Return what travels: this module is `__main__` there, so its classes have another name."""
    return state.elongation, state.place, state.wrench


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the process: robot file, device, two file descriptors."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
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
