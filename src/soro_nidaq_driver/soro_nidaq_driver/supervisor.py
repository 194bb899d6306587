# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A small process beside the driver that clears the outputs when the driver cannot.

A counter goes on generating pulses when the process that started it is killed, or frozen. The
supervisor holds the other end of a pipe: while the driver is armed it sends a byte per tick; when
bytes stop, or the pipe closes without a goodbye, every card is reset (all outputs idle). A reset
that fails is tried again: while the driver is frozen without end, for `GIVE_UP` after its end.

Every byte comes back, so that the driver knows whether anybody watches it. As long as the process
lives it holds a name of its own for every card: no driver opens one that somebody else clears.
"""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from typing import Any

from soro_driver.device import DeviceError, DeviceLost
from soro_driver.loop.real_time import favour_threads
from soro_driver.safety.device_lock import DeviceLock, hold_inherited
from soro_nidaq_driver.client import import_client, Link, RESET_TIMEOUT, translated

PRIORITY = 1  # of real time, where allowed: it does little, and is needed when others are busy
ALIVE, IDLE, GOODBYE = b'a', b'i', b'q'
CALL_TIMEOUT = 0.25  # s, of one call of the supervisor but a reset
RETRY, GIVE_UP = 0.1, 5.0  # s, between attempts to clear outputs, and for all after the end
ANSWER_TIMEOUT = 0.5  # s without an answer: nobody would clear the outputs
PROMPT = 0.05  # s, for the answer without which the driver does not arm
MAX_LOOK = 0.1  # s that count between two looks: a driver that was stalled saw no answers
PARTING = 0.1  # s to leave after a goodbye


class Supervisor:
    """The driver's side.

    `address`: 'local' or host:port, as for the driver; `cards`: cards to reset; `timeout`: silence
    of the driver, while armed, after which they are reset [s]; `names`: resources that it holds
    while it lives, see `DeviceLock`.
    """

    def __init__(
        self, address: str, cards: Sequence[str], timeout: float, names: Sequence[str] = ()
    ) -> None:
        self._arguments = [address, ','.join(cards), f'{timeout:g}']
        self._uses = [DeviceLock(name) for name in names]
        self._process: subprocess.Popen[bytes] | None = None
        self._parted: list[subprocess.Popen[bytes]] = []
        self._cut_short = False  # one was ended that may have been resetting
        self._begin()

    def _begin(self) -> None:
        self._answered = False  # ever
        self._unanswered = 0  # bytes that have not come back
        self._owed = 0.0  # s since the last answer, while one was due
        self._looked = time.monotonic()

    def start(self) -> None:
        """Start the process, unless it runs; rely on it when it is `ready`."""
        if self._process is not None and self._process.poll() is None:
            return
        self._begin()
        try:
            for use in self._uses:
                use.acquire()
            self._process = self._spawn([use.fileno() for use in self._uses])
        finally:
            for use in self._uses:
                use.release()  # the process has it now
        for stream in (self._process.stdin, self._process.stdout):
            os.set_blocking(stream.fileno(), False)  # type: ignore[union-attr]

    def _spawn(self, descriptors: list[int]) -> subprocess.Popen[bytes]:
        environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(p for p in sys.path if p)}
        # Its own session: Ctrl-C in the driver's terminal must not reach it.
        program = [sys.executable, '-m', 'soro_nidaq_driver.supervisor', *self._arguments]
        return subprocess.Popen(
            [*program, *map(str, descriptors)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            bufsize=0,
            start_new_session=True,
            pass_fds=descriptors,
        )

    def check_alone(self) -> None:
        """Leave cards alone that another driver's supervisor still clears. Raises DeviceLost."""
        own = {process.pid for process in (*self._parted, self._process) if process is not None}
        for use in self._uses:
            holder = use.holder()
            if holder is not None and holder not in own:
                raise DeviceLost(
                    f'the supervisor (process {holder}) of a driver that has ended is still '
                    'clearing the outputs; it ends by itself, try again'
                )

    def ready(self) -> bool:
        """Start it unless it runs; whether it has loaded what it needs, and answers now.

        DeviceError: it has ended: the driver must not be armed without it.
        """
        ended = self._process is not None and self._process.poll() is not None
        if ended and not self._answered:
            code = self._process.returncode
            self.stop(safe=True)
            raise DeviceError(f'the supervisor process has ended ({code}); its output says why')
        self.start()
        if self._answered or not self._unanswered:
            self._send(IDLE)
        end = time.monotonic() + (PROMPT if self._answered else 0.0)
        self._hear()
        while self._unanswered:
            left = end - time.monotonic()
            if left <= 0.0:
                return False
            select.select([self._process.stdout], [], [], left)  # type: ignore[union-attr]
            self._hear()
        return True

    def trouble(self) -> str:
        """Say why nobody would clear the outputs; empty while it answers, or loads."""
        self._hear()
        if self._answered and not self.pid:
            return 'the supervisor process has ended'
        if self._owed < ANSWER_TIMEOUT:
            return ''
        return f'the supervisor process ({self.pid}) has not answered for {ANSWER_TIMEOUT:g} s'

    def replace(self) -> None:
        """End it, frozen or not, and start another one; the outputs are idle."""
        self.stop(safe=True)
        self.start()

    def _hear(self) -> None:
        now = time.monotonic()
        passed, self._looked = min(now - self._looked, MAX_LOOK), now
        data = b''
        if self._process is not None and self._process.stdout is not None:
            data = self._process.stdout.read(65536) or b''
        self._answered |= bool(data)
        self._unanswered = max(0, self._unanswered - len(data))
        waits = self._answered and self._unanswered and not data
        self._owed = self._owed + passed if waits else 0.0

    @property
    def pid(self) -> int:
        """Process id; 0 when it is not running."""
        running = self._process is not None and self._process.poll() is None
        return self._process.pid if running and self._process is not None else 0

    def alive(self) -> None:
        """Say that the driver is armed and ticking.

        DeviceError: the supervisor is gone: nobody would clear the outputs.
        """
        self._send(ALIVE)

    def idle(self) -> None:
        """Say that the outputs are safe; silence is allowed until the next `alive`."""
        if self.pid:
            self._send(IDLE)

    def stop(self, safe: bool) -> None:
        """Part from the process; it resets the cards unless they are `safe`. Never raises."""
        process, self._process = self._process, None
        if process is None or process.stdin is None or process.stdout is None:
            return
        busy, self._answered, self._owed = self._answered, False, 0.0
        with contextlib.suppress(OSError):  # it has ended already
            if safe:
                process.stdin.write(GOODBYE)
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                stream.close()
        if safe:  # nothing is left to do for it, whatever it does: it loads, or is frozen
            try:
                process.wait(PARTING)
            except subprocess.TimeoutExpired:
                self._cut_short |= busy
                process.kill()
                process.wait()
        else:
            self._parted.append(process)

    def dismiss(self) -> bool:
        """End every process that was parted from, the outputs being idle; whether one still ran.

        What it asked the cards for last may still be carried out.
        """
        running = [process for process in self._parted if process.poll() is None]
        for process in running:
            process.kill()
            process.wait()
        self._parted.clear()
        late, self._cut_short = bool(running) or self._cut_short, False
        return late

    def _send(self, byte: bytes) -> None:
        try:
            if self._process is None or self._process.stdin is None:
                raise BrokenPipeError
            self._hear()
            if self._process.stdin.write(byte):  # None: 64 KiB of bytes wait for it
                self._unanswered += 1
        except OSError:
            raise DeviceError('the supervisor process is gone') from None


