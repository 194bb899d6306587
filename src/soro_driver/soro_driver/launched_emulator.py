# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether the emulator that was launched with a driver is there: it may load for a minute."""

from __future__ import annotations

from contextlib import suppress

import psutil

from soro_node.process.parent_death import launcher

EMULATOR = '/soro_emulation/emulator'


def emulator_runs(namespace: str) -> bool:
    """Whether the launcher of this process has an emulator for a namespace."""
    pid = launcher()
    if pid is None:
        return False
    with suppress(psutil.NoSuchProcess):
        for process in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.Error):  # it has just ended
                words = process.cmdline()
                if f'__ns:={namespace}' in words and any(w.endswith(EMULATOR) for w in words):
                    return True
    return False
