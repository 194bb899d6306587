# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether the emulator that was launched with a driver is there: it may load for a minute."""

from __future__ import annotations

from soro_node.process.parent_death import launcher
from soro_node.process.process_table import ProcessTable

EMULATOR = '/soro_emulation/emulator'


def emulator_runs(namespace: str) -> bool:
    """Whether the launcher of this process has an emulator for a namespace (Linux)."""
    pid = launcher()
    if pid is None:
        return False
    table = ProcessTable()
    return any(
        any(word.endswith(EMULATOR) for word in words) and f'__ns:={namespace}' in words
        for words in map(table.command, table.descendants(pid))
    )
