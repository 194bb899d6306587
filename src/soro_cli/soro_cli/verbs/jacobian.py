# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro jacobian: how the tip moves with each actuator."""

from __future__ import annotations

import argparse

from soro_cli.tables import print_table
from soro_cli.verbs import mechanics_options as options

SUMMARY = 'how the tip moves with each actuator'
EPILOG = """\
examples:
  soro jacobian                       at the present actuation
  soro jacobian 0.9bar 0 0
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('actuation', nargs='*', help=options.PRESENT_OR_TYPED)
    options.add_mechanics_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    with options.asked(arguments) as (source, actuation, wrench):
        answer = source.jacobian(actuation, wrench, arguments.model)
        actuators = source.actuators

    def show() -> None:
        if answer.matrix and options.solved(*(x for line in answer.matrix for x in line)):
            _show(answer.matrix, actuators)

    return options.finish(answer, arguments.json, show)


def _show(matrix: list[list[float]], actuators: tuple) -> None:
    from soro_node.display_units import SHOWN

    units = [SHOWN[a.unit][0] or 'unit' for a in actuators]
    alike = len(set(units)) == 1
    rows = []
    for i, (label, line) in enumerate(zip(options.ROWS, matrix, strict=True)):
        unit, size = SHOWN['m' if i < 3 else 'rad']
        cells = [
            f'{round(value / size * SHOWN[a.unit][1], 9) + 0.0:+.4g}'
            for value, a in zip(line, actuators, strict=True)
        ]
        rows.append((label, *cells, f'{unit} per {units[0] if alike else "its unit"}'))
    title = 'motion of the tip, axes of base_link'
    names = [a.name if alike else f'{a.name} [{u}]' for a, u in zip(actuators, units, strict=True)]
    print_table(title, ('', *names, ''), rows)
