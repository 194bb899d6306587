# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the kernel says of processes in /proc (proc(5)): who started whom, processor time."""

from __future__ import annotations

import os
from pathlib import Path

PARENT = 1
# User and system time, of itself and of children that were waited for [ticks].
OWN_TIMES, TIMES = slice(11, 13), slice(11, 15)


class ProcessTable:
    """All processes of this machine at one moment.

    Times of a process that was not there raise ProcessLookupError.
    """

    def __init__(self) -> None:
        # What stands behind the name in /proc/<pid>/stat, from the state on.
        self._fields: dict[int, list[str]] = {}
        self._children: dict[int, list[int]] = {}
        for entry in Path('/proc').glob('[0-9]*'):
            try:
                fields = (entry / 'stat').read_text().rsplit(')', 1)[1].split()
            except OSError:
                continue  # it has just ended
            self._fields[int(entry.name)] = fields
            self._children.setdefault(int(fields[PARENT]), []).append(int(entry.name))

    def children(self, pid: int) -> list[int]:
        """Return the processes that a process has started and not lost, sorted."""
        return sorted(self._children.get(pid, []))

    def descendants(self, pid: int) -> list[int]:
        """Return everything below a process."""
        found = self.children(pid)
        for child in found:
            found.extend(self.children(child))
        return found

    @staticmethod
    def command(pid: int) -> list[str]:
        """Return the command line of a process; empty when it has ended."""
        try:
            words = Path(f'/proc/{pid}/cmdline').read_bytes()
        except OSError:
            return []
        return words.decode(errors='replace').split('\0')[:-1]

    def own_seconds(self, pid: int) -> float:
        """Return the processor time of a process alone [s]."""
        return self._seconds(pid, OWN_TIMES)

    def seconds(self, pid: int) -> float:
        """Return the processor time of a process and everything below it, ended or not [s]."""
        return self._seconds(pid, TIMES) + sum(self.seconds(c) for c in self.children(pid))

    def _seconds(self, pid: int, times: slice) -> float:
        if pid not in self._fields:
            raise ProcessLookupError(pid)
        return sum(map(float, self._fields[pid][times])) / os.sysconf('SC_CLK_TCK')


def node_pid(output: str, name: str) -> int:
    """Return the process id that a launcher's output has last for a node."""
    mark = f'[launch] [{name}] started, pid '
    lines = [line for line in output.splitlines() if line.startswith(mark)]
    return int(lines[-1].removeprefix(mark))
