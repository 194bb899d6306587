# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Run every kernel of a robot once, so that the first request and the first tick are fast.

The nodes of one robot start together. Where nothing is compiled yet, one of them compiles, under a
file lock, and the others wait for its result instead of doing the same work beside it; once a
mark stands in the cache folder, nobody waits.

As a program it compiles some models of a robot, by default the first one of its file, and ends:

    python -m soro_node.warm_up ROBOT [MODEL ...]
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

import soro_mechanics
from soro_mechanics import load_robot
from soro_mechanics.core.configuration import Configuration
from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.numerics.kernel_cache import use_kernel_cache
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
        if robot.model == 'network':
            from soro_mechanics.models.network.batch import compile_batch

            compile_batch(robot.engine.equilibrium(()))
        if 'haptic' in robot.description.structure:
            from soro_mechanics.haptics.loop import compile_haptics

            with contextlib.suppress(SoroError):
                compile_haptics(robot)
    return time.monotonic() - start


def _actions(robot: Robot, q: Configuration) -> tuple[Callable[[], object], ...]:
    wrench = np.array([0.0, 0.0, 1e-3, 0.0, 0.0, 0.0])
    return (
        lambda: robot.forward(q.actuation, wrench, q),
        lambda: robot.jacobian(q),
        lambda: robot.compliance(q),
        lambda: robot.compliance_along(q),
        lambda: robot.compliance_along(q, method='integral'),
        lambda: robot.inverse(q.tip[:3, 3], guess=q),
        lambda: robot.inverse(q.tip[:3, 3]),
        lambda: _reach_too_far(robot, q),
    )


def _reach_too_far(robot: Robot, q: Configuration) -> None:
    """Ask for what is out of reach: other kernels. The farther it is, the longer it takes."""
    for times in (2.0, 10.0):
        if robot.inverse(times * q.tip[:3, 3], guess=q).status.code is not Code.NONE:
            return


def is_compiled(robot: Robot) -> bool:
    """Whether a robot's kernels were compiled before, so that `warm_up` only loads them."""
    return _mark(robot).exists()


@contextlib.contextmanager
def _compiled_once(robot: Robot) -> Iterator[None]:
    mark = _mark(robot)
    lock = None if mark.exists() else open_lock(f'warm-{robot.model}.lock')
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
    return _cache() / f'warm-{robot_key(robot.description.file, robot.model)}'


def robot_key(file: str | Path, model: str = '') -> str:
    """Return a name, fit for a file, of a robot file or one of its models as compiled here."""
    files = (Path(file).resolve(), Path(soro_mechanics.__file__))
    return hashlib.sha256('\0'.join((model, *map(str, files))).encode()).hexdigest()[:16]


def _cache() -> Path:
    use_kernel_cache()
    return Path(os.environ['NUMBA_CACHE_DIR'])


def open_lock(name: str) -> IO[str] | None:
    """Open a lock file beside the kernels; None where that folder cannot be written.

    Without a lock the same work may be done twice, which only costs time.
    """
    folder = _cache()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return (folder / name).open('w')
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


def main(robot: str, models: Sequence[str]) -> None:
    """Compile models of a robot."""
    for model in models or [None]:
        warm_up(load_robot(robot, model))


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2:])
