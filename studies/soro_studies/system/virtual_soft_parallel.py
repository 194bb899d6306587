# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soft_parallel from the planner's library to the plant, in one process and in virtual time.

Schedules of the planner, gate and control loop of the driver, its serial device, the wire with its
baud rate, the emulated real-time computer, regulators, creep, hysteresis and the perturbed body.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from soro_driver.endpoint import Endpoint
from soro_driver.loop.control_loop import ControlLoop
from soro_driver.loop.law import CommandArbiter
from soro_driver.loop.tick import Tick
from soro_driver.safety.command_gate import CommandGate
from soro_driver.settings import read_driver_settings
from soro_dspace_driver.device import DspaceDevice
from soro_dspace_driver.emulator.device import DspaceEmulator
from soro_emulation.device_emulator import EmulatorContext
from soro_emulation.emulated_body import EmulatedBody
from soro_emulation.emulator_settings import read_emulator_settings
from soro_emulation.event_log import EventLog
from soro_mechanics.robot_file.reader import read_robot_file
from soro_studies.emulation.virtual_serial import STEP, VirtualLink

LOOP_STEPS, COMMAND_STEPS, TRUTH_STEPS = 5, 5, 17  # of 2 ms: 100, 100 and 30 Hz
COMMAND_PHASE = 2  # steps between a tick of the driver and a command of the planner
SLEW = 0.8  # of each actuator's rate, as the planner's default
SOURCE = '/planner'
Setpoints = Callable[[float], np.ndarray]
Truth = Callable[[float, np.ndarray], None]


class VirtualRobot:
    """One robot, connected and armed.

    Parameters
    ----------
    file : Path
        Robot file; its sections `driver` and `emulator` are used as they are.
    log : str
        File for the events of the emulated device; empty: none.

    Attributes
    ----------
    tick : Tick
        The driver's newest one.
    """

    def __init__(self, file: Path, log: str = '') -> None:
        self.description = read_robot_file(file)
        driver = read_driver_settings(self.description)
        emulator = read_emulator_settings(self.description, driver.device)
        endpoint, start = Endpoint(0, Path('virtual')), 1000.0
        context = EmulatorContext(
            self.description,
            driver.section,
            emulator.device,
            endpoint,
            emulator.seed,
            EventLog(log),
        )
        self.emulator = DspaceEmulator(context, start)
        self._link = VirtualLink(self.emulator.wire, start)
        section = read_driver_settings(self.description).section
        device = DspaceDevice.from_section(section, self.description, endpoint)
        device.transport.session.link = self._link  # type: ignore[assignment]
        actuators = self.description.actuators
        gate = CommandGate(actuators, self.description.coupled_limits)
        self._inlet = CommandArbiter(gate, driver.command_timeout, wall=lambda: self.now)
        self._loop = ControlLoop(device, self._inlet, gate, driver, clock=lambda: self.now)
        self._body = EmulatedBody(self.description, emulator.body)
        self._names = [a.name for a in actuators]
        self._codes = [a.quantity_code for a in actuators]
        self._rate = SLEW * np.array([a.rate for a in actuators])
        self._steps = 0
        self.command = np.array([a.rest for a in actuators])
        self._loop.open()
        self._loop.arm()
        self.tick: Tick = self._loop.tick()

    @property
    def now(self) -> float:
        """Virtual time [s]."""
        return self._link.now

    def run(
        self,
        duration: float,
        setpoints: Setpoints,
        truth: Truth | None = None,
        note: Callable[[Tick], None] | None = None,
    ) -> None:
        """Let time pass.

        Parameters
        ----------
        duration : float
            [s]
        setpoints : callable
            Gets the time since the call [s], returns the planner's command [Pa].
        truth : callable, optional
            Gets time and position of the true tip, 30 times a second.
        note : callable, optional
            Gets every tick of the driver.
        """
        begin = self.now
        while self.now - begin < duration - 0.5 * STEP:
            self._link.step()
            self._steps += 1
            if self._steps % COMMAND_STEPS == COMMAND_PHASE:
                self.command = setpoints(self.now - begin)
                self._send()
            if self._steps % LOOP_STEPS == 0:
                self.tick = self._loop.tick()
                if self.tick.faults:
                    raise RuntimeError(f'the robot tripped: {self.tick.reason}')
                if note is not None:
                    note(self.tick)
            if self._steps % TRUTH_STEPS == 0:
                felt = self.emulator.actuation(self.now)
                tip = self._body.configuration(felt).tip[:3, 3]
                if truth is not None:
                    truth(self.now - begin, tip.copy())

    def move(self, target: np.ndarray) -> None:
        """Go to a target on the straight line, the slowest actuator setting the pace."""
        start, goal = self.command.copy(), np.asarray(target, float)
        duration = float(np.max(np.abs(goal - start) / self._rate))
        if duration > 0.0:
            self.run(duration, lambda t: start + min(1.0, t / duration) * (goal - start))
        self.hold(5.0 * STEP, goal)

    def hold(self, duration: float, target: np.ndarray, truth: Truth | None = None) -> None:
        """Stay at a target."""
        self.run(duration, lambda t: np.asarray(target, float), truth)

    def _send(self) -> None:
        stamp = int(self.now * 1e9)
        values = [float(x) for x in self.command]
        self._inlet.submit(self._names, self._codes, values, SOURCE, stamp, self.now)
