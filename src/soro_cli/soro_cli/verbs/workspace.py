# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro workspace: where the tip can go."""

from __future__ import annotations

import argparse
from typing import Any

from soro_cli.robot_choice import add_robot_options
from soro_cli.tables import print_json, print_table
from soro_cli.verbs.mechanics_options import conclude, json_of, whole

SUMMARY = 'where the tip can go, and how compliant it is there'
EPILOG = """\
examples:
  soro workspace --samples 2000
  soro workspace --samples 20000 --random --compliance --save /tmp/workspace.npz
"""
GRID, RANDOM = 0, 1
MAX_IN_GRID = 12  # actuators: a grid of two values of each has 4096 samples


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('--samples', type=whole(2**32 - 1), default=0, help="default: the node's")
    parser.add_argument(
        '--random',
        action='store_true',
        help='random instead of a regular grid; always with more than 12 actuators',
    )
    parser.add_argument('--seed', type=whole(2**32 - 1), default=0)
    parser.add_argument(
        '--compliance', action='store_true', help='principal compliances and eigenstiffness too'
    )
    parser.add_argument('--save', default='', help='.npz or .csv, on the machine of the node')
    parser.add_argument('--model', default='', help="default: the node's")
    parser.add_argument('--wrench', nargs='+', metavar='F', help='load at the tip')
    add_robot_options(parser, offline=False)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from soro_cli.action_client import run_shown
    from soro_msgs.action import AnalyzeWorkspace
    from soro_node.conversions import wrench_to_message
    from soro_node.display_units import wrench

    goal = AnalyzeWorkspace.Goal(
        samples=arguments.samples,
        seed=arguments.seed,
        model=arguments.model,
        with_compliance=arguments.compliance,
        wrench=wrench_to_message(wrench(arguments.wrench)),
        save_to=arguments.save,
    )

    def chosen(robot: Any) -> Any:
        many = len(robot.description.actuators) > MAX_IN_GRID
        goal.method = RANDOM if arguments.random or many else GRID
        return goal

    name = 'compliance/analyze_workspace'
    result = run_shown(arguments, AnalyzeWorkspace, name, chosen, 'workspace')
    return _finish(arguments, result)


def _finish(arguments: argparse.Namespace, result: Any) -> int:
    from soro_node.display_units import shown

    low, high = result.minimum, result.maximum
    if arguments.json:
        names = ('solved', 'failed', 'volume', 'longest_extent', 'duration', 'saved_to')
        corners = {'minimum': [low.x, low.y, low.z], 'maximum': [high.x, high.y, high.z]}
        print_json(json_of(result, *names) | corners)
    elif result.solved:
        rows = [
            (axis, f'{shown(getattr(low, axis), "m")} ... {shown(getattr(high, axis), "m")}')
            for axis in 'xyz'
        ]
        rows += [
            ('longest extent', shown(result.longest_extent, 'm')),
            ('volume', f'{result.volume * 1e6:.4g} cm^3 (convex hull)'),
            ('samples', f'{result.solved} solved, {result.failed} not, {result.duration:.1f} s'),
        ]
        rows += [('saved to', result.saved_to)] if result.saved_to else []
        print_table('workspace of the tip in base_link', ('', ''), rows)
    return conclude(result)
