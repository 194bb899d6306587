# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The session with the real-time computer; counts of the wire to Pa and back, nowhere else."""

from __future__ import annotations

import math

import numpy as np

from soro_driver.device import Array, DeviceError, DeviceTimeout, Identity
from soro_driver.serial import frame as sf
from soro_driver.serial.link import Arrival, SerialLink
from soro_driver.serial.session import SerialSession
from soro_dspace_driver import protocol as f1
from soro_dspace_driver.wiring import DspaceWiring


class DspaceTransport:
    """Speaks F1; keeps the newest measurement and when it arrived.

    - `time`: of the newest measurement [s, CLOCK_MONOTONIC]; NaN before the first one.
    - `measured`, `applied` (m,): [Pa], order of the actuators; NaN where the monitor is out of
      range.
    - `state`: SerialState of the device.
    - `meant`: bits of the device's channels that `faults` are about.
    - `rebooted`: the device does not know this session any more.
    """

    def __init__(self, wiring: DspaceWiring, io_timeout: float, open_timeout: float) -> None:
        self._wiring = wiring
        self._io_timeout, self._open_timeout = io_timeout, open_timeout
        link = SerialLink(wiring.port, wiring.baudrate, 0.5 * io_timeout)
        self._count = len(wiring.channels)
        self.session = SerialSession(
            link, sf.DeviceKind.PRESSURE, self._count, wiring.serial, f1.minor_for(self._count)
        )
        self._forget()

    def open(self) -> Identity:
        """Open port and session, disarm, give the device its limits, await a measurement.

        DeviceError: another protocol or device; limits that it refuses.
        DeviceLost, DeviceTimeout: nobody answers, or no measurement comes.
        """
        self._forget()
        clock = self.session.link.clock
        end = clock() + self._open_timeout
        peer = self.session.open(0.5 * self._open_timeout)
        w = self._wiring
        if np.any(w.maximum > peer.maximum * f1.COUNT):
            most = peer.maximum * f1.COUNT
            raise DeviceError(f'the device goes to {most:g} Pa, the robot file wants more')
        self.session.request(sf.Disarm(), max(0.01, end - clock()))
        maximum = self._counts(w.maximum)
        rate = int(round(float(np.min(w.slew)) / f1.RATE_COUNT))
        period = int(round(1.0 / (w.rate * f1.PERIOD_COUNT)))
        self.session.request(f1.Limits(maximum, rate, period), max(0.01, end - clock()))
        self._await_measurement(end)
        firmware = f'{peer.firmware_major}.{peer.firmware_minor}'
        return Identity('dSPACE MicroLabBox', str(peer.serial), firmware, self.session.number)

    def close(self) -> None:
        """Close the port; never raises."""
        self.session.close()

    def poll(self) -> None:
        """Take in what has arrived. Raises DeviceLost."""
        for arrival in self.session.take():
            try:
                self._sort(arrival)
            except sf.FrameError:
                self.session.strange += 1
        self.rebooted |= self.session.rebooted

    def command(self, values: Array, ttl: float) -> None:
        """Send set-points [Pa], shape (m,), that hold for `ttl` [s]. Raises DeviceError."""
        milliseconds = min(max(ttl * 1e3, f1.MIN_TTL), f1.MAX_TTL)
        body = f1.Command(
            int(milliseconds / f1.TTL_COUNT), f1.CommandFlag.ENABLE, self._counts(values)
        )
        self.session.link.send(body)

    def vent_unconfirmed(self) -> None:
        """Ask for zero volt and dump three times, whatever the device answers."""
        for _ in range(3):
            self.session.link.send(f1.Command(0, f1.CommandFlag.VENT, (0,) * self._count))

    def arm(self) -> None:
        """Let the device act on set-points. Raises Refused, DeviceTimeout."""
        self.session.request(sf.Arm(self.session.number), self._open_timeout)
        self.poll()  # what was measured before says nothing about this time
        self.faults &= ~f1.DeviceFault.EXPIRED
        if self.state in sf.UNARMED:
            self.state = int(sf.SerialState.ARMED)

    def disarm(self) -> None:
        """Zero volt and dump, confirmed by the device."""
        self.session.request(sf.Disarm(), self._io_timeout)

    def reset(self) -> None:
        """Clear the device's latched faults."""
        self.session.request(sf.Reset(self.session.number), self._open_timeout)
        self.poll()  # what was measured before RESET would latch the fault anew
        self.state, self.faults = int(sf.SerialState.SAFE), f1.DeviceFault(0)

    def _forget(self) -> None:
        self.time = math.nan
        self.measured, self.applied = np.full((2, self._count), math.nan)
        self.state = int(sf.SerialState.BOOT)
        self.faults, self.meant = f1.DeviceFault(0), 0
        self.rebooted = False
        self._seq: int | None = None

    def _await_measurement(self, end: float) -> None:
        self._seq, self.time = None, math.nan  # one that was made after DISARM and LIMITS
        while math.isnan(self.time):
            if not self.session.link.wait(end) and self.session.link.clock() >= end:
                raise DeviceTimeout('the device sends no measurements')
            self.poll()

    def _sort(self, arrival: Arrival) -> None:
        frame = arrival.frame
        if frame.type == f1.Type.FEEDBACK:
            # Whatever comes twice or too late is no measurement; the old time stays.
            if self._seq is None or sf.is_newer(frame.seq, self._seq):
                self._measured(f1.Feedback.unpack(frame.body), arrival.time)
                self._seq = frame.seq
        elif frame.type == f1.Type.STATUS:
            peer, status = self.session.peer, f1.Status.unpack(frame.body)
            self.rebooted |= peer is not None and status.boot_id != peer.boot_id
        elif frame.type == sf.SessionType.NACK:
            nack = sf.Nack.unpack(frame.body)
            self.rebooted |= nack.of_type == f1.Type.COMMAND and nack.reason == sf.Reason.SESSION

    def _measured(self, feedback: f1.Feedback, arrival: float) -> None:
        if len(feedback.measured) != self._count:
            raise sf.FrameError(f'FEEDBACK of {len(feedback.measured)} channels')
        channels = self._wiring.channels
        raw = np.array(feedback.measured)[channels]
        self.measured = np.where(raw == f1.INVALID, math.nan, raw * f1.COUNT)
        self.applied = np.array(feedback.applied)[channels] * f1.COUNT
        self.state, self.faults = feedback.state, f1.DeviceFault(feedback.faults)
        named = feedback.channels
        self.meant = feedback.faults // f1.DeviceFault.CHANNEL_1 & 7 if named is None else named
        self.time = arrival

    def _counts(self, values: Array) -> tuple[int, ...]:
        counts = np.zeros(self._count, int)
        counts[self._wiring.channels] = np.rint(values / f1.COUNT)
        if np.any(counts < 0) or np.any(counts > f1.FULL_SCALE):
            raise DeviceError(f'{values} Pa do not fit the frame')
        return tuple(int(x) for x in counts)
