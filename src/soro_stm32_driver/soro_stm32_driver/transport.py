# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The valve board in SI: lengths in metres, times in seconds, one session after the other."""

from __future__ import annotations

from collections import deque, OrderedDict
from dataclasses import replace
import math

import numpy as np

from soro_driver.device import DeviceError, DeviceTimeout, Identity
from soro_driver.serial import frame as sf
from soro_driver.serial.link import Arrival, SerialLink
from soro_driver.serial.session import SerialSession
from soro_stm32_driver import protocol as f3
from soro_stm32_driver.command_window import CommandWindow
from soro_stm32_driver.muscle_curves import Array
from soro_stm32_driver.muscle_estimate import MuscleEstimate
from soro_stm32_driver.valve_planner import ValvePlan, ValvePlanner
from soro_stm32_driver.wiring import Stm32Wiring

HEARTBEAT = 0.08  # s at least between two
ALLOWANCE = 0.3  # s from planning a command to its deadline on the device
HORIZON = 0.3  # s of work sent ahead of a muscle
AHEAD = 0.1  # s from planning pulses to when they have acted: the time until the next ones
SETTLED_AFTER = 0.3  # s with the same lengths
PATIENT = (f3.ValveReason.STALE, f3.ValveReason.SUPPLY, f3.ValveReason.QUEUE)
WRITE_TIMEOUT = 0.2  # s; a computer that stalls is no device that does not read
MASK = 0xFFFFFFFF
SAMPLES = 64  # round trips kept: long enough to hold a fast one, short enough for drifting clocks


class ValveSession(SerialSession):
    """A session whose refusals are said in this board's words."""

    spare_channels = True  # in 1.1: SET_PAIRS says how many of them are used

    def reason(self, nack: sf.Nack) -> str:
        """Say why the board refused."""
        return f3.valve_reason_name(nack.reason)


class DeviceClock:
    """Translates times of this computer [s, CLOCK_MONOTONIC] to the device's [ms, u32].

    The offset is that of the fastest of the recent round trips.
    """

    def __init__(self) -> None:
        self._samples: deque[tuple[float, float]] = deque(maxlen=SAMPLES)

    def restart(self) -> None:
        """Forget the device's clock."""
        self._samples.clear()

    @property
    def known(self) -> bool:
        """Whether there was a round trip."""
        return bool(self._samples)

    def sample(self, sent: float, arrived: float, device: int) -> None:
        """Take a round trip in: `device` is the device's time of the answer [ms]."""
        middle = 0.5 * (sent + arrived) * 1e3
        self._samples.append((arrived - sent, (device - middle) % (MASK + 1)))

    def at(self, time: float) -> int:
        """Return the device's time [ms, u32]."""
        _, offset = min(self._samples)
        return int(time * 1e3 + offset) & MASK


