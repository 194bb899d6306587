# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro doctor: what is wrong here, and what to do about it."""

from __future__ import annotations

import argparse
import os

SUMMARY = 'check this machine, or a robot file, and say what to do'
EPILOG = """\
examples:
  soro doctor                  this machine
  soro doctor stiff_flop       a robot of the catalogue
  soro doctor ./my_robot.yaml  a robot file

The exit code is 1 when something fails; warnings do not count.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('robot', nargs='?', help='name or file of a robot; none: the machine')
    parser.add_argument('--json', action='store_true', help='print JSON')


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from soro_cli.findings import as_json, Level, print_findings
    from soro_cli.tables import print_json

    if arguments.robot:
        from soro_cli.doctor_robot import check_robot

        findings = check_robot(arguments.robot)
    else:
        from soro_cli.doctor_machine import check_machine

        findings = check_machine(os.environ)
    worst = max(f.level for f in findings)
    if arguments.json:
        print_json({'worst': worst.name.lower(), 'findings': as_json(findings)})
    else:
        print_findings(arguments.robot or 'this machine', findings)
    return 1 if worst is Level.FAIL else 0
