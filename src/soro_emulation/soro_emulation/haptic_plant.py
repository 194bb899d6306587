# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The body of an emulated haptic device with a hand on it, in a process of its own.

Motor angles and what the hand does go in, elongations of the flex strips come back.

Handle and legs have mass and damping and move in real time
(`soro_mechanics.haptics.held_handle`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
import gc
from multiprocessing.connection import Connection
import threading
import time
from typing import NamedTuple

import numpy as np

from soro_emulation.body_time import BodyTime
from soro_emulation.worker_process import answer, WorkerProcess
from soro_mechanics.core.configuration import Array
from soro_mechanics.robot_file.section import Section

# A plant that was held up for longer than this loses time: it must not run after its host [s].
MAX_STALL = 0.1
# s: damping over stiffness of a hand that gives no damping; a firm grip's, assumed. A hand that is
# a spring alone would be steel: no device renders stiff objects to it.
GRIP_TIME = 0.01
DAMPING_RATIO = 0.05  # where nothing is written, assumed


@dataclass(frozen=True)
class Hand:
    """A hand that is a spring and a damper to a place; without them it only presses."""

    place: Array  #: (5,) [m, rad]; along x, y, z and about the two axes across the handle
    stiffness: Array  #: (5,) [N/m, N m/rad]
    force: Array  #: (5,) [N, N m]
    damping: Array = field(default_factory=lambda: np.zeros(5))  #: (5,) [N s/m, N m s/rad]
    #: (5,) [kg, kg m^2]; moves with the handle
    mass: Array = field(default_factory=lambda: np.zeros(5))
    #: (n,) [s, CLOCK_MONOTONIC]; of a way that the place follows in straight lines; empty: it
    #: stays at `place`
    times: Array = field(default_factory=lambda: np.zeros(0))
    way: Array = field(default_factory=lambda: np.zeros((0, 5)))  #: (n, 5)
    speed: Array = field(default_factory=lambda: np.zeros(5))  #: (5,) [m/s, rad/s]; of the place

    def at(self, time: float) -> Hand:
        """Return this hand at a time [s]: its place and speed, and no way."""
        if not self.times.size:
            return self
        place = np.array([np.interp(time, self.times, column) for column in self.way.T])
        speed = np.zeros(5)
        k = int(np.searchsorted(self.times, time))
        if 0 < k < self.times.size:
            span = self.times[k] - self.times[k - 1]
            speed = (self.way[k] - self.way[k - 1]) / span
        return Hand(place, self.stiffness, self.force, self.damping, self.mass, speed=speed)


RELEASED = Hand(np.zeros(5), np.zeros(5), np.zeros(5))


class PlantState(NamedTuple):
    """Answer of the plant: elongations [m], where the handle is, the hand's wrench on it, time."""

    elongation: Array
    place: Array
    wrench: Array
    time: BodyTime = BodyTime()


class HapticPlant:
    """The perturbed device with a hand on it.

    - `device`: name of the emulated device, to read its part of the section ``emulator``.
    """

    def __init__(self, robot_file: str, device: str) -> None:
        # Only here, in the process of the plant: scipy and numba.
        from soro_emulation.emulator_settings import read_emulator_settings
        from soro_emulation.perturbation import perturbed_robot
        from soro_mechanics.haptics.device import HapticDevice
        from soro_mechanics.haptics.held_handle import HeldHandle
        from soro_mechanics.robot_file.reader import read_robot_file

        robot = read_robot_file(robot_file)
        settings = read_emulator_settings(robot, device)
        haptic = HapticDevice(perturbed_robot(robot, settings.body))
        self.motors = haptic.sizes[0]
        self._moving = HeldHandle(haptic, read_damping_ratio(settings.device))
        self._last: float | None = None
        self._time = BodyTime()

    def update(
        self, angle: Array, hand: Hand, wrench: Array | None = None, now: float = 0.0
    ) -> PlantState:
        """Move on to motor angles with a hand and a wrench on the handle.

        - `angle` (na,) [rad]
        - `wrench` (6,) [N, N m]
        - `now`: steady clock [s].
        """
        moving = self._moving
        force = hand.force if wrench is None else hand.force + moving.axes.T @ wrench
        last, t = now if self._last is None else self._last, self._time
        self._last = max(now, last)
        past = min(self._last - last, MAX_STALL)
        t = self._time = BodyTime(t.virtual + past, t.wall + self._last - last)
        moving.advance(angle, replace(hand, force=force), past)
        return PlantState(moving.elongation(), moving.place, moving.axes @ moving.hand_force, t)


def read_damping_ratio(device: Section) -> float:
    """Read ``emulator.can.dynamics``: of the slowest mode of handle and legs."""
    if 'dynamics' not in device:
        return DAMPING_RATIO
    with device.section('dynamics') as item:
        return float(item.number('damping_ratio', minimum=0.0, maximum=1.0))


class HapticPlantProcess(WorkerProcess):
    """The emulator's side."""

    def __init__(self, robot_file: str, device: str, sensors: int) -> None:
        self.state = PlantState(np.zeros(sensors), np.zeros(5), np.zeros(6))
        self.ready = False
        self._lock = threading.Lock()
        super().__init__('soro_emulation.haptic_plant', robot_file, device)

    def update(self, angle: Array, hand: Hand, wrench: Array, now: float) -> bool:
        """Take an answer that has come, and ask again; never waits. Safe from any thread.

        Parameters as those of `HapticPlant.update`; whether `state` is new.
        """
        with self._lock:
            found = self.answer()
            if found is not None:
                self.state, self.ready = PlantState(*found), True
            self.ask((angle, hand, wrench, now))
            return found is not None


def serve(robot_file: str, device: str, questions: Connection, answers: Connection) -> None:
    """Load the plant, answer once for the rest shape, then whatever is asked."""
    plant = HapticPlant(robot_file, device)
    rest = plant.update(np.zeros(plant.motors), RELEASED, now=time.monotonic())
    answers.send(tuple(rest))  # its class is another's
    gc.collect()
    gc.freeze()  # the collector does not walk through the libraries while time is real
    while True:
        answers.send(tuple(plant.update(*questions.recv())))


if __name__ == '__main__':
    answer(serve)
