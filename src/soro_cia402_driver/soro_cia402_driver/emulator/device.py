# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Drives on a bus behind a socketcand server, as the device `cia402`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from soro_cia402_driver import protocol as co
from soro_cia402_driver.emulator.drive import Drive, LAG, RATED, Wire
from soro_cia402_driver.protocol import State
from soro_cia402_driver.wiring import read_wiring
from soro_emulation.bus_faults import EmulatedBus
from soro_emulation.device_emulator import Array, EmulatorContext
from soro_emulation.injected_fault import actuator_index, block, whole_number
from soro_emulation.wired_emulator import WiredEmulator
from soro_mechanics.actuator_models.motor import PositionDrive, read_motor

OVERHEATED = 0x4310


class Cia402Emulator(WiredEmulator):
    """Answers as drives do, to the library `canopen` too.

    Faults: those of a CAN bus; ``blocked``, ``reboot``, ``error`` (`code` of the emergency) of an
    `actuator`.
    """

    faults = ('none', 'blocked', 'error', 'reboot', *EmulatedBus.faults)

    def __init__(self, context: EmulatorContext, now: float) -> None:
        super().__init__(context, now)
        with context.properties as section:
            motor = read_motor(section, context.robot.actuators)
        self._wiring = w = read_wiring(context.wiring, context.robot)
        self._started = list[int]()
        self._angles = w.mode.goal is co.GOAL
        self._per_count = w.per_count if self._angles else RATED * w.per_count
        rest = context.robot.rest - w.zero
        places = (rest / self._per_count if self._angles else 0.0 * rest).tolist()
        speeds = np.array([2.0 * a.rate for a in context.robot.actuators]) / abs(self._per_count)
        rows = zip(places, speeds.tolist(), w.per_count.tolist(), strict=True)
        self.axes = [PositionDrive(at, speed, LAG, motor, per) for at, speed, per in rows]
        self.drives = {n: Drive(n, axis, now) for n, axis in zip(w.nodes, self.axes, strict=True)}
        self.wire = EmulatedBus(w.port, context.endpoint, self._receive, self._idle, context.seed)

    def actuation(self, now: float) -> Array:
        """Return where the outputs are [rad], or the forces [N]."""
        with self._lock:
            drives = [self.drives[node] for node in self._wiring.nodes]
            counts = np.array([d.axis.value if self._angles else d.torque for d in drives])
        return self._wiring.zero + self._per_count * counts

    def _break(self, fault: str, values: dict[str, Any]) -> None:
        node = self._wiring.nodes[actuator_index(values, self._wiring.names)]
        block(self.axes, fault, values, self._wiring.names)
        if fault == 'error':
            self.drives[node].fail(whole_number(values, 'code', OVERHEATED, 0xFFFF))
        elif fault == 'reboot':
            self._started.append(node)

    def _receive(self, identifier: int, data: bytes) -> Wire:
        now = time.monotonic()
        with self._lock:
            frames = [f for d in self.drives.values() for f in d.receive(identifier, data, now)]
            self._note(any(d.state is State.ENABLED for d in self.drives.values()), now)
        return frames

    def _idle(self) -> Wire:
        now = time.monotonic()
        with self._lock:
            started, self._started = self._started, []
            frames = [f for node in started for f in self.drives[node].restart()]
            frames += [f for d in self.drives.values() for f in d.advance(now)]
            self._note(any(d.state is State.ENABLED for d in self.drives.values()), now)
        return frames
