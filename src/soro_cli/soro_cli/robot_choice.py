# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Which robot a verb speaks to: a running one, found by namespace, or none at all (--offline)."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
import re
from typing import TYPE_CHECKING

from soro_cli.tables import note
from soro_node.user_errors import UserError

if TYPE_CHECKING:
    from soro_cli.ros_session import RosSession
    from soro_mechanics.robot_file.reader import RobotDescription

UNKNOWN_NAME = 102  # ErrorCode
NAMESPACE = re.compile(r'/|/?[^\W\d]\w*(/[^\W\d]\w*)*/?')  # also within others: lab/left


@dataclass
class RunningRobot:
    """A robot that runs: its namespace, what its file says, and a session to reach it."""

    namespace: str
    description: RobotDescription
    session: RosSession

    @property
    def prefix(self) -> str:
        """What stands before the slash of its names: nothing in the root namespace."""
        return self.namespace.rstrip('/')

    def demand_haptics(self) -> None:
        """UserError: it is no haptic device, and has no flex sensors."""
        if 'haptic' not in self.description.structure:
            name = self.description.name
            raise UserError(f'{name} is no haptic device: its file has no control.haptic')


def add_robot_options(
    parser: argparse.ArgumentParser, offline: bool, default: str = 'the one robot that runs'
) -> None:
    """Declare the options that choose the robot."""
    path = ', or with --offline the path of a robot file' if offline else ''
    parser.add_argument(
        '-r',
        '--robot',
        metavar='ROBOT',
        help=f'name of the robot (also its namespace unless --namespace is given){path}; '
        f'default: {default}',
    )
    parser.add_argument('-n', '--namespace', help='namespace the robot was launched under')
    if offline:
        parser.add_argument(
            '--offline',
            action='store_true',
            help='compute here from the robot file; no robot needs to run',
        )
    parser.add_argument('--json', action='store_true', help='print JSON, SI units throughout')


@contextmanager
def running_robot(arguments: argparse.Namespace) -> Iterator[RunningRobot]:
    """Find the running robot. UserError: none runs, or several do and none was named."""
    from soro_cli.ros_session import RosSession

    wanted = wanted_namespace(arguments)
    with RosSession() as session:
        if wanted:
            namespace = choose_namespace(arguments, session.running_robots(wanted))
            description = _description(namespace, session)
        else:
            # One whose solver has not started yet, or has died, counts as well.
            def robots() -> set[str]:
                return session.solvers() | session.offering('driver/stop')

            namespace = choose_namespace(arguments, session.found_at_rest(robots))
            description = _description(namespace, session)
            choose_namespace(arguments, sorted(robots()))  # meanwhile another may have come
            note(f'soro: the one robot that runs: {namespace}')
        yield RunningRobot(namespace, description, session)


def wanted_namespace(arguments: argparse.Namespace) -> str:
    """Return the namespace the options name, or nothing.

    UserError: the path of a file stands for it.
    """
    wanted = arguments.namespace or arguments.robot or ''
    is_path = wanted.endswith(('.yaml', '.yml')) or '/' in wanted
    if is_path and not arguments.namespace and not NAMESPACE.fullmatch(wanted):
        offline = ', or add --offline' if hasattr(arguments, 'offline') else ''
        raise UserError(
            f'--robot = {wanted!r}: a running robot is named by its namespace; '
            f'write --namespace NAME (soro list --running){offline}',
            UNKNOWN_NAME,
        )
    return '/' + wanted.strip('/') if wanted else ''


def choose_namespace(arguments: argparse.Namespace, found: Sequence[str]) -> str:
    """Return the namespace that is meant of those found.

    UserError: it is not among them, or none was named and there are none or several.
    """
    wanted = wanted_namespace(arguments)
    offline = ' or add --offline' if hasattr(arguments, 'offline') else ''
    if wanted in found:
        return wanted
    if not found:
        name = arguments.robot or ''
        name = name if name.isidentifier() else 'stiff_flop'  # of lab/left there is no file
        raise UserError(
            f'no robot runs{" under " + wanted if wanted else ""}; start one in another terminal '
            f'(soro launch {name}){offline}. Both terminals need the same ROS_DOMAIN_ID.',
            UNKNOWN_NAME,
        )
    listing = ', '.join(name.lstrip('/') or '/' for name in found)
    if wanted:
        raise UserError(f'no robot runs under {wanted}; running: {listing}', UNKNOWN_NAME)
    if len(found) > 1:
        raise UserError(
            f'several robots run; choose one with --namespace: {listing}', UNKNOWN_NAME
        )
    return found[0]


def _description(namespace: str, session: RosSession) -> RobotDescription:
    from soro_mechanics.robot_file.catalogue import find_robot_file
    from soro_mechanics.robot_file.reader import read_robot_file

    return read_robot_file(find_robot_file(session.robot_in(namespace)))
