# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What `soro stop` and `soro estop` share: whom they find, and how the outcome is said."""

from __future__ import annotations

from collections.abc import Sequence

from soro_cli.robot_choice import UNKNOWN_NAME
from soro_cli.ros_session import RosSession
from soro_cli.tables import print_json
from soro_node.user_errors import UserError

STOP = 'driver/stop'  # offered by every driver, or what owns the device in its place
LATECOMERS = 1.0  # s without a new robot: all have been found; those found are told by then
HARDWARE = 'use the emergency stop of the hardware.'


def nobody(session: RosSession, what: str) -> UserError:
    """Return the error that nobody was found; `what` says who was looked for."""
    others = ', '.join(sorted(session.offering(STOP))) or 'none'
    return UserError(
        f'{what} (running: {others}): the driver has ended, or has another ROS_DOMAIN_ID. '
        f'If the robot moves, {HARDWARE}',
        UNKNOWN_NAME,
    )


def conclude(done: Sequence[str], problem: str, as_json: bool, remedy: str = '') -> None:
    """Print what is done, robot by robot.

    UserError: there is a problem: it, what is done all the same, and the remedy.
    """
    if problem:
        well = f' (done: {"; ".join(done)})' if done else ''
        raise UserError(f'{problem}{well}{remedy}')
    if as_json:
        print_json({'error_code': 0, 'error_message': '', 'message': '; '.join(done)})
    else:
        print('\n'.join(done))
