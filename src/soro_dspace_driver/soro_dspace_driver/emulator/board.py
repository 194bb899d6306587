# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The real-time computer of protocol F1: session, watchdog, limits, outputs. Knows no pty."""

from __future__ import annotations

import math

import numpy as np

from soro_driver.loop.debounce import Conditions, Debounce
from soro_driver.serial import frame as sf
from soro_dspace_driver import protocol as f1
from soro_emulation.analog_input import Array
from soro_emulation.event_log import EventLog
from soro_emulation.pneumatic_bench import PneumaticBench

SCALE = 40e3  # Pa/V, monitors and commands
LOWEST_VOLT, HIGHEST_VOLT = -0.1, 10.2  # outside: sensor fault
RAMP = 200e3  # Pa/s, after the time to live has passed
OVER_PRESSURE = 20e3  # Pa above the limit
COMMANDED, NOTHING = 20e3, 2e3  # Pa: broken wire or burst
# For how long each must be wrong without a break [s].
JUDGED = {
    f1.DeviceFault.SENSOR: 0.05,
    f1.DeviceFault.OVER_PRESSURE: 0.05,
    f1.DeviceFault.NO_PRESSURE: 0.5,
}
FIRST_BAND = 20e3  # Pa between a first set-point and the measurement
IDLE_TTL = 1.0  # s after ARM, and while every set-point is zero: nothing could go wrong
BOOT_TIME, STATUS_PERIOD = 0.2, 0.5  # s
NOTE_PERIOD = 0.02  # s between lines of the log while set-points move
FIRMWARE = (1, 0)
LOOSE = (sf.SerialState.FAULT, sf.SerialState.ESTOP)


