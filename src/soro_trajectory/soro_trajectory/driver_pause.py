# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How long a source has to be silent before the driver hears it again after a stop."""

from __future__ import annotations

from soro_mechanics.robot_file.reader import RobotDescription
from soro_node.inputs.driver_constants import COMMAND_TIMEOUT, SIMULATED_COMMAND_TIMEOUT

SLACK = 0.25, 0.05  # of the timeout, and s: commands take their time on the way


def pause_of_driver(robot: RobotDescription) -> float:
    """Return the command timeout that the robot file gives the driver, with some slack [s].

    The slack stays below one timeout: for two of them a driver knows whom a stop ends.
    """
    section = robot.foreign_section('driver')
    timeout = SIMULATED_COMMAND_TIMEOUT
    if section is not None:
        timeout = section.quantity('command_timeout', 's', COMMAND_TIMEOUT)
    part, least = SLACK
    return (1.0 + part) * timeout + least
