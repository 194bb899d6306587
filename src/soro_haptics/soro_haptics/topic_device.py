# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A driver on the other end of topics, as a `Device`: the loop for comparison.

States come as messages and set-points go as messages; limits, time to live and safe states are the
driver's.
"""

from __future__ import annotations

from collections.abc import Callable
import math
import threading
import time

import numpy as np

from soro_driver.device import (
    Array,
    Device,
    DeviceLost,
    DeviceState,
    Fault,
    Identity,
    Reading,
    SensorReading,
)
from soro_driver.endpoint import Endpoint
from soro_driver.safety.not_allowed import NotAllowed
from soro_mechanics.core.status import Code
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.section import Section
from soro_msgs.msg import ActuatorState, FlexState
from soro_node.conversions import lists_fit

DRIVEN = (DeviceState.ACTIVE, DeviceState.SAFE)
STARTING = (DeviceState.UNCONFIGURED, DeviceState.INACTIVE)


class TopicDevice(Device):
    """The newest messages of a driver.

    `names`: actuators, in the order of the robot file; `sensors`: flex sensors, in the order of
    the robot file (messages of other names are not taken); `send`: publishes set-points, shape
    (m,); `timeout`: how long the first state is waited for [s]; `feedback_timeout`: readings of
    the sensors that are older than this are none [s]; `driven`: states in which the driver obeys a
    stream; SAFE is none where its safe action releases the motors: nothing but arming ends that.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        sensors: tuple[str, ...],
        send: Callable[[Array], None],
        timeout: float,
        feedback_timeout: float,
        driven: tuple[DeviceState, ...] = DRIVEN,
    ) -> None:
        self._names, self._send, self.open_timeout = names, send, timeout
        self._sensors, self._driven = sensors, driven
        self._feedback_timeout = feedback_timeout
        self._lock = threading.Lock()
        self._state: ActuatorState | None = None
        self._time = -math.inf
        self._flex: SensorReading | None = None
        self._flex_time = -math.inf
        self._armed = False
        self.armed_stops = 0  # the driver's count when it was armed

    @classmethod
    def from_section(
        cls, section: Section, robot: RobotDescription, endpoint: Endpoint | None
    ) -> Device:
        """Refuse: no robot file names this device."""
        raise section.error('device', 'topics is a way of the renderer, not a device')

    def take_state(self, message: ActuatorState) -> None:
        """Take a state (any thread)."""
        lists = message.measured, message.applied, message.flags
        if not lists_fit(self._names, message.name, *lists):
            return
        with self._lock:
            self._state, self._time = message, time.monotonic()

    def take_flex(self, message: FlexState) -> None:
        """Take a reading of the flex sensors (any thread)."""
        if not lists_fit(self._sensors, message.name, message.raw, message.flags):
            return
        reading = SensorReading(
            tuple(message.name), np.array(message.raw, float), np.array(message.flags, np.uint16)
        )
        with self._lock:
            self._flex, self._flex_time = reading, time.monotonic()

    @property
    def stops(self) -> int:
        """The driver's count of stops; zero before it is heard."""
        with self._lock:
            return 0 if self._state is None else int(self._state.stops)

    def open(self) -> Identity:
        """Check that a driver is heard."""
        with self._lock:
            heard = self._state is not None
        if not heard:
            raise DeviceLost('no actuator_state; is the driver running?')
        return Identity('driver on topics', '')

    def read(self) -> Reading:
        """Return the newest state, and the newest readings of the sensors unless they are old."""
        with self._lock:
            state, time_, flex = self._state, self._time, self._flex
            if time.monotonic() - self._flex_time > self._feedback_timeout:
                flex = None
        if state is None:
            raise DeviceLost('no actuator_state')
        faults = state.faults & ~int(Fault.COMMUNICATION)
        fallen = state.device_state not in self._driven or state.stops != self.armed_stops
        measured, applied = np.array([state.measured, state.applied], float)
        flags, tripped = np.array(state.flags, np.uint16), self._armed and fallen
        return Reading(time_, measured, applied, flags, int(faults), tripped, flex, time_)

    def write(self, values: Array, ttl: float) -> None:
        """Send set-points."""
        self._send(values)

    def ready(self) -> bool:
        """Whether the driver has started; one that has fallen is refused by `arm`."""
        with self._lock:
            return self._state is not None and self._state.device_state not in STARTING

    def arm(self) -> None:
        """Check that the driver obeys commands."""
        with self._lock:
            heard = self._state
        state = None if heard is None else heard.device_state
        if heard is None or state not in self._driven:
            found = {s: s.name for s in DeviceState}.get(state, 'in no known state')
            raise NotAllowed(
                f'the driver is {found}: clear it first (driver/clear_fault)', Code.BUSY
            )
        if heard.command_source:  # also one of the same name, which the driver would obey too
            raise NotAllowed(f'{heard.command_source} commands the driver: stop it', Code.BUSY)
        self._armed, self.armed_stops = True, heard.stops

    def make_safe(self) -> None:
        """Fall silent: the driver carries out its safe action, and resets itself."""
        self._armed = False

    reset = close = make_safe
