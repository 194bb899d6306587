# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The motor board with a haptic device behind it, as the emulated device `can`."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
from soro_can_driver.board import EmergencyCode, MOTORS
from soro_can_driver.transport import COUNT
from soro_can_driver.wiring import CanWiring, read_wiring
from soro_mechanics.errors import InvalidInput, UnknownName
from soro_mechanics.flex_signal import FlexFault, FlexSignal
from soro_mechanics.section import Section

from soro_emulation.device_emulator import Array, DeviceEmulator, EmulatorContext
from soro_emulation.haptic_plant import Hand, HapticPlantProcess, RELEASED
from soro_emulation.injected_fault import actuator_index, finite
from soro_emulation.motor_board import MotorBoard
from soro_emulation.socketcand_server import SocketcandServer

FAULTS = (
    'none', 'silent', 'unplug', 'reboot', 'stall', 'overcurrent', 'encoder_jump', 'flex', 'hand',
)  # fmt: skip
# What `hand` may be told: five coordinates each, see `haptic_plant.Hand`.
HAND_KEYS = ('place', 'stiffness', 'force')


class CanEmulator(DeviceEmulator):
    """Serves the socketcand client; the plant behind it runs in a process of its own.

    Fault ``hand`` is no fault but the hand, with ``place``, ``stiffness`` and ``force`` of five
    numbers each. ``flex`` takes ``sensor`` and ``kind`` (stuck, open, shorted, drifting).
    """

    def __init__(self, wiring: CanWiring, context: EmulatorContext, now: float) -> None:
        with context.properties as section:
            serial = section.integer('serial', 1, minimum=1)
            self._signals = read_signals(section, context.seed)
        self._wiring, self._log = wiring, context.log
        self._names = tuple(a.name for a in context.robot.actuators)
        self._random = np.random.default_rng(context.seed)
        boot = int(self._random.integers(1, 0xFFFF))
        self._board = MotorBoard(boot, serial, self._counts, now)
        self._lock = threading.Lock()
        self._server = SocketcandServer(context.endpoint.port, self._receive, self._idle)
        self._address = context.endpoint.address
        self._plant = HapticPlantProcess(context.robot.file, 'can', MOTORS)
        self._hand = RELEASED
        self._flex_faults = [FlexFault.NONE] * MOTORS
        self._held, self._since = np.zeros(MOTORS), np.full(MOTORS, now)
        self._start = now
        self._state = self._board.state

    @classmethod
    def create(cls, context: EmulatorContext, now: float) -> CanEmulator:
        """Make the board as the robot file says."""
        return cls(read_wiring(context.wiring, context.robot), context, now)

    def start(self) -> None:
        """Listen."""
        self._server.start()
        self._log.write('listening', address=self._address)

    def advance(self, now: float) -> None:
        """Let the plant follow the motors."""
        with self._lock:
            angle = self._output()
            state = self._board.state
        if state is not self._state:
            self._log.write('state', now, state=state.name)
            self._state = state
        self._plant.update(angle, self._hand)

    def actuation(self, now: float) -> Array:
        """Return the true angles of the outputs [rad]."""
        with self._lock:
            return self._output()

    def inject(self, fault: str, values: dict[str, Any]) -> None:
        """Break something, or move the hand."""
        if fault not in FAULTS:
            raise UnknownName('fault', fault, FAULTS)
        if fault == 'hand':
            self._hand = read_hand(values)
            return
        with self._lock:
            self._break(fault, values, time.monotonic())
        if fault == 'unplug':
            self._server.drop_client()

    def in_use(self, now: float) -> bool:
        """Whether a session is alive."""
        with self._lock:
            return now - self._board.host_at < 0.5

    def stop(self) -> None:
        """Stop listening, end the plant."""
        self._server.stop()
        self._plant.stop()

    def _break(self, fault: str, values: dict[str, Any], now: float) -> None:
        board = self._board
        if fault == 'none':
            board.stalled[:] = False
            self._server.silent = False
            self._flex_faults = [FlexFault.NONE] * MOTORS
        elif fault == 'silent':
            self._server.silent = True
        elif fault == 'reboot':
            board.reboot((board.boot_id + 1) & 0xFFFF or 1)
        elif fault == 'flex':
            self._break_sensor(values, now)
        elif fault != 'unplug':
            motor = actuator_index(values, self._names)
            if fault == 'stall':
                board.stalled[motor] = True
            elif fault == 'overcurrent':
                board.fail(EmergencyCode.OVER_CURRENT, 1 << motor)
            else:
                board.angle[motor] += finite(values, 'degrees', 20.0) * 10.0 * self._wiring.ratio

    def _break_sensor(self, values: dict[str, Any], now: float) -> None:
        names = self._wiring.sensors
        name = values.get('sensor', names[0] if names else '')
        if name not in names:
            raise UnknownName('sensor', name, names)
        kinds = [k.value for k in FlexFault]
        kind = values.get('kind', FlexFault.STUCK.value)
        if kind not in kinds:
            raise UnknownName('kind', kind, kinds)
        index = names.index(name)
        self._held[index] = self._counts(now)[index]
        self._since[index] = now
        self._flex_faults[index] = FlexFault(kind)

    def _counts(self, now: float) -> Array:
        out = np.empty(MOTORS)
        for i, signal in enumerate(self._signals):
            fault = self._flex_faults[i]
            age = now - (self._since[i] if fault is FlexFault.DRIFTING else self._start)
            elongation = self._plant.elongation[i]
            out[i] = signal.counts(elongation, age, self._random, fault, self._held[i])
        return out

    def _output(self) -> Array:
        w = self._wiring
        return w.zero + w.direction * self._board.angle * COUNT / w.ratio

    def _receive(self, can_id: int, data: bytes) -> list[tuple[int, bytes]]:
        with self._lock:
            return self._board.receive(can_id, data, time.monotonic())

    def _idle(self) -> list[tuple[int, bytes]]:
        with self._lock:
            return self._board.advance(time.monotonic())


def read_signals(section: Section, seed: int) -> tuple[FlexSignal, ...]:
    """Read ``emulator.can.flex``: six sensors that differ by `spread` from the numbers given."""
    random = np.random.default_rng(seed + 1)
    if 'flex' not in section:
        return tuple(FlexSignal(3500.0, 4e5, 0.1, 4.0) for _ in range(MOTORS))
    with section.section('flex') as item:
        offset = item.number('offset')
        gain = item.number('counts_per_metre', positive=True)
        spread = item.number('spread', 0.0, minimum=0.0, maximum=0.3)
        drift = item.number('drift', 0.0)
        noise = item.number('noise', 0.0, minimum=0.0)
    return tuple(
        FlexSignal(
            offset * (1.0 + 0.3 * spread * random.uniform(-1.0, 1.0)),
            gain * (1.0 + spread * random.uniform(-1.0, 1.0)),
            drift * random.uniform(-1.0, 1.0),
            noise,
        )
        for _ in range(MOTORS)
    )


def read_hand(values: dict[str, Any]) -> Hand:
    """Read place, stiffness and force of the hand; what is missing is zero."""
    parts = {}
    for key in HAND_KEYS:
        numbers = values.get(key, [0.0] * 5)
        if not isinstance(numbers, list) or len(numbers) != 5:
            raise InvalidInput(key, numbers, 'five numbers')
        parts[key] = np.array([finite({key: x}, key, 0.0) for x in numbers])
    if np.any(parts['stiffness'] < 0.0):
        raise InvalidInput('stiffness', values.get('stiffness'), 'numbers, zero or greater')
    return Hand(parts['place'], parts['stiffness'], parts['force'])
