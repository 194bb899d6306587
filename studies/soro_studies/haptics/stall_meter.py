# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How long the computer itself stood still while something was measured (Linux).

A bare thread of a priority above everything that is measured sleeps on each core and looks at the
clock. Where even that one comes late by milliseconds no program can do better: the kernel or the
host of a virtual machine has kept the core (a limit on processor time per 100 ms, for example,
which /proc/stat does not count as stolen).
"""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
from dataclasses import dataclass
import gc
import os
import select
import signal
import subprocess
import sys
import time

PRIORITY = 90
NAP = 2e-3  # s
WATCHING = 'watching'
LATE = 1e-3  # s late, from which on it is a stall


@dataclass(frozen=True)
class Stalls:
    """What was found.

    Attributes
    ----------
    spans : tuple of (core, begin, end, queued)
        Times of CLOCK_MONOTONIC [s]; how much of it the thread was queued behind others [s].
    """

    spans: tuple[tuple[int, float, float, float], ...]

    @property
    def longest(self) -> float:
        """The longest stall [s]."""
        return max((end - begin for _, begin, end, _ in self.spans), default=0.0)

    @property
    def queued(self) -> int:
        """How many of them were the kernel's: the core ran somebody else for most of it."""
        return sum(queued > 0.5 * (end - begin) for _, begin, end, queued in self.spans)

    def lost(self, period: float) -> int:
        """Slots of a loop that lie within stalls of any core: no more can be lost to them."""
        slots, last = 0, -1.0
        for _, begin, end, _ in sorted(self.spans, key=lambda span: span[1]):
            begin = max(begin, last)
            if end > begin:
                slots += int((end - begin) / period) + 1
                last = end
        return slots


class StallMeter:
    """Watches every core from `start` to `stop`; nothing where the priority is refused."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[str]] = []

    def start(self) -> None:
        """Start one process per core."""
        for core in sorted(os.sched_getaffinity(0)):
            self._processes.append(
                subprocess.Popen(
                    [sys.executable, '-I', '-S', __file__, str(core)],
                    text=True,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                )
            )

    def wait_until_watching(self, timeout: float) -> None:
        """Return when every core is watched, or not allowed to be; TimeoutError [s]."""
        end = time.monotonic() + timeout
        for process in self._processes:
            assert process.stdout is not None
            left = max(0.0, end - time.monotonic())
            if not select.select([process.stdout], [], [], left)[0]:
                raise TimeoutError('the cores are not watched yet')
            process.stdout.readline()

    def stop(self) -> Stalls | None:
        """End them; None where they were not allowed to watch."""
        spans, allowed = [], bool(self._processes)
        for process in self._processes:
            process.send_signal(signal.SIGTERM)
            text, _ = process.communicate()
            allowed = allowed and process.returncode == 0
            for line in text.splitlines():
                if line == WATCHING:
                    continue
                core, begin, end, queued = line.split()
                spans.append((int(core), float(begin), float(end), float(queued)))
        self._processes.clear()
        return Stalls(tuple(spans)) if allowed else None


def watch(core: int) -> int:
    """Sleep and look until SIGTERM; print a line of `Stalls.spans` for every stall."""
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: stopping.append(number))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        os.sched_setaffinity(0, {core})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except OSError:
        return 1
    gc.disable()
    print(WATCHING, flush=True)
    parent = os.getppid()
    with open('/proc/self/schedstat', encoding='ascii') as schedstat:

        def queued() -> float:
            schedstat.seek(0)
            return 1e-9 * int(schedstat.read().split()[1])

        while not stopping and os.getppid() == parent:
            before, due = queued(), time.monotonic() + NAP
            time.sleep(NAP)
            now = time.monotonic()
            if now - due > LATE:
                print(core, f'{due:.6f} {now:.6f} {queued() - before:.6f}')
    return 0


def stalls_in_words(stalls: Sequence[Sequence[float]] | None, period: float, missed: int) -> str:
    """Return a sentence for a page; `stalls` as `Stalls.spans`, None: not watched."""
    if stalls is None:
        return ''
    found = Stalls(tuple((int(c), float(b), float(e), float(q)) for c, b, e, q in stalls))
    if not found.spans:
        return 'The computer itself never stood still.'
    return (
        f'The computer itself stood still {len(found.spans)} times, at most '
        f'{1e3 * found.longest:.1f} ms: a bare thread of priority {PRIORITY} on the same core '
        f'woke late, {found.queued} times because the kernel ran others, otherwise because '
        f'nothing ran. That takes up to {found.lost(period)} slots from any program; {missed} '
        'were missed.'
    )


if __name__ == '__main__':
    with contextlib.suppress(BrokenPipeError):
        raise SystemExit(watch(int(sys.argv[1])))