class CardReset:
    """Resets cards; connected beforehand, so that the emergency only takes one call per card.

    - `address`: 'local' or host:port.
    """

    def __init__(self, address: str, cards: Sequence[str]) -> None:
        self._address = address
        self._names = tuple(cards)
        self._link: Link | None = None
        self._cards: list[Any] = []
        self.connect()

    def connect(self) -> None:
        """Connect anew; asking for a serial number loads and opens all that a reset needs."""
        if self._link is not None:
            self._link.close()
        nidaqmx = import_client()
        self._link = Link(self._address, CALL_TIMEOUT)
        options = self._link.options()
        with contextlib.suppress(DeviceError), translated('connect'):
            self._cards = [nidaqmx.system.Device(n, grpc_options=options) for n in self._names]
            for card in self._cards:
                card.serial_num  # noqa: B018 - a property that calls the device

    def __call__(self) -> list[str]:
        """Reset every card; return what went wrong."""
        troubles: list[str] = []
        for card in self._cards:
            try:
                with translated(f'reset of {card.name}'), self._link.within(RESET_TIMEOUT):
                    card.reset_device()
            except DeviceError as error:
                troubles.append(str(error))
        if not self._cards:
            troubles.append('not connected')
        return troubles


def watch(reset: CardReset, timeout: float, pipe: int, answers: int) -> int:
    """Follow the bytes of the driver until it says goodbye or is gone; return the exit code."""
    wait: float | None = None  # s of silence until the cards are reset; None: for ever
    start, failed = 0.0, False
    while True:
        ready, _, _ = select.select([pipe], [], [], wait)
        if not ready:  # whoever was frozen itself has not looked all that time
            ready, _, _ = select.select([pipe], [], [], 0.0)
        data = os.read(pipe, 4096) if ready else b''
        if GOODBYE in data:
            return 0
        if data:
            wait, failed = (timeout if data[-1:] == ALIVE else None), False
            with contextlib.suppress(OSError):  # the driver has gone: the pipe tells how
                os.write(answers, data)
            continue
        gone = bool(ready)
        if gone or not failed:
            start = time.monotonic()
        troubles = _clear(reset, again=failed)
        while troubles and gone and time.monotonic() - start < GIVE_UP:
            time.sleep(RETRY)
            troubles = _clear(reset, again=True)
        if gone or not (troubles and failed):  # a frozen driver's trouble is said once
            took = 1e3 * (time.monotonic() - start)
            result = '; '.join(troubles) or f'outputs cleared in {took:.0f} ms'
            state = 'gone' if gone else 'silent'
            print(f'supervisor: the driver is {state}: {result}', file=sys.stderr, flush=True)
        if gone:
            return 1
        # A frozen driver cannot clear anything: try until that works or it wakes up. A driver
        # that wakes up finds its tasks aborted and reports that.
        failed = bool(troubles)
        wait = RETRY if failed else None


def _clear(reset: CardReset, again: bool) -> list[str]:
    """Reset the cards, connected anew after a failure; return what went wrong."""
    if again:
        reset.connect()
    return reset()


def main() -> None:
    """Run the supervisor: address, cards, timeout, descriptors; bytes on standard input."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends when the driver does
    address, cards, timeout, *descriptors = sys.argv[1:]
    held = [hold_inherited(int(descriptor)) for descriptor in descriptors]
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    reset = CardReset(address, cards.split(','))
    if os.sched_getscheduler(0) == os.SCHED_OTHER:
        favour_threads(PRIORITY)  # now that everything is loaded
    code = watch(reset, float(timeout), 0, answers)
    for use in held:
        use.close()
    sys.exit(code)


if __name__ == '__main__':
    main()
