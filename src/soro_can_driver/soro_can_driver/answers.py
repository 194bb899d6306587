# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How far the answers of a board lie behind its questions, by numbers of one byte. Pure."""

from __future__ import annotations


class Answers:
    """Counts the questions since the one that was answered last.

    The numbers wrap, the count does not: an answer that stays the same never looks new again.

    - `newest`: number of the newest question, u8.
    - `behind`: questions after the one that the newest answer belongs to.
    """

    def __init__(self) -> None:
        self.restart(0)

    def restart(self, newest: int) -> None:
        """Begin with nothing to be answered; `newest` is the number before the next one."""
        self.newest, self.behind = newest, 0
        self._answer = newest

    def ask(self) -> int:
        """Return the number of the next question."""
        self.newest = (self.newest + 1) & 0xFF
        self.behind += 1
        return self.newest

    def answered(self, number: int) -> None:
        """Take the number that an answer carries."""
        if number != self._answer:
            self._answer = number
            self.behind = (self.newest - number) & 0xFF