class DspaceBoard:
    """One real-time computer with its regulators.

    `bench`: its regulators in the order of the channels; `now` [s, CLOCK_MONOTONIC].

    Its attributes:
    - `repeats`: injected: every FEEDBACK is the last one again, sequence number included.
    - `stale`: set-points that came again or late.
    """

    def __init__(
        self, bench: PneumaticBench, boot_id: int, serial: int, log: EventLog, now: float
    ) -> None:
        self._bench, self._log, self.serial = bench, log, serial
        self.crc_errors = self.malformed = self.frames = 0
        self.repeats, self._noted_at, self.stale = False, now, 0
        self.count = self.channels = len(bench.names)
        self._volts = np.zeros(self.count)
        self.major = sf.MAJOR
        self.time = now
        self.start(boot_id, now)

    def start(self, boot_id: int, now: float) -> None:
        """Start anew: everything is forgotten, outputs are off."""
        self.boot_id, self._boot_at = boot_id, now
        self.state = sf.SerialState.BOOT
        self.faults = f1.DeviceFault(0)
        self.session, self._seq, self._minor = 0, 0, f1.minor_for(self.count)
        self._meant = 0  # channels that the faults mean, as bits
        self._last: int | None = None
        self._maximum, self._rate = np.zeros(self.count), RAMP
        self._period = 0.0
        self._feedback_at = self._status_at = now
        self.target, self.applied = np.zeros(self.count), np.zeros(self.count)
        self._command_at, self._ttl, self._first = -math.inf, 0.0, False
        self.ramping = False
        self._wrong = {bit: Debounce(self.count, hold) for bit, hold in JUDGED.items()}
        self._refused = self._expired = 0
        self._repeated: sf.Frame | None = None
        self._off(now)

    # The wire -----------------------------------------------------------------------------------

    def receive(self, frame: sf.Frame, now: float) -> list[sf.Frame]:
        """Take a frame; returns those that answer it."""
        self.control(now)
        if self.state is sf.SerialState.BOOT:
            return []
        if frame.type == sf.SessionType.HELLO:
            return self._hello(frame, now)
        if frame.major != self.major:
            return self._refuse(frame, sf.Reason.VERSION)
        kind = f1.BODIES.get(frame.type) or sf.SESSION_BODIES.get(frame.type)
        if kind is None:
            return self._refuse(frame, sf.Reason.UNKNOWN_TYPE)
        try:
            body = kind.unpack(frame.body)
        except sf.FrameError:
            return self._refuse(frame, sf.Reason.BAD_LENGTH)
        return self._act(frame, body, now)

    def tick(self, now: float) -> list[sf.Frame]:
        """Let time pass; returns what is due."""
        self.control(now)
        if self.state is sf.SerialState.BOOT:
            if now - self._boot_at < BOOT_TIME:
                return []
            self._enter(sf.SerialState.SAFE, now)
            return [self._answer(self._identity(0))]  # says that it has started
        if self.session == 0 or self._period == 0.0:
            return []
        due = []
        if now - self._feedback_at >= self._period:
            behind = now - self._feedback_at >= 2.0 * self._period
            self._feedback_at = now if behind else self._feedback_at + self._period
            due.append(self._feedback(now))
        if now - self._status_at >= STATUS_PERIOD:
            self._status_at = now
            due.append(self._answer(self._status()))
        return due

    def _hello(self, frame: sf.Frame, now: float) -> list[sf.Frame]:
        try:
            hello = sf.Hello.unpack(frame.body)
        except sf.FrameError:
            return self._refuse(frame, sf.Reason.BAD_LENGTH)
        if hello.session != self.session:
            self._off(now)  # another host: nothing of the old one counts
            if self.state is sf.SerialState.ARMED:
                self._enter(sf.SerialState.SAFE, now)
            self.session, self._last, self._period = hello.session, None, 0.0
            self._minor = min(hello.minor, f1.NEWEST_MINOR)
        return [self._answer(self._identity(hello.session))]

    def _act(self, frame: sf.Frame, body: sf.Body, now: float) -> list[sf.Frame]:
        if isinstance(body, sf.Disarm):
            self._disarm(now)
            return [self._answer(sf.Ack(frame.seq, frame.type))]
        if isinstance(body, f1.Command):
            return self._command(frame, body, now)
        if self.session == 0 or getattr(body, 'session', self.session) != self.session:
            return self._refuse(frame, sf.Reason.SESSION)
        if isinstance(body, sf.Heartbeat):
            return []
        if isinstance(body, f1.Limits):
            reason = self._limits(body, now)
        elif isinstance(body, sf.Arm):
            reason = self._arm(now)
        elif isinstance(body, sf.Reset):
            reason = self._reset(now)
        else:
            reason = sf.Reason.UNKNOWN_TYPE  # a frame that only devices send
        if reason is not None:
            return self._refuse(frame, reason)
        return [self._answer(sf.Ack(frame.seq, frame.type))]

    def _command(self, frame: sf.Frame, body: f1.Command, now: float) -> list[sf.Frame]:
        if body.flags & f1.CommandFlag.ESTOP:
            self._trip(sf.SerialState.ESTOP, f1.DeviceFault.ESTOP, now)
            return []
        if body.flags & f1.CommandFlag.VENT:
            self._disarm(now)
            return []
        if self.session == 0:
            return self._refuse(frame, sf.Reason.SESSION)
        if self._last is not None and not sf.is_newer(frame.seq, self._last):
            self.stale += 1
            return []
        if not body.flags & f1.CommandFlag.ENABLE:
            return []
        if self.state is not sf.SerialState.ARMED:
            return self._refuse(frame, sf.Reason.STATE)
        if len(body.setpoints) != self.count:
            return self._refuse(frame, sf.Reason.BAD_LENGTH)
        wanted = np.array(body.setpoints) * f1.COUNT
        if self._first:
            if np.any(np.abs(wanted - self._pressures(now)) > FIRST_BAND):
                return self._refuse(frame, sf.Reason.OUT_OF_RANGE)
            self._first = False
        self.target = np.minimum(wanted, self._maximum)
        limited = bool(np.any(self.target != wanted)) * f1.DeviceFault.LIMITED
        self.faults = self.faults & ~f1.DeviceFault.LIMITED | limited
        self._last, self._command_at = frame.seq, now
        self._ttl = 1e-3 * min(max(f1.TTL_COUNT * body.ttl, f1.MIN_TTL), f1.MAX_TTL)
        return []

    def _limits(self, body: f1.Limits, now: float) -> sf.Reason | None:
        if self._minor < f1.minor_for(self.count):  # this host cannot hear of every channel
            return sf.Reason.VERSION
        if len(body.maximum) != self.count:
            return sf.Reason.BAD_LENGTH
        if max(body.maximum) > f1.FULL_SCALE or body.rate == 0 or body.period < 20:
            return sf.Reason.OUT_OF_RANGE
        if self.state is sf.SerialState.ARMED:
            return sf.Reason.STATE
        self._maximum = np.array(body.maximum) * f1.COUNT
        self._rate, self._period = body.rate * 100.0, body.period * 1e-4
        self._feedback_at = now
        return None

    def _arm(self, now: float) -> sf.Reason | None:
        if self.state in LOOSE or self._period == 0.0:
            return sf.Reason.STATE
        if self.state is not sf.SerialState.ARMED:
            self.faults, self._meant = f1.DeviceFault(0), 0
            # Bumpless: from where the robot is; a dump valve has let it down in nearly all cases.
            self.applied = np.clip(np.nan_to_num(self._pressures(now)), 0.0, self._maximum)
            self.applied[self.applied < FIRST_BAND] = 0.0
            self.target = self.applied.copy()
            self.ramping = False
            self._bench.dump(False, now)
            self._enter(sf.SerialState.ARMED, now)
        self._command_at, self._ttl, self._first = now, IDLE_TTL, True
        return None

    def _disarm(self, now: float) -> None:
        self._off(now)
        if self.state not in LOOSE:
            self._enter(sf.SerialState.SAFE, now)

    def _reset(self, now: float) -> sf.Reason | None:
        self.faults, self._meant = f1.DeviceFault(0), 0
        if self.state in LOOSE:
            self._off(now)
            self._enter(sf.SerialState.SAFE, now)
        return None

    # The plant ----------------------------------------------------------------------------------

    def control(self, now: float) -> None:
        """Do what the computer does a thousand times a second: judge, slew, put out."""
        dt = now - self.time
        if dt <= 0.0:
            return
        self.time = now
        idle = not (np.count_nonzero(self.target) or np.count_nonzero(self.applied))
        allowed = IDLE_TTL if idle else self._ttl
        if self.state is sf.SerialState.ARMED and now - self._command_at > allowed:
            self.faults |= f1.DeviceFault.EXPIRED
            self._expired += 1
            self.ramping, self.target = True, np.zeros(self.count)
            self._enter(sf.SerialState.SAFE, now)
        self._judge(now)
        if self.state is sf.SerialState.ARMED or self.ramping:
            rate = RAMP if self.ramping else self._rate
            step = np.clip(self.target - self.applied, -rate * dt, rate * dt)
            self._put_out(self.applied + step, now)
            if self.ramping and not np.count_nonzero(self.applied):
                self._off(now)

    def _judge(self, now: float) -> None:
        volts = self._bench.monitors(now)
        self._volts = volts
        broken = (volts < LOWEST_VOLT) | (volts > HIGHEST_VOLT)
        pressure = volts * SCALE
        armed = self.state is sf.SerialState.ARMED
        over = ~broken & (pressure > self._maximum + OVER_PRESSURE)
        none = armed & ~broken & (self.applied > COMMANDED) & (pressure < NOTHING)
        self._watch(f1.DeviceFault.SENSOR, broken & armed, now)
        if self._period > 0.0:
            self._watch(f1.DeviceFault.OVER_PRESSURE, over, now)
        self._watch(f1.DeviceFault.NO_PRESSURE, none, now)

    def _watch(self, bit: f1.DeviceFault, wrong: Conditions, now: float) -> None:
        lasting = self._wrong[bit].update(wrong, now)
        if np.count_nonzero(lasting):
            self._meant |= sum(1 << int(i) for i in np.flatnonzero(lasting))
            self._trip(sf.SerialState.FAULT, bit, now)

    def _trip(self, state: sf.SerialState, faults: f1.DeviceFault, now: float) -> None:
        self.faults |= faults
        self._off(now)
        if self.state is not sf.SerialState.ESTOP:
            self._enter(state, now)

    def _off(self, now: float) -> None:
        """Zero volt at once, dump valve open."""
        self.ramping = False
        self.target = np.zeros(self.count)
        self._put_out(np.zeros(self.count), now)
        self._bench.dump(True, now)

    def _put_out(self, applied: Array, now: float) -> None:
        self.applied = applied
        # On the way only some points are noted; where a ramp ends always.
        noted = now - self._noted_at >= NOTE_PERIOD or bool(np.all(applied == self.target))
        if noted:
            self._noted_at = now
        for channel in range(self.count):
            self._bench.command(channel, float(applied[channel]), now, noted)

    def _enter(self, state: sf.SerialState, now: float) -> None:
        if state is not self.state:
            self.state = state
            self._log.write('state', now, state=state.name, faults=int(self.faults))

    def _pressures(self, now: float) -> Array:
        return self._bench.monitors(now) * SCALE

    # What it says -------------------------------------------------------------------------------

    def _answer(self, body: sf.Body) -> sf.Frame:
        self._seq = (self._seq + 1) & 0xFFFF
        return body.frame(self._seq, self.major << 4 | self._minor)

    def _refuse(self, frame: sf.Frame, reason: sf.Reason) -> list[sf.Frame]:
        self._refused = (self._refused + 1) & 0xFFFF
        return [self._answer(sf.Nack(frame.seq, frame.type, reason))]

    def _identity(self, session: int) -> sf.HelloAck:
        return sf.HelloAck(
            session,
            self.major,
            self._minor,
            sf.DeviceKind.PRESSURE,
            int(self.state),
            self.serial,
            self.boot_id,
            *FIRMWARE,
            self.channels,
            f1.MIN_TTL,
            f1.MAX_TTL,
            0,
            f1.FULL_SCALE,
        )

    def _status(self) -> f1.Status:
        return f1.Status(
            self.boot_id,
            self.frames,
            self.crc_errors,
            self.malformed,
            self._refused,
            self._expired & 0xFFFF,
        )

    def _feedback(self, now: float) -> sf.Frame:
        if self.repeats and self._repeated is not None:
            return self._repeated
        broken = (self._volts < LOWEST_VOLT) | (self._volts > HIGHEST_VOLT)
        counts = np.clip(np.rint(self._volts * SCALE / f1.COUNT), 0, f1.INVALID - 1)
        faults, channels = int(self.faults), None
        if self._minor == 0:
            faults |= self._meant * f1.DeviceFault.CHANNEL_1
        else:
            channels = self._meant
        body = f1.Feedback(
            self._last or 0,
            int(now * 1e6) & 0xFFFFFFFF,
            tuple(f1.INVALID if bad else int(c) for c, bad in zip(counts, broken, strict=True)),
            tuple(int(x) for x in np.rint(self.applied / f1.COUNT)),
            int(self.state),
            int(min(255.0, 1e3 * max(0.0, min(1e3, now - self._command_at)))),
            faults,
            channels,
        )
        self._repeated = self._answer(body)
        return self._repeated
