# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro bench: put a robot's device into service, channel by channel, without the robot."""

from __future__ import annotations

import argparse

SUMMARY = 'put a device into service: channel by channel, stop, cable; a report at its end'
EPILOG = """\
examples:
  soro bench stiff_flop                        on its emulator
  soro bench ./my_robot.yaml --hardware        on the device that the file names
  soro bench ./my_robot.yaml --hardware --part 2 --output report.json

Take the robot off its device, or let it move freely. The exit code is 1 when something fails.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('robot', help='name or file of a robot')
    parser.add_argument('--hardware', action='store_true', help='drive the real device')
    parser.add_argument(
        '--part', type=float, default=5.0, metavar='PERCENT', help='of its range, for each channel'
    )
    parser.add_argument('--yes', action='store_true', help='ask nothing')
    parser.add_argument('--output', metavar='FILE', help='write the report as JSON')


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    import json
    from pathlib import Path

    from soro_cli.bench import Bench
    from soro_cli.doctor.findings import as_json, Level, print_findings
    from soro_cli.tables import ask
    from soro_node.file_errors import unused, writing
    from soro_node.user_errors import UserError

    if not 0.0 < arguments.part <= 50.0:
        raise UserError(f'--part {arguments.part:g}: write 0 to 50 percent')
    if arguments.output:
        unused(Path(arguments.output), '--output')
    if arguments.hardware and not arguments.yes and ask('It may move. Go on? yes/no ') != 'yes':
        return 1
    person = None if arguments.yes or not arguments.hardware else ask
    with Bench(arguments.robot, arguments.hardware, 0.01 * arguments.part, person) as bench:
        findings = print_findings(f'bench of {arguments.robot}', bench.findings())
    if arguments.output:
        with writing(Path(arguments.output)):
            Path(arguments.output).write_text(json.dumps(as_json(findings), indent=1) + '\n')
    return 1 if any(f.level is Level.FAIL for f in findings) else 0
