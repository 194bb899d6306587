# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The motor board in SI: angles of the outputs in rad, and nothing of its own units outside."""

from __future__ import annotations

from collections.abc import Iterator
import math
import secrets
import time

import numpy as np
from numpy.typing import NDArray

from soro_can_driver import board as f4
from soro_can_driver import protocol as msg
from soro_can_driver.frame import Control, Frame, position_control, ProtocolError, state_of
from soro_can_driver.protocol import unpack
from soro_can_driver.wiring import CanWiring
from soro_driver.can_bus import POLL, RawCanBus
from soro_driver.device import (
    DeviceError,
    DeviceLost,
    DeviceTimeout,
    Identity,
    RATE_LIMITED,
    SENSOR_FAULT,
)

Array = NDArray[np.float64]

COUNT = math.radians(0.1)  # rad of the motor per count
HEARTBEAT, LAST_HEARTBEAT = 0.05, 0.3  # s: ours, and the age of the board's that ends it
SEND_WITHIN = 0.01  # s until a link that takes no frames is lost
ASK_AGAIN = 0.02  # s: a frame can be lost, and what a parameter frame asks for may be asked twice
# As numbers: whatever is an enumeration costs a microsecond, in every tick.
SATURATED, TORN = int(f4.Status.SATURATED), int(f4.Status.TORN)
ARMED = f4.BoardState.ARMED
IDLE = Control(False, f4.Mode.COAST, 0)
FLEX_FAULTY = int(f4.FlexFlag.STUCK | f4.FlexFlag.OUT_OF_RANGE)
LAST_COUNT = 0x7FFF + 0.5  # what is less is rounded to one that fits
MAX_BEHIND = 10  # SYNCs, or set-points: an answer to an older one is no measurement


class Answers:
    """Counts the questions since the one that was answered last.

    The numbers wrap, the count does not: an answer that stays the same never looks new again.

    - `newest`: number of the newest question, u8.
    - `behind`: questions after the one that the newest answer belongs to.
    """

    def __init__(self) -> None:
        self.restart(0)

    def restart(self, newest: int) -> None:
        """Begin with nothing to be answered; `newest` is the number before the next one."""
        self.newest, self.behind = newest, 0
        self._answer = newest

    def ask(self) -> int:
        """Return the number of the next question."""
        self.newest = (self.newest + 1) & 0xFF
        self.behind += 1
        return self.newest

    def answered(self, number: int) -> None:
        """Take the number that an answer carries."""
        if number != self._answer:
            self._answer = number
            self.behind = (self.newest - number) & 0xFF


class CanBus(RawCanBus):
    """Counts what is not a frame of the protocol."""

    def send(self, *frames: Frame) -> None:
        """Send frames, in one packet where the link can. Raises DeviceTimeout, DeviceLost."""
        self.put([(int(frame.id), frame.pack()) for frame in frames])

    def receive(self) -> Iterator[Frame]:
        """Yield what has arrived, without waiting. Raises DeviceLost."""
        for identifier, data in self.take():
            try:
                yield unpack(identifier, data)
            except ProtocolError:
                self._foreign += 1


