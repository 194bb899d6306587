# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What grows in the processes of a robot over a soak, from all samples of the run."""

from __future__ import annotations

from typing import Any

import numpy as np

WARM = 0.25  # of the run; caches fill and libraries are loaded on first use
END = 0.25
KIBI, MEBI = 2**10, 2.0**20
# What still counts as flat, assumed: allocators and caches breathe, sockets of a lost link linger.
MEMORY_PART, MEMORY_LEAST = 0.03, 3.0  # of the memory; MiB
COUNT_GROWTH = 2
FEWEST = 5  # samples; from fewer nothing is said
LONG = 600.0  # s; in a shorter run caches still fill, and growth is no verdict on the robot
FLAT = 'flat'


def growth(samples: list[Any], name: str, which: int) -> tuple[float, float]:
    """Return a figure of a process after warming up, and how much it had grown at the end.

    Parameters
    ----------
    samples : list
        Rows of [s, {process: [byte, threads, files]}].
    name : str
    which : int
        0: memory, 1: threads, 2: open files. Medians of parts of the run.
    """
    values = [row[name][which] for _, row in samples if name in row]
    count = len(values)
    first = values[int(WARM * count) : max(int(2 * WARM * count), int(WARM * count) + 1)]
    last = values[int((1.0 - END) * count) :]
    return float(np.median(first)), float(np.median(last) - np.median(first))


def verdict(samples: list[Any], name: str) -> str:
    """Return 'flat', or what grows."""
    memory, more = growth(samples, name, 0)
    grows = []
    if more > max(MEMORY_PART * memory, MEMORY_LEAST * MEBI):
        grows.append('memory')
    for which, word in ((1, 'threads'), (2, 'files')):
        if growth(samples, name, which)[1] > COUNT_GROWTH:
            grows.append(word)
    return ', '.join(grows) + ' grow' if grows else FLAT


def grown(result: dict[str, Any]) -> list[str]:
    """Return what grew in a run that was long enough to tell; of a raw result."""
    if result['seconds'] < LONG:
        return []
    found = process_growth(result['samples'])
    return [f'{p["process"]}: {p["verdict"]}' for p in found if p['verdict'] != FLAT]


def process_growth(samples: list[Any]) -> list[dict[str, Any]]:
    """Return figures, growth and verdict of every process that was there half of the time.

    Helpers that come and go with a reconnection are left out. Memory in KiB.
    """
    found = []
    for name in sorted({n for _, row in samples for n in row if len(samples) >= FEWEST}):
        if sum(name in row for _, row in samples) < 0.5 * len(samples):
            continue
        (memory, more), (threads, m), (files, n) = (growth(samples, name, i) for i in range(3))
        found.append(
            {
                'process': name,
                'memory': [round(memory / KIBI), round(more / KIBI)],
                'threads': [threads, m],
                'files': [files, n],
                'verdict': verdict(samples, name),
            }
        )
    return found
