# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One drive on the bus: its state machine, what it watches, its motion. Knows no socket."""

from __future__ import annotations

import math

from soro_cia402_driver import protocol as co
from soro_cia402_driver.emulator.dictionary import Dictionary
from soro_cia402_driver.protocol import State
from soro_mechanics.actuator_models.motor import PositionDrive

Wire = list[tuple[int, bytes]]

RATED = 500  # mN m, assumed
LAG = 0.02  # s, assumed
OWN_STALL = 0.02  # s that may pass between two looks: longer, the emulator slept, not the host
POSITION, TORQUE = (mode.number for mode in co.MODES_KNOWN.values())
CONSTANT = {
    co.DEVICE_TYPE: 0x20000 | co.PROFILE,  # a servo drive
    co.VENDOR: 0x0500,  # assumed
    co.PRODUCT: 402,
    co.RATED_TORQUE: RATED,
    co.MODES: 1 << POSITION - 1 | 1 << TORQUE - 1,
} | dict.fromkeys((co.STATUS, co.MODE_SHOWN, co.PRESENT, co.PRESENT_TORQUE), 0)
SETTINGS = dict.fromkeys(
    (co.WATCHED, co.ON_ERROR, co.CONTROL, co.MODE, co.GOAL, co.GOAL_TORQUE, co.WINDOW_TIME), 0
) | {
    co.ON_SILENCE: 1,
    co.LOWEST: -(2**31),
    co.HIGHEST: 2**31 - 1,
    co.MAX_TORQUE: 1000,
    co.WINDOW: 2**32 - 1,
    co.PERIOD: 4,
    co.PERIOD_POWER: -3,
}
LINKS = {co.START: co.OPERATIONAL, co.STOP: co.STOPPED, co.PRE_OPERATIONAL: co.WAITING}


class Drive:
    """A drive at a node, and its motor in counts."""

    def __init__(self, node: int, axis: PositionDrive, now: float) -> None:
        self.node, self.axis, self._time = node, axis, now
        self.restart()

    def restart(self) -> Wire:
        """Be as after power on; the shaft stays where it is."""
        self.table = Dictionary(CONSTANT, SETTINGS, self.node)
        self.state, self.link, self.torque = State.SWITCH_ON_DISABLED, co.WAITING, 0.0
        self._heard, self._behind = math.inf, math.inf  # since when: nothing heard, goal too far
        self._outbox: Wire = []
        self.table[co.GOAL] = round(self.axis.value)
        return [(co.HEARTBEAT + self.node, bytes([co.BOOTED]))]

    def receive(self, identifier: int, data: bytes, now: float) -> Wire:
        """Take a frame from the bus; return what it causes."""
        answers, t = self.advance(now), self.table
        before, operational = t[co.CONTROL], self.link == co.OPERATIONAL
        if identifier == co.NMT and len(data) == 2 and data[1] in (0, self.node):
            if data[0] in (co.RESET, co.RESET_LINK):
                return answers + self.restart()
            self.link = LINKS.get(data[0], self.link)
        elif identifier == co.HEARTBEAT + (t[co.WATCHED] >> 16 & co.NODE):
            self._heard = now
        elif identifier == co.SYNC and operational:
            t.apply()
            self._control(before, t[co.CONTROL])
            answers += self._show().feedback()
        elif identifier == co.SDO_REQUEST + self.node and len(data) == 8:
            if self.link != co.STOPPED:
                answers += self._show().answer(data)
                if t[co.CONTROL] != before:
                    self._control(before, t[co.CONTROL])
        elif operational and t.take(identifier, data):
            t.apply()
            self._control(before, t[co.CONTROL])
        return answers

    def advance(self, now: float) -> Wire:
        """Let time pass; return emergencies."""
        dt, self._time = max(0.0, now - self._time), max(self._time, now)
        self._heard += max(dt - OWN_STALL, 0.0)
        self._move(dt)
        self._watch(now)
        frames, self._outbox = self._outbox, []
        return frames

    def fail(self, code: int) -> None:
        """Latch a fault: no torque."""
        self.state = State.FAULT
        self._report(code)

    def _control(self, before: int, word: int) -> None:
        s = self.state
        if s is State.FAULT:
            if word & ~before & co.FAULT_RESET:
                self.state = State.SWITCH_ON_DISABLED
                self._report(0)
        elif word & 6 != 6:  # disable voltage, or a quick stop (its option code 0)
            self.state = State.SWITCH_ON_DISABLED
        elif word & 7 == co.SHUTDOWN:
            self.state = State.READY
        elif word & 15 == co.SWITCH_ON and s in (State.READY, State.ENABLED):
            self.state = State.SWITCHED_ON
        elif word & 15 == co.ENABLE and s is State.SWITCHED_ON:
            self.state = State.ENABLED

    def _goal(self) -> int:
        """Return the set-point within the limits."""
        t = self.table
        if t[co.MODE] == TORQUE:
            return max(-t[co.MAX_TORQUE], min(t[co.MAX_TORQUE], t[co.GOAL_TORQUE]))
        return max(t[co.LOWEST], min(t[co.HIGHEST], t[co.GOAL]))

    def _move(self, dt: float) -> None:
        mode = self.table[co.MODE] if self.state is State.ENABLED else 0
        if mode == TORQUE:
            self.torque -= math.expm1(-dt / LAG) * (self._goal() - self.torque)
            return
        self.axis.follow(self._goal(), dt, mode == POSITION)
        self.torque = 1e3 * self.axis.torque if mode else 0.0

    def _watch(self, now: float) -> None:
        t, limit = self.table, 1e-3 * (self.table[co.WATCHED] & 0xFFFF)
        if not limit:
            self._heard = math.inf  # begins with the first one
        elif now - self._heard > limit:
            self._heard = math.inf
            self._lose_host()
        moving = self.state is State.ENABLED and t[co.MODE] == POSITION
        if not moving or abs(self._goal() - self.axis.value) <= t[co.WINDOW]:
            self._behind = math.inf
            return
        self._behind = min(self._behind, now)
        if now - self._behind > 1e-3 * t[co.WINDOW_TIME]:
            self.fail(co.FOLLOWING_ERROR)

    def _lose_host(self) -> None:
        told = self.table[co.ON_SILENCE]
        self._report(co.LOST_HEARTBEAT)
        if told and self.state is not State.FAULT:
            self.state = State.FAULT if told == 1 else State.SWITCH_ON_DISABLED
        if self.table[co.ON_ERROR] != co.STAY_OPERATIONAL and self.link == co.OPERATIONAL:
            self.link = co.STOPPED if self.table[co.ON_ERROR] == 2 else co.WAITING

    def _report(self, code: int) -> None:
        self._outbox.append((co.EMERGENCY + self.node, co.EMERGENCY_FRAME.pack(code, bool(code))))

    def _show(self) -> Dictionary:
        """Bring what can be read up to date."""
        t, word = self.table, int(self.state) | 0x210  # voltage, remote
        if self.state is State.ENABLED:
            asked = t[co.GOAL_TORQUE if t[co.MODE] == TORQUE else co.GOAL]
            word |= co.FOLLOWS | (co.LIMITED if self._goal() != asked else 0)
        t[co.STATUS], t[co.MODE_SHOWN] = word, t[co.MODE]
        t[co.PRESENT], t[co.PRESENT_TORQUE] = round(self.axis.value), round(self.torque)
        return t
