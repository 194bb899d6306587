# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro protocol: a bench protocol on the running robot, its table on the disk."""

from __future__ import annotations

import argparse
from pathlib import Path

from soro_cli.robot_choice import add_robot_options
from soro_cli.tables import print_json
from soro_cli.verbs.mechanics_options import conclude, json_of, seconds, whole

SUMMARY = 'pull test, stretches, step or chirp of the running robot, as a table; it moves'
EPILOG = """\
A tracker must be live (tip_measured), for pull a force sensor too (external_wrench).

examples:
  soro protocol pull pulls.csv           a person pulls where it says; then: soro compliance
                                         --measured pulls.csv
  soro protocol stretch legs.csv --amplitude 0.8 --count 8
                                         then: soro identify legs.csv --robot soft_parallel, or
                                         any robot with --mapping legs.yaml, which stands beside
  soro protocol step step.csv --actuator pair_1
  soro protocol chirp chirp.csv --frequency 0.1 3 --duration 20s
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('protocol', choices=('pull', 'stretch', 'step', 'chirp'))
    parser.add_argument('file', help='.csv file that gets the table')
    parser.add_argument('--actuator', action='append', default=[], help='default: all')
    parser.add_argument('--amplitude', type=float, default=0.0, help='of the range (0.5 or less)')
    parser.add_argument('--count', type=whole(), default=0, help='stretches up and back (10)')
    parser.add_argument('--settle', default='0', help='rest before a row counts (1s)')
    text = 'of the record, or for each pull (10s)'
    parser.add_argument('--duration', type=seconds, default=0.0, help=text)
    ends = {'type': float, 'nargs': 2, 'default': (0.0, 0.0), 'metavar': 'HZ'}
    parser.add_argument('--frequency', **ends, help='of a chirp, from and to (0.1 2)')
    parser.add_argument('--length', action='append', default=[], help='of the pulls (2mm, 4mm)')
    add_robot_options(parser, offline=False)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from soro_cli.action_client import run_shown
    from soro_msgs.action import BenchProtocol
    from soro_node.display_units import number

    goal = BenchProtocol.Goal(
        protocol=arguments.protocol,
        actuator_name=arguments.actuator,
        amplitude=arguments.amplitude,
        count=arguments.count,
        settle_time=number(arguments.settle, 's', '--settle'),
        duration=arguments.duration,
        lowest_frequency=arguments.frequency[0],
        highest_frequency=arguments.frequency[1],
        lengths=[number(text, 'm', '--length') for text in arguments.length],
        save_to=str(Path(arguments.file).resolve()),
    )
    name = 'trajectory_planner/bench_protocol'
    result = run_shown(arguments, BenchProtocol, name, lambda _: goal, 'protocol')
    if arguments.json:
        print_json(json_of(result, 'saved_to'))
    elif result.saved_to:
        print(f'{result.rows} rows: {result.saved_to}')
    return conclude(result)
