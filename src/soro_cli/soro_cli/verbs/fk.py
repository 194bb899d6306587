# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro fk: where an actuation brings the robot."""

from __future__ import annotations

import argparse

from soro_cli.verbs.mechanics_options import ACTUATION_HELP, add_mechanics_options

SUMMARY = 'where an actuation brings the tip (forward kinematics under load)'
EPILOG = """\
examples:
  soro fk 0.9bar 0 0
  soro fk pair_2=1.2bar --wrench 0 0 -0.2N
  soro fk 0.9bar 0 0 --offline --robot stiff_flop --model lpcc --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('actuation', nargs='+', help=ACTUATION_HELP)
    add_mechanics_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from soro_cli.verbs.mechanics_options import (
        finish,
        is_request_error,
        mechanics,
        show_tip,
        solved,
    )
    from soro_node import display_units

    display_units.check_units(arguments.actuation)
    wrench = display_units.wrench(arguments.wrench)
    with mechanics(arguments) as source:
        actuation = display_units.actuation(arguments.actuation, source.actuators)
        answer = source.forward(actuation, wrench, arguments.model)

    def show() -> None:
        if is_request_error(answer.error_code):
            return
        if solved(*answer.configuration.tip.position):
            show_tip(answer.configuration)

    return finish(answer, arguments.json, show)
