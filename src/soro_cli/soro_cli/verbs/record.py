# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro record: record running robots into a bag."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from soro_cli.interrupts import hear_interrupts
from soro_cli.tables import note, print_json, print_table
from soro_cli.verbs.mechanics_options import seconds
from soro_node.user_errors import UserError

SUMMARY = 'record everything of the running robots into a bag (MCAP) until Ctrl-C'
EPILOG = """\
examples:
  soro record                            every running robot
  soro record -n left --duration 60      one robot, one minute
  soro record --topics 'tip_pose|actuator_state' -o bags/short
  soro record --everything               all topics, with or without a robot

rosbag2 reads and plays the result: ros2 bag play bags/...
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        '-o', '--output', type=Path, help='folder of the bag (default: bags/<robot>_<time>)'
    )
    parser.add_argument(
        '-n',
        '--namespace',
        action='append',
        default=[],
        help='record this robot; may be given again (default: all that run)',
    )
    parser.add_argument(
        '--duration',
        type=seconds,
        metavar='TIME',
        help='stop by itself, so long after all topics are connected',
    )
    parser.add_argument(
        '--topics', default='', metavar='REGEX', help='only topics whose name contains this'
    )
    parser.add_argument(
        '--exclude', default='', metavar='REGEX', help='no topics whose name contains this'
    )
    parser.add_argument(
        '--everything', action='store_true', help='all topics; no robot needs to run'
    )
    parser.add_argument(
        '--reserve',
        type=float,
        default=500.0,
        metavar='MB',
        help='stop before less than this is free on the disk (default: %(default)g)',
    )
    parser.add_argument('--json', action='store_true', help='print the result as JSON')


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    hear_interrupts()
    from soro_cli.record_session import record

    if arguments.duration is not None and arguments.duration <= 0.0:
        raise UserError(
            f'--duration = {arguments.duration:g}: give a number of seconds above zero', 2
        )
    if arguments.reserve < 0.0:
        raise UserError(f'--reserve = {arguments.reserve:g}: give megabytes, zero or more', 2)
    result = record(arguments)
    if arguments.json:
        print_json(result.as_json())
    else:
        _show(result)
    if result.failure:
        note(f'soro: {result.failure}')
    lost = result.lost + result.dropped
    if lost:
        note(f'soro: {lost} messages are missing in {result.folder}')
    empty = arguments.duration is not None and not result.messages  # else a person ended it
    if empty and not result.failure:
        note('soro: nothing was recorded: no message came of the topics that were asked for')
    return 1 if result.failure or lost or empty else 0


def _show(result: Any) -> None:
    rows = [(topic, str(count)) for topic, count in sorted(result.counts.items())]
    print_table(
        f'{result.seconds:.1f} s, {result.messages} messages, {result.size / 1e6:.2f} MB',
        ('topic', 'messages'),
        rows,
    )
    print(result.folder)
