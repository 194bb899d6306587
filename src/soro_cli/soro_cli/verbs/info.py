# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro info: what is in a recording."""

from __future__ import annotations

import argparse
from pathlib import Path

from soro_cli.tables import print_json, print_table

SUMMARY = 'what is in a recording: robots, topics, rates, and whether it was cut off'
EPILOG = """\
example:
  soro info bags/stiff_flop_2026-11-20_15-50-01
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('bag', type=Path, help='folder of a bag, or an .mcap file')
    parser.add_argument('--json', action='store_true', help='print JSON')


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from datetime import datetime

    from soro_recording.bag_reader import NANOSECONDS
    from soro_recording.open_bag import open_bag

    with open_bag(arguments.bag) as bag:
        notes = bag.notes + bag.unreadable()
        begin = datetime.fromtimestamp(bag.start * NANOSECONDS).astimezone()
        if arguments.json:
            print_json(
                {
                    'files': [str(f) for f in bag.files],
                    'bytes': bag.size,
                    'finished': bag.finished,
                    'start': bag.start * NANOSECONDS,
                    'duration': bag.duration,
                    'messages': bag.count,
                    'message_revision': bag.revision,
                    'undescribed_messages': bag.undescribed,
                    'notes': notes,
                    'robots': [r.namespace for r in bag.robots],
                    'topics': [
                        {'name': t.name, 'type': t.kind, 'messages': t.count, 'hash': t.type_hash}
                        for t in bag.topics.values()
                    ],
                }
            )
            return 0
        rows = [
            (t.name, t.kind, str(t.count), f'{t.count / bag.duration if bag.duration else 0:.4g}')
            for t in bag.topics.values()
        ]
        print_table(
            f'{bag.path}: {bag.duration:.1f} s from {begin:%Y-%m-%d %H:%M:%S %z}, '
            f'{bag.count} messages, {bag.size / 1e6:.2f} MB',
            ('topic', 'type', 'messages', '1/s'),
            rows,
        )
        print('robots: ' + (', '.join(bag.namespaces) or 'none'))
        print(f'messages of soro: revision {bag.revision or "unknown"}')
        for line in notes:
            print(line)
    return 0
