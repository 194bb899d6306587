# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The valve board as a state machine: frames and milliseconds in, frames and coils out. No I/O."""

from __future__ import annotations

from collections.abc import Callable

from soro_driver.serial_frame import (
    Ack,
    Arm,
    Body,
    DeviceKind,
    Disarm,
    Frame,
    FrameError,
    Heartbeat,
    Hello,
    HelloAck,
    is_newer,
    MAJOR,
    Nack,
    Reason,
    Reset,
    SerialState,
    SESSION_BODIES,
)
from soro_emulation.event_log import EventLog
from soro_stm32_driver.emulator.muscle_bank import INFLATE, KINDS, MuscleBank
from soro_stm32_driver.emulator.properties import BoardProperties
from soro_stm32_driver.emulator.rules import refusal_of
from soro_stm32_driver.emulator.session import Session
from soro_stm32_driver.emulator.valves import Valves
from soro_stm32_driver.pairing import FIRST, FIRST_MUSCLES, MAX_MUSCLES, Pairing
from soro_stm32_driver.protocol import (
    AbortAll,
    BODIES,
    DeviceFault,
    Lengths,
    NEWEST_MINOR,
    SetBitmap,
    SetPairs,
    SetTimed,
    Status,
    StatusFlag,
    ValveReason,
    VENT_AFTER,
    VentAll,
    WINDOW,
)

BOOTING = 0.3  # s
STATUS_PERIOD = 100  # ms
SUPPLY_FAULT_AFTER = 300  # ms of low supply
LOW_SUPPLY = 0.6  # of the nominal pressure
BATTERY = 12000  # mV


