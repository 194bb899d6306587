# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro stop: outputs safe, now; needs no ownership of the robot."""

from __future__ import annotations

import argparse

from soro_cli.robot_choice import add_robot_options

SUMMARY = 'stop the robot: outputs go to their safe state at once'
EPILOG = """\
A new target (soro move) moves the robot again. This is a convenience, not a safety function: use
the emergency stop of the hardware for that.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        '--clear', action='store_true',
        help='clear a latched fault, so that a new target is accepted; moves nothing',
    )  # fmt: skip
    add_robot_options(parser, offline=False)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from std_srvs.srv import Trigger

    from soro_cli.errors import CliError
    from soro_cli.robot_choice import running_robot
    from soro_cli.tables import print_json

    service = 'clear_fault' if arguments.clear else 'stop'
    with running_robot(arguments) as robot:
        name = f'{robot.namespace}/driver/{service}'
        reply = robot.session.call(Trigger, name, Trigger.Request())
    if not reply.success:
        raise CliError(f'{name}: {reply.message}')
    if arguments.json:
        print_json({'error_code': 0, 'error_message': '', 'message': reply.message})
    else:
        print(reply.message or 'done')
    return 0
