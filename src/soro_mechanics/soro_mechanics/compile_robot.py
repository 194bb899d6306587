# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Compile the kernels of a robot now, so that no later program waits for them.

Usage: ``python -m soro_mechanics.compile_robot ROBOT [MODEL]``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
import contextlib
import os
import sys
import threading
from typing import Any

import numpy as np

from soro_mechanics.compilation.first_calls import COMPILED
from soro_mechanics.core.configuration import Configuration
from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.robot import load_robot, Robot


def main() -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(prog='python -m soro_mechanics.compile_robot')
    parser.add_argument('robot', help='name or file')
    parser.add_argument('model', nargs='?', help='default: the first one of its file')
    arguments = parser.parse_args()
    os.environ['SORO_KERNELS'] = COMPILED
    try:
        compile_robot(load_robot(arguments.robot, arguments.model))
    except SoroError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def compile_beside(robots: Iterable[tuple[str, str]]) -> None:
    """Compile for the program at the other end of stdin, and end as soon as it has ended."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for robot in robots:
        compile_first(load_robot(*robot))


def compile_first(robot: Robot) -> Configuration:
    """Do once what most programs do with a robot, in the order of their first calls.

    What a model does not support is left out; what does not converge is not judged here.
    """
    low, high = robot.limits.T
    first = robot.forward(low + 0.2 * (high - low))
    q = robot.forward(first.actuation, guess=first)
    wrench = np.array([0.0, 0.0, 1e-3, 0.0, 0.0, 0.0])
    for action in (
        lambda: robot.compliance(q),
        lambda: robot.jacobian(q),
        lambda: robot.forward(q.actuation, wrench, q),
        lambda: robot.inverse(q.tip[:3, 3], guess=q),
        lambda: robot.compliance_along(q),
    ):
        with contextlib.suppress(SoroError):
            action()
    return q


def compile_robot(robot: Robot) -> None:
    """Compile, or load, every kernel that a node of this robot runs."""
    q = compile_first(robot)
    for action in (
        lambda: robot.compliance_along(q, method='integral'),
        lambda: robot.inverse(q.tip[:3, 3]),
        lambda: _reach_too_far(robot, q),
        _compile_small,
    ):
        with contextlib.suppress(SoroError):
            action()
    if robot.model == 'network':
        _compile_network(robot.model_object, q)
    if 'haptic' in robot.description.structure:
        from soro_mechanics.haptics.loop import compile_haptics

        with contextlib.suppress(SoroError):
            compile_haptics(robot)


def _compile_network(network: Any, q: Configuration) -> None:
    from soro_mechanics.models.network.batch import compile_batch
    from soro_mechanics.models.network.relaxation import release

    equilibrium = network.equilibrium(())
    compile_batch(equilibrium)
    layout = equilibrium.layout
    if not layout.holds_tendons:
        release(layout, q.state.inputs, q.state.state, equilibrium.tolerance, 1.0)


def _compile_small() -> None:
    """Compile the small kernels that only some searches call."""
    from soro_mechanics.numerics.dense_kernels import convex, least_squares  # drivers load none
    from soro_mechanics.numerics.lie_kernels import so3_log

    so3_log(np.eye(3), np.empty(3))
    convex(np.eye(2))
    least_squares(np.eye(3), np.empty(2))


def _reach_too_far(robot: Robot, q: Configuration) -> None:
    """Ask for what is out of reach: other kernels. The farther it is, the longer it takes."""
    for times in (2.0, 10.0):
        if robot.inverse(times * q.tip[:3, 3], guess=q).status.code is not Code.NONE:
            return


def _end_with_parent() -> None:
    os.read(0, 1)
    os._exit(1)


if __name__ == '__main__':
    sys.exit(main())
