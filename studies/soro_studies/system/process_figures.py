# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Memory, threads, open files and shared memory of a robot's processes, from /proc (proc(5))."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
import os
from pathlib import Path
import re

from soro_rigs.process_table import ProcessTable

STARTED = re.compile(r'^\[launch\] \[(\w+)\] started, pid (\d+)', re.MULTILINE)
PAGE = os.sysconf('SC_PAGE_SIZE')
SHARED = '/dev/shm/'
# Fast DDS: beside each segment a file of this ending, open in the process that made the segment.
OWNED = re.compile(rf'{SHARED}(fastdds_\w+)_el')


@dataclass(frozen=True)
class Figures:
    """One look at one process: resident memory [byte], threads, open files."""

    memory: int
    threads: int
    files: int


def figures_of(pid: int) -> Figures | None:
    """Return the figures of a process; None: it has ended."""
    folder = Path('/proc', str(pid))
    try:
        memory = int((folder / 'statm').read_text().split()[1]) * PAGE
        threads = len(os.listdir(folder / 'task'))
        return Figures(memory, threads, len(os.listdir(folder / 'fd')))
    except OSError:
        return None


def processes_below(pid: int, output: str) -> dict[str, int]:
    """Return the processes below a launcher by name.

    Parameters
    ----------
    pid : int
        Of the launcher, which is called ``launch``.
    output : str
        What it printed; it names its nodes. A node's own children are called after it.
    """
    names = {int(number): name for name, number in STARTED.findall(output)}
    table = ProcessTable()
    found, rest = {'launch': pid}, [('launch', pid)]
    while rest:
        name, this = rest.pop()
        for i, child in enumerate(table.children(this)):
            known = names.get(child, f'{name} child {i + 1}')
            found[known] = child
            rest.append((known, child))
    return found


def segments_of(pid: int) -> set[str]:
    """Return the segments of shared memory of the middleware that a process owns, by name."""
    folder = Path('/proc', str(pid), 'fd')
    found = set()
    try:
        for entry in os.listdir(folder):
            try:
                match = OWNED.fullmatch(os.readlink(folder / entry))
            except FileNotFoundError:
                continue  # closed meanwhile
            if match:
                found.add(match.group(1))
    except OSError:
        pass  # the process has ended, or is another user's
    return found


def left_segments(segments: Iterable[str]) -> list[str]:
    """Return those of some segments that are still there although no process owns them, sorted.

    A segment that stands for a port has the port's number in its name, so another process may
    own it by now.
    """
    there = {name for name in segments if Path(SHARED, name).exists()}
    if there:
        for entry in Path('/proc').glob('[0-9]*'):
            there -= segments_of(int(entry.name))
    return sorted(there)
