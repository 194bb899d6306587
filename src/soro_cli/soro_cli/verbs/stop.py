# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro stop: outputs safe, now; needs no ownership of the robot and none of its other nodes."""

from __future__ import annotations

import argparse
from functools import partial

from soro_cli.robot_choice import add_robot_options, choose_namespace, wanted_namespace
from soro_cli.tables import note

RENDERER = 'haptic_renderer/clear_fault'  # of one over topics, which latches beside its driver
SUMMARY = 'stop every robot, or the one that is named: its safe action begins at once'
EPILOG = """\
Without --namespace or --robot ALL robots that are found are stopped: who types this wants safety.
--clear needs the name where several run. Only the driver has to run (or the haptic renderer that
owns the device): its service driver/stop is called.

The safe action is that of the robot file (on_command_loss): a ramp to rest, or letting go. Nothing
moves the robot again before soro stop --clear, and then only a new target does. This is a
convenience, not a safety function: use the emergency stop of the hardware for that.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        '--clear',
        action='store_true',
        help='clear a stop, lost commands or a latched fault, so that new targets are accepted; '
        'moves to no target, what is still under pressure is vented',
    )
    add_robot_options(parser, offline=False, default='all robots; with --clear the one that runs')


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from soro_cli.ros_session import RosSession
    from soro_cli.service_round import ServiceRound
    from soro_cli.stop_targets import conclude, HARDWARE, LATECOMERS, nobody

    wanted = wanted_namespace(arguments)
    with RosSession() as session:
        if arguments.clear:
            offering = partial(session.offering, 'driver/clear_fault')
            space = choose_namespace(arguments, session.found_at_rest(offering, wanted))
            round_ = ServiceRound(session, 'driver/clear_fault', space)
        else:
            round_ = ServiceRound(session, 'driver/stop', wanted)
            found = session.settled(round_.ask, wanted, LATECOMERS)
            if not found:
                raise nobody(session, f'nobody offers {wanted.rstrip("/")}/driver/stop')
        done, failed = round_.carry_out()
        if arguments.clear and done and session.beside(RENDERER, space):
            also, failed = ServiceRound(session, RENDERER, space).carry_out()
            done = also or done
    remedy = '' if arguments.clear else f'. If a robot moves, {HARDWARE}'
    conclude(done, f'NOT done: {"; ".join(failed)}' if failed else '', arguments.json, remedy)
    if len(done) > 1:
        note('no robot was named: all were stopped (--namespace stops one)')
    return 0