class Stm32Board:
    """One board; `advance` must be called every few milliseconds.

    Parameters
    ----------
    properties : BoardProperties
    bank : MuscleBank
    log : EventLog
    now : float
        [s, CLOCK_MONOTONIC]
    boot_id : int
    sense : callable
        Returns the counts of the length sensors.
    wired : Pairing
        The valves that the muscles of `bank` really hang on.
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
        self.major, self.channels = MAJOR, 0
        self._start(now)

    def _start(self, now: float) -> None:
        self._born, self._tick = now, 0
        self.state = SerialState.BOOT
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

    def advance(self, now: float) -> list[Frame]:
        """Let time pass up to `now` [s]; returns the frames that are due."""
        frames: list[Frame] = []
        target = int((now - self._born) * 1e3 * (1.0 + self.properties.drift))
        while self._tick < target:
            self._tick += 1
            self._millisecond(frames)
        self.bank.advance(now)
        if self.bank.overlaps > self._overlaps:
            self._overlaps = self.bank.overlaps
            self._log.write('short_circuit', now, times=self._overlaps)
        return frames

    def receive(self, frame: Frame, now: float) -> list[Frame]:
        """Take a valid frame; returns the answers."""
        if self.state is SerialState.BOOT:
            return []
        if frame.major != MAJOR:
            return [self._frame(Nack(frame.seq, frame.type, Reason.VERSION))]
        self.session.heard = self._tick
        kind = {**SESSION_BODIES, **BODIES}.get(frame.type)
        if kind is None:
            return [self._frame(Nack(frame.seq, frame.type, Reason.UNKNOWN_TYPE))]
        try:
            body = kind.unpack(frame.body)
        except FrameError:
            return [self._frame(Nack(frame.seq, frame.type, Reason.BAD_LENGTH))]
        answer = self._answer(body, frame.seq)
        return [] if answer is None else [self._frame(answer)]

    # Frames -----------------------------------------------------------------------------------

    def _answer(self, body: Body, seq: int) -> Body | None:
        done = Ack(seq, body.type, self.time)
        if isinstance(body, Hello):
            return self._hello(body)
        if isinstance(body, Disarm | VentAll):
            self._vent('host')
            return done
        if isinstance(body, AbortAll):
            self.valves.drop()
            return done
        if isinstance(body, Heartbeat | Arm | Reset) and body.session != self.session.number:
            return Nack(seq, body.type, Reason.SESSION)
        if isinstance(body, Heartbeat):
            return done
        if isinstance(body, Arm):
            return self._arm(seq)
        if isinstance(body, Reset):
            self.faults, self._low_since = 0, None
            self.flags &= ~StatusFlag.TRIPPED
            self._enter(SerialState.SAFE)
            return done
        if isinstance(body, SetTimed):
            return self._set_timed(body, seq)
        if isinstance(body, SetBitmap):
            return self._set_bitmap(body, seq)
        if isinstance(body, SetPairs):
            return self._set_pairs(body, seq)
        return Nack(seq, body.type, Reason.UNKNOWN_TYPE)

    def _hello(self, body: Hello) -> Body:
        if body.session == self.session.number:  # said twice
            return self.hello_ack()
        self.session = Session(body.session, self._tick)
        self._minor = min(body.minor, NEWEST_MINOR)
        if self.state is SerialState.ARMED:
            self._vent('another host')
        return self.hello_ack()

    def hello_ack(self) -> HelloAck:
        """Return who this is."""
        p = self.properties
        channels = self.channels or (MAX_MUSCLES if self._minor else FIRST_MUSCLES)
        return HelloAck(
            self.session.number, self.major, self._minor, DeviceKind.VALVES, self.state, p.serial,
            self.boot_id, 1, 0, channels, p.watchdog, p.watchdog, 0, p.budget,
        )  # fmt: skip

    def _set_pairs(self, body: SetPairs, seq: int) -> Body:
        pairing = Pairing(body.pairs)
        if not self.session.number:
            return Nack(seq, SetPairs.type, Reason.SESSION)
        if not pairing.valid or not 1 <= pairing.count <= MAX_MUSCLES:
            return Nack(seq, SetPairs.type, Reason.OUT_OF_RANGE)
        if self._told and pairing == self.valves.pairing:
            return Ack(seq, SetPairs.type, self.time)
        if self.state is not SerialState.SAFE or self.valves.busy or self.valves.venting:
            return Nack(seq, SetPairs.type, Reason.BUSY)
        self._use(pairing)
        self._told = True
        self.flags &= ~StatusFlag.VENTED  # of other muscles nobody knows
        return Ack(seq, SetPairs.type, self.time)

    def _arm(self, seq: int) -> Body:
        if self._minor < self.valves.pairing.minor:
            return Nack(seq, Arm.type, Reason.VERSION)
        if self.state is not SerialState.SAFE or self.valves.venting or not self.session.number:
            return Nack(seq, Arm.type, Reason.STATE)
        if not self.flags & StatusFlag.VENTED:
            return Nack(seq, Arm.type, Reason.STATE)
        self.flags &= ~StatusFlag.TRIPPED
        self._enter(SerialState.ARMED)
        return Ack(seq, Arm.type, self.time)

    def _set_timed(self, body: SetTimed, seq: int) -> Body:
        session = self.session
        if seq in session.answers:  # again: the same answer, and nothing is done
            self._log.write('repeated', seq=seq)
            return session.answers[seq]
        refusal = refusal_of(body, seq, self)
        if refusal is not None:
            answer: Body = Nack(seq, SetTimed.type, *refusal)
            self._log.write('refused', seq=seq, reason=self._name(refusal[0]), muscle=refusal[1])
            return answer
        for action in body.actions:
            self.valves.append(action)
        self._log.write(
            'command', seq=seq, actions=[[a.muscle, a.action, a.duration] for a in body.actions]
        )
        if is_newer(seq, session.last_seq) or not session.done:
            session.last_seq = seq
        if len(session.done) == WINDOW:
            session.answers.pop(session.done[0], None)
        session.done.append(seq)
        answer = Ack(seq, SetTimed.type, self.valves.end(self._tick) & 0xFFFFFFFF)
        session.answers[seq] = answer
        return answer

    def _set_bitmap(self, body: SetBitmap, seq: int) -> Body:
        if not self.session.number:
            return Nack(seq, SetBitmap.type, Reason.SESSION)
        if not self._told:
            return Nack(seq, SetBitmap.type, Reason.STATE)
        after = self.valves.coils & ~body.mask | body.value & body.mask
        muscle = self.valves.pairing.both_open(after)
        if muscle is not None:
            self._log.write('refused', seq=seq, reason='INTERLOCK', muscle=muscle)
            return Nack(seq, SetBitmap.type, ValveReason.INTERLOCK, muscle)
        if self.state is not SerialState.SAFE or self.valves.venting:
            return Nack(seq, SetBitmap.type, Reason.STATE)
        self.valves.set_bitmap(after)
        self._bitmap_until = self._tick + body.longest
        return Ack(seq, SetBitmap.type, self.time)

    # Time -------------------------------------------------------------------------------------

    def _millisecond(self, frames: list[Frame]) -> None:
        if self.state is SerialState.BOOT:
            if self._tick >= BOOTING * 1e3:
                self._enter(SerialState.SAFE)
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
        if self.state is SerialState.ARMED or (self.valves.busy and not self.valves.venting):
            self.valves.drop()
            self._log.write('watchdog', self.at, silent=silent)
            self.flags |= StatusFlag.TRIPPED
            if self.state is SerialState.ARMED:
                self._enter(SerialState.SAFE)
        vented = self.flags & StatusFlag.VENTED or self.valves.venting
        if silent >= self.properties.watchdog + VENT_AFTER and not vented:
            self._vent('watchdog')

    def _check_supply(self) -> None:
        if not self.supply_is_low:
            self._low_since = None
            return
        self._low_since = self._tick if self._low_since is None else self._low_since
        low = self._tick - self._low_since >= SUPPLY_FAULT_AFTER
        if low and self.state is SerialState.ARMED:
            self.faults |= DeviceFault.SUPPLY
            self._vent('supply')
            self._enter(SerialState.FAULT)

    def _report(self) -> list[Frame]:
        session, valves = self.session, self.valves
        done = 0
        for seq in session.done:
            behind = (session.last_seq - seq) & 0xFFFF
            if behind < WINDOW:
                done |= 1 << behind
        flags = self.flags | (StatusFlag.VENTING if valves.venting else 0)
        status = Status(
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
        bodies: list[Body] = [valves.times(self.time), status]
        if self.properties.sensors:
            bodies.insert(1, Lengths(self.time, self._sense()))
        return [self._frame(b) for b in bodies]

    def _vent(self, why: str) -> None:
        if not self._told:  # which valves would let the air out?
            self.valves.drop()
            return
        self._log.write('vent', self.at, why=why)
        self.flags &= ~StatusFlag.VENTED
        self._bitmap_until = None
        self.valves.vent(self._tick)
        if self.state is SerialState.ARMED:
            self._enter(SerialState.SAFE)

    def _done_venting(self) -> None:
        self.flags |= StatusFlag.VENTED
        self._log.write('vented', self.at)

    def _switch(self, kind: int, muscle: int, on: bool) -> None:
        valve = self.valves.pairing.pairs[muscle][kind]
        self._log.write('valve', self.at, muscle=muscle, action=KINDS[kind], on=on)
        behind = self._wired.muscle_of(valve)
        if behind is not None:  # else nothing hangs on this valve
            self.bank.switch(behind[1], behind[0], on, self.at)
        if kind == INFLATE and on:
            if self.flags & StatusFlag.VENTED:
                self._log.write('pressurised', self.at)
            self.flags &= ~StatusFlag.VENTED

    def _enter(self, state: SerialState) -> None:
        if state is not self.state:
            self.state = state
            self._log.write('state', self.at, state=state.name)

    @property
    def at(self) -> float:
        """The present millisecond on this computer's clock [s]."""
        return self._born + self._tick * 1e-3 / (1.0 + self.properties.drift)

    def _frame(self, body: Body) -> Frame:
        self.seq = (self.seq + 1) & 0xFFFF
        return body.frame(self.seq, self.major << 4 | self._minor)

    @staticmethod
    def _name(reason: int) -> str:
        known = reason in tuple(ValveReason)
        return ValveReason(reason).name if known else Reason(reason).name
