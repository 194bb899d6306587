# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The motor board, with a haptic device behind it or not, as the emulated device `can`."""

from __future__ import annotations

import gc
import math
import time
from typing import Any

import numpy as np

from soro_can_driver.board import CanId, EmergencyCode, FIRST_MOTORS, minor_for, PROTOCOL_MAJOR
from soro_can_driver.emulator.firmware_board import FirmwareBoard
from soro_can_driver.emulator.motor_board import MotorBoard
from soro_can_driver.transport import COUNT
from soro_can_driver.wiring import read_wiring
from soro_emulation.bus_faults import EmulatedBus
from soro_emulation.device_emulator import Array, EmulatorContext
from soro_emulation.haptic_plant import (
    GRIP_TIME,
    Hand,
    HapticPlantProcess,
    read_damping_ratio,
    RELEASED,
)
from soro_emulation.injected_fault import actuator_index, choice, finite, whole_number
from soro_emulation.wired_emulator import WiredEmulator
from soro_mechanics.actuator_models.motor import PositionDrive, read_motor
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.haptics.flex_signal import FlexFault, FlexSignal
from soro_mechanics.robot_file.section import Section

FAULTS = (
    'none', 'reboot', 'stall', 'reversed', 'overcurrent', 'bus_off',
    'encoder_jump', 'repeat', 'mute', 'protocol', 'flex', 'hand', *EmulatedBus.faults,
)  # fmt: skip
# What answers: the board of this package, or the reference firmware built for this computer.
BOARDS: dict[str, type[MotorBoard]] = {'emulated': MotorBoard, 'host': FirmwareBoard}
# What `hand` may be told: five coordinates each, see `haptic_plant.Hand`.
HAND_KEYS = ('place', 'stiffness', 'force', 'damping', 'mass')
AT_LEAST_ZERO = ('stiffness', 'damping', 'mass')
MEASURING = (CanId.SYNC, CanId.COMMAND_FD)
NOTE_PERIOD = 0.01  # s between notes of where the handle is


