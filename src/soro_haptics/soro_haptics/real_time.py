# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a process asks of the system beside its loop's own priority (Linux)."""

from __future__ import annotations

import ctypes

# s: every kernel gives the interpreter away, and the loop waits as long for it each time while
# another thread is at work (diagnostics: a millisecond every second).
SWITCH_INTERVAL = 2e-5
MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT = 1, 2, 4  # sys/mman.h


def lock_memory() -> bool:
    """Keep what was touched in memory, now and later; whether that was allowed.

    Pages are not fetched in advance, so that reserved stacks cost nothing.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0)
