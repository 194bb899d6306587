# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs the processes of a plan and ends them: SIGINT, then SIGTERM, then SIGKILL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import contextlib
import os
import selectors
import signal
import subprocess
import time
from typing import Any, IO

from soro_launch.node_plan import ProcessPlan
from soro_node.process.parent_death import until_parent_dies
from soro_node.process.signal_handlers import handled

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TICK = 0.2  # s, the longest sleep between looks at deadlines
MAX_LINE = 1 << 16  # bytes
FIRST_LOOK = 0.01  # s between looks for children that have ended but keep no pipe open

Line = Callable[[str, str, bool], None]  # name, text, whether it belongs on the screen


class ManagedProcess:
    """One process of the plan, through all its starts."""

    def __init__(self, plan: ProcessPlan) -> None:
        self.plan = plan
        self.child: subprocess.Popen[bytes] | None = None
        self.exit_code: int | None = None
        self.restarts = 0
        self.start_at: float | None = 0.0
        self.deadlines: list[tuple[float, signal.Signals]] = []
        self.rest = {1: b'', 2: b''}

    @property
    def pending(self) -> bool:
        """Whether it runs or is still to be started."""
        return self.child is not None or self.start_at is not None

    @property
    def running(self) -> bool:
        """Whether it has been started and has not ended."""
        return self.child is not None and self.child.poll() is None

    def start(self) -> None:
        """Start the process in a process group of its own, so that a Ctrl-C reaches it once.

        Not in a session of its own: the kernel (autogroup) then shares the processor between
        sessions, and what a plant or a driver needs more than its part it would not get.
        """
        self.start_at = None
        self.child = subprocess.Popen(
            self.plan.command,
            env=self.plan.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=until_parent_dies(own_group=True),
        )

    def send(self, number: signal.Signals) -> None:
        """Send a signal; SIGKILL goes to everything the process has started as well."""
        if not self.running:
            return
        with contextlib.suppress(ProcessLookupError):
            if number is signal.SIGKILL:
                os.killpg(self.child.pid, number)
            else:
                self.child.send_signal(number)


