# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro ik: which actuation brings the tip to a target."""

from __future__ import annotations

import argparse

from soro_cli.tables import print_table
from soro_cli.verbs.mechanics_options import add_mechanics_options, finish, mechanics, show_tip
from soro_cli.verbs.pose_options import add_pose_options, typed_pose
from soro_node.user_errors import UserError

SUMMARY = 'which actuation brings the tip to a target (inverse kinematics under load)'
EPILOG = """\
examples:
  soro ik 10mm 0 45mm
  soro ik 10mm 0 45mm --quaternion 0 0.38 0 0.92 --task axis
  soro ik -10mm 0 45mm --wrench 0 0 -0.2N --json

A target that cannot be reached is answered with the nearest pose, what stops it, and exit code 1.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_pose_options(parser)
    add_mechanics_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from soro_node import display_units

    pose = typed_pose(arguments)
    if pose is None:
        raise UserError('write the position of the target: soro ik 10mm 0 45mm')
    wrench = display_units.wrench(arguments.wrench)
    with mechanics(arguments) as source:
        answer = source.inverse(pose.position, pose.quaternion, pose.task, wrench, arguments.model)
        actuators = source.actuators
    return finish(answer, arguments.json, lambda: _show(answer, actuators))


def _show(answer: object, actuators: tuple) -> None:
    from soro_node.display_units import limits, shown

    rows = [
        (a.name, shown(value, a.unit), limits(a), 'at limit' if a.name in answer.at_limit else '')
        for a, value in zip(actuators, answer.actuation, strict=True)
    ]
    found = 'actuation' if answer.error_code == 0 else 'nearest actuation (target not met)'
    print_table(found, ('actuator', 'value', 'limits', ''), rows)
    errors = f'{shown(answer.position_error, "m")}, {shown(answer.orientation_error, "rad")}'
    show_tip(answer.configuration)
    others = [name for name in answer.at_limit if name not in [a.name for a in actuators]]
    stopped = f'; stopped by {", ".join(others)}' if others else ''
    print(f'away from the target: {errors}{stopped}')
