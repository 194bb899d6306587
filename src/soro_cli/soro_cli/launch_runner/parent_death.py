# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Ends a process when its parent dies, so that a killed launcher leaves no robot running."""

from __future__ import annotations

import ctypes
import signal
import sys

_PR_SET_PDEATHSIG = 1
# Looked up before any fork: between fork and exec nothing may be loaded.
_prctl = ctypes.CDLL(None).prctl if sys.platform == 'linux' else None


def die_with_parent() -> None:
    """Ask the kernel for SIGINT at the parent's death; does nothing where there is no prctl."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGINT)
