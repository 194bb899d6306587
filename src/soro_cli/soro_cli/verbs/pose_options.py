# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How ik and move take a pose: three lengths, with or without --pose; quaternion and task."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from soro_node.user_errors import UserError

TASKS = {'position': 0, 'axis': 1, 'pose': 2}  # of SolveInverse


@dataclass(frozen=True)
class TypedPose:
    """A target: position [m], quaternion x y z w where one was typed, task of SolveInverse."""

    position: list[float]
    quaternion: list[float] | None
    task: int


def add_pose_options(parser: argparse.ArgumentParser) -> None:
    """Declare the position, the orientation, and what of both must be met."""
    parser.add_argument(
        'position',
        nargs='*',
        metavar='LENGTH',
        help='x, y and z of the target in base_link, with units (10mm)',
    )
    parser.add_argument('--pose', nargs=3, metavar=('X', 'Y', 'Z'), help='the same')
    parser.add_argument(
        '--quaternion',
        nargs=4,
        type=float,
        metavar=('QX', 'QY', 'QZ', 'QW'),
        help='orientation of the target in base_link',
    )
    parser.add_argument(
        '--task',
        choices=tuple(TASKS),
        help='what must be met; default: position, or with --quaternion the whole pose',
    )


def typed_pose(arguments: argparse.Namespace) -> TypedPose | None:
    """Return the pose that was typed; None where none was.

    UserError: it is not three lengths, twice there, or the task needs an orientation.
    """
    from soro_node import display_units

    words = arguments.pose or arguments.position
    if not words:
        if arguments.quaternion is not None or arguments.task:
            raise UserError('--quaternion and --task need a position: 10mm 0 45mm')
        return None
    if len(words) != 3 or (arguments.pose and arguments.position):
        raise UserError(
            f'{" ".join((arguments.pose or []) + arguments.position)!r} is no position; '
            'write its three lengths once: 10mm 0 45mm'
        )
    given = arguments.quaternion
    quaternion = None if given is None else display_units.quaternion(given)
    task = arguments.task or ('position' if quaternion is None else 'pose')
    if task != 'position' and quaternion is None:
        raise UserError(f'--task {task} needs --quaternion')
    return TypedPose(display_units.position(words), quaternion, TASKS[task])
