# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro plot: the figures of a recording, and a page that plays it."""

from __future__ import annotations

import argparse
from pathlib import Path

from soro_cli.tables import note, print_json, print_table
from soro_node.file_errors import writing

SUMMARY = 'draw a recording: actuation, shape, path, stiffness, timing; and an HTML player'
EPILOG = """\
examples:
  soro plot bags/stiff_flop_2026-11-20_15-50-01
  soro plot bags/run --tip tracker/pose
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('bag', type=Path, help='folder of a bag, or an .mcap file')
    parser.add_argument(
        '-o',
        '--output',
        type=Path,
        help='folder of the figures (default: out/plots/<bag>, with several robots in the bag '
        'out/plots/<bag>/<namespace>)',
    )
    parser.add_argument('-n', '--namespace', help='which robot, in a bag of several')
    parser.add_argument(
        '--robot', help="name or file of the robot that was recorded; default: the bag's file"
    )
    parser.add_argument(
        '--tip', metavar='TOPIC', help='measured poses of the tip to draw too (relative name)'
    )
    parser.add_argument('--format', choices=('png', 'pdf', 'svg'), default='png')
    parser.add_argument('--json', action='store_true', help='print the numbers as JSON')


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from soro_recording.open_bag import default_folder, open_bag

    with open_bag(arguments.bag) as bag:  # before what draws is loaded: there may be none
        from soro_cli.recorded_bodies import recorded_bodies
        from soro_recording.run_data import choose_namespace, RunData
        from soro_recording.run_figures import draw_all, FIGURES
        from soro_recording.run_player import PLAYER, write_player

        namespace = choose_namespace(bag, arguments.namespace)
        folder = arguments.output or default_folder('plots', bag, namespace)
        run_data = RunData(bag, namespace, arguments.robot)
        for text in run_data.notes:
            note(f'soro: {text}')
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        measured = None
        if arguments.tip is not None:
            from soro_recording.identify_tip import measured_tip

            measured = measured_tip(run_data, arguments.tip)
        drawn = draw_all(run_data, measured)
        # What an earlier run drew and this one does not would pass for this recording's.
        for name in (*(f'{figure}.{arguments.format}' for figure in FIGURES), PLAYER):
            with writing(folder / name):
                (folder / name).unlink(missing_ok=True)
        files = [one.save(folder, arguments.format) for one in drawn]
        player = folder / PLAYER
        if write_player(run_data, player, recorded_bodies(run_data)):
            files.append(player)
        for topic, fault in run_data.clock_faults.items():
            note(f'soro: {namespace}/{topic}: {fault}; drawn by the times of its receipt')
    numbers = {one.name: one.numbers for one in drawn}
    if arguments.json:
        print_json({'files': [str(f) for f in files], 'numbers': numbers})
        return 0
    rows = [
        (f'{name}: {what.replace("_", " ")}', 'unknown' if value is None else f'{value:.4g}')
        for name, values in numbers.items()
        for what, value in values.items()
    ]
    print_table('numbers in SI', ('', ''), rows)
    for file in files:
        print(file)
    return 0
