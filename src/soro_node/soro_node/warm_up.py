# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Run every kernel of a robot once, so that the first request and the first tick are fast.

The nodes of one robot start together. Where nothing is compiled yet, one of them compiles, under a
file lock, and the others wait for its result instead of doing the same work beside it; once a
mark stands in the cache folder, nobody waits.

As a program it compiles some models of a robot and ends:

    python -m soro_node.warm_up FILE MODEL ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
import contextlib
import fcntl
import hashlib
import os
from pathlib import Path
import sys
import time
from typing import IO

import numpy as np
from soro_mechanics.configuration import Configuration
from soro_mechanics.errors import SoroError
from soro_mechanics.kernel_cache import use_kernel_cache
from soro_mechanics.robot import Robot

import soro_mechanics
from soro_mechanics import load_robot

LEAST_PRIORITY = 19
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
        if robot.model == 'network':
            from soro_mechanics.network.batch import compile_batch

            compile_batch(robot.engine.equilibrium(()))
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


def is_compiled(robot: Robot) -> bool:
    """Whether a robot's kernels were compiled before, so that `warm_up` only loads them."""
    return _mark(robot).exists()


@contextlib.contextmanager
def _compiled_once(robot: Robot) -> Iterator[None]:
    mark = _mark(robot)
    lock = None if mark.exists() else _open_lock(mark.parent / f'warm-{robot.model}.lock')
    if lock is None:
        yield
        return
    with lock:
        _wait_for(lock.fileno())
        yield
        mark.touch()


def _mark(robot: Robot) -> Path:
    """Return the file that stands where a robot's kernels have been compiled.

    One for each robot file: the same model of another robot runs other kernels (loads, bodies);
    and for each path of the library, because Numba keeps one cache per path of a source.
    """
    use_kernel_cache()
    files = (Path(robot.description.file).resolve(), Path(soro_mechanics.__file__))
    key = '\0'.join((robot.model, *map(str, files)))
    name = f'warm-{hashlib.sha256(key.encode()).hexdigest()[:16]}'
    return Path(os.environ['NUMBA_CACHE_DIR']) / name


def _open_lock(file: Path) -> IO[str] | None:
    """Open the lock file; None where the folder cannot be written, which only costs time."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return file.open('w')
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


def main(file: str, models: Sequence[str]) -> None:
    """Compile at low priority, and end with the process that asked for it."""
    from soro_node.main import die_with_parent

    die_with_parent()
    os.nice(LEAST_PRIORITY)
    for model in models:
        warm_up(load_robot(file, model))


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2:])
