# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The process between a driver and controllers that have no watchdog of their own.

A forward_command_controller keeps its last command for ever, whoever sent it. So the driver
publishes nothing: it sends set-points with a time to live through a socket. This process checks
them a last time and publishes them. When they stop, or the driver ends, it publishes the safe
command: pressures and forces at rest, everything else where it is measured.
"""

from __future__ import annotations

from enum import IntEnum
import json
import math
import os
import select
import signal
import socket
import struct
import sys
import time
from typing import NamedTuple

import numpy as np
import rclpy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from soro_node.executor.polled_subscriptions import PolledSubscriptions
from soro_node.middleware import set_middleware
from soro_node.process.log_files import NO_LOG_FILES
from soro_node.qos import LOSSY, NEWEST
from soro_ros2_control_driver.wiring import Array, Ros2ControlWiring

HEAD = struct.Struct('<BId')  # kind, number, time to live [s]; then m values
REPORT = struct.Struct('<??BBId')  # armed, expired, publishers, listeners, number, arrival
POLL = 0.002  # s between two looks at the joint states
MAX_TTL = 0.5  # s
FAREWELL = 0.3  # s for the safe command to leave
STALE = 0.5  # s; nothing is held where it was longer ago


class Kind(IntEnum):
    """What the driver sends."""

    SAFE = 0
    ARM = 1
    SETPOINTS = 2


class Report(NamedTuple):
    """What the guard says; `arrival` of the joint states is CLOCK_MONOTONIC [s], values SI."""

    armed: bool
    expired: bool
    publishers: int
    listeners: int
    number: int
    arrival: float
    measured: Array
    applied: Array

    @classmethod
    def unpack(cls, data: bytes) -> Report:
        """Read one."""
        arrays = np.frombuffer(data, '<f8', offset=REPORT.size).reshape(2, -1)
        return cls(*REPORT.unpack_from(data), *arrays)


class Guard:
    """Decides what is published, by the limits (m,) [SI] and the time that it is given.

    `vents` says where the safe value is `rest`, not what is measured.
    """

    def __init__(self, rest: Array, low: Array, high: Array, vents: Array) -> None:
        self._rest, self._low, self._high, self._vents = rest, low, high, vents
        self._end, self.number, self.arrival = 0.0, 0, -math.inf
        self.armed = self.expired = False
        self.measured = self.applied = np.full(len(rest), math.nan)

    def measure(self, values: Array, arrival: float) -> None:
        """Take a measurement (m,) that came at `arrival` [s]."""
        self.measured, self.arrival = values, arrival

    def receive(self, data: bytes, now: float) -> Array | None:
        """Act on a message of the driver; return what to publish (m,), or None."""
        kind, self.number, ttl = HEAD.unpack_from(data)
        if kind == Kind.SAFE:
            return self.go_safe(now)
        if kind == Kind.ARM:
            self.armed, self.expired, self._end = True, False, now + MAX_TTL
            return None
        values = np.frombuffer(data, '<f8', offset=HEAD.size)
        if not self.armed or values.shape != self._rest.shape or not np.isfinite(values).all():
            return None
        self._end = now + min(max(ttl, 0.0), MAX_TTL)
        self.applied = np.clip(values, self._low, self._high)
        return self.applied

    def tick(self, now: float) -> Array | None:
        """Return the safe command where set-points have stopped."""
        if not self.armed or now <= self._end:
            return None
        self.expired = True
        return self.go_safe(now)

    def go_safe(self, now: float) -> Array | None:
        """Disarm; return the safe command, None where nothing is known of the hardware."""
        self.armed = False
        here = self.measured if now - self.arrival < STALE else self.applied
        safe = np.where(self._vents, self._rest, here)
        if not np.isfinite(safe).all():
            return None
        self.applied = safe
        return safe

    def report(self, publishers: int, listeners: int) -> bytes:
        """Return the `Report` as bytes."""
        others = min(publishers, 255), min(listeners, 255)
        head = REPORT.pack(self.armed, self.expired, *others, self.number, self.arrival)
        return head + np.concatenate([self.measured, self.applied]).astype('<f8').tobytes()


def serve(link: socket.socket, guard: Guard, wiring: Ros2ControlWiring) -> None:
    """Stand between the driver at the other end of `link` and the controllers, until it ends."""
    name = f'ros2_control_guard_{os.getpid()}'
    node = rclpy.create_node(name, enable_rosout=False, start_parameter_services=False)
    states = PolledSubscriptions(node)
    states.open(JointState, wiring.state_topic, LOSSY)
    publisher = node.create_publisher(Float64MultiArray, wiring.command_topic, NEWEST)

    def publish(values: Array | None) -> None:
        if values is not None:
            publisher.publish(Float64MultiArray(data=wiring.command(values)))

    stamp = None
    while True:
        heard = bool(select.select([link], [], [], POLL)[0])
        now = time.monotonic()
        if heard:
            try:
                data = link.recv(4096)
            except ConnectionResetError:  # the driver left reports unread
                data = b''
            if not data:
                break
            publish(guard.receive(data, now))
        publish(guard.tick(now))
        for message, age in states.newest_of_each(wiring.state_topic):
            values = wiring.measurement(message)
            repeated = message.header.stamp == stamp and stamp.sec != 0
            if values is not None and not repeated:
                stamp, heard = message.header.stamp, True
                guard.measure(values, now - age)
        if heard:
            listeners = publisher.get_subscription_count()
            try:
                link.send(guard.report(node.count_publishers(wiring.command_topic), listeners))
            except (BlockingIOError, ConnectionError):
                pass  # a driver that does not read misses reports; one that has gone shows above
    publish(guard.go_safe(time.monotonic()))
    time.sleep(FAREWELL)


def main() -> None:
    """Run the process: descriptor of the link, then wiring and limits as JSON."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends with its driver, and after it
    settings = json.loads(sys.argv[2])
    set_middleware()
    rclpy.init(args=list(NO_LOG_FILES), signal_handler_options=SignalHandlerOptions.NO)
    link = socket.socket(fileno=int(sys.argv[1]))
    link.setblocking(False)
    guard = Guard(*map(np.array, settings['limits']))
    serve(link, guard, Ros2ControlWiring(**settings['wiring']))
    rclpy.try_shutdown()  # so that nobody counts its publisher any more
    os._exit(0)


if __name__ == '__main__':
    main()
