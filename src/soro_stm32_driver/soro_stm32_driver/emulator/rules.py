# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the valve board checks before it carries a timed command out."""

from __future__ import annotations

from typing import Protocol

from soro_driver.serial_frame import Reason, SerialState
from soro_stm32_driver.emulator.properties import BoardProperties
from soro_stm32_driver.emulator.session import Session
from soro_stm32_driver.emulator.valves import DEEPEST_QUEUE, Valves
from soro_stm32_driver.protocol import (
    Action,
    FARTHEST_DEADLINE,
    MAX_ACTION,
    MIN_ACTION,
    SetTimed,
    Timed,
    until,
    ValveReason,
    WINDOW,
)


class Board(Protocol):
    """What the rules look at of a `Stm32Board`."""

    session: Session
    state: SerialState
    valves: Valves
    properties: BoardProperties

    @property
    def time(self) -> int:
        """The board's clock [ms, u32]."""

    @property
    def supply_is_low(self) -> bool:
        """Whether the supply is too low."""


def refusal_of(command: SetTimed, seq: int, board: Board) -> tuple[int, int] | None:
    """Return (reason, muscle) when a command must not be carried out, as a whole; else None."""
    left = until(command.deadline, board.time)
    session = board.session
    behind = (session.last_seq - seq) & 0xFFFF
    too_old = bool(session.done) and WINDOW <= behind < 0x8000
    if not 0 <= left <= FARTHEST_DEADLINE or too_old:
        return ValveReason.STALE, 0
    if board.state is not SerialState.ARMED or board.valves.venting:
        return Reason.STATE, 0
    for checked in (_interlock, _each, _supply):
        refusal = checked(command, board)
        if refusal is not None:
            return refusal
    return None


def _interlock(command: SetTimed, board: Board) -> tuple[int, int] | None:
    seen: dict[int, int] = {}
    for a in command.actions:
        if a.muscle >= len(board.valves.muscles):
            return ValveReason.MUSCLE, a.muscle
        if a.muscle in seen:
            twice = seen[a.muscle] == a.action
            return (ValveReason.MUSCLE if twice else ValveReason.INTERLOCK), a.muscle
        seen[a.muscle] = a.action
    return None


def _each(command: SetTimed, board: Board) -> tuple[int, int] | None:
    for a in command.actions:
        reason = _one(a, board)
        if reason is not None:
            return reason, a.muscle
    return None


def _one(a: Timed, board: Board) -> int | None:
    muscle = board.valves.muscles[a.muscle]
    if a.action not in tuple(Action):
        return Reason.OUT_OF_RANGE
    if a.action == Action.HOLD:
        return None
    if not MIN_ACTION <= a.duration <= MAX_ACTION:
        return ValveReason.DURATION
    if len(muscle.queue) >= DEEPEST_QUEUE:
        return ValveReason.QUEUE
    if a.action == Action.INFLATE:
        promised = muscle.net + muscle.inflation_waiting + a.duration
        if muscle.running is Action.INFLATE:
            promised += muscle.ends - muscle.began
        if promised > board.properties.budget:
            return ValveReason.BUDGET
    return None


def _supply(command: SetTimed, board: Board) -> tuple[int, int] | None:
    new = [a.muscle for a in command.actions if a.action == Action.INFLATE]
    if not new:
        return None
    if board.supply_is_low:
        return ValveReason.SUPPLY, new[0]
    under_way = {i for i, m in enumerate(board.valves.muscles) if m.inflates}
    if len(under_way | set(new)) > board.properties.simultaneous:
        return ValveReason.SUPPLY, new[0]
    return None
