# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Run every kernel of a robot once, so that the first request and the first tick are fast.

The nodes of one robot start together; of those that need a kernel which is not compiled yet, one
compiles it and the others wait (`soro_mechanics.compilation.kernels`).

As a program it compiles some models of a robot, by default the first one of its file, and ends:

    python -m soro_node.process.warm_up ROBOT [MODEL ...]
"""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
from functools import cache
import hashlib
import os
from pathlib import Path
import sys
import time
from typing import IO

import soro_mechanics
from soro_mechanics import load_robot
from soro_mechanics.compilation.kernel_cache import use_kernel_cache
from soro_mechanics.compile_robot import compile_robot
from soro_mechanics.robot import Robot


def warm_up(robot: Robot) -> float:
    """Solve, differentiate and invert once; return the time it took [s]."""
    start = time.monotonic()
    compile_robot(robot)
    with contextlib.suppress(OSError):  # a folder that cannot be written: compiled every time
        (mark := mark_of(robot.description.file, robot.model)).touch()
        os.utime(mark, ns=2 * (max(time.time_ns(), _changed()),))  # sources of a clock ahead
    return time.monotonic() - start


def is_compiled(file: str | Path, model: str) -> bool:
    """Whether kernels of a robot file were compiled before, so that `warm_up` only loads them."""
    try:
        return mark_of(file, model).stat().st_mtime_ns >= _changed()
    except FileNotFoundError:
        return False


@cache
def _changed() -> int:
    """Return when the sources of kernels were changed last [ns]; Numba compiles them anew then."""
    sources = Path(soro_mechanics.__file__).parent.rglob('*kernels*.py')
    return max(source.stat().st_mtime_ns for source in sources)


def mark_of(file: str | Path, model: str) -> Path:
    """Return the file that stands where a robot's kernels have been compiled.

    One for each robot file: the same model of another robot runs other kernels (loads, bodies);
    and for each path of the library, because Numba keeps one cache per path of a source.
    """
    return _cache() / f'warm-{robot_key(file, model)}'


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


def main(robot: str, models: Sequence[str]) -> None:
    """Compile models of a robot."""
    for model in models or [None]:
        warm_up(load_robot(robot, model))


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2:])
