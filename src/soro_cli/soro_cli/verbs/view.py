# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro view: a recorded run in the browser."""

from __future__ import annotations

import argparse
from pathlib import Path

from soro_cli.verbs.mechanics_options import whole

SUMMARY = 'show a recording in the browser: play it, stop it, go to any moment'
EPILOG = """\
example:
  soro view bags/stiff_flop_2026-11-20_15-50-01
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('bag', type=Path, help='folder of a bag, or an .mcap file')
    parser.add_argument('-n', '--namespace', help='which robot, in a bag of several')
    parser.add_argument(
        '--port',
        type=whole(),
        default=0,
        help='TCP port (default: derived from the namespace; where it is taken, the next free)',
    )
    parser.add_argument(
        '--robot', default='', help='robot file or name, for bags without the file of the robot'
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the verb until Ctrl-C."""
    import signal
    import threading

    from soro_cli.view_session import shown_recording

    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with shown_recording(
        arguments.bag, arguments.namespace, arguments.robot, arguments.port
    ) as playback:
        print(f'viewer: {playback.address}   (Ctrl-C ends it)', flush=True)
        playback.run(ended)
    return 0