class Stm32Transport:
    """Talks to one board; a single thread uses it.

    `io_timeout`, `open_timeout` [s]; `link`: default: the port of the wiring; `now`: steady clock
    [s], the one that the link stamps arrivals with.

    Its attributes:
    - `time`: arrival of the newest STATUS [s].
    - `measured` (m,) [m]: NaN where there is no sensor.
    - `plan`: the last one.
    - `exhausted_by_device`: muscle whose inflation budget the board found used up.
    """

    def __init__(
        self,
        wiring: Stm32Wiring,
        io_timeout: float,
        open_timeout: float,
        link: SerialLink | None = None,
    ) -> None:
        self._io_timeout, self._open_timeout = io_timeout, open_timeout
        link = link or SerialLink(wiring.port, wiring.baudrate, WRITE_TIMEOUT)
        self.wiring, self.now = wiring, link.clock
        self._count, minor = wiring.pairing.count, wiring.pairing.minor
        self.session = ValveSession(link, sf.DeviceKind.VALVES, self._count, wiring.serial, minor)
        self.estimate = MuscleEstimate(wiring)
        self.planner = ValvePlanner(wiring, self.estimate, HORIZON)
        self.window = CommandWindow(self._count)
        self.clock = DeviceClock()
        self._forget()

    def _forget(self) -> None:
        self.time = -math.inf
        self.status: f3.Status | None = None
        self.measured = np.full(self._count, math.nan)
        self.plan: ValvePlan | None = None
        self.exhausted_by_device: int | None = None
        self.rebooted = False
        self._refusal: DeviceError | None = None
        self._vented_at = -math.inf
        self._vented_after: int | None = None
        self._heartbeat_at = -math.inf
        self._alive_until = math.inf
        self._beats: OrderedDict[int, float] = OrderedDict()
        self._lengths: Array | None = None
        self._way = np.zeros(self._count)  # of the lengths, in the last command
        self._same_since = 0.0
        self._commanded_at = -math.inf
        self._seq = 0
        self._reported: dict[int, int] = {}
        self.estimate.restart()
        self.window.restart(self.estimate.worked)
        self.clock.restart()

    def open(self) -> Identity:
        """Connect, open a session, let the board vent, and wait for its first status.

        DeviceError: another protocol or another board.
        DeviceLost, DeviceTimeout: nobody answers.
        """
        self._forget()
        end = self.now() + self._open_timeout
        peer = self.session.open(0.6 * self._open_timeout)
        if self.wiring.pairing.minor:
            self.session.request(f3.SetPairs(self.wiring.pairing.pairs), 0.2 * self._open_timeout)
        self._vented_after = self.session.request(sf.Disarm(), 0.3 * self._open_timeout).detail
        while self.status is None:
            if not self.session.link.wait(end):
                raise DeviceTimeout('the valve board sends no STATUS')
            self.poll(self.now())
        firmware = f'{peer.firmware_major}.{peer.firmware_minor}'
        return Identity('STM32 valve board', str(peer.serial), firmware, peer.boot_id)

    def close(self) -> None:
        """Disconnect; never raises."""
        self.session.close()

    def poll(self, now: float) -> None:
        """Take in what has arrived; send heartbeats and what was not answered."""
        for arrival in self.session.take():
            self._sort(arrival)
        self.rebooted |= self.session.rebooted
        refusal, self._refusal = self._refusal, None
        if refusal is not None:
            raise refusal
        # With every tick of 10 Hz: a few may be lost before the board's watchdog acts.
        if now < self._alive_until and now - self._heartbeat_at >= HEARTBEAT:
            self._beat(now)
        for seq, command in self.window.due(now):
            self.session.link.send(command, seq)

    def command(self, values: Array, ttl: float, now: float | None = None) -> None:
        """Bring the muscles toward lengths (m,) [m]; the board goes safe `ttl` [s] later."""
        now = self.now() if now is None else now
        self._alive_until = now + ttl
        ahead = self._ahead(values, now)
        if self.window.full or not self.clock.known:
            return
        pending = self.window.pending(self.estimate.worked)
        settled = now - self._same_since >= SETTLED_AFTER
        begun = self.wiring.pairing.open(self.status.valves if self.status else 0)
        self.plan = self.planner.plan(ahead, pending, begun, settled)
        if not self.plan.actions:
            return
        deadline = (self.clock.at(now) + int(ALLOWANCE * 1e3)) & 0xFFFF
        self.send_timed(f3.SetTimed(deadline, self.plan.actions), now)

    def _ahead(self, lengths: Array, now: float) -> Array:
        """Return where lengths that move as they do will be when a command acts."""
        last, before, self._lengths = self._lengths, self._way, lengths.copy()
        elapsed, self._commanded_at = now - self._commanded_at, now
        self._way = way = np.zeros(self._count) if last is None else lengths - last
        if not way.any():
            return lengths
        self._same_since = now
        # One step says nothing of the next: the least of two that go the same way.
        sure = np.sign(way) * np.minimum(np.abs(way), np.maximum(np.sign(way) * before, 0.0))
        return lengths + sure * min(AHEAD / elapsed, 2.0)

    def send_timed(self, command: f3.SetTimed, now: float) -> None:
        """Send a command for the first time."""
        self._seq = (self._seq + 1) & 0xFFFF
        # Noted before: what a stalled computer reports as not written may well be on its way.
        self.window.add(self._seq, command, now)
        self.session.link.send(command, self._seq)

    def arm(self) -> None:
        """Let the board act on commands of this session."""
        self._alive_until = math.inf
        ack = self.session.request(sf.Arm(self.session.number), self._open_timeout)
        self._confirmed(ack, sf.SerialState.ARMED)
        self.exhausted_by_device = None
        self.window.restart(self.estimate.worked)

    def disarm(self) -> None:
        """Disarm; the board closes everything and vents."""
        self._alive_until = math.inf
        self.window.restart(self.estimate.worked)
        if not self._being_vented():  # asked again and again, venting would never end
            self._vent(sf.Disarm())

    def reset(self) -> None:
        """Clear the board's latched faults; after a restart of the board, open a new session."""
        if self.rebooted or self.session.rebooted:
            self.open()
        ack = self.session.request(sf.Reset(self.session.number), self._open_timeout)
        self._confirmed(ack, sf.SerialState.SAFE)
        self.exhausted_by_device = None

    def vented(self, now: float) -> bool:
        """Whether the muscles are known to be empty; asks for venting where that was long ago."""
        status = self.status
        if status is None or not self.clock.known or status.flags & f3.StatusFlag.VENTING:
            return False
        if not status.flags & f3.StatusFlag.VENTED:
            return False
        if not self.estimate.known:
            if self._vented_at > -math.inf:  # vented, but not for long enough
                self._vent(f3.VentAll())
            return False
        if now - self._vented_at > self.wiring.vented_for:
            self._vent(f3.VentAll())
            return False
        return True

    def _confirmed(self, ack: sf.Ack, state: sf.SerialState) -> None:
        """Believe an answer until a STATUS from after it arrives; older ones are on their way."""
        self._reported[f3.FrameType.STATUS] = ack.detail
        if self.status is not None:
            flags = self.status.flags & ~f3.StatusFlag.TRIPPED
            faults = 0 if state is sf.SerialState.SAFE else self.status.faults
            self.status = replace(self.status, state=state, flags=flags, faults=faults)

    def _being_vented(self) -> bool:
        """Whether the board is disarmed and empties the muscles since they were last unknown."""
        status = self.status
        return (
            status is not None
            and not self.estimate.known
            and status.state == sf.SerialState.SAFE
            and bool(status.flags & f3.StatusFlag.VENTING)
        )

    def _vent(self, how: sf.Body) -> None:
        self.estimate.known = False
        self._vented_at = -math.inf
        self._vented_after = None  # a STATUS from before says nothing
        self._vented_after = self.session.request(how, self._io_timeout).detail

    def _beat(self, now: float) -> None:
        self._heartbeat_at = now
        try:
            seq = self.session.link.send(sf.Heartbeat(self.session.number))
        except DeviceTimeout:
            return  # the next one follows; silence of the device is noticed by its age
        self._beats[seq] = now
        while len(self._beats) > 32:
            self._beats.popitem(last=False)

    def _sort(self, arrival: Arrival) -> None:
        frame = arrival.frame
        try:
            if frame.type == sf.SessionType.ACK:
                self._acknowledged(sf.Ack.unpack(frame.body), arrival.time)
            elif frame.type == sf.SessionType.NACK:
                self._refused(sf.Nack.unpack(frame.body))
            elif frame.type in f3.BODIES:
                self._take(f3.BODIES[frame.type].unpack(frame.body), arrival.time)
            else:
                self.session.strange += 1
        except sf.FrameError:
            self.session.strange += 1

    def _acknowledged(self, ack: sf.Ack, arrived: float) -> None:
        if ack.of_type == f3.FrameType.SET_TIMED:
            self.window.accepted(ack.of_seq)
        elif ack.of_type == sf.SessionType.HEARTBEAT and ack.of_seq in self._beats:
            self.clock.sample(self._beats.pop(ack.of_seq), arrived, ack.detail)

    def _refused(self, nack: sf.Nack) -> None:
        if nack.of_type != f3.FrameType.SET_TIMED:
            return
        if not self.window.refused(nack.of_seq, nack.reason == f3.ValveReason.STALE):
            return
        if nack.reason == f3.ValveReason.BUDGET:
            self.exhausted_by_device = nack.detail
        elif nack.reason not in PATIENT and self.status is not None:
            if self.status.state == sf.SerialState.ARMED:
                why = f3.valve_reason_name(nack.reason)
                self._refusal = DeviceError(
                    f'the valve board refused a command: {why} (muscle {nack.detail + 1})'
                )

    def _take(self, body: sf.Body, arrived: float) -> None:
        if isinstance(body, f3.Status):  # the clock of a board that was restarted is behind
            peer = self.session.peer
            self.rebooted |= peer is not None and body.boot != peer.boot_id & 0xFFFF
        time_ = getattr(body, 'time', None)
        if time_ is not None and not self._is_newest(body.type, time_):
            return
        if isinstance(body, f3.Status):
            self._status(body, arrived)
        elif isinstance(body, f3.ValveTimes) and len(body.muscles) == self._count:
            self.estimate.update(body)
        elif isinstance(body, f3.Lengths) and len(body.counts) == self._count:
            counts = np.array(body.counts, float)
            counts[counts == f3.NO_LENGTH] = math.nan
            self.measured = counts * f3.LENGTH_UNIT
            if self.wiring.length_sensors and self.estimate.known:
                self.estimate.correct(self.measured)

    def _is_newest(self, kind: int, time_: int) -> bool:
        """Whether a report was measured after every one of its kind; a radio link may reorder."""
        last = self._reported.get(kind)
        if last is not None and not self.rebooted and not 0 < (time_ - last) & MASK <= MASK >> 1:
            return False
        self._reported[kind] = time_
        return True

    def _status(self, status: f3.Status, arrived: float) -> None:
        self.status, self.time = status, arrived
        self.window.status(status)
        vented = status.flags & f3.StatusFlag.VENTED and not status.flags & f3.StatusFlag.VENTING
        asked = self._vented_after
        later = asked is not None and 0 < (status.time - asked) & MASK <= MASK >> 1
        if vented and later and not self.estimate.known:
            self._vented_at = arrived
            if self.estimate.evacuated:
                self.estimate.known = True
