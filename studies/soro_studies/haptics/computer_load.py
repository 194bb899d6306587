# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Who else used the computer while something was measured (Linux)."""

from __future__ import annotations

import os
from pathlib import Path
import time

from soro_rigs.process_table import ProcessTable


class LoadMeter:
    """Cores used by others, and taken by the hypervisor, since it was made.

    This process and what it has started, directly or not, are not others.
    """

    def __init__(self) -> None:
        self._tick = 1.0 / os.sysconf('SC_CLK_TCK')
        self._begin = time.monotonic(), self._busy(), self._stolen(), self._ours()

    def read(self) -> tuple[float, float]:
        """Return cores used by other processes, and cores stolen."""
        then, busy, stolen, ours = self._begin
        elapsed = max(time.monotonic() - then, self._tick)
        others = (self._busy() - busy) - (self._ours() - ours)
        return max(0.0, others / elapsed), (self._stolen() - stolen) / elapsed

    def _fields(self) -> list[int]:
        line = Path('/proc/stat').read_text(encoding='ascii').splitlines()[0]
        return [int(word) for word in line.split()[1:9]]

    def _busy(self) -> float:
        user, nice, system, _, _, irq, soft, _ = self._fields()
        return self._tick * (user + nice + system + irq + soft)

    def _stolen(self) -> float:
        return self._tick * self._fields()[7]

    def _ours(self) -> float:
        return ProcessTable().seconds(os.getpid())


def realtime_share() -> float | None:
    """Return the part of every second that real-time threads may fill a core; None: unknown.

    Linux takes the rest from them (sched(7)), so that a computer stays in reach.
    """
    try:
        runtime, period = (
            int(Path(f'/proc/sys/kernel/sched_rt_{name}_us').read_text(encoding='ascii'))
            for name in ('runtime', 'period')
        )
    except (OSError, ValueError):
        return None
    return 1.0 if runtime < 0 else runtime / period
