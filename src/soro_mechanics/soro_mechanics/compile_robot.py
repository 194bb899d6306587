# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Compile the kernels of a robot now, so that no later program waits for them.

Usage: ``python -m soro_mechanics.compile_robot ROBOT [MODEL]``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
import contextlib
import fcntl
import os
from pathlib import Path
import sys
import threading

from soro_mechanics.core.errors import SoroError
from soro_mechanics.numerics.first_calls import COMPILED
from soro_mechanics.robot import load_robot


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(prog='python -m soro_mechanics.compile_robot')
    parser.add_argument('robot', help='name or file')
    parser.add_argument('model', nargs='?', help='default: the first one of its file')
    arguments = parser.parse_args()
    os.environ['SORO_KERNELS'] = COMPILED
    try:
        with _alone():
            compile_robot(arguments.robot, arguments.model)
    except SoroError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def compile_beside(robots: Iterable[tuple[str, str]]) -> None:
    """Compile for the program at the other end of stdin, and end as soon as it has ended."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with _alone():
        for robot in robots:
            compile_robot(*robot)


def compile_robot(name: str, model: str | None) -> None:
    """Do once what most programs do with a robot, in the order of their first calls."""
    robot = load_robot(name, model)
    low, high = robot.limits.T
    q = robot.forward(low + 0.2 * (high - low))
    for action in (
        lambda: robot.compliance(q),
        lambda: robot.jacobian(q),
        lambda: robot.forward(q.actuation, [0.0, 0.0, 1e-3, 0.0, 0.0, 0.0], q),
        lambda: robot.inverse(q.tip[:3, 3], guess=q),
        lambda: robot.compliance_along(q),
    ):
        with contextlib.suppress(SoroError):
            action()


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Let one process compile, and the others load what it has compiled."""
    folder = Path(os.environ['NUMBA_CACHE_DIR'])
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # compiled twice, then
            folder.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context((folder / 'compile-robot.lock').open('w'))
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _end_with_parent() -> None:
    os.read(0, 1)
    os._exit(1)


if __name__ == '__main__':
    sys.exit(main())
