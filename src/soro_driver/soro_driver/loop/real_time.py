# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Real-time priority of a whole process, where the loop's own is not enough (Linux)."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def favour_threads(priority: int) -> None:
    """Run every thread of this process under SCHED_FIFO, where that is allowed.

    A loop waits for whoever holds the interpreter or a lock of the middleware. A thread with
    normal priority that holds one may be kept from giving it back by anybody else on the computer.
    Not before everything is loaded: imports would keep a core from the control loops of others.
    """
    wanted = os.sched_param(max(1, priority))
    for thread in Path('/proc/self/task').iterdir():
        with contextlib.suppress(OSError):
            os.sched_setscheduler(int(thread.name), os.SCHED_FIFO, wanted)
