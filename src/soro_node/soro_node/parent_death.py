# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How processes are started: a killed launcher leaves no robot running, a Ctrl-C comes once."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Any

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


def own_group_until_parent_dies() -> None:
    """Leave the process group of the parent, and end with it; a `preexec_fn`.

    A Ctrl-C then reaches the parent only, which passes it on.
    """
    os.setpgid(0, 0)
    die_with_parent()


# Options of Popen for a process group of its own, where there are threads already: a `preexec_fn`
# is not safe beside them, and Python 3.10 knows no other way.
OWN_GROUP: dict[str, Any] = (
    {'process_group': 0} if sys.version_info >= (3, 11) else {'preexec_fn': os.setpgrp}
)
