# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Who commands: one source at a time, and its commands in order."""

from __future__ import annotations

from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code


class NotInControl(SoroError):
    """Another source commands this robot; the error names it."""

    code = Code.NOT_IN_CONTROL

    def __init__(self, source: str, owner: str) -> None:
        super().__init__(f'{source} may not command: {owner} is in control')


class OutOfOrder(SoroError):
    """A command that is not newer than the one before it (repeated, late or replayed)."""

    code = Code.OUT_OF_RANGE


class Ownership:
    """Gives control to the first source that commands and takes it back when that one is silent.

    - `timeout`: a source whose last command is older [s] has lost control.
    """

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._owner = ''
        self._time = 0.0
        self._stamps: dict[str, int] = {}

    def owner(self, now: float) -> str:
        """Return the source in control, '' when nobody is."""
        if self._owner and now - self._time > self.timeout:
            self.release()
        return self._owner

    def check(self, source: str, stamp: int, now: float) -> None:
        """Refuse a command that must not be obeyed; changes nothing.

        - `source`: who sends it; not empty.
        - `stamp`: stamp of the command [ns], of the sender's clock; gives order only.
        - `now`: arrival [s], steady clock.

        NotInControl: another source is in control.
        OutOfOrder: not newer than this source's last command.
        """
        owner = self.owner(now)
        if owner and owner != source:
            raise NotInControl(source, owner)
        last = self._stamps.get(source)
        if last is not None and stamp <= last:
            late = (last - stamp) * 1e-6
            raise OutOfOrder(f'{source}: command is {late:.3f} ms older than the one before')

    def claim(self, source: str, stamp: int, now: float) -> None:
        """Take or keep control with a command that `check` let pass."""
        self._owner, self._time = source, now
        self._stamps[source] = stamp

    def release(self) -> None:
        """Take control away; stamps stay known, so that nothing old is obeyed again."""
        self._owner = ''

    def forget_stamps(self) -> None:
        """Let any stamp be the next one: the wall clock was set, or a person arms anew."""
        self._stamps.clear()
