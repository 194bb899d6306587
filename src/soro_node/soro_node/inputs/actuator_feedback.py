# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The present actuation of a robot, from its driver's ActuatorState."""

from __future__ import annotations

from dataclasses import dataclass
import threading
import time

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_mechanics.core.status import Code
from soro_msgs.msg import ActuatorState
from soro_node.conversions import HasActuators
from soro_node.inputs.driver_constants import STOPPED_BIT

NANOSECONDS = 1_000_000_000
FIRST = 3.0  # s; driver and node start together, and discovery takes its time on a busy machine
LOOK_PERIOD = 0.005  # s, while the very first state is waited for


@dataclass(frozen=True)
class ActuatorFeedback:
    """One ActuatorState, in the order of the robot's actuators."""

    #: (m,); measured; where there is no sensor, the applied value; NaN where neither is known
    present: Array
    commanded: Array  #: (m,); NaN before the first command
    stamp: int  #: when the measurement reached the driver's computer [ns], clock of the driver
    arrival: float  #: when the message reached this node [s], steady clock
    device_state: int  #: constant of the message
    faults: int
    command_source: str
    stops: int  #: changes whenever the driver made the outputs safe for a reason

    @property
    def stopped(self) -> bool:
        """Whether nothing moves before a person has cleared the driver."""
        return bool(self.faults & STOPPED_BIT)

    @property
    def known(self) -> bool:
        """Whether every actuator's present value is finite."""
        return bool(np.all(np.isfinite(self.present)))


def feedback_from_message(
    robot: HasActuators, message: ActuatorState, arrival: float
) -> ActuatorFeedback:
    """Return a message's content in the order of the robot's actuators.

    InvalidInput: the message is not from this robot: other names, quantities or sizes.
    """
    names = [a.name for a in robot.actuators]
    count = len(names)
    arrays = (message.quantity, message.commanded, message.applied, message.measured)
    if sorted(message.name) != sorted(names) or any(len(a) != count for a in arrays):
        expected = f'a state of {", ".join(names)}'
        raise InvalidInput('actuator_state.name', list(message.name), expected, Code.UNKNOWN_NAME)
    order = [list(message.name).index(name) for name in names]
    for a, i in zip(robot.actuators, order, strict=True):
        if message.quantity[i] != a.quantity_code:
            expected = f'{a.quantity} ({a.quantity_code}) for {a.name}'
            raise InvalidInput('actuator_state.quantity', int(message.quantity[i]), expected)
    measured = np.array(message.measured)[order]
    applied = np.array(message.applied)[order]
    stamp = message.header.stamp
    return ActuatorFeedback(
        present=np.where(np.isfinite(measured), measured, applied),
        commanded=np.array(message.commanded)[order],
        stamp=stamp.sec * NANOSECONDS + stamp.nanosec,
        arrival=arrival,
        device_state=int(message.device_state),
        faults=int(message.faults),
        command_source=message.command_source,
        stops=int(message.stops),
    )


class LatestFeedback:
    """The newest feedback of a robot and its age on the steady clock; safe from any thread.

    - `timeout`: feedback older than this [s] does not count.
    """

    def __init__(self, robot: HasActuators, timeout: float) -> None:
        self.timeout = timeout
        self._robot = robot
        self._feedback: ActuatorFeedback | None = None
        self._lock = threading.Lock()
        self._patience_ends: float | None = None

    def update(self, message: ActuatorState, age: float = 0.0) -> ActuatorFeedback:
        """Take a message that arrived `age` [s] ago; InvalidInput when not from this robot."""
        feedback = feedback_from_message(self._robot, message, time.monotonic() - age)
        with self._lock:
            self._feedback = feedback
        return feedback

    def age(self) -> float:
        """Return the age of the newest feedback [s]; infinite when there is none."""
        with self._lock:
            feedback = self._feedback
        return float('inf') if feedback is None else time.monotonic() - feedback.arrival

    def fresh(self) -> ActuatorFeedback | None:
        """Return the newest feedback, or None when it is too old."""
        with self._lock:
            feedback = self._feedback
        if feedback is None or time.monotonic() - feedback.arrival > self.timeout:
            return None
        return feedback

    def first(self) -> ActuatorFeedback | None:
        """Return what `fresh` does, but let the very first feedback of all arrive.

        Whoever asks a node that has just started waits for it, at most `FIRST` after the first
        question; not for the thread that receives the messages.
        """
        feedback = self.fresh()
        while feedback is None and self.patience() > 0.0:
            time.sleep(LOOK_PERIOD)
            feedback = self.fresh()
        return feedback

    def patience(self) -> float:
        """Return how long the very first feedback of all is still waited for [s]."""
        with self._lock:
            if self._feedback is not None:
                return 0.0
            now = time.monotonic()
            if self._patience_ends is None:
                self._patience_ends = now + FIRST
            return max(0.0, self._patience_ends - now)

    def actuation(self) -> Array:
        """Return the present actuation (m,), of `first`. SoroError: NO_STATE."""
        feedback = self.first()
        if feedback is None:
            why = f'no actuator_state within {self.timeout:g} s: is the driver running?'
            raise SoroError(why, Code.NO_STATE)
        if not feedback.known:
            why = 'the driver knows neither measured nor applied values of all actuators'
            raise SoroError(why, Code.NO_STATE)
        return feedback.present
