# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Why the planner sends nothing: what is said of a driver that takes no commands, and how."""

from __future__ import annotations

from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_msgs.msg import ActuatorState

EMERGENCY_STOP = (
    Code.DEVICE_FAULT,
    'emergency stop: `soro estop --release`, then `soro stop --clear`',
)
STOPPED = (
    Code.NOT_ACTIVE,
    'the driver was stopped or lost its commands: look why, then `soro stop --clear`',
)
NO_TRACKER = (
    'no tip_measured; look at `tracker` in the diagnostics of kinematics_solver, or publish '
    'tracker/pose'
)
_STATES = {
    ActuatorState.UNCONFIGURED: (
        Code.NOT_ACTIVE,
        'the driver has no communication: check cable and power',
    ),
    ActuatorState.INACTIVE: (
        Code.NOT_ACTIVE,
        'the driver is not active: `soro stop --clear` after a fault or a lost device; after '
        'autostart:=false activate it',
    ),
    ActuatorState.SAFE: STOPPED,
    ActuatorState.FAULT: (
        Code.DEVICE_FAULT,
        'the driver has a latched fault: find the cause, then `soro stop --clear`',
    ),
    ActuatorState.ESTOP: EMERGENCY_STOP,
}


class StreamError(SoroError):
    """A target cannot be accepted now, or the stream was stopped; with the code of why."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message, code)


def meaning_of(state: int) -> tuple[Code, str]:
    """Return code and sentence for a driver in a state in which it takes no commands."""
    return _STATES.get(state, (Code.NOT_ACTIVE, f'the driver is in the unknown state {state}'))
