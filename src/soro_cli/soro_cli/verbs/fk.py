# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro fk: where an actuation brings the robot."""

from __future__ import annotations

import argparse

from soro_cli.verbs import mechanics_options as options

SUMMARY = 'where an actuation brings the tip (forward kinematics under load)'
EPILOG = """\
examples:
  soro fk 0.9bar 0 0
  soro fk pair_2=1.2bar --wrench 0 0 -0.2N
  soro fk 0.9bar 0 0 --offline --robot stiff_flop --model lpcc --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('actuation', nargs='+', help=options.ACTUATION_HELP)
    options.add_mechanics_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    with options.asked(arguments) as (source, actuation, wrench):
        answer = source.forward(actuation, wrench, arguments.model)

    def show() -> None:
        if options.solved(*answer.configuration.tip.position):
            options.show_tip(answer.configuration)

    return options.finish(answer, arguments.json, show)
