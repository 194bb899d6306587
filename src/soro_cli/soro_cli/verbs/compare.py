# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro compare: one actuation, all models."""

from __future__ import annotations

import argparse

from soro_cli.tables import print_table
from soro_cli.verbs.mechanics_options import ACTUATION_HELP, add_mechanics_options, asked, finish

SUMMARY = 'what the models of a robot say about one actuation'
EPILOG = """\
example:
  soro compare 0.9bar 0 0 --models ncm lpcc
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('actuation', nargs='+', help=ACTUATION_HELP)
    parser.add_argument('--models', nargs='+', default=[], help='default: all of the robot')
    add_mechanics_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    models = arguments.models or ([arguments.model] if arguments.model else [])
    with asked(arguments) as (source, actuation, wrench):
        answer = source.compare(actuation, wrench, models)
    return finish(answer, arguments.json, lambda: _show(answer))


def _show(answer: object) -> None:
    from soro_node.display_units import shown

    if not answer.configurations:
        return
    rows = [
        (
            c.model,
            *(shown(x, 'm') for x in c.tip.position),
            shown(c.tip.bending, 'rad'),
            shown(c.solve_time, 's'),
            c.stability,
        )
        for c in answer.configurations
    ]
    columns = ('model', 'x', 'y', 'z', 'bending', 'time', 'equilibrium')
    print_table('tip in base_link', columns, rows)
    spread = f'{shown(answer.position_spread, "m")}, {shown(answer.orientation_spread, "rad")}'
    apart = f'apart by up to {spread}: ' if answer.position_spread >= 0.0 else ''  # NaN: one model
    print(apart + answer.hint)