class CanEmulator(WiredEmulator):
    """Serves the socketcand client; the plant of a haptic robot runs in a process of its own.

    Fault ``hand`` is no fault but the hand, with ``place``, ``stiffness``, ``force``, ``damping``
    and ``mass`` of five numbers each, or a ``way`` of rows ``[seconds from now, five numbers]`` in
    place of ``place``. Without ``damping`` it has 0.01 s times its stiffness.
    While there is a hand the log gets ``handle``: its true place and the wrench on it. ``flex``
    takes ``sensor`` and ``kind`` (stuck, open, shorted, drifting).
    """

    faults, claims = FAULTS, ('repeat', 'mute', 'protocol')

    def __init__(self, context: EmulatorContext, now: float) -> None:
        super().__init__(context, now)
        wiring = read_wiring(context.wiring, context.robot)
        with context.properties as section:
            serial = section.integer('serial', 1, minimum=1)
            motors, sensors = len(wiring.motors), len(wiring.sensors)
            # A board of version 1.0 has six inputs, whatever is connected to them.
            inputs = sensors if minor_for(motors, sensors) else FIRST_MOTORS
            self._signals = read_signals(section, context.seed, inputs)
            brain = section.text('firmware', 'emulated', choices=tuple(BOARDS))
            motor = read_motor(section, context.robot.actuators)
            if motor is not None and brain != 'emulated':
                raise section.error('motor', 'none beside the firmware, which has its own')
            read_damping_ratio(section)  # refuses here what the plant's process could not say
        parts = np.array([(s.offset, s.gain, s.drift, s.noise) for s in self._signals])
        self._together = FlexSignal(*parts.reshape(inputs, 4).T)
        self._wiring = wiring
        self._names = tuple(a.name for a in context.robot.actuators)
        self._random = np.random.default_rng(context.seed)
        boot = int(self._random.integers(1, 0xFFFF))
        self._board = BOARDS[brain](boot, serial, self._counts, now, motors, inputs)
        scale = wiring.direction * COUNT / wiring.ratio * np.ones(motors)
        rest = (context.robot.rest - wiring.zero) / scale
        self._board.place(rest)
        if motor is not None:
            places = zip(rest.tolist(), scale.tolist(), strict=True)
            self.axes = [PositionDrive(at, math.inf, 1.0, motor, per) for at, per in places]
            self._board.motors.axes = self.axes
        self.wire = EmulatedBus(wiring, context.endpoint, self._receive, self._idle, context.seed)
        self._plant: HapticPlantProcess | None = None  # of another robot: no hand, no flex sensors
        if 'haptic' in context.robot.structure:
            self._plant = HapticPlantProcess(context.robot.file, 'can', inputs)
        self._hand, self._wrench = RELEASED, np.zeros(6)
        self._noted, self._measured = now, False
        self._flex_faults = [FlexFault.NONE] * inputs
        self._held, self._since = np.zeros(inputs), np.full(inputs, now)
        self._start = now
        self._state = self._board.state

    def start(self) -> None:
        """Listen."""
        # A board answers in microseconds: its thread must not wait for the collector's walk
        # through the objects of the libraries.
        gc.collect()
        gc.freeze()
        super().start()

    def advance(self, now: float) -> None:
        """Let the plant follow the motors."""
        with self._lock:
            angle = self._output()
            state = self._board.state
        if state is not self._state:
            self._log.write('state', now, state=state.name)
            self._state = state
        self._follow(now, angle)

    def load(self, wrench: Array) -> Array:
        """Press on the handle with a wrench, shape (6,), beside the hand; returns the sum."""
        self._wrench = wrench
        return wrench if self._plant is None else self._plant.state.wrench

    def _follow(self, now: float, angle: Array) -> None:
        """Let the plant follow motors and hand."""
        if self._plant is None:
            return
        hand = self._hand
        new = self._plant.update(angle, hand.at(now), self._wrench, now)
        self.body_time = self._plant.state.time
        if new and hand is not RELEASED and now - self._noted >= NOTE_PERIOD:
            self._noted = now
            state = self._plant.state
            self._log.write(
                'handle',
                now,
                place=state.place.round(7).tolist(),
                wrench=state.wrench.round(5).tolist(),
            )

    def actuation(self, now: float) -> Array:
        """Return the true angles of the outputs [rad]."""
        with self._lock:
            return self._output()

    def inject(self, fault: str, values: dict[str, Any]) -> None:
        """Break something, or move the hand."""
        if fault == 'hand':
            if self._plant is None:
                raise InvalidInput('fault', fault, 'a robot with control.haptic')
            self._hand = read_hand(values, time.monotonic())
        else:
            super().inject(fault, values)

    @property
    def error(self) -> str:
        """Why there is no plant: flex sensors are open then, not of a shape of before."""
        return '' if self._plant is None else self._plant.error

    @property
    def counters(self) -> dict[str, int]:
        """What happened to frames on the bus, set-points and measurements."""
        board = self._board
        mine = {'torn': board.torn, 'stale': board.stale, 'repeated': board.repeated}
        return {**self.wire.counters, **mine}

    def in_use(self, now: float) -> bool:
        """Whether a session is alive."""
        with self._lock:
            return now - self._board.host_at < 0.5

    def stop(self) -> None:
        """Stop listening, end the plant."""
        super().stop()
        if self._plant is not None:
            self._plant.stop()

    def _break(self, fault: str, values: dict[str, Any]) -> None:
        board, motors, now = self._board, self._board.motors, time.monotonic()
        if fault == 'none':
            motors.stalled[:] = motors.reversed[:] = False
            board.major, board.repeats, board.mute = PROTOCOL_MAJOR, False, False
            motors.slip[:] = 0.0
            self._flex_faults = [FlexFault.NONE] * len(self._signals)
        elif fault == 'reboot':
            board.reboot((board.boot_id + 1) & 0xFFFF or 1)
        elif fault == 'repeat':
            board.repeats = True
        elif fault == 'mute':
            board.mute = True
        elif fault == 'flex':
            self._break_sensor(values, now)
        elif fault == 'protocol':
            board.major = whole_number(values, 'major', PROTOCOL_MAJOR + 1, 255)
        elif fault == 'bus_off':
            board.fail(EmergencyCode.BUS_OFF, 0)
        else:
            motor = actuator_index(values, self._names)
            if fault == 'stall':
                motors.stalled[motor] = True
            elif fault == 'reversed':
                motors.reversed[motor] = True
            elif fault == 'overcurrent':
                board.fail(EmergencyCode.OVER_CURRENT, 1 << motor)
            else:
                board.slip_encoder(motor, finite(values, 'degrees', 20.0) * self._wiring.ratio)

    def _break_sensor(self, values: dict[str, Any], now: float) -> None:
        names = self._wiring.sensors
        name = choice(values, 'sensor', names[0] if names else '', names)
        kind = choice(values, 'kind', FlexFault.STUCK.value, [k.value for k in FlexFault])
        index = names.index(name)
        self._held[index] = self._counts(now)[index]
        self._since[index] = now
        self._flex_faults[index] = FlexFault(kind)

    def _counts(self, now: float) -> Array:
        plant = self._plant
        elongation = np.zeros(len(self._signals)) if plant is None else plant.state.elongation
        out = self._together.counts(elongation, now - self._start, self._random)
        # without an answer zeros would be legs bent straight
        nothing = plant is None or plant.error or not plant.ready
        faults = [FlexFault.OPEN] * len(self._signals) if nothing else self._flex_faults
        for i, fault in enumerate(faults):
            if fault is not FlexFault.NONE:
                age = now - (self._since[i] if fault is FlexFault.DRIFTING else self._start)
                out[i] = self._signals[i].counts(
                    elongation[i], age, self._random, fault, self._held[i]
                )
        return out

    def _output(self) -> Array:
        w = self._wiring
        return w.zero + w.direction * self._board.motors.angle * COUNT / w.ratio

    def _receive(self, can_id: int, data: bytes) -> list[tuple[int, bytes]]:
        self._measured = self._measured or can_id in MEASURING
        with self._lock:
            return self._board.receive(can_id, data, time.monotonic())

    def _idle(self) -> list[tuple[int, bytes]]:
        now = time.monotonic()
        with self._lock:
            frames = self._board.advance(now)
            angle = self._output()
        if self._measured:  # the answer is out; be ready for the next measurement
            self._measured = False
            self._follow(now, angle)
        return frames


