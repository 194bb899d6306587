# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What decides the set-points of a control loop: commands from ROS, or a haptic law."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math
import threading
import time

import numpy as np

from soro_driver.device import Array, Reading
from soro_driver.safety.command_gate import CommandGate
from soro_driver.safety.not_allowed import NotAllowed
from soro_driver.safety.ownership import NotInControl, Ownership
from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_mechanics.core.status import Code

CLOCK_STEP = 0.1  # s; NTP steps from 0.128 s on, and slews less than this between two ticks
STOP_REACH = 2.0  # command timeouts: who was heard since then has a stream that a stop ends
MAX_HEARD = 32  # sources that are kept in mind without looking who has become silent
NOTHING = np.zeros(0)  # values of a command that ends control
STAMP_END = 2**31 * 1_000_000_000  # ns, no message can repeat a stamp from here on, or below zero


@dataclass(slots=True)
class Command:
    """Set-points that a law has for the loop."""

    values: Array  #: (m,); SI, order of the robot file; finite
    source: str  #: who sends it
    stamp: int  #: the sender's clock [ns]
    arrival: float  #: steady clock [s]; the loop's watchdog rests on it


class Law(ABC):
    """Decides set-points, once per tick, in the thread of the loop."""

    @abstractmethod
    def command(self, reading: Reading, accepting: bool, now: float) -> Command | None:
        """Return the present command; None while there is none.

        `reading`: this tick's measurement; `accepting`: whether the loop would act on a command
        (armed and not in a safe action); `now`: steady clock [s].
        """

    @abstractmethod
    def refused(self, command: Command, error: SoroError) -> None:
        """Learn that the loop refused a first command because it is not where the robot is."""

    @abstractmethod
    def disengaged(self) -> None:
        """Learn that the loop stopped acting: earlier commands are void."""

    @abstractmethod
    def armed(self) -> None:
        """Learn that a person armed the robot anew."""

    def has_let_go(self) -> bool:
        """Whether the source in control has ended its commands by itself, once."""
        return False

    def stopped(self, now: float) -> None:  # noqa: B027 - most laws learn enough from `disengaged`
        """Learn that the outputs were made safe at `now` [s], whoever was in control."""


