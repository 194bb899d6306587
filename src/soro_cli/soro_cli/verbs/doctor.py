# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro doctor: what is wrong here, and what to do about it."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
import sys

from soro_cli.doctor.findings import as_json, Level, print_findings
from soro_cli.tables import print_json
from soro_node.file_errors import writing
from soro_node.user_errors import UserError

SUMMARY = 'check this machine, or a robot file, and say what to do'
EPILOG = """\
examples:
  soro doctor                  this machine
  soro doctor stiff_flop       a robot of the catalogue
  soro doctor ./my_robot.yaml  a robot file
  soro doctor --hardware       ports, CAN links, cards, and what mends each
  soro doctor --json-schema robot.schema.json      what editors complete keys from

The exit code is 1 when something fails; warnings do not count.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('robot', nargs='?', help='name or file of a robot; none: the machine')
    parser.add_argument(
        '--json-schema', metavar='FILE', help='write the JSON Schema of robot files; - prints it'
    )
    parser.add_argument('--hardware', action='store_true', help='check for real devices only')
    parser.add_argument('--json', action='store_true', help='print JSON')


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    if arguments.json_schema is not None:
        schema = Path(arguments.json_schema)
        if arguments.robot is not None or (schema.suffix != '.json' and schema != Path('-')):
            raise UserError('--json-schema FILE.json writes the schema; it checks no robot')
        return _json_schema(arguments.json_schema)
    if arguments.robot is not None:
        from soro_cli.doctor.robot import robot_findings

        found = robot_findings(arguments.robot)
    elif arguments.hardware:
        from soro_cli.doctor.hardware import hardware_findings

        found = hardware_findings()
    else:
        from soro_cli.doctor.machine import machine_findings

        found = machine_findings(os.environ)
    title = 'this machine' if arguments.robot is None else arguments.robot
    findings = list(found) if arguments.json else print_findings(title, found)
    worst = max(f.level for f in findings)
    if arguments.json:
        print_json({'worst': worst.name.lower(), 'findings': as_json(findings)})
    return 1 if worst is Level.FAIL else 0


def _json_schema(target: str) -> int:
    from soro_mechanics.robot_file.schema2.json_schema import robot_schema

    text = json.dumps(robot_schema(), separators=(',', ':')) + '\n'
    if target == '-':
        sys.stdout.write(text)
        return 0
    with writing(Path(target)):
        Path(target).write_text(text, encoding='utf-8')
    return 0
