# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A driver reduced to its interface: it obeys one source, answers with states, can be broken."""

import math
import threading
import time

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from soro_msgs.msg import ActuatorCommand, ActuatorState


class FakeDriver(Node):
    """Follows commands at once; needs a first command near the measurement, as real ones do."""

    band = 0.05
    timeout = 2.0  # s; tests run many threads in one process

    def __init__(self, robot, start, **kwargs):
        super().__init__('driver', **kwargs)
        self.robot = robot
        self.value = np.array(start, dtype=float)
        self.state = ActuatorState.ACTIVE
        self.owner = ''
        self.commands = []
        self.refused = 0
        self.silent = False
        self._arrival = -math.inf
        self._commanded = np.full(len(start), math.nan)
        self._lock = threading.Lock()
        self._states = self.create_publisher(ActuatorState, 'actuator_state', 1)
        self.create_subscription(ActuatorCommand, 'actuator_command', self._on_command, 10)
        self.create_timer(0.01, self.publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _on_command(self, message):
        with self._lock:
            self.commands.append(message)
            if not message.name:  # its source has let go
                self.owner, self.state = '', ActuatorState.SAFE
                return
            values = np.array(message.value)
            if self.owner not in ('', message.source):
                self.refused += 1
                return
            limits = self.robot.limits
            near = np.abs(values - self.value) <= self.band * (limits[:, 1] - limits[:, 0])
            if not self.owner and not near.all():
                self.refused += 1
                return
            if self.state == ActuatorState.SAFE:
                self.state = ActuatorState.ACTIVE
            if self.state == ActuatorState.ACTIVE:
                self.owner, self._arrival = message.source, time.monotonic()
                self._commanded = self.value = values

    def publish(self):
        with self._lock:
            if self.owner and time.monotonic() - self._arrival > self.timeout:
                self.owner = ''
                if self.state == ActuatorState.ACTIVE:
                    self.state = ActuatorState.SAFE
            if self.silent:
                return
            message = ActuatorState(
                name=[a.name for a in self.robot.actuators],
                quantity=[a.quantity_code for a in self.robot.actuators],
                commanded=self._commanded.tolist(),
                applied=self.value.tolist(),
                measured=self.value.tolist(),
                flags=[0] * len(self.value),
                device_state=self.state,
                command_source=self.owner,
            )
            message.header.stamp = self.get_clock().now().to_msg()
        self._states.publish(message)
