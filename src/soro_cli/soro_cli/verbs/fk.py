# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro fk: where an actuation brings the robot."""

from __future__ import annotations

import argparse

from soro_cli.verbs.mechanics_options import (
    ACTUATION_HELP,
    add_mechanics_options,
    asked,
    finish,
    is_request_error,
    show_tip,
    solved,
)

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
    with asked(arguments) as (source, actuation, wrench):
        answer = source.forward(actuation, wrench, arguments.model)

    def show() -> None:
        if is_request_error(answer.error_code):
            return
        if solved(*answer.configuration.tip.position):
            show_tip(answer.configuration)

    return finish(answer, arguments.json, show)
