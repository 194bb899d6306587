# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Timed commands on their way: sent again with the same number, counted once, or known as lost.

The device carries out a sequence number at most once and only before the command's deadline. What
it has done stands in every STATUS, so even a command whose every answer was lost is settled: done,
or never going to be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soro_stm32_driver.muscle_curves import Array
from soro_stm32_driver.protocol import Action, SetTimed, Status, until, WINDOW

MOST = 4  # on their way at once
RETRY_AFTER, TRIES = 0.25, 3  # s, transmissions in all


@dataclass
class _Sent:
    command: SetTimed
    last: float
    tries: int = 1


class CommandWindow:
    """The commands of one session that are not settled, and the work they amount to.

    - `lost`, `late`, `repeated`: commands that never were carried out without a refusal, that came
      after their deadline, and transmissions after the first one.
    """

    def __init__(self, muscles: int) -> None:
        self._muscles = muscles
        self.lost, self.late, self.repeated = 0, 0, 0
        self.restart(np.zeros((self._muscles, 2)))

    def restart(self, worked: Array) -> None:
        """Forget everything; `worked` (m, 2) [s] is what the valves did so far."""
        self._open: dict[int, _Sent] = {}
        self._sent = worked.copy()

    @property
    def full(self) -> bool:
        """Whether the next command has to wait."""
        return len(self._open) >= MOST

    @property
    def unsettled(self) -> int:
        """Number of commands on their way."""
        return len(self._open)

    def pending(self, worked: Array) -> Array:
        """Return the work sent and not reported (m, 2) [s]."""
        if not self._open:
            # Rounding and refused parts must not accumulate; nothing is on its way, and what the
            # device has accepted but not done yet is less than what is sent.
            self._sent = np.maximum(self._sent, worked)
        left: Array = np.maximum(self._sent - worked, 0.0)
        left[left < 1e-9] = 0.0
        return left

    def add(self, seq: int, command: SetTimed, now: float) -> None:
        """Note a command that was sent."""
        self._open[seq] = _Sent(command, now)
        self._sent += self._work(command)

    def due(self, now: float) -> list[tuple[int, SetTimed]]:
        """Return the commands to send again now."""
        found = []
        for seq, sent in self._open.items():
            if sent.tries < TRIES and now - sent.last >= RETRY_AFTER:
                sent.tries, sent.last = sent.tries + 1, now
                self.repeated += 1
                found.append((seq, sent.command))
        return found

    def accepted(self, seq: int) -> None:
        """Settle a command: the device carries it out."""
        self._open.pop(seq, None)

    def refused(self, seq: int, stale: bool) -> bool:
        """Settle a command: it is never carried out. Returns whether it was on its way."""
        sent = self._open.pop(seq, None)
        if sent is None:
            return False
        self.late += stale
        self._sent -= self._work(sent.command)
        return True

    def status(self, status: Status) -> None:
        """Settle what STATUS says about."""
        for seq, sent in list(self._open.items()):
            behind = (status.last_seq - seq) & 0xFFFF
            if behind < WINDOW and status.done >> behind & 1:
                self.accepted(seq)
            elif until(sent.command.deadline, status.time) < 0:
                self.lost += 1
                self.refused(seq, stale=False)

    def _work(self, command: SetTimed) -> Array:
        work = np.zeros((self._muscles, 2))
        for a in command.actions:
            if a.action != Action.HOLD:
                work[a.muscle, a.action - 1] += a.duration * 1e-3
        return work
