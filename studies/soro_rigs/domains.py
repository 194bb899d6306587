# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""ROS domains that no two test processes of this machine share.

A file per domain is locked while it is in use. Domains that merely follow from a process id do
meet: two packages tested at the same time then hear each other's topics.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import fcntl
from functools import cache
import os
from pathlib import Path
import tempfile
from typing import IO

# Their ports lie below the ephemeral range, and nobody picks them by hand.
DOMAINS = range(30, 100)
_kept = contextlib.ExitStack()


@contextlib.contextmanager
def free_domain() -> Iterator[int]:
    """Yield a domain that is nobody else's for as long as the context lasts."""
    start = os.getpid() % len(DOMAINS)
    for domain in [*DOMAINS[start:], *DOMAINS[:start]]:
        with contextlib.ExitStack() as stack:
            try:
                file = stack.enter_context(_open_for_all(domain))
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield domain
            return
    raise RuntimeError(f'all ROS domains from {DOMAINS[0]} to {DOMAINS[-1]} are taken by tests')


@cache
def own_domain() -> int:
    """Return a domain that is this process's own until it ends."""
    return _kept.enter_context(free_domain())


def _open_for_all(domain: int) -> IO[str]:
    path = Path(tempfile.gettempdir(), f'soro_test_domain_{domain}.lock')
    return open(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), 'r+')
