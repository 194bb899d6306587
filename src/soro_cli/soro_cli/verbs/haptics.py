# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro haptics: what the hand feels."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from soro_cli.robot_choice import add_robot_options, running_robot
from soro_cli.tables import note, print_json
from soro_node.user_errors import UserError

SUMMARY = 'choose what the hand feels: free space, a wall, a box, a line, a circle, or a file'
EPILOG = """\
examples:
  soro haptics wall                              wall 10 mm beside the middle, stiff
  soro haptics wall --stiffness 300N/m --damping 2Ns/m
  soro haptics circle --radius 30mm --control admittance
  soro haptics hold --here                       stay where the handle is now
  soro haptics scene.yaml                        objects of a file (docs/models/haptics.md)
  soro haptics free

The environment is replaced at once; that is refused while the hand touches it, and between
`soro stop` and `soro stop --clear`. What would ring on the softest hand that is expected
(parameter expected_hand of the renderer) is rendered softer, and that is said.
"""
# As soro_mechanics.haptics.virtual_environment.PRESETS, which would load numba for the help text.
ENVIRONMENTS = ('free', 'hold', 'wall', 'box', 'line', 'circle', 'angle')
OF_PRESETS = ('here', 'radius', 'side', 'stiffness', 'damping', 'control')
CONTROLS = ('hybrid', 'admittance')
TIP_PATIENCE = 3.0  # s


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    names = ', '.join(ENVIRONMENTS)
    parser.add_argument('environment', help=f'{names}; or a YAML file with `objects`')
    parser.add_argument('--here', action='store_true', help='around the present pose of the tip')
    parser.add_argument('--radius', help='of the circle')
    parser.add_argument('--side', help='of the box')
    parser.add_argument('--stiffness', help='N/m; default: as stiff as the device allows')
    parser.add_argument('--damping', help='N s/m, of the surface or of the sliding hand')
    parser.add_argument('--control', choices=CONTROLS)
    add_robot_options(parser, offline=False)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from soro_haptics.environment_messages import object_to_message
    from soro_msgs.srv import SetVirtualEnvironment

    known = arguments.environment in ENVIRONMENTS
    from_file = () if known else _objects_of_file(arguments)
    with running_robot(arguments) as robot:
        robot.demand_haptics()
        objects = _objects(arguments, robot) if known else from_file
        request = SetVirtualEnvironment.Request(objects=[object_to_message(o) for o in objects])
        name = f'{robot.prefix}/haptic_renderer/set_environment'
        reply = robot.session.call(SetVirtualEnvironment, name, request)
    if reply.error_code:
        raise UserError(reply.error_message, reply.error_code)
    limited = reply.error_message
    if arguments.json:
        names = [o.name for o in objects]
        print_json({'error_code': 0, 'error_message': '', 'objects': names, 'limited': limited})
    else:
        if limited:
            note(f'soro: {limited}')
        print(', '.join(f'{o.name} ({o.control.name.lower()})' for o in objects) or 'free space')
    return 0


def _objects(arguments: argparse.Namespace, robot: Any) -> tuple[Any, ...]:
    """Return the published environment with what was typed in place of its numbers."""
    import numpy as np

    from soro_mechanics.haptics.virtual_environment import Control, published_environment, Shape

    centre = _tip(robot) if arguments.here else np.eye(4)
    changes: dict[str, Any] = {}
    for field, unit in (('stiffness', 'N/m'), ('damping', 'N s/m')):
        text = getattr(arguments, field)
        if text is not None:
            changes[field] = _number(text, unit, f'--{field}')
    if arguments.control is not None:
        changes['control'] = Control[arguments.control.upper()]
    objects = []
    for thing in published_environment(arguments.environment, centre):
        size = thing.size.copy()
        if arguments.radius is not None and thing.shape is Shape.CIRCLE:
            size[0] = _number(arguments.radius, 'm', '--radius')
        if arguments.side is not None and thing.shape is Shape.BOX:
            size[:] = _number(arguments.side, 'm', '--side')
        objects.append(replace(thing, size=size, **changes))
    return tuple(objects)


def _objects_of_file(arguments: argparse.Namespace) -> tuple[Any, ...]:
    """Return the objects of the file that was named in place of an environment."""
    from pathlib import Path

    from soro_mechanics.haptics.virtual_environment import read_objects
    from soro_mechanics.robot_file.reader import read_yaml
    from soro_mechanics.robot_file.section import Section

    path = Path(arguments.environment)
    if not path.is_file():
        names = ', '.join(ENVIRONMENTS)
        raise UserError(f'environment {str(path)!r}: write one of {names}, or a file that exists')
    changed = [option for option in OF_PRESETS if getattr(arguments, option)]
    if changed:
        raise UserError(f'--{changed[0]} does not change a file: write it into {path}')
    with Section(read_yaml(path), '', str(path)) as file:
        return read_objects(file)


def _number(text: str, unit: str, what: str) -> float:
    from soro_node.display_units import number

    return number(text.replace('Ns', 'N s'), unit, what)


def _tip(robot: Any) -> Any:
    """Return the present pose of the tip, shape (4, 4)."""
    from geometry_msgs.msg import PoseStamped

    from soro_node.conversions import pose_from_message
    from soro_node.qos import LOSSY

    heard: list[PoseStamped] = []
    topic = f'{robot.prefix}/tip_pose'
    node = robot.session.node
    subscription = node.create_subscription(PoseStamped, topic, heard.append, LOSSY)
    try:
        if not robot.session.spin_until(lambda: bool(heard), TIP_PATIENCE):
            raise UserError(f'nothing is published on {topic}')
    finally:
        node.destroy_subscription(subscription)
    return pose_from_message(heard[-1].pose)
