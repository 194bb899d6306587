# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The valve board as a state machine: frames and milliseconds in, frames and coils out. No I/O."""

from __future__ import annotations

from collections.abc import Callable

from soro_driver.serial import frame as sf
from soro_emulation.event_log import EventLog
from soro_stm32_driver import protocol as f3
from soro_stm32_driver.emulator.muscle_bank import INFLATE, KINDS, MuscleBank
from soro_stm32_driver.emulator.properties import BoardProperties
from soro_stm32_driver.emulator.rules import refusal_of
from soro_stm32_driver.emulator.session import Session
from soro_stm32_driver.emulator.valves import Valves
from soro_stm32_driver.pairing import FIRST, FIRST_MUSCLES, MAX_MUSCLES, Pairing

BOOTING = 0.3  # s
STATUS_PERIOD = 100  # ms
SUPPLY_FAULT_AFTER = 300  # ms of low supply
LOW_SUPPLY = 0.6  # of the nominal pressure
BATTERY = 12000  # mV


class Stm32Board:
    """One board; `advance` must be called every few milliseconds.

    `now` [s, CLOCK_MONOTONIC]; `sense`: returns the counts of the length sensors; `wired`: the
    valves that the muscles of `bank` really hang on.
    """

    def __init__(
        self,
        properties: BoardProperties,
        bank: MuscleBank,
        log: EventLog,
        now: float,
        boot_id: int,
        sense: Callable[[], tuple[int, ...]] = tuple,
        wired: Pairing = FIRST,
    ) -> None:
        self.properties, self.bank, self._log = properties, bank, log
        self._sense, self._wired = sense, wired
        self.nominal_supply = bank.supply
        self.crc_errors = 0
        self.seq = 0
        self._overlaps = 0
        self.boot_id = boot_id
        self.major, self.channels = sf.MAJOR, 0
        self._start(now)

    def _start(self, now: float) -> None:
        self._born, self._tick = now, 0
        self.state = sf.SerialState.BOOT
        self.flags = 0
        self.faults = 0
        self.session = Session()
        # A board of version 1.0 knows its valves; any other opens none before it was told of them.
        self._told = self._wired.minor == 0
        self._minor = self._wired.minor
        self._use(FIRST if self._told else Pairing(()))
        self._status_at = 0
        self._low_since: int | None = None
        self._bitmap_until: int | None = None

    def _use(self, pairing: Pairing) -> None:
        self.valves = Valves(self.properties, pairing, self._switch, self._done_venting)

    @property
    def time(self) -> int:
        """The board's clock [ms, u32]."""
        return (self._tick + self.properties.first_tick) & 0xFFFFFFFF

    @property
    def supply_is_low(self) -> bool:
        """Whether the supply is too low to inflate anything."""
        return self.bank.supply < LOW_SUPPLY * self.nominal_supply

    def reboot(self, now: float) -> None:
        """Lose power for a moment: every coil falls, nothing is remembered."""
        self.bank.advance(now)
        self.valves.close_all()
        self.boot_id = (self.boot_id + 0x10001) & 0xFFFFFFFF
        self._log.write('reboot', now, boot_id=self.boot_id)
        self._start(now)

    def advance(self, now: float) -> list[sf.Frame]:
        """Let time pass up to `now` [s]; returns the frames that are due."""
        frames: list[sf.Frame] = []
        target = int((now - self._born) * 1e3 * (1.0 + self.properties.drift))
        while self._tick < target:
            self._tick += 1
            self._millisecond(frames)
        self._move(now)
        return frames

    def _move(self, now: float) -> None:
        """Let the muscles move up to `now` [s]."""
        self.bank.advance(now)
        if self.bank.overlaps > self._overlaps:
            self._overlaps = self.bank.overlaps
            self._log.write('short_circuit', now, times=self._overlaps)

    def receive(self, frame: sf.Frame, now: float) -> list[sf.Frame]:
        """Take a valid frame; returns the answers."""
        if self.state is sf.SerialState.BOOT:
            return []
        if frame.major != sf.MAJOR:
            return [self._frame(sf.Nack(frame.seq, frame.type, sf.Reason.VERSION))]
        self.session.heard = self._tick
        kind = {**sf.SESSION_BODIES, **f3.BODIES}.get(frame.type)
        if kind is None:
            return [self._frame(sf.Nack(frame.seq, frame.type, sf.Reason.UNKNOWN_TYPE))]
        try:
            body = kind.unpack(frame.body)
        except sf.FrameError:
            return [self._frame(sf.Nack(frame.seq, frame.type, sf.Reason.BAD_LENGTH))]
        return [self._frame(self._answer(body, frame.seq))]

    # Frames -----------------------------------------------------------------------------------

    def _answer(self, body: sf.Body, seq: int) -> sf.Body:
        if isinstance(body, sf.Hello):
            return self._hello(body)
        if isinstance(body, f3.SetTimed):
            return self._set_timed(body, seq)
        refusal = self._carry_out(body, seq)
        if refusal:
            return sf.Nack(seq, body.type, *refusal)
        return sf.Ack(seq, body.type, self.time)

    def _carry_out(self, body: sf.Body, seq: int) -> tuple[int, ...]:
        """Do what a frame asks for; return why not: a reason, and perhaps the muscle."""
        in_session = isinstance(body, sf.Heartbeat | sf.Arm | sf.Reset)
        if in_session and body.session != self.session.number:
            return (sf.Reason.SESSION,)
        if isinstance(body, sf.Disarm | f3.VentAll):
            self._vent('host')
        elif isinstance(body, f3.AbortAll):
            self.valves.drop()
        elif isinstance(body, sf.Arm):
            return self._arm()
        elif isinstance(body, sf.Reset):
            self.faults, self._low_since = 0, None
            self.flags &= ~f3.StatusFlag.TRIPPED
            self._enter(sf.SerialState.SAFE)
        elif isinstance(body, f3.SetBitmap):
            return self._set_bitmap(body, seq)
        elif isinstance(body, f3.SetPairs):
            return self._set_pairs(body)
        elif not in_session:
            return (sf.Reason.UNKNOWN_TYPE,)
        return ()

    def _hello(self, body: sf.Hello) -> sf.Body:
        if body.session == self.session.number:  # said twice
            return self.hello_ack()
        self.session = Session(body.session, self._tick)
        self._minor = min(body.minor, f3.NEWEST_MINOR)
        if self.state is sf.SerialState.ARMED:
            self._vent('another host')
        return self.hello_ack()

    def hello_ack(self) -> sf.HelloAck:
        """Return who this is."""
        p = self.properties
        channels = self.channels or (MAX_MUSCLES if self._minor else FIRST_MUSCLES)
        return sf.HelloAck(
            self.session.number, self.major, self._minor, sf.DeviceKind.VALVES, self.state,
            p.serial, self.boot_id, 1, 0, channels, p.watchdog, p.watchdog, 0, p.budget,
        )  # fmt: skip

    def _set_pairs(self, body: f3.SetPairs) -> tuple[int, ...]:
        pairing = Pairing(body.pairs)
        if not self.session.number:
            return (sf.Reason.SESSION,)
        if not pairing.valid or not 1 <= pairing.count <= MAX_MUSCLES:
            return (sf.Reason.OUT_OF_RANGE,)
        if self._told and pairing == self.valves.pairing:
            return ()
        if self.state is not sf.SerialState.SAFE or self.valves.busy or self.valves.venting:
            return (sf.Reason.BUSY,)
        self._use(pairing)
        self._told = True
        self.flags &= ~f3.StatusFlag.VENTED  # of other muscles nobody knows
        return ()

    def _arm(self) -> tuple[int, ...]:
        if self._minor < self.valves.pairing.minor:
            return (sf.Reason.VERSION,)
        if self.state is not sf.SerialState.SAFE or self.valves.venting or not self.session.number:
            return (sf.Reason.STATE,)
        if not self.flags & f3.StatusFlag.VENTED:
            return (sf.Reason.STATE,)
        self.flags &= ~f3.StatusFlag.TRIPPED
        self._enter(sf.SerialState.ARMED)
        return ()

    def _set_timed(self, body: f3.SetTimed, seq: int) -> sf.Body:
        session = self.session
        if seq in session.answers:  # again: the same answer, and nothing is done
            self._log.write('repeated', seq=seq)
            return session.answers[seq]
        refusal = refusal_of(body, seq, self)
        if refusal is not None:
            answer: sf.Body = sf.Nack(seq, f3.SetTimed.type, *refusal)
            self._log.write('refused', seq=seq, reason=self._name(refusal[0]), muscle=refusal[1])
            return answer
        for action in body.actions:
            self.valves.append(action)
        self._log.write(
            'command', seq=seq, actions=[[a.muscle, a.action, a.duration] for a in body.actions]
        )
        if sf.is_newer(seq, session.last_seq) or not session.done:
            session.last_seq = seq
        if len(session.done) == f3.WINDOW:
            session.answers.pop(session.done[0], None)
        session.done.append(seq)
        answer = sf.Ack(seq, f3.SetTimed.type, self.valves.end(self._tick) & 0xFFFFFFFF)
        session.answers[seq] = answer
        return answer

    def _set_bitmap(self, body: f3.SetBitmap, seq: int) -> tuple[int, ...]:
        if not self.session.number:
            return (sf.Reason.SESSION,)
        if not self._told:
            return (sf.Reason.STATE,)
        after = self.valves.coils & ~body.mask | body.value & body.mask
        muscle = self.valves.pairing.both_open(after)
        if muscle is not None:
            self._log.write('refused', seq=seq, reason='INTERLOCK', muscle=muscle)
            return f3.ValveReason.INTERLOCK, muscle
        if self.state is not sf.SerialState.SAFE or self.valves.venting:
            return (sf.Reason.STATE,)
        self.valves.set_bitmap(after)
        self._bitmap_until = self._tick + body.longest
        return ()

    # Time -------------------------------------------------------------------------------------

    def _millisecond(self, frames: list[sf.Frame]) -> None:
        if self.state is sf.SerialState.BOOT:
            if self._tick >= BOOTING * 1e3:
                self._enter(sf.SerialState.SAFE)
                self.session.heard = self._tick
                frames.append(self._frame(self.hello_ack()))
            return
        self.valves.step(self._tick)
        self._watchdog()
        self._check_supply()
        if self._bitmap_until is not None and self._tick >= self._bitmap_until:
            self._bitmap_until = None
            self.valves.drop()
        if self._tick >= self._status_at:
            self._status_at = self._tick + STATUS_PERIOD
            frames += self._report()

    def _watchdog(self) -> None:
        silent = self._tick - self.session.heard
        if silent < self.properties.watchdog:
            return
        if self.state is sf.SerialState.ARMED or (self.valves.busy and not self.valves.venting):
            self.valves.drop()
            self._log.write('watchdog', self.at, silent=silent)
            self.flags |= f3.StatusFlag.TRIPPED
            if self.state is sf.SerialState.ARMED:
                self._enter(sf.SerialState.SAFE)
        vented = self.flags & f3.StatusFlag.VENTED or self.valves.venting
        if silent >= self.properties.watchdog + f3.VENT_AFTER and not vented:
            self._vent('watchdog')

    def _check_supply(self) -> None:
        if not self.supply_is_low:
            self._low_since = None
            return
        self._low_since = self._tick if self._low_since is None else self._low_since
        low = self._tick - self._low_since >= SUPPLY_FAULT_AFTER
        if low and self.state is sf.SerialState.ARMED:
            self.faults |= f3.DeviceFault.SUPPLY
            self._vent('supply')
            self._enter(sf.SerialState.FAULT)

    def _report(self) -> list[sf.Frame]:
        session, valves = self.session, self.valves
        done = 0
        for seq in session.done:
            behind = (session.last_seq - seq) & 0xFFFF
            if behind < f3.WINDOW:
                done |= 1 << behind
        flags = self.flags | (f3.StatusFlag.VENTING if valves.venting else 0)
        status = f3.Status(
            self.time,
            self.boot_id & 0xFFFF,
            self.state,
            flags,
            valves.coils,
            valves.active,
            min(valves.queued, 255),
            session.last_seq,
            done,
            valves.budget_left,
            self.crc_errors & 0xFFFF,
            BATTERY,
            round(self.bank.supply / 100.0),
            self.faults,
        )
        bodies: list[sf.Body] = [valves.times(self.time), status]
        if self.properties.sensors:
            bodies.insert(1, f3.Lengths(self.time, self._sense()))
        return [self._frame(b) for b in bodies]

    def _vent(self, why: str) -> None:
        if not self._told:  # which valves would let the air out?
            self.valves.drop()
            return
        self._log.write('vent', self.at, why=why)
        self.flags &= ~f3.StatusFlag.VENTED
        self._bitmap_until = None
        self.valves.vent(self._tick)
        if self.state is sf.SerialState.ARMED:
            self._enter(sf.SerialState.SAFE)

    def _done_venting(self) -> None:
        self.flags |= f3.StatusFlag.VENTED
        self._log.write('vented', self.at)

    def _switch(self, kind: int, muscle: int, on: bool) -> None:
        valve = self.valves.pairing.pairs[muscle][kind]
        self._log.write('valve', self.at, muscle=muscle, action=KINDS[kind], on=on)
        behind = self._wired.muscle_of(valve)
        if behind is not None:  # else nothing hangs on this valve
            self.bank.switch(behind[1], behind[0], on, self.at)
        if kind == INFLATE and on:
            if self.flags & f3.StatusFlag.VENTED:
                self._log.write('pressurised', self.at)
            self.flags &= ~f3.StatusFlag.VENTED

    def _enter(self, state: sf.SerialState) -> None:
        if state is not self.state:
            self.state = state
            self._log.write('state', self.at, state=state.name)

    @property
    def at(self) -> float:
        """The present millisecond on this computer's clock [s]."""
        return self._born + self._tick * 1e-3 / (1.0 + self.properties.drift)

    def _frame(self, body: sf.Body) -> sf.Frame:
        self.seq = (self.seq + 1) & 0xFFFF
        return body.frame(self.seq, self.major << 4 | self._minor)

    @staticmethod
    def _name(reason: int) -> str:
        known = reason in tuple(f3.ValveReason)
        return f3.ValveReason(reason).name if known else sf.Reason(reason).name
