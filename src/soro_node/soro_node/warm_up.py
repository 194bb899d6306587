# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Run every kernel of a robot once, so that the first request and the first tick are fast.

The nodes of one robot start together. Where nothing is compiled yet, one of them compiles, under a
file lock, and the others wait for its result instead of doing the same work beside it; once a
mark stands in the cache folder, nobody waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import fcntl
import hashlib
import os
from pathlib import Path
import time
from typing import IO

import numpy as np
from soro_mechanics.configuration import Configuration
from soro_mechanics.errors import SoroError
from soro_mechanics.kernel_cache import use_kernel_cache
from soro_mechanics.robot import Robot

LOCK_TIMEOUT = 300.0  # s, several times the longest compilation seen


def warm_up(robot: Robot) -> float:
    """Solve, differentiate and invert once; return the time it took [s].

    What a model does not support is left out; what does not converge is not judged here.
    """
    start = time.monotonic()
    with _compiled_once(robot):
        low, high = robot.limits.T
        q = robot.forward(low + 0.2 * (high - low))
        q = robot.forward(q.actuation, guess=q)
        for action in _actions(robot, q):
            with contextlib.suppress(SoroError):
                action()
        if 'haptic' in robot.description.structure:
            from soro_mechanics.haptic_loop import compile_haptics

            with contextlib.suppress(SoroError):
                compile_haptics(robot)
    return time.monotonic() - start


def _actions(robot: Robot, q: Configuration) -> tuple[Callable[[], object], ...]:
    wrench = np.array([0.0, 0.0, 1e-3, 0.0, 0.0, 0.0])
    return (
        lambda: robot.forward(q.actuation, wrench, q),
        lambda: robot.jacobian(q),
        lambda: robot.compliance(q),
        lambda: robot.compliance_along(q, method='integral'),
        lambda: robot.inverse(q.tip[:3, 3], guess=q),
        lambda: robot.inverse(q.tip[:3, 3]),
        lambda: robot.inverse(10.0 * q.tip[:3, 3], guess=q),  # out of reach: other kernels
    )


@contextlib.contextmanager
def _compiled_once(robot: Robot) -> Iterator[None]:
    use_kernel_cache()
    folder = Path(os.environ['NUMBA_CACHE_DIR'])
    # The same model of another robot runs other kernels (loads, bodies): one mark for each file.
    key = f'{robot.model}\0{Path(robot.description.file).resolve()}'
    mark = folder / f'warm-{hashlib.sha256(key.encode()).hexdigest()[:16]}'
    lock = None if mark.exists() else _open_lock(folder)
    if lock is None:
        yield
        return
    with lock:
        _wait_for(lock.fileno())
        yield
        mark.touch()


def _open_lock(folder: Path) -> IO[str] | None:
    """Open the lock file; None where the folder cannot be written, which only costs time."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return (folder / 'warm.lock').open('w')
    except OSError:
        return None


def _wait_for(descriptor: int) -> None:
    """Take an exclusive lock, but never wait for ever: after the timeout compile as well."""
    end = time.monotonic() + LOCK_TIMEOUT
    while time.monotonic() < end:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(0.1)
