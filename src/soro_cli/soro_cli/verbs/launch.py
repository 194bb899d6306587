# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro launch: start a robot."""

from __future__ import annotations

import argparse
import os
import shlex

from soro_cli.interrupts import hear_interrupts
from soro_node.user_errors import UserError

SUMMARY = 'start a robot, its emulator or hardware, and all its nodes'
EPILOG = """\
examples:
  soro launch stiff_flop                          a robot of the catalogue, on its emulator
  soro launch stiff_flop namespace:=left          the same under another namespace
  soro launch ./my_robot.yaml                     a robot file, under its name
  soro launch soro_bringup robot.launch.xml       a launch file of a package

Ctrl-C stops everything in order; the exit code is the worst of all processes.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        'target',
        nargs='+',
        metavar='WHAT',
        help='robot, robot file, launch file, or package and launch file; then name:=value ...',
    )
    parser.add_argument(
        '-s', '--show-args', action='store_true', help='list the arguments and what they mean'
    )
    parser.add_argument(
        '--dry-run', action='store_true', help='print the command lines and start nothing'
    )
    parser.add_argument(
        '--runner',
        choices=('auto', 'soro', 'ros2'),
        default='auto',
        help='auto: the real ROS 2 launch where it is installed, else the one of soro',
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    hear_interrupts()
    from soro_launch.arguments import declared_arguments, parse_assignments, refuse_unknown
    from soro_launch.errors import LaunchError
    from soro_launch.launch_target import find_launch_target
    from soro_launch.run import (
        command_lines,
        describe_arguments,
        is_available,
        run_launch_file,
        run_real_launch,
    )
    from soro_launch.xml_reader import read_launch_file

    try:
        target = find_launch_target(arguments.target, os.environ)
        real = arguments.runner != 'soro' and is_available()
        if arguments.runner == 'ros2' and not real:
            raise UserError('ROS 2 launch is not installed here; leave --runner out')
        if arguments.show_args:
            print(describe_arguments(target.file, os.environ))
            return 0
        given = parse_assignments(target.arguments)
        if arguments.dry_run:
            for words in command_lines(target.file, given, os.environ):
                print(shlex.join(words))
            return 0
        if real:
            root = read_launch_file(target.file)
            refuse_unknown(given, declared_arguments(root, os.environ), str(target.file))
            return run_real_launch(target.file, given)
        return run_launch_file(target.file, given, os.environ)
    except LaunchError as error:
        raise UserError(str(error)) from None
