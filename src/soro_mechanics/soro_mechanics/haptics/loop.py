# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The haptic law on the full nonlinear model: command first, then the model follows.

A tick senses and renders on the linearisation at an earlier sample's estimate, so the command is
out soon; `advance` then solves the nonlinear model at the new estimate, where that has gone `FAR`
from the linearisation: a tenth of the solutions, where the handle rests or is led slowly.
"""

from __future__ import annotations

import math

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.haptics.rendering import HapticLaw, NONE, rendering_setup, RenderingSetup
from soro_mechanics.haptics.sensing import Sensing, sensing_setup, SensingSetup
from soro_mechanics.haptics.sensor_watch import SensorWatch
from soro_mechanics.haptics.stable_limits import stable_limits
from soro_mechanics.haptics.virtual_environment import published_environment, VirtualEnvironment
from soro_mechanics.robot import Robot

# s between two solutions, at least and at most. The published 50 ms alone follow a circle by
# 0.02 mm worse, and sense all as well (docs/evidence/haptic_5dof_rendering.md).
MODEL_PERIOD, LONGEST = 2e-3, 50e-3
# m of the handle (its turn with the lever of the rendering problem) and rad of a motor, from the
# linearisation. Of a hand with 3 N at 0.15 m/s 1.2 mN and 7 um are sensed wrongly then. Where
# strips slide springs ring from a seventh less stiffness on; a third of it would spare that.
FAR, FAR_TURN = 1e-3, 0.02
# s: what 99 of 100 parts of a solution take at most, or half a period where that is less. Slots
# that have less left, one after the other, until one computes all the same.
ROOM, PATIENCE = 0.5e-3, 4


class HapticLoop:
    """One device, its law, and the order of the two in a control loop.

    Call `start` once with measured angles, then ``tick -> write the command -> advance``.

    The environment is free space by default; `law` has `sensing`, `environment`, `monitor` and
    `command`.
    """

    def __init__(
        self,
        device: HapticDevice,
        sensing: SensingSetup,
        rendering: RenderingSetup,
        environment: VirtualEnvironment | None = None,
    ) -> None:
        self.device = device
        environment = VirtualEnvironment() if environment is None else environment
        self.law = HapticLaw(Sensing(device.ports, sensing), rendering, environment)
        self._every = max(1, int(MODEL_PERIOD / rendering.period + 1e-9))
        self._oldest = max(self._every, round(LONGEST / rendering.period))
        na, ne, _ = device.sizes
        lever = [1.0, 1.0, 1.0, *[rendering.length] * (ne - 3)]
        self._far = 1.0 / np.array([*[FAR_TURN] * na, *(FAR / np.array(lever))])
        self._in_parts = rendering.period < MODEL_PERIOD
        self._room = min(ROOM, 0.5 * rendering.period)
        self._age, self._begun, self.computed = self._oldest, False, False
        self._waited = 0  # slots without room for a solution, one after the other

    def start(self, encoder: Array, anew: bool = True) -> None:
        """Solve the model at measured motor angles; `anew`: and forget everything else.

        Raises InvalidInput: no equilibrium was found there.
        """
        self.device.restart(np.asarray(encoder, float))
        self._age, self._begun, self._waited = self._oldest, False, 0
        (self.law.restart if anew else self.law.approach)()
        self.law.linearise(self.device.ports)

    def tick(self, encoder: Array, sensor: Array, periods: int = 1) -> Code:
        """Sense and render; the command is in `law.command`. See `HapticLaw.tick`."""
        return self.law.tick(encoder, sensor, periods)

    def advance(self, room: float = math.inf) -> Code | None:
        """Let the model follow the last estimate; without one, or near by, it stays.

        In a loop faster than `MODEL_PERIOD` a solution takes three calls, so that none is long.
        `computed` says afterwards whether this one worked on one: not where the slot has less
        than `ROOM` left (`room` [s]), except after `PATIENCE` such slots; each part waits anew.

        Returns NONE; NOT_CONVERGED: the next tick runs on an approximate model; UNSTABLE: the
        model has no stable equilibrium here; that of `sensing`, where it gave no estimate. None: a
        solution is on its way, the next tick runs on the last one.
        """
        sensing, self.computed = self.law.sensing, False
        if sensing.code is not NONE:
            return sensing.code
        self.law.watch_oscillation()
        self._age += 1
        if not self._begun:
            if self._age < self._every or (self._age < self._oldest and self._near()):
                return NONE
        self._waited = self._waited + 1 if room < self._room else 0
        if self._waited % (PATIENCE + 1):
            return None
        if not self._begun:
            self.device.begin(sensing.angle(), sensing.force())
            self._begun, self._age = True, 0
        self.computed = True
        code = self.device.go_on(whole=not self._in_parts)
        if code is not None:
            self._begun = False
            if code is not Code.NONE:
                self._age = self._oldest
            self.law.linearise(self.device.ports)
        return code

    def _near(self) -> bool:
        """Whether the last estimate is near the linearisation."""
        sensing, size = self.law.sensing, self._far.size
        moved = sensing.ports.compliance[:size, :size] @ sensing.z
        return all(-1.0 < part < 1.0 for part in (self._far * moved).tolist())

    def run_once(self) -> None:
        """Run everything that a tick may run, at rest, so that nothing is compiled later."""
        environment = self.law.environment
        angle, sensor = np.zeros(self.device.sizes[0]), self.device.ports.sensor.copy()
        self.start(angle)
        for name in ('hold', 'wall'):
            self.law.environment = VirtualEnvironment(published_environment(name, np.eye(4)))
            for _ in range(self.law.oscillation.every + 1):
                self.tick(angle, sensor)
                self.advance()
            self.law.resting.rests(1.0)
            self.law.restart()
        watch = SensorWatch(self.law.sensing, self.law.setup.period)
        watch.update(sensor, np.zeros(len(sensor), bool), sensor)
        self.law.environment = environment
        self.start(angle)


def compile_haptics(robot: Robot) -> None:
    """Compile, or load, every kernel of sensing, rendering and model of a haptic device.

    Raises RobotFileError: the robot is no haptic device.
    """
    device = HapticDevice(robot)
    forces = np.array([10.0, 10.0, 10.0, 0.5, 0.5])
    sensing = sensing_setup(device.ports, 1e-4, 1e-4, forces)
    rendering = rendering_setup(2e-3, device.motor_limits(), 1.0)
    stable_limits(device, rendering, 'none')
    HapticLoop(device, sensing, rendering).run_once()
