# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Ends a process when its parent dies, so that a killed launcher leaves no robot running."""

from __future__ import annotations

import ctypes
import signal
import sys

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
# Looked up before any fork: between fork and exec nothing may be loaded.
_prctl = ctypes.CDLL(None).prctl if sys.platform == 'linux' else None


def die_with_parent(number: int = signal.SIGINT) -> None:
    """Have the kernel send a signal when the thread that started this process ends (Linux).

    Called by the process itself, or as `preexec_fn` between fork and exec. Does nothing where
    there is no prctl.
    """
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