class CommandArbiter(Law):
    """Commands that arrive as messages from one source at a time. Safe from any thread.

    - `timeout`: a source that is silent for longer loses control [s].
    - `wall`: wall clock [s], the one that senders take stamps from. Only looked at for having been
      set: then old stamps say nothing about the order of new ones.

    Its attributes:
    - `fetch`: called in every tick: submits what has arrived since.
    - `stops`: returns the present count of stops; None where nobody counts.
    """

    def __init__(
        self, gate: CommandGate, timeout: float, wall: Callable[[], float] = time.time
    ) -> None:
        self.fetch: Callable[[], None] = _nothing
        self.stops: Callable[[], int | None] = _nothing
        self._gate = gate
        self._ownership = Ownership(timeout)
        self._wall = wall
        self._wall_offset: float | None = None
        self._stepped = -math.inf
        self._lock = threading.Lock()
        self._latest: Command | None = None
        self._accepting = False
        self._heard: dict[str, float] = {}  # also what was refused
        self._ended: dict[str, float] = {}
        self._far = ''  # whose first command was refused last
        self._let_go = False
        self.accepted = 0
        self.rejected: Counter[str] = Counter()
        self.last_rejection = ''

    def submit(
        self,
        names: Sequence[str],
        quantities: Sequence[int],
        values: Sequence[float],
        source: str,
        stamp: int,
        now: float,
        stops: int = 0,
    ) -> None:
        """Take a command, or refuse the whole of it.

        A command without any actuator ends the control of its source: the robot goes to rest, and
        no stop is made of that. One with the present count of `stops` shows that its sender knows
        of the last stop, and needs no pause; one with another count is from before it.

        SoroError: saying why; also counted in `rejected` under the name of its code.
        """
        with self._lock:
            pause = self._hear(source, now)
            try:
                ends = not (len(names) or len(quantities) or len(values))
                checked = NOTHING if ends else self._gate.check(names, quantities, values)
                if not source:
                    raise InvalidInput('source', '', 'the name of the sending node')
                if not 0 <= stamp < STAMP_END:
                    raise InvalidInput('stamp', stamp, 'ns since 1970, as a clock shows them')
                self._check_latest(source)
                # What was on its way at a step has the old clock's stamp, the next the new one's.
                if now - self._stepped <= self._ownership.timeout:
                    self._ownership.forget_stamps()
                self._ownership.check(source, stamp, now)
                self._check_pause(source, pause, self._knows(stops))
                if not self._accepting:
                    raise NotAllowed('commands are not accepted now')
            except SoroError as error:
                self._count(error)
                raise
            self._ended.pop(source, None)  # also one that knows of the stop, now it is cleared
            let_go = self._ownership.owner(now) == source
            self._ownership.claim(source, stamp, now)
            if ends:  # of who is not in control: nothing ends by that
                self._latest, self._let_go = None, self._let_go or let_go
                self._ownership.release()
                return
            self._latest = Command(checked, source, stamp, now)
            self.accepted += 1

    def owner(self, now: float) -> str:
        """Return the source in control, '' when nobody is."""
        with self._lock:
            return self._ownership.owner(now)

    def command(self, reading: Reading, accepting: bool, now: float) -> Command | None:
        """Return the newest command; None when it is too old."""
        self._accepting = accepting
        with self._lock:
            self._notice_clock_step(now)
        self.fetch()
        with self._lock:
            latest = self._latest
            if latest is not None and now - latest.arrival > self._ownership.timeout:
                self._ended[latest.source] = latest.arrival
                self._latest = None
            elif latest is not None and accepting:
                self._far = ''  # unless the loop refuses it in this tick
            return self._latest

    def has_let_go(self) -> bool:
        """Whether the source in control has ended its commands by itself, once."""
        with self._lock:
            let_go, self._let_go = self._let_go, False
            return let_go

    def refused(self, command: Command, error: SoroError) -> None:
        """Count it, and let somebody else try."""
        with self._lock:
            self._count(error, 'NOT_NEAR')
            self._far = command.source
            if self._latest is command:
                self._latest = None
            self._ownership.release()

    def disengaged(self) -> None:
        """Drop the newest command, let nobody be in control, and end the stream that was obeyed.

        What still comes of that stream was decided before the outputs were made safe. It must not
        move the robot again, so its source is heard only after it has paused.
        """
        with self._lock:
            self._accepting = self._let_go = False
            if self._latest is not None:
                self._ended[self._latest.source] = self._latest.arrival
            self._latest = None
            self._ownership.release()

    def stopped(self, now: float) -> None:
        """End every stream that is on its way, also one that is not obeyed yet.

        Nothing but a pause tells a target from before the stop from one that was sent after it.
        What waits to be fetched counts as heard: the loop may have been inside a long call.
        """
        self.fetch()
        with self._lock:
            self._forget_silent(now)
            self._ended.update(dict.fromkeys(self._heard, now))

    def armed(self) -> None:
        """Forget senders' stamps, not what was ended.

        A stream that has not paused since it was ended still has to. What came while the robot was
        being armed was sent before that.
        """
        self._accepting = False
        self.fetch()
        with self._lock:
            self._ownership.release()
            self._ownership.forget_stamps()

    def _hear(self, source: str, now: float) -> float:
        """Note who speaks; return how long an ended stream has been silent, refused or not [s]."""
        self._heard[source] = now
        if len(self._heard) > MAX_HEARD:
            self._forget_silent(now)
        if source not in self._ended:
            return math.inf
        pause, self._ended[source] = now - self._ended[source], now
        return pause

    def _forget_silent(self, now: float) -> None:
        timeout = self._ownership.timeout
        recent = STOP_REACH * timeout
        self._heard = {s: t for s, t in self._heard.items() if now - t <= recent}
        # Who has paused long enough is as good as one that was never ended.
        self._ended = {s: t for s, t in self._ended.items() if now - t <= timeout}

    def _check_latest(self, source: str) -> None:
        """Refuse another source until the loop has let go of the one whose command it has.

        Control lapses here before the loop notices. Whoever came in between would be obeyed as
        the one before, with no look at where the robot is.
        """
        latest = self._latest
        if latest is None or latest.source == source:
            return
        if latest.source != self._far:
            raise NotInControl(source, latest.source)
        self._ownership.release()  # it will be refused again, and must not keep others out
        self._latest = None

    def _knows(self, stops: int) -> bool:
        """Whether a sender shows that it knows of the last stop; refuse one that does not."""
        present = self.stops()
        if stops and present is not None and stops != present:
            raise NotAllowed(
                f'sent before a stop: it carries stops {stops}, actuator_state says {present}; '
                'look why, and send what is right now'
            )
        return bool(stops) and present is not None

    def _check_pause(self, source: str, pause: float, knows: bool) -> None:
        """Refuse a stream that was ended, has not paused since and shows no knowledge of it."""
        timeout = self._ownership.timeout
        if pause > timeout:
            self._ended.pop(source, None)
        elif not knows:
            raise NotAllowed(
                f'{source} was commanding when the outputs were made safe: '
                f'pause for {timeout:g} s, or carry the present `stops`, and send a new target'
            )

    def _notice_clock_step(self, now: float) -> None:
        offset = self._wall() - now
        if self._wall_offset is not None and abs(offset - self._wall_offset) > CLOCK_STEP:
            self._stepped = now
        self._wall_offset = offset

    def _count(self, error: SoroError, reason: str = '') -> None:
        self.rejected[reason or Code(error.code).name] += 1
        self.last_rejection = str(error)


def _nothing() -> None:
    """Fetch nothing, count nothing: commands are submitted by whoever has them."""
