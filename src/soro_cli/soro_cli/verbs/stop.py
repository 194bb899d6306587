# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro stop: outputs safe, now; needs no ownership of the robot and none of its other nodes."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from soro_cli.robot_choice import add_robot_options

SUMMARY = 'stop every robot, or the one that is named: its safe action begins at once'
EPILOG = """\
Without --namespace or --robot ALL robots that are found are stopped: who types this wants safety.
--clear needs the name where several run. Only the driver has to run (or the haptic renderer that
owns the device): its service driver/stop is called.

The safe action is that of the robot file (on_command_loss): a ramp to rest, or letting go. A new
target (soro move) moves a robot again; one that lets go (stewart_gough, motors, simulated lengths
and angles) wants soro stop --clear first. This is a convenience, not a safety function: use the
emergency stop of the hardware for that.
"""
ANSWER = 10.0  # s


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        '--clear', action='store_true',
        help='clear a latched fault or end a safe action, so that a new target is accepted; moves '
        'to no target, what is still under pressure is vented',
    )  # fmt: skip
    add_robot_options(parser, offline=False, default='all robots; with --clear the one that runs')


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from soro_cli.every_driver import conclude, HARDWARE, LATECOMERS, nobody
    from soro_cli.robot_choice import choose_namespace, wanted_namespace
    from soro_cli.ros_session import RosSession
    from soro_cli.tables import note

    wanted = wanted_namespace(arguments)
    with RosSession() as session:
        if arguments.clear:
            offering = partial(session.offering, 'driver/clear_fault')
            found = session.found_at_rest(offering, wanted)
            round_ = _Round(session, 'driver/clear_fault', choose_namespace(arguments, found))
        else:
            round_ = _Round(session, 'driver/stop', wanted)
            found = session.settled(round_.ask, wanted, LATECOMERS)
            if not found:
                raise nobody(session, f'nobody offers {wanted}/driver/stop')
        session.spin_until(lambda: bool(round_.ask()) and round_.answered, ANSWER)
    done, failed = round_.outcome()
    remedy = '' if arguments.clear else f'. If a robot moves, {HARDWARE}'
    conclude(done, f'NOT done: {"; ".join(failed)}' if failed else '', arguments.json, remedy)
    if len(done) > 1:
        note('no robot was named: all were stopped (--namespace stops one)')
    return 0


class _Round:
    """One service of one robot or of all, each asked as soon as it is found."""

    def __init__(self, session: Any, service: str, wanted: str) -> None:
        self._session, self._service, self._wanted = session, service, wanted
        self._clients: dict[str, Any] = {}
        self._futures: dict[str, Any] = {}

    def ask(self) -> set[str]:
        """Ask who has not been asked yet and can be reached; return everybody found so far."""
        from std_srvs.srv import Trigger

        for space in self._session.offering(self._service):
            if space not in self._clients and self._wanted in ('', space):
                self._clients[space] = self._session.node.create_client(
                    Trigger, f'{space.rstrip("/")}/{self._service}'
                )
        for space, client in self._clients.items():
            if space not in self._futures and client.service_is_ready():
                self._futures[space] = client.call_async(Trigger.Request())
        return set(self._clients)

    @property
    def answered(self) -> bool:
        """Whether everybody found has answered."""
        return all(s in self._futures and self._futures[s].done() for s in self._clients)

    def outcome(self) -> tuple[list[str], list[str]]:
        """Return what those said who did it, and what is wrong with the others."""
        done, failed = [], []
        for space in sorted(self._clients):
            future = self._futures.get(space)
            if future is None or not future.done():
                failed.append(f'{space}: {self._service} did not answer within {ANSWER:g} s')
            elif future.result().success:
                done.append(f'{space}: {future.result().message or "done"}')
            else:
                failed.append(f'{space}: {future.result().message or "refused"}')
        return done, failed
