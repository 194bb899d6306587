# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the valve board checks before it carries a timed command out."""

from __future__ import annotations

from typing import Protocol

from soro_driver.serial import frame as sf
from soro_stm32_driver import protocol as f3
from soro_stm32_driver.emulator.properties import BoardProperties
from soro_stm32_driver.emulator.session import Session
from soro_stm32_driver.emulator.valves import DEEPEST_QUEUE, Valves


class Board(Protocol):
    """What the rules look at of a `Stm32Board`."""

    session: Session
    state: sf.SerialState
    valves: Valves
    properties: BoardProperties

    @property
    def time(self) -> int:
        """The board's clock [ms, u32]."""

    @property
    def supply_is_low(self) -> bool:
        """Whether the supply is too low."""


def refusal_of(command: f3.SetTimed, seq: int, board: Board) -> tuple[int, int] | None:
    """Return (reason, muscle) when a command must not be carried out, as a whole; else None."""
    left = f3.until(command.deadline, board.time)
    session = board.session
    behind = (session.last_seq - seq) & 0xFFFF
    too_old = bool(session.done) and f3.WINDOW <= behind < 0x8000
    if not 0 <= left <= f3.FARTHEST_DEADLINE or too_old:
        return f3.ValveReason.STALE, 0
    if board.state is not sf.SerialState.ARMED or board.valves.venting:
        return sf.Reason.STATE, 0
    for checked in (_interlock, _each, _supply):
        refusal = checked(command, board)
        if refusal is not None:
            return refusal
    return None


def _interlock(command: f3.SetTimed, board: Board) -> tuple[int, int] | None:
    seen: dict[int, int] = {}
    for a in command.actions:
        if a.muscle >= len(board.valves.muscles):
            return f3.ValveReason.MUSCLE, a.muscle
        if a.muscle in seen:
            twice = seen[a.muscle] == a.action
            return (f3.ValveReason.MUSCLE if twice else f3.ValveReason.INTERLOCK), a.muscle
        seen[a.muscle] = a.action
    return None


def _each(command: f3.SetTimed, board: Board) -> tuple[int, int] | None:
    for a in command.actions:
        reason = _one(a, board)
        if reason is not None:
            return reason, a.muscle
    return None


def _one(a: f3.Timed, board: Board) -> int | None:
    muscle = board.valves.muscles[a.muscle]
    if a.action not in tuple(f3.Action):
        return sf.Reason.OUT_OF_RANGE
    if a.action == f3.Action.HOLD:
        return None
    if not f3.MIN_ACTION <= a.duration <= f3.MAX_ACTION:
        return f3.ValveReason.DURATION
    if len(muscle.queue) >= DEEPEST_QUEUE:
        return f3.ValveReason.QUEUE
    if a.action == f3.Action.INFLATE:
        promised = muscle.net + muscle.inflation_waiting + a.duration
        if muscle.running is f3.Action.INFLATE:
            promised += muscle.ends - muscle.began
        if promised > board.properties.budget:
            return f3.ValveReason.BUDGET
    return None


def _supply(command: f3.SetTimed, board: Board) -> tuple[int, int] | None:
    new = [a.muscle for a in command.actions if a.action == f3.Action.INFLATE]
    if not new:
        return None
    if board.supply_is_low:
        return f3.ValveReason.SUPPLY, new[0]
    under_way = {i for i, m in enumerate(board.valves.muscles) if m.inflates}
    if len(under_way | set(new)) > board.properties.simultaneous:
        return f3.ValveReason.SUPPLY, new[0]
    return None
