# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A forward_command_controller and a joint_state_broadcaster over joints that follow."""

from __future__ import annotations

from collections.abc import Sequence
import math
import threading
import time
from typing import Any

import numpy as np
import rclpy
from rclpy.context import Context
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from soro_emulation.device_emulator import Array, DeviceEmulator, EmulatorContext
from soro_emulation.injected_fault import block
from soro_mechanics.actuator_models.motor import PositionDrive, read_motor
from soro_node.executor.polled_subscriptions import PolledSubscriptions
from soro_node.process.log_files import NO_LOG_FILES
from soro_node.qos import NEWEST
from soro_ros2_control_driver.device import emulated, resource
from soro_ros2_control_driver.wiring import read_wiring

TIME_CONSTANT = 0.03  # s, assumed: a position-controlled servo
STREAM = 0.2  # s; commands that are no farther apart are a stream
PERIOD = 0.01  # s, the default update rate of a controller manager


class Ros2ControlEmulator(DeviceEmulator):
    """Keeps its last command for ever, as a forward_command_controller does.

    Faults: ``blocked`` (actuator), ``silent`` (no joint states), ``stranger`` (who commands too).
    """

    faults = ('none', 'blocked', 'silent', 'stranger')

    def __init__(self, context: EmulatorContext, now: float) -> None:
        super().__init__(context, now)
        with context.properties as section:
            lag = section.quantity('time_constant', 's', TIME_CONSTANT, positive=True)
            motor = read_motor(section, context.robot.actuators)
        self._wiring = emulated(read_wiring(context.wiring, context.robot), context.endpoint)
        self._actuators = context.robot.actuators
        self.axes = [PositionDrive(a.rest, a.rate, lag, motor) for a in self._actuators]
        self.values = np.array([a.rest for a in self._actuators])
        self.command, self._heard, self._time = self.values.copy(), -math.inf, now
        self._silent = self._streams = False
        self._lock, self._stopping = threading.Lock(), threading.Event()
        self._context = Context()
        self._thread = threading.Thread(target=self._serve, name='controllers', daemon=True)

    def start(self) -> None:
        """Begin to publish and listen."""
        rclpy.init(args=list(NO_LOG_FILES), context=self._context)
        self._node = rclpy.create_node('controllers', context=self._context)
        self._commands = PolledSubscriptions(self._node)
        self._commands.open(Float64MultiArray, self._wiring.command_topic, NEWEST)
        topic = self._wiring.state_topic
        self._publisher = self._node.create_publisher(JointState, topic, NEWEST)
        self._stranger: Any = None
        self._thread.start()
        self._log.write('listening', address=self._wiring.command_topic)

    def advance(self, now: float) -> None:
        """Let the joints follow up to `now` [s]."""
        with self._lock:
            step, self._time = max(now - self._time, 0.0), max(now, self._time)
            for axis, target in zip(self.axes, self.command.tolist(), strict=True):
                axis.follow(target, step)
            self.values = np.array([axis.value for axis in self.axes])

    def actuation(self, now: float) -> Array:
        """Return where the joints are, as actuator values [SI]."""
        self.advance(now)
        return self.values.copy()

    def _break(self, fault: str, values: dict[str, Any]) -> None:
        with self._lock:
            block(self.axes, fault, values, tuple(a.name for a in self._actuators))
            if fault == 'none':
                self._silent = False
                if self._stranger is not None:
                    self._node.destroy_publisher(self._stranger)
                    self._stranger = None
            elif fault == 'silent':
                self._silent = True
            elif fault == 'stranger':
                topic = self._wiring.command_topic
                self._stranger = self._node.create_publisher(Float64MultiArray, topic, NEWEST)

    def in_use(self, now: float) -> bool:
        """Whether commands come."""
        return self._streams

    def resources(self) -> Sequence[str]:
        """Return the command topic."""
        return [resource(self._wiring)]

    def stop(self) -> None:
        """Stop publishing and listening."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(2.0)
            self._node.destroy_node()
            rclpy.shutdown(context=self._context)

    def _serve(self) -> None:
        while not self._stopping.wait(PERIOD):
            now = time.monotonic()
            with self._lock:
                message = self._commands.newest(self._wiring.command_topic)
                if message is not None and len(message.data) == len(self.values):
                    self._take(np.array(message.data), now)
                elif now - self._heard > STREAM:
                    self._note_stream(False, now)
            self.advance(now)
            if not self._silent:
                data = self._wiring.command(self.values)
                where = {self._wiring.measured: [data[place] for place in self._wiring.places]}
                state = JointState(name=list(self._wiring.joints), **where)
                state.header.stamp = self._node.get_clock().now().to_msg()
                self._publisher.publish(state)

    def _take(self, data: Array, now: float) -> None:
        w = self._wiring
        self._note_stream(now - self._heard < STREAM, now)
        self._heard = now
        command = (data[list(w.places)] - w.zero) / w.scale
        if not np.array_equal(command, self.command):
            self._log.write('output', now, values=command.tolist())
        self.command = command

    def _note_stream(self, streams: bool, now: float) -> None:
        if streams is not self._streams:
            self._streams = streams
            self._log.write('commands', now, stream=streams)