class CanTransport:
    """Talks to one board. The board answers every SYNC (or FD command) with its measurements.

    A measurement counts, and `time` says so, when it answers a SYNC and rests on a set-point that
    are not long past: a board that hangs, lags, or takes no set-points is lost by its age.

    - `time`: arrival of the newest measurement that counts [s, CLOCK_MONOTONIC].
    - `stale`: measurements that did not count.
    - `angles`, `applied` [rad], `flex` [counts]; `limited`, `flex_flags`: bits of `Flag`. Lists:
      with so few numbers arrays take several times as long.
    """

    def __init__(self, wiring: CanWiring, io_timeout: float, open_timeout: float) -> None:
        self.wiring = wiring
        self.bus = CanBus(wiring, SEND_WITHIN, 0.3 * open_timeout)
        self._io_timeout, self._open_timeout = io_timeout, open_timeout
        self._fd = wiring.framing == 'fd'
        self._motors, self._sensors = wiring.zero.size, len(wiring.sensors)
        self._groups = f4.groups_of(self._motors)
        # Of the outputs, at no count and per count [rad].
        per_count = wiring.direction * (COUNT / wiring.ratio)
        self._scale = list(zip(wiring.zero.tolist(), per_count.tolist(), strict=True))
        self._forget()

    def _forget(self) -> None:
        self.time, self.sampled = -math.inf, math.nan
        self.angles, self.applied = [math.nan] * self._motors, [math.nan] * self._motors
        self.flex, self.flex_flags = [math.nan] * self._sensors, [0] * self._sensors
        self.limited = [0] * self._motors
        self.status, self.state = 0, f4.BoardState.BOOT
        self.emergencies: dict[int, int] = {}  # code: mask of the motors
        self.boot_id: int | None = None
        self.rebooted = False
        self.torn = 0
        self._session = 0
        self._sent: dict[int, list[float]] = {}
        self._whole: list[msg.Position] = []  # groups of one measurement, in order
        self._asked = self._armed = False
        self._echo, self._clock, self.stale = 0, -1, 0
        # SYNCs and the counters that come back with flex samples; set-points and their echoes.
        self._syncs, self._setpoints = Answers(), Answers()
        # When the command of each number went out. The board measures when it takes a command and
        # echoes its number; without commands the numbers are old, and so samples look.
        self._sent_at = [math.nan] * 256
        self._heartbeat_at = self._alive_at = -math.inf
        self._replies: list[msg.ParameterFrame] = []
        self._end = -math.inf

    def _within(self, seconds: float) -> None:
        """Set the time by which the parameters exchanged next must all be answered."""
        self._end = time.monotonic() + seconds

    def open(self) -> Identity:
        """Connect, open a session, check the board, and give it this robot's limits.

        DeviceError: another process drives the bus; another protocol, another board, or a refused
        limit.
        DeviceLost, DeviceTimeout: nobody answers.
        """
        self._forget()
        self.bus.open()
        try:
            self._within(self._open_timeout)
            return self._begin()
        except BaseException:
            self.bus.close()  # a bus on which nothing was opened is not kept from others
            raise

    def _begin(self) -> Identity:
        """Begin a session with the board that is on the bus."""
        self._session = secrets.randbelow(0x7FFFFFFE) + 1
        boot = self.write_parameter(f4.Parameter.SESSION, self._session)
        self._check_board()
        serial = self.read_parameter(f4.Parameter.SERIAL)
        if self.wiring.serial not in (0, serial):
            wanted = self.wiring.serial
            raise DeviceError(f'board {serial} answers, the robot file names {wanted}')
        firmware = self.read_parameter(f4.Parameter.FIRMWARE)
        self.write_parameter(f4.Parameter.DISARM, 0)
        self.write_parameter(f4.Parameter.FRAMING, int(self._fd))
        self._write_limits()
        self.boot_id, self.rebooted = boot, False
        self._await_measurement()
        return Identity('CAN motor board', str(serial), f'{firmware >> 8}.{firmware & 255}', boot)

    def _check_board(self) -> None:
        """Refuse a board that speaks otherwise, or has other motors or sensors than the robot."""
        version = self.read_parameter(f4.Parameter.PROTOCOL)
        major, minor = version >> 8, version & 255
        if major != f4.PROTOCOL_MAJOR:
            raise DeviceError(
                f'the board speaks protocol {major}, this driver {f4.PROTOCOL_MAJOR}'
            )
        channels = self.read_parameter(f4.Parameter.CHANNELS)
        if channels != self._motors:
            raise DeviceError(f'the board has {channels} motors, this robot needs {self._motors}')
        needed = f4.minor_for(self._motors, self._sensors)
        if minor < needed:
            raise DeviceError(
                f'the board speaks protocol {major}.{minor}, {self._motors} motors and '
                f'{self._sensors} sensors need {major}.{needed}: load newer firmware'
            )
        if needed:
            inputs = self.read_parameter(f4.Parameter.FLEX_INPUTS)
            if inputs != self._sensors:
                raise DeviceError(
                    f'the board has {inputs} flex inputs, this robot needs {self._sensors}'
                )

    def close(self) -> None:
        """Disconnect; never raises."""
        self.bus.close()

    def poll(self, now: float) -> None:
        """Take in what has arrived; keep the heartbeat going; ask for the next measurement.

        DeviceLost: the board is armed and has sent no heartbeat for 300 ms: what answers is not
        well.
        """
        self._take(now)
        silent = now - self._alive_at
        # Where measurements are missing too, it is their age that says so.
        if self._armed and silent > LAST_HEARTBEAT and now - self.time < 0.5 * LAST_HEARTBEAT:
            raise DeviceLost(f'no heartbeat of the board for {silent:.3f} s, only measurements')
        if now - self._heartbeat_at >= HEARTBEAT:
            self.bus.send(msg.HostHeartbeat(self._session))
            self._heartbeat_at = now
        if not self._asked:
            self._ask()
        self._asked = False

    def command(self, values: Array, ttl: float) -> None:
        """Send set-points, shape (m,) [rad]; the board's answer to them arrives by itself."""
        pairs = zip(values.tolist(), self._scale, strict=True)
        exact = [(value - zero) / step for value, (zero, step) in pairs]
        if not all(-LAST_COUNT < count < LAST_COUNT for count in exact):  # nor NaN
            raise DeviceError(f'angle {values} does not fit the frame; check ratio and zero')
        whole = [round(count) for count in exact]
        seq = self._setpoints.ask()
        self._sent_at[seq] = time.monotonic()
        self._sent[seq] = [z + n * step for n, (z, step) in zip(whole, self._scale, strict=True)]
        control = position_control(ttl)
        if self._fd:
            self.bus.send(msg.CommandFd(seq, control, tuple(whole)))
        else:
            whole += [0] * (f4.PER_GROUP * self._groups - self._motors)
            groups = (whole[k : k + f4.PER_GROUP] for k in range(0, len(whole), f4.PER_GROUP))
            frames = [
                msg.Command(g, seq, control, (a, b, c)) for g, (a, b, c) in enumerate(groups)
            ]
            self.bus.send(*frames, self._sync())
        self._asked = True

    def arm(self) -> None:
        """Let the board act on set-points."""
        self._sent.clear()
        self._sent_at = [math.nan] * 256
        self.applied = [math.nan] * self._motors
        self._within(self._open_timeout)
        self.write_parameter(f4.Parameter.ARM, self._session)
        self._setpoints.restart(self._echo)  # no number may look like one of before
        # What was said before says nothing about the board that is armed now: a time to live that
        # ended under the host before this one, for example.
        self.emergencies.clear()
        self.status, self.state = int(f4.BoardState.ARMED), f4.BoardState.ARMED
        self._armed, self._alive_at = True, time.monotonic()

    def disarm(self) -> None:
        """Take the motors off power, asking until the board confirms it or the time is over."""
        self._armed = False  # from here on it takes no set-points
        self._within(self._io_timeout)
        self.write_parameter(f4.Parameter.DISARM, 0)

    def stop_at_once(self, reason: int) -> None:
        """Send the emergency stop three times, whatever the board answers."""
        for _ in range(3):
            self.bus.send(msg.EmergencyStop(reason))

    def reset(self) -> None:
        """Clear the board's latched faults."""
        self._within(self._open_timeout)
        if self.rebooted:  # it knows neither the session nor the limits any more
            self._begin()
        self.write_parameter(f4.Parameter.RESET, self._session)
        # The newest measurement is from before: it would latch the fault anew.
        self.emergencies.clear()
        self.status, self.state = int(f4.BoardState.SAFE), f4.BoardState.SAFE

    def read_parameter(self, index: f4.Parameter) -> int:
        """Return a parameter's value."""
        return self._exchange(msg.ParameterFrame(False, f4.Access.READ, index, 0, 0))

    def write_parameter(self, index: f4.Parameter, value: int, sub: int = 0) -> int:
        """Write a parameter; returns the value of the board's reply."""
        return self._exchange(msg.ParameterFrame(False, f4.Access.WRITE, index, sub, value))

    def _exchange(self, request: msg.ParameterFrame) -> int:
        self._replies.clear()
        again = -math.inf
        while True:
            now = time.monotonic()
            if now >= again:
                self.bus.send(request)
                again = now + ASK_AGAIN
            self._take(now)
            for reply in self._replies:
                if (reply.index, reply.sub) == (request.index, request.sub):
                    return self._judge(request, reply)
            if not self.bus.wait(self._end):
                name = f4.Parameter(request.index).name
                raise DeviceTimeout(f'the board did not answer {name} in time')

    @staticmethod
    def _judge(request: msg.ParameterFrame, reply: msg.ParameterFrame) -> int:
        if reply.access is f4.Access.ABORT:
            known = reply.value in tuple(f4.Abort)
            why = (
                f4.Abort(reply.value).name.lower().replace('_', ' ') if known else 'unknown reason'
            )
            raise DeviceError(f'the board refused {f4.Parameter(request.index).name}: {why}')
        return reply.value

    def _await_measurement(self) -> None:
        """Ask until everything was measured once: nobody is told of a robot at NaN."""
        while not (math.isfinite(self.time) and all(map(math.isfinite, self.angles))):
            self._ask()
            again = time.monotonic() + 10.0 * POLL
            while self.bus.wait(again) and not math.isfinite(self.time):
                self._take(time.monotonic())
            self._take(time.monotonic())
            if not math.isfinite(self.time) and not self.bus.wait(self._end):
                what = 'old measurements only' if self.stale else 'no measurements'
                raise DeviceTimeout(f'the board sends {what}')

    def _write_limits(self) -> None:
        w = self.wiring
        ends = np.sort(
            np.rint(w.direction * (np.array([w.minimum, w.maximum]) - w.zero) * w.ratio / COUNT),
            axis=0,
        )
        speed = np.rint(np.degrees(w.speed * w.ratio))
        step = np.ceil(w.step * w.ratio / COUNT) + 1.0  # both ends are rounded
        error = round(w.tracking * w.ratio / COUNT)
        for motor in range(self._motors):
            self.write_parameter(f4.Parameter.MINIMUM_ANGLE, int(ends[0, motor]), motor)
            self.write_parameter(f4.Parameter.MAXIMUM_ANGLE, int(ends[1, motor]), motor)
            self.write_parameter(f4.Parameter.MAXIMUM_SPEED, int(speed[motor]), motor)
            self.write_parameter(f4.Parameter.MAXIMUM_STEP, int(step[motor]), motor)
            self.write_parameter(f4.Parameter.MAXIMUM_ERROR, error, motor)

    def _ask(self) -> None:
        if self._fd:
            self.bus.send(msg.CommandFd(self._setpoints.newest, IDLE, (0,) * self._motors))
        else:
            self.bus.send(self._sync())

    def _sync(self) -> msg.Sync:
        return msg.Sync(self._syncs.ask())

    def _take(self, now: float) -> None:
        for frame in self.bus.receive():
            self._sort(frame, now)

    def _sort(self, frame: Frame, now: float) -> None:
        if isinstance(frame, msg.FeedbackFd):
            self._measured(0, frame.angles, frame.status)
            self._flexed(0, frame.samples)
            repeated, self._clock = frame.time == self._clock, frame.time
            self._judge_age(frame.seq, now, repeated)
        elif isinstance(frame, msg.Position):
            self._gather(frame, now)
        elif isinstance(frame, msg.Flex):
            self._flexed(f4.PER_GROUP * frame.group, frame.samples)
            self._syncs.answered(frame.seq)
        elif isinstance(frame, msg.ParameterFrame):
            if frame.reply:
                self._replies.append(frame)
        elif isinstance(frame, msg.Emergency | msg.EmergencyWide):
            self.emergencies[frame.code] = self.emergencies.get(frame.code, 0) | frame.motors
        elif isinstance(frame, msg.BoardHeartbeat):
            self._alive_at = now
            if self.boot_id is not None and frame.boot_id != self.boot_id & 0xFFFF:
                self.rebooted = True

    def _gather(self, frame: msg.Position, now: float) -> None:
        """Take a group; they come in order, and all rest on the same set-point."""
        whole, self._whole = self._whole, []
        if frame.group == 0:
            whole = []
        elif frame.group != len(whole) or whole[0].seq != frame.seq:
            return
        whole.append(frame)
        if len(whole) < self._groups:
            self._whole = whole
            return
        for each in whole:
            self._measured(f4.PER_GROUP * each.group, each.angles, each.status)
        self._judge_age(frame.seq, now)

    def _judge_age(self, echo: int, now: float, repeated: bool = False) -> None:
        """Let a measurement count unless it is an old one; `echo` is the set-point behind it."""
        self._echo = echo
        self._setpoints.answered(echo)
        armed = self._armed and self.state is ARMED
        waiting = max(self._syncs.behind, self._setpoints.behind if armed else 0)
        if repeated or waiting > MAX_BEHIND:
            self.stale += 1
            return
        self.time, self.sampled = now, self._sent_at[echo]
        if armed and echo in self._sent:
            self.applied = self._sent[echo]

    def _measured(self, first: int, angles: tuple[int, ...], status: int) -> None:
        here = slice(first, min(first + len(angles), self._motors))
        pairs = zip(angles, self._scale[here], strict=False)  # a last group may have more
        self.angles[here] = [zero + count * step for count, (zero, step) in pairs]
        self.status, self.state = status, state_of(status)
        limited = RATE_LIMITED if status & SATURATED else 0
        self.limited[here] = [limited] * (here.stop - first)
        self.torn += bool(status & TORN)

    def _flexed(self, first: int, samples: tuple[int, ...]) -> None:
        raw = samples[: max(0, self._sensors - first)]
        here = slice(first, first + len(raw))
        self.flex[here] = [sample & f4.FLEX_MASK for sample in raw]
        self.flex_flags[here] = [SENSOR_FAULT if sample & FLEX_FAULTY else 0 for sample in raw]
