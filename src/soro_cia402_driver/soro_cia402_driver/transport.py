# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The drives of a bus in SI; their counts and object dictionaries stay in here.

Every cycle sends set-points, the heartbeat that the drives watch, and SYNC; they act on it
together, and what they answer to it is read in the next cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
from itertools import cycle
import math
import time
from typing import Any

import numpy as np

from soro_cia402_driver import protocol as co
from soro_cia402_driver.protocol import Answer, Entry, State
from soro_cia402_driver.wiring import Cia402Wiring
from soro_driver.can_bus import RawCanBus
from soro_driver.device import Array, DeviceError, DeviceLost, DeviceTimeout, Identity

ANSWER, TRIES = 0.03, 16  # s for one answer; times that one drive is asked: a busy computer
ARMING = 500  # ms that the drives are patient until the first set-points say for how long
SEND_WITHIN = 0.01  # s until a link that takes no frames is lost
WINDOW_TIME = 100  # ms that a drive may be behind by more than `tracking`
BEAT = (co.HEARTBEAT + co.HOST, bytes([co.OPERATIONAL]))


class Cia402Transport:
    """Keeps what the drives said, shape (m,), and when [s] that `arrived`.

    `words`, `present` [counts] and `errors` (codes of emergencies, 0: none) are theirs, `goal`
    [counts] that of the last cycle; `restarted`: which have said that they did.
    """

    def __init__(self, wiring: Cia402Wiring, io_timeout: float, open_timeout: float) -> None:
        self.wiring, self._io_timeout, self._open_timeout = wiring, io_timeout, open_timeout
        self.bus = RawCanBus(wiring.port, SEND_WITHIN, 0.3 * open_timeout)
        self._every = range(len(wiring.nodes))
        self.words, self.present, self.errors, self.goal = np.zeros((4, len(wiring.nodes)), int)
        self.arrived = np.full(len(wiring.nodes), -math.inf)
        self.restarted = np.zeros(len(wiring.nodes), bool)
        self.per_count, self._end = wiring.per_count.copy(), 0.0
        self._answer: tuple[int, Answer] | None = None
        self._watched = self.goal.copy()  # of WATCHED, as said
        self._need = f'needed is profile {co.PROFILE}, mode of operation {wiring.mode.number}'
        self._turns = cycle([*self._every, None])  # in the last turn every one may be told

    def open(self) -> Identity:
        """Find every drive, without power, and set it up."""
        self.bus.open()
        try:
            return self._begin()
        except BaseException:
            self.bus.close()  # a bus on which nothing was opened is not kept from others
            raise

    def close(self) -> None:
        """Give the bus back; never raises."""
        self.bus.close()

    def arm(self) -> None:
        """Have the drives hold where they are (force: none), and watch this computer."""
        self._end = time.monotonic() + self._open_timeout
        self._watched[:] = 0
        for i in self._every:
            self._write(i, co.WATCHED, co.HOST << 16 | ARMING)
        self.refresh()
        while True:
            off = np.array([state is not State.ENABLED for state in self.states()])
            here = self.present if self.wiring.mode.goal is co.GOAL else 0 * self.present
            self.goal[off] = here[off]  # no power before it is where the drive is
            if not off.any():
                break
            self._check(off, 'does not switch on')
            self.refresh([co.UP.get(state, co.DISABLE) for state in self.states()])
        for i in self._every:  # some show it only now; in another one they wait for its set-points
            self.bus.put([BEAT])
            if (shown := self._read(i, co.MODE_SHOWN)) != self.wiring.mode.number:
                raise DeviceError(f'{self._name(i)} is in mode {shown}: {self._need}')

    def disarm(self) -> None:
        """Take every drive off power, and end its watch. Raises where that is not confirmed."""
        self._end = time.monotonic() + self._io_timeout
        self.refresh([co.DISABLE] * len(self._every))  # what comes may have been on its way
        while True:
            self.refresh([co.DISABLE] * len(self._every))
            on = np.array([state in co.ENERGISED for state in self.states()])
            if not on.any():
                break
            self._check(on, 'does not switch off')
        for i in self._every:
            self._write(i, co.WATCHED, 0)

    def reset(self) -> None:
        """Clear faults; set drives up again that have restarted."""
        self._end = time.monotonic() + self._open_timeout
        if self.restarted.any():
            self._begin()
        for i, state in enumerate(self.states()):
            if state is State.FAULT:
                self._write(i, co.CONTROL, co.DISABLE)
                self._write(i, co.CONTROL, co.FAULT_RESET)
        self.refresh()
        self.errors[:] = 0

    def command(self, values: Array, ttl: float) -> None:
        """Send set-points [SI], and ask; the drives release after `ttl` [s] without."""
        self.goal[:] = self._counts(values)
        watch = co.HOST << 16 | max(1, round(1e3 * ttl))
        late, turn = self._watched != watch, next(self._turns)
        # One says what it has, in turn: an answer to an older frame confirms nothing.
        frames = [co.whole(co.DOWNLOAD, co.WATCHED, watch) if is_late else b'' for is_late in late]
        if turn is not None:
            frames[turn] = co.sdo(co.VALUE, co.WATCHED)
        rows = zip(self.wiring.nodes, frames, strict=True)
        self.bus.put([(co.SDO_REQUEST + node, frame) for node, frame in rows if frame])
        self._cycle([co.ENABLE] * len(self._every))

    def ask(self) -> None:
        """Ask every drive where it is."""
        self.bus.put([(co.SYNC, b'')])

    def poll(self) -> None:
        """Take what has arrived. Raises DeviceLost."""
        w, now = self.wiring, time.monotonic()
        for identifier, data in self.bus.take():
            kind, node = identifier & co.FUNCTION, identifier & co.NODE
            if node not in w.nodes:
                continue
            i = w.nodes.index(node)
            if kind == co.TPDO and len(data) == co.STATUS.size + w.mode.present.size:
                self.words[i] = co.STATUS.unpack(data)
                self.present[i] = w.mode.present.unpack(data[co.STATUS.size :])
                self.arrived[i] = now
            elif kind == co.SDO_ANSWER and len(data) == 8:
                self._answer = i, (answer := co.read_sdo(data))
                if (answer.kind & 0xE0, answer.index) == (co.VALUE, co.WATCHED.index):
                    self._watched[i] = co.WATCHED.unpack(answer.data)
            elif kind == co.EMERGENCY and len(data) == 8:
                self.errors[i], _ = co.EMERGENCY_FRAME.unpack(data)
            elif kind == co.HEARTBEAT and data == bytes([co.BOOTED]):
                self.restarted[i] = True

    def refresh(self, controls: Sequence[int] = ()) -> None:
        """Wait for every drive to answer, to control words if there are any.

        DeviceTimeout: one does not.
        """
        since = time.monotonic()
        while np.any(self.arrived < since):
            if time.monotonic() >= self._end:
                raise DeviceTimeout(f'no answer of {self.names(self.arrived < since)}')
            self._cycle(controls) if controls else self.ask()
            until = min(self._end, time.monotonic() + ANSWER)
            while np.any(self.arrived < since) and self.bus.wait(until):
                self.poll()

    def states(self) -> list[State]:
        """Return the states of the drives."""
        return [co.state_of(word) for word in self.words.tolist()]

    def values(self, counts: Any) -> Array:
        """Return outputs (m,) [SI]."""
        return self.wiring.zero + self.per_count * counts

    def names(self, which: Any) -> str:
        """Name some drives."""
        return ', '.join(self._name(i) for i in self._every if which[i])

    def _name(self, i: int) -> str:
        return f'drive {self.wiring.nodes[i]} ({self.wiring.names[i]})'

    def _counts(self, values: Array) -> Any:
        clipped = np.clip(values, self.wiring.minimum, self.wiring.maximum)
        return np.rint((clipped - self.wiring.zero) / self.per_count).astype(int)

    def _check(self, which: Any, what: str) -> None:
        """Raise DeviceError about some drives, once it is too late or one has failed."""
        states = self.states()
        if time.monotonic() >= self._end or State.FAULT in states:
            seen = ', '.join(sorted({states[i].name for i in self._every if which[i]}))
            raise DeviceError(f'{self.names(which)} {what}: {seen}')

    def _begin(self) -> Identity:
        self._end = time.monotonic() + self._open_timeout
        self.arrived[:] = -math.inf
        for i in self._every:
            self._write(i, co.CONTROL, co.DISABLE)  # whatever an older session left
        found = {self._configure(i) for i in self._every}
        self.bus.put([(co.NMT, bytes([co.START, node])) for node in self.wiring.nodes])
        self.refresh()
        self.restarted[:], self.errors[:] = False, 0
        return Identity('CiA 402', self.wiring.port.channel, ', '.join(sorted(found)))

    def _configure(self, i: int) -> str:
        """Set one drive up; return its maker and product."""
        w, node = self.wiring, self.wiring.nodes[i]
        profile = self._read(i, co.DEVICE_TYPE) & 0xFFFF
        if profile != co.PROFILE or not self._read(i, co.MODES) >> w.mode.number - 1 & 1:
            raise DeviceError(f'{self._name(i)} has profile {profile}: {self._need}')
        self.bus.put([(co.NMT, bytes([co.PRE_OPERATIONAL, node]))])
        self._map(i, 0x1400, co.RPDO + node, (co.CONTROL, w.mode.goal))
        self._map(i, 0x1800, co.NO_REMOTE | co.TPDO + node, (co.STATUS, w.mode.present))
        power = -3 if math.isclose(1e3 * w.period, round(1e3 * w.period)) else -4
        settings = {
            co.WATCHED: 0,
            co.ON_SILENCE: co.RELEASE_ON_SILENCE,
            co.MODE: w.mode.number,
            co.PERIOD_POWER: power,
            co.PERIOD: min(255, round(w.period * 10.0**-power)),
        }
        for entry, value in (settings | self._limits(i)).items():
            self._write(i, entry, value)
        with contextlib.suppress(Refused):  # it falls silent then where another says: released
            self._write(i, co.ON_ERROR, co.STAY_OPERATIONAL)
        return f'{self._read(i, co.VENDOR):#x}:{self._read(i, co.PRODUCT):#x}'

    def _map(self, i: int, base: int, number: int, entries: tuple[Entry, ...]) -> None:
        """Have one PDO carry some entries, with every SYNC."""
        identifier, size = Entry(base, 1, 'I'), Entry(base + 0x200, 0, 'B')
        self._write(i, identifier, co.DISABLED | number)
        self._write(i, size, 0)
        for k, entry in enumerate(entries, 1):
            self._write(i, Entry(base + 0x200, k, 'I'), entry.mapping)
        self._write(i, size, len(entries))
        self._write(i, Entry(base, 2, 'B'), co.SYNCHRONOUS)
        self._write(i, identifier, number)

    def _limits(self, i: int) -> dict[Entry, int]:
        """Return what the drive shall keep to."""
        w, torque = self.wiring, self.wiring.mode.goal is not co.GOAL
        if torque:
            if not (rated := self._read(i, co.RATED_TORQUE)):
                raise DeviceError(f'{self._name(i)} says 0 for {co.RATED_TORQUE}: its motor data?')
            self.per_count[i] = w.per_count[i] * rated
        ends = sorted(int(self._counts(x)[i]) for x in (w.minimum, w.maximum))
        most = max(-ends[0], ends[1])
        if not 0 < most < 1 << 8 * w.mode.goal.size - 1:
            raise DeviceError(f'{self._name(i)}: {ends} do not fit {w.mode.goal}: counts, ratio?')
        if torque:
            return {co.MAX_TORQUE: most}
        limits = {co.LOWEST: ends[0], co.HIGHEST: ends[1]}
        if w.tracking:
            window = math.ceil(w.tracking / abs(w.per_count[i]))
            limits |= {co.WINDOW_TIME: WINDOW_TIME, co.WINDOW: window}
        return limits

    def _cycle(self, controls: Sequence[int]) -> None:
        goal = self.wiring.mode.goal
        rows = zip(self.wiring.nodes, controls, self.goal.tolist(), strict=True)
        frames = [(co.RPDO + n, co.CONTROL.pack(c) + goal.pack(g)) for n, c, g in rows]
        self.bus.put([*frames, BEAT, (co.SYNC, b'')])

    def _read(self, i: int, entry: Entry) -> int:
        return entry.unpack(self._request(i, entry, co.sdo(co.VALUE, entry)))

    def _write(self, i: int, entry: Entry, value: int) -> None:
        self._request(i, entry, co.whole(co.DOWNLOAD, entry, value))

    def _request(self, i: int, entry: Entry, frame: bytes) -> bytes:
        """Ask one drive, again where it does not answer; return four bytes that it says."""
        for _ in range(TRIES):
            self.poll()
            self._answer = None  # nothing that was on its way is the answer
            self.bus.put([(co.SDO_REQUEST + self.wiring.nodes[i], frame)])
            until = min(self._end, time.monotonic() + ANSWER)
            while self.bus.wait(until):
                self.poll()
                who, answer = self._answer or (-1, co.NOTHING)
                if (who, answer.index, answer.sub) != (i, entry.index, entry.sub):
                    continue
                if answer.kind == co.ABORT:
                    code = int.from_bytes(answer.data, 'little')
                    raise Refused(f'{self._name(i)} refuses {entry}: abort code 0x{code:08X}')
                return answer.data
        where = self.wiring.port.channel
        raise DeviceLost(f'no {self._name(i)} on {where}: power, node, bit rate?')


class Refused(DeviceError):
    """A drive has not, or does not take, what an entry would say."""
