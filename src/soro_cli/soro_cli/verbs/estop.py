# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro estop: presses or releases the latched topic ``estop``; needs nothing but the driver."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from soro_cli.robot_choice import add_robot_options, choose_namespace, wanted_namespace
from soro_cli.tables import note

SUMMARY = 'make the outputs of every robot, or of the one named, safe at once, and latch that'
EPILOG = """\
Unlike soro stop there is no ramp (pressures are vented, motors lose power), and nothing is
accepted until the stop is released (soro estop --release) and cleared (soro stop --clear). Without
--namespace or --robot it is pressed for ALL robots that are found; --release needs the name where
several run, and is refused while a publisher that is still there (a button) presses. Robots that
are launched later know nothing of it; one that is launched again remembers. A robot whose device
is lost counts as not confirmed. This is a convenience, not a safety function: use the emergency
stop of the hardware for that.
"""
RELEASE, RENDERER = 'driver/release_estop', 'haptic_renderer/release_estop'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        '--release',
        action='store_true',
        help='release it; the robot stays safe until soro stop --clear, and moves to no target',
    )
    add_robot_options(
        parser, offline=False, default='all robots; with --release the one that runs'
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from soro_cli.ros_session import RosSession
    from soro_cli.service_round import ANSWER
    from soro_cli.stop_targets import conclude, HARDWARE, LATECOMERS, nobody, STOP

    wanted = wanted_namespace(arguments)
    with RosSession() as session:
        if arguments.release:
            offering = session.found_at_rest(lambda: session.offering(RELEASE), wanted)
            found = {choose_namespace(arguments, offering)}
            done, failed = _release(session, *found)
            problem = f'NOT released: {"; ".join(failed)}' if failed else ''
        else:
            button = _Button(session)
            found = session.settled(
                lambda: button.push(s for s in session.offering(STOP) if wanted in ('', s)),
                wanted,
                LATECOMERS,
            )
            if not found:
                where = wanted or 'any namespace'
                raise nobody(session, f'there is no driver under {where}')
            session.spin_until(button.obeyed, ANSWER)
            done, doubts = button.outcome()
            problem = f'NOT confirmed within {ANSWER:g} s: {", ".join(doubts)}' if doubts else ''
    remedy = '' if arguments.release else f'. If a robot moves, {HARDWARE}'
    conclude(done, problem, arguments.json, remedy)
    if not arguments.json:
        here = f' -n {min(found).lstrip("/") or "/"}' if len(found) == 1 else ' -n NAME'
        before = '' if arguments.release else f'soro estop --release{here}, then '
        note(f'to go on: {before}soro stop --clear{here}')
    return 0


def _release(session: Any, space: str) -> tuple[list[str], list[str]]:
    """Have the driver, and a renderer beside it, forget presses of whoever has gone."""
    from soro_cli.service_round import ServiceRound

    done, failed = [], []
    for service in (RELEASE, RENDERER):
        if service == RELEASE or session.beside(service, space):
            well, wrong = ServiceRound(session, service, space).carry_out()
            done, failed = done + well, failed + wrong
    return done, failed


class _Button:
    """Presses ``estop`` of robots and watches their drivers obey."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._publishers: dict[str, Any] = {}
        self._states: dict[str, Any] = {}  # of the drivers, as last heard

    def push(self, spaces: Iterable[str]) -> set[str]:
        """Publish for robots that are new; return all of them so far."""
        from std_msgs.msg import Bool

        from soro_msgs.msg import ActuatorState
        from soro_node.qos import LATCHED, LOSSY

        for space in spaces:
            if space in self._publishers:
                continue
            begin, node = space.rstrip('/'), self._session.node

            def heard(message: Any, space: str = space) -> None:
                self._states[space] = message

            node.create_subscription(ActuatorState, f'{begin}/actuator_state', heard, LOSSY)
            publisher = node.create_publisher(Bool, f'{begin}/estop', LATCHED)
            # Latched: who is only being connected gets it too.
            publisher.publish(Bool(data=True))
            self._publishers[space] = publisher
        return set(self._publishers)

    def obeyed(self) -> bool:
        """Whether every driver says so, and everybody connected has the message."""
        from rclpy.duration import Duration

        return not self._doubts() and all(
            p.get_subscription_count() and p.wait_for_all_acked(Duration(seconds=0.01))
            for p in self._publishers.values()
        )

    def outcome(self) -> tuple[list[str], list[str]]:
        """Return what is done, and the robots of which that is not confirmed."""
        doubts = self._doubts()
        done = [f'{s}: emergency stop' for s in sorted(self._publishers) if s not in doubts]
        return done, [f'{space}{why}' for space, why in sorted(doubts.items())]

    def _doubts(self) -> dict[str, str]:
        """Return the robots of which it is not confirmed, and what their drivers say."""
        from soro_driver.device import Fault
        from soro_driver.driver_report import LOST
        from soro_msgs.msg import ActuatorState

        found = {}
        for space in self._publishers:
            state = self._states.get(space)
            if state is None or state.device_state != ActuatorState.ESTOP:
                found[space] = ''
            elif state.faults & Fault.COMMUNICATION:
                found[space] = f' (latched; {LOST})'
        return found