def read_signals(section: Section, seed: int, inputs: int) -> tuple[FlexSignal, ...]:
    """Read ``emulator.can.flex``: sensors that differ by `spread` from the numbers given."""
    random = np.random.default_rng(seed + 1)
    if 'flex' not in section:
        return tuple(FlexSignal(3500.0, 4e5, 0.1, 4.0) for _ in range(inputs))
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
        for _ in range(inputs)
    )


def read_hand(values: dict[str, Any], now: float = 0.0) -> Hand:
    """Read the hand; what is missing is zero, a missing damping that of a firm grip."""
    if not values:
        return RELEASED
    parts = {}
    for key in HAND_KEYS:
        numbers = values.get(key, [0.0] * 5)
        if not isinstance(numbers, list) or len(numbers) != 5:
            raise InvalidInput(key, numbers, 'five numbers')
        parts[key] = np.array([finite({key: x}, key, 0.0) for x in numbers])
    for key in AT_LEAST_ZERO:
        if np.any(parts[key] < 0.0):
            raise InvalidInput(key, values.get(key), 'numbers, zero or greater')
    if 'damping' not in values:
        parts['damping'] = GRIP_TIME * parts['stiffness']
    times, way = _read_way(values.get('way', []), now)
    return Hand(**parts, times=times, way=way)


def _read_way(rows: Any, now: float) -> tuple[Array, Array]:
    if not isinstance(rows, list) or any(not isinstance(r, list) or len(r) != 6 for r in rows):
        raise InvalidInput('way', rows, 'rows of six numbers: seconds, place')
    table = np.array([[finite({'way': x}, 'way', 0.0) for x in row] for row in rows])
    table = table.reshape(len(rows), 6)
    if np.any(np.diff(table[:, 0]) <= 0.0):
        raise InvalidInput('way', rows, 'times that increase')
    return now + table[:, 0], table[:, 1:]
