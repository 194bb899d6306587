# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Clock cycles that a thread has taken, as the processor itself counts them (Linux).

perf_event_open(2), for what runs in user mode in the thread that asks. Many virtual machines offer
no hardware counter, and some systems forbid it (`/proc/sys/kernel/perf_event_paranoid` above 2).
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct

SYSTEM_CALLS = {'x86_64': 298, 'aarch64': 241}  # perf_event_open
CYCLES = (0, 0)  # PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES
TASK_CLOCK = (1, 1)  # PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK [ns]: there is one everywhere
SIZE = 128  # of perf_event_attr
FLAGS_AT = 40  # in it
EXCLUDE_KERNEL, EXCLUDE_HYPERVISOR = 1 << 5, 1 << 6


class CycleCounter:
    """Counts for the thread that makes it, from then on.

    Parameters
    ----------
    event : tuple of int
        Type and number of the event.

    Raises
    ------
    OSError
        This machine has no such counter, or does not let us use it.
    """

    def __init__(self, event: tuple[int, int] = CYCLES) -> None:
        number = SYSTEM_CALLS.get(platform.machine())
        if number is None:
            raise OSError(f'perf_event_open is not known for {platform.machine()}')
        kind, config = event
        attributes = bytearray(SIZE)
        struct.pack_into('=IIQ', attributes, 0, kind, SIZE, config)
        struct.pack_into('=Q', attributes, FLAGS_AT, EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR)
        libc = ctypes.CDLL(None, use_errno=True)
        buffer = (ctypes.c_char * SIZE).from_buffer(attributes)
        this_thread, any_core, no_group, no_flags = 0, -1, -1, 0
        self._file = int(libc.syscall(number, buffer, this_thread, any_core, no_group, no_flags))
        if self._file < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))

    def read(self) -> int:
        """Return the count so far."""
        return int(struct.unpack('=q', os.read(self._file, 8))[0])

    def close(self) -> None:
        """Give the counter back."""
        os.close(self._file)