class Supervisor:
    """Runs processes until all have ended or a signal ends them.

    `line`: receives every line of output: name of the process, text, whether it is for the screen;
    `notice`: receives the runner's own messages.
    """

    def __init__(
        self, plans: Sequence[ProcessPlan], line: Line, notice: Callable[[str], None]
    ) -> None:
        self._processes = [ManagedProcess(plan) for plan in plans]
        self._line = line
        self._notice = notice
        self._selector = selectors.DefaultSelector()
        self._stopping = False
        self._signal: int | None = None
        self._wake_reader, self._wake_writer = os.pipe()

    def run(self) -> int:
        """Run to the end and return the worst exit code, 128 + signal for a killed process."""
        os.set_blocking(self._wake_writer, False)
        os.set_blocking(self._wake_reader, False)
        self._selector.register(self._wake_reader, selectors.EVENT_READ)
        outer_fd = signal.set_wakeup_fd(self._wake_writer, warn_on_full_buffer=False)
        try:
            with handled(SIGNALS, self._on_signal):
                try:
                    while any(p.pending for p in self._processes):
                        self._turn()
                finally:
                    self._end_all()
        finally:
            signal.set_wakeup_fd(outer_fd)
            self._selector.close()
            os.close(self._wake_reader)
            os.close(self._wake_writer)
        return worst_exit_code([p.exit_code for p in self._processes])

    def stop(self, reason: str) -> None:
        """Begin to stop everything; further calls change nothing."""
        if self._stopping:
            return
        self._stopping = True
        now = time.monotonic()
        for process in self._processes:
            process.start_at = None
            plan = process.plan
            term = now + plan.sigterm_timeout
            process.deadlines = [
                (term, signal.SIGTERM),
                (term + plan.sigkill_timeout, signal.SIGKILL),
            ]
            process.send(signal.SIGINT)
        self._notice(f'stopping: {reason}')

    def _on_signal(self, number: int, frame: object) -> None:
        self._signal = number  # acted on by the loop, which the wake-up pipe brings round

    def _turn(self) -> None:
        if self._signal is not None:
            self.stop(signal.Signals(self._signal).name)
        self._start_due()
        for key, _ in self._selector.select(self._patience()):
            if key.fd == self._wake_reader:
                os.read(self._wake_reader, 4096)
            else:
                self._read(key)
        self._escalate()
        self._reap()

    def _patience(self) -> float:
        """Return how long to sleep: short while a child without open pipes may be ending."""
        open_pipes = {key.data[0] for key in self._selector.get_map().values() if key.data}
        running = [p for p in self._processes if p.child is not None]
        return TICK if all(p in open_pipes for p in running) else FIRST_LOOK

    def _start_due(self) -> None:
        now = time.monotonic()
        for process in self._processes:
            if process.start_at is None or process.start_at > now or self._stopping:
                continue
            try:
                process.start()
            except OSError as error:
                self._notice(f'[{process.plan.name}] cannot be started: {error}')
                process.exit_code = 127
                self._ended_by_itself(process)
                continue
            child = process.child
            for channel, stream in ((1, child.stdout), (2, child.stderr)):
                os.set_blocking(stream.fileno(), False)
                self._selector.register(stream, selectors.EVENT_READ, (process, channel))
            self._notice(f'[{process.plan.name}] started, pid {child.pid}')

    def _read(self, key: selectors.SelectorKey) -> None:
        data = _read_some(key.fileobj)
        if data:
            self._take(data, *key.data)
        elif data is not None:
            self._close(key.fileobj, *key.data)

    def _take(self, data: bytes, process: ManagedProcess, channel: int) -> None:
        *lines, rest = (process.rest[channel] + data).split(b'\n')
        if len(rest) > MAX_LINE:  # what never ends its line must not fill the memory
            lines, rest = [*lines, rest], b''
        process.rest[channel] = rest
        for text in lines:
            self._emit(process, channel, text)

    def _close(self, stream: IO[bytes], process: ManagedProcess, channel: int) -> None:
        self._selector.unregister(stream)
        stream.close()
        if process.rest[channel]:
            self._emit(process, channel, process.rest[channel])
            process.rest[channel] = b''

    def _emit(self, process: ManagedProcess, channel: int, text: bytes) -> None:
        on_screen = channel == 2 or process.plan.on_screen
        self._line(process.plan.name, text.decode(errors='replace').rstrip('\r'), on_screen)

    def _escalate(self) -> None:
        now = time.monotonic()
        for process in self._processes:
            if process.child is None or not process.deadlines or process.deadlines[0][0] > now:
                continue
            _, number = process.deadlines.pop(0)
            if process.child.poll() is None:
                self._notice(f'[{process.plan.name}] still runs, sending {number.name}')
                process.send(number)

    def _reap(self) -> None:
        for process in self._processes:
            if process.child is None or process.child.poll() is None:
                continue
            code = process.child.returncode
            self._drain(process)
            process.child = None
            process.exit_code = 128 - code if code < 0 else code
            how = (
                f'was ended by {signal.Signals(-code).name}' if code < 0 else f'ended with {code}'
            )
            self._notice(f'[{process.plan.name}] {how}')
            self._ended_by_itself(process)

    def _drain(self, process: ManagedProcess) -> None:
        """Read what is left; who holds a pipe open (a grandchild) is not waited for, nor heard."""
        for key in list(self._selector.get_map().values()):
            if key.data and key.data[0] is process:
                self._take(_read_some(key.fileobj) or b'', *key.data)  # all that a pipe holds
                self._close(key.fileobj, *key.data)

    def _ended_by_itself(self, process: ManagedProcess) -> None:
        if self._stopping:
            process.start_at = None
            return
        plan = process.plan
        limit_left = plan.respawn_limit < 0 or process.restarts < plan.respawn_limit
        process.start_at = None
        if plan.ends_launch:
            self.stop(f'{plan.name} has ended')
        elif plan.respawn and limit_left:
            process.restarts += 1
            process.start_at = time.monotonic() + plan.respawn_delay

    def _end_all(self) -> None:
        """Leave nothing behind, in the usual order, where an error of ours has ended the loop.

        A robot vents on SIGINT and a recorder finishes its bag; SIGKILL at once would do neither.
        """
        if not any(p.running for p in self._processes):
            return
        self._line, self._notice = _harmless(self._line), _harmless(self._notice)
        self.stop('internal error')
        while any(p.running for p in self._processes):
            try:
                self._turn()
            except Exception:  # noqa: BLE001 - the first error is on its way to the user already
                self._escalate()
                time.sleep(FIRST_LOOK)


def worst_exit_code(codes: Sequence[int | None]) -> int:
    """Return the largest exit code; a process that never ran counts as 0."""
    return max((code or 0 for code in codes), default=0)


def _read_some(stream: IO[bytes]) -> bytes | None:
    """Return what can be read now: None for nothing yet, empty at the end."""
    try:
        return os.read(stream.fileno(), 65536)
    except BlockingIOError:
        return None


def _harmless(sink: Callable[..., None]) -> Callable[..., None]:
    """Return a sink of output that raises nothing."""

    def take(*words: Any) -> None:
        with contextlib.suppress(Exception):
            sink(*words)

    return take
