# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The emulated CAN motor board: states, limits, time to live, motors. Knows no socket.

Units of the wire: motor angles in tenths of a degree.
"""

from __future__ import annotations

from collections.abc import Callable
import math

import numpy as np
from numpy.typing import NDArray

from soro_can_driver import board as f4
from soro_can_driver import protocol as msg
from soro_can_driver.emulator.emulated_motors import EmulatedMotors
from soro_can_driver.emulator.motor_limits import MotorLimits, MotorWatch
from soro_can_driver.frame import Control, Frame, ProtocolError

Array = NDArray[np.float64]

HOLD_TIME = 0.2  # s at reduced current before coasting
HOST_TIMEOUT = 0.3  # s without the host's heartbeat
MAX_LOST = 10  # numbers for which a set-point may be farther away: those of a lost burst
HEARTBEAT = 0.05  # s
FIRMWARE = (1, 0)
FRESH, END = int(f4.FlexFlag.FRESH), int(f4.FlexFlag.FRESH | f4.FlexFlag.OUT_OF_RANGE)


class MotorBoard:
    """One board.

    - `flex`: returns the converter's counts, shape (inputs,), at a time [s]; fewer than the frames
      carry are filled up with zeros.
    - `now`: steady clock [s].
    - `count`, `inputs`: motors and flex inputs.
    """

    def __init__(
        self,
        boot_id: int,
        serial: int,
        flex: Callable[[float], Array],
        now: float,
        count: int = f4.FIRST_MOTORS,
        inputs: int = f4.FIRST_MOTORS,
    ) -> None:
        self.boot_id, self.serial, self._flex = boot_id, serial, flex
        self.count, self.inputs = count, inputs
        self._groups, self._flex_groups = f4.groups_of(count), f4.flex_groups_of(count, inputs)
        self.state = f4.BoardState.SAFE
        self.motors, self.limits = EmulatedMotors(count), MotorLimits(count)
        self._watched = MotorWatch(count)
        self.target = np.zeros(count)
        self.mute = False  # injected: measurements, but no heartbeat
        self.major = f4.PROTOCOL_MAJOR
        self.repeats = False  # injected: every measurement is the last one again
        self._measured: list[Frame] = []
        self.status_bits = f4.Status(0)
        self.faults = 0
        # Set-points acted on, those that came again or late, and those of which a half is missing;
        # measurements that were old ones by an injected fault.
        self.applied = self.stale = self.torn = self.repeated = 0
        self.host_at = -math.inf
        self._session, self._fd = 0, False
        self._received: dict[int, msg.Command] = {}
        self._seq, self._sync, self._duty_motor = 0, 0, 0
        self._command_at, self._ttl, self._first = -math.inf, 0.0, False
        self._time, self._heartbeat_at = now, now
        self._outbox: list[Frame] = []

    def receive(self, can_id: int, data: bytes, now: float) -> list[tuple[int, bytes]]:
        """Take one frame from the bus; returns the frames it causes."""
        self._pass_time(now)
        try:
            frame = msg.unpack(can_id, data)
        except ProtocolError:
            return self._flush()
        if isinstance(frame, msg.EmergencyStop):
            self._stop(f4.BoardState.ESTOP, f4.EmergencyCode.ESTOP)
        elif isinstance(frame, msg.HostHeartbeat):
            if frame.session == self._session:
                self.host_at = now
        elif isinstance(frame, msg.Command):
            self._received[frame.group] = frame
        elif isinstance(frame, msg.Sync):
            self._sync = frame.counter
            self._apply_groups(now)
            self._measure(now)
        elif isinstance(frame, msg.CommandFd):
            if frame.control.enable and self.count == f4.FIRST_MOTORS:
                self._apply(frame.seq, frame.control, np.array(frame.angles, float), now)
            self._measure(now)
        elif isinstance(frame, msg.ParameterFrame) and not frame.reply:
            self._outbox.append(self._parameter(frame, now))
        return self._flush()

    def advance(self, now: float) -> list[tuple[int, bytes]]:
        """Let time pass; returns heartbeats and emergencies."""
        self._pass_time(now)
        return self._flush()

    def reboot(self, boot_id: int) -> None:
        """Restart: everything but the motors' angles is forgotten."""
        angle, axes = self.motors.angle, self.motors.axes
        self.__init__(  # type: ignore[misc]
            boot_id, self.serial, self._flex, self._time, self.count, self.inputs
        )
        self.place(angle)
        self.motors.axes = axes

    def place(self, angle: Array) -> None:
        """Have the motors stand at angles, shape (count,) [0.1 deg], as if turned by hand."""
        self.motors.angle, self.target = angle.copy(), angle.copy()

    def fail(self, code: f4.EmergencyCode, motors: int) -> None:
        """Latch a fault and report it."""
        self._stop(f4.BoardState.FAULT, code, motors)

    def slip_encoder(self, motor: int, degrees: float) -> None:
        """Let an encoder show another angle at once; more than a motor could turn is a fault."""
        self.motors.slip[motor] += 10.0 * degrees
        if self._driven and self.limits.jumped(motor, degrees):
            self.fail(f4.EmergencyCode.ENCODER_JUMP, 1 << motor)

    @property
    def _driven(self) -> bool:
        return self.state in (f4.BoardState.ARMED, f4.BoardState.HOLDING)

    def _pass_time(self, now: float) -> None:
        dt = now - self._time
        if dt <= 0.0:
            return
        self._time = now
        self._watch(now)
        self.motors.turn(self.target if self._driven else None, self.limits.speed, dt)
        if self.state is f4.BoardState.ARMED:
            error = self.target - self.motors.encoder
            largest = self.limits.of[f4.Parameter.MAXIMUM_ERROR]
            found = self._watched.judge(error, self.motors.speed, largest, now)
            if found is not None:
                self.fail(found[0], mask_of(found[1]))
        if now - self._heartbeat_at >= HEARTBEAT and not self.mute:
            self._heartbeat_at = now  # also while frames arrive without a pause
            self._outbox.append(
                msg.BoardHeartbeat(
                    self.state, self.boot_id & 0xFFFF, 0, 0, FIRMWARE, f4.PROTOCOL_MAJOR
                )
            )

    def _watch(self, now: float) -> None:
        if self.state is f4.BoardState.ARMED:
            if now - self._command_at > self._ttl:
                self.state = f4.BoardState.HOLDING
                self.target = self.motors.encoder
                self.status_bits |= f4.Status.EXPIRED
                self._report(f4.EmergencyCode.COMMAND_LOST, 0)
            elif now - self.host_at > HOST_TIMEOUT:
                self._stop(f4.BoardState.SAFE, f4.EmergencyCode.COMMAND_LOST)
        elif (
            self.state is f4.BoardState.HOLDING and now - self._command_at > self._ttl + HOLD_TIME
        ):
            self.state = f4.BoardState.SAFE

    def _apply_groups(self, now: float) -> None:
        received, self._received = self._received, {}
        if not received:
            return
        parts = [received[g] for g in range(self._groups) if g in received]
        whole = len(parts) == len(received) == self._groups
        if not whole or len({part.seq for part in parts}) > 1:
            self.status_bits |= f4.Status.TORN
            self.torn += 1
            return
        self.status_bits &= ~f4.Status.TORN
        if all(part.control.enable for part in parts):
            angles = np.array([a for part in parts for a in part.angles], float)
            self._apply(parts[0].seq, parts[0].control, angles[: self.count], now)

    def _apply(self, seq: int, control: Control, angles: Array, now: float) -> None:
        if self.state is not f4.BoardState.ARMED:
            return
        ahead = (seq - self._seq) & 0xFF
        if not self._first and not 0 < ahead < 128:  # repeated, or older than the one acted on
            self.stale += 1
            return
        if self._first:
            far = self.limits.far_from(self.target, angles)
            if far.any():
                self.fail(f4.EmergencyCode.FIRST_COMMAND, mask_of(far))
                return
            target, self._first = self.limits.within_range(angles), False
        else:
            target = self.limits.shape(angles, self.target, min(ahead, MAX_LOST))
        self.status_bits &= ~f4.Status.SATURATED
        if np.any(target != angles):
            self.status_bits |= f4.Status.SATURATED
        self.target, self._seq = target, seq
        self._command_at, self._ttl = now, f4.TTL_MS[control.ttl_code] * 1e-3
        self.applied += 1

    def _measure(self, now: float) -> None:
        if self.repeats and self._measured:
            self.repeated += 1
        else:
            self._measured = self._measurement(now)
        self._outbox += self._measured

    def _measurement(self, now: float) -> list[Frame]:
        angles, speeds = (
            whole(self.motors.encoder, -32768, 32767),
            whole(self.motors.speed, -32768, 32767),
        )
        samples = [
            c | FRESH if 0 < c < f4.FLEX_MASK else c | END
            for c in whole(self._flex(now), 0, f4.FLEX_MASK)
        ]
        status = int(self.state) | int(self.status_bits)
        if self._fd:
            time = int(now * 1e6) & 0xFFFFFFFF
            return [
                msg.FeedbackFd(
                    self._seq, status, 25, tuple(angles), tuple(speeds), tuple(samples), time
                )
            ]
        frames: list[Frame] = []
        self._duty_motor = (self._duty_motor + 1) % f4.PER_GROUP
        groups = max(self._groups, self._flex_groups)
        for values in (angles, speeds, samples):
            values += [0] * (f4.PER_GROUP * groups - len(values))
        for group in range(groups):
            place = slice(f4.PER_GROUP * group, f4.PER_GROUP * (group + 1))
            if group < self._groups:
                a, b, c = angles[place]
                u, v, w = speeds[place]
                frames += [
                    msg.Position(group, self._seq, status, (a, b, c)),
                    msg.Velocity(group, (u, v, w), self._duty_motor, 0),
                ]
            if group < self._flex_groups:
                x, y, z = samples[place]
                frames.append(msg.Flex(group, (x, y, z), self._sync, 25))
        return frames

    def _parameter(self, request: msg.ParameterFrame, now: float) -> msg.ParameterFrame:
        write = request.access is f4.Access.WRITE
        value: int | f4.Abort = self._write(request, now) if write else self._read(request)
        if isinstance(value, f4.Abort):
            return msg.ParameterFrame(
                True, f4.Access.ABORT, request.index, request.sub, int(value)
            )
        access = f4.Access.DONE if write else f4.Access.VALUE
        return msg.ParameterFrame(True, access, request.index, request.sub, value)

    def _read(self, request: msg.ParameterFrame) -> int | f4.Abort:
        values: dict[int, int] = {
            f4.Parameter.PROTOCOL: self.major << 8 | f4.minor_for(self.count, self.inputs),
            f4.Parameter.SERIAL: self.serial,
            f4.Parameter.FIRMWARE: FIRMWARE[0] << 8 | FIRMWARE[1],
            f4.Parameter.CHANNELS: self.count,
            f4.Parameter.FLEX_INPUTS: self.inputs,
            f4.Parameter.FRAMING: int(self._fd),
            f4.Parameter.FAULTS: self.faults,
        }
        return values.get(request.index, f4.Abort.UNKNOWN_PARAMETER)

    def _write(self, request: msg.ParameterFrame, now: float) -> int | f4.Abort:
        index, value, motor = request.index, request.value, request.sub
        if index == f4.Parameter.SESSION:
            self._session, self.host_at = value, now
            return self.boot_id
        if index in self.limits.of:
            return (
                0
                if self.limits.write(f4.Parameter(index), motor, value)
                else f4.Abort.OUT_OF_RANGE
            )
        if index == f4.Parameter.FRAMING:
            if value and (self.count, self.inputs) != (f4.FIRST_MOTORS, f4.FIRST_MOTORS):
                return f4.Abort.OUT_OF_RANGE
            self._fd = bool(value)
            return 0
        if index == f4.Parameter.DISARM:
            if self._driven:
                self.state = f4.BoardState.SAFE
            return 0
        return self._change_state(index, value, now)

    def _change_state(self, index: int, value: int, now: float) -> int | f4.Abort:
        if index not in (f4.Parameter.ARM, f4.Parameter.RESET):
            known = index in tuple(f4.Parameter)
            return f4.Abort.READ_ONLY if known else f4.Abort.UNKNOWN_PARAMETER
        if value != self._session or self._session == 0:
            return f4.Abort.WRONG_SESSION
        if index == f4.Parameter.RESET:
            if self.state in (f4.BoardState.FAULT, f4.BoardState.ESTOP):
                self.state = f4.BoardState.SAFE
            self.faults, self.status_bits = 0, f4.Status(0)
            return 0
        if self.state not in (f4.BoardState.SAFE, f4.BoardState.ARMED, f4.BoardState.HOLDING):
            return f4.Abort.WRONG_STATE
        self.state, self.status_bits = f4.BoardState.ARMED, f4.Status(0)
        self.target, self._first = self.motors.encoder, True
        self._watched.restart()
        # The first command brings a time to live; until then the heartbeat alone stands guard.
        self._command_at, self._ttl, self.host_at = now, math.inf, now
        return 0

    def _stop(self, state: f4.BoardState, code: f4.EmergencyCode, motors: int = 0) -> None:
        if self.state is f4.BoardState.ESTOP:
            return
        self.state = state
        self._report(code, motors)

    def _report(self, code: f4.EmergencyCode, motors: int) -> None:
        self.faults |= 1 << code
        boot = self.boot_id & 0xFFFF
        wide = f4.minor_for(self.count, self.inputs)
        self._outbox.append(
            msg.EmergencyWide(code, motors, boot) if wide else msg.Emergency(code, motors, 0, boot)
        )

    def _flush(self) -> list[tuple[int, bytes]]:
        frames, self._outbox = self._outbox, []
        return [(int(f.id), f.pack()) for f in frames]


def mask_of(motors: NDArray[np.bool_]) -> int:
    """Return one bit for each motor."""
    return sum(1 << int(i) for i in np.flatnonzero(motors))


def whole(values: Array, lowest: int, highest: int) -> list[int]:
    """Round to integers that fit a field of a frame."""
    return [int(x) for x in np.clip(np.rint(values), lowest, highest)]
