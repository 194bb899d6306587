# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Any hardware behind ros2_control, as a `Device`: joint states in, commands out by a guard."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
from dataclasses import asdict, replace
import json
import os
import select
import socket
import subprocess
import sys
import time
from typing import Any, ClassVar

import numpy as np

from soro_driver import device as dev
from soro_driver.endpoint import Endpoint
from soro_driver.safety.device_lock import DeviceLock
from soro_mechanics.core.actuators import Actuator
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.section import Section
from soro_ros2_control_driver.guard import HEAD, Kind, Report
from soro_ros2_control_driver.wiring import read_wiring, Ros2ControlWiring

OTHERS, NOBODY = 1 << dev.DEVICE_FAULT_SHIFT, 2 << dev.DEVICE_FAULT_SHIFT
GUARD = 'soro_ros2_control_driver.guard'
UNANSWERED, NOTHING = 'no answer of the guard process', np.empty(0)
SILENT = 0.2  # s without joint states
# By command topic: settings, link and process of a guard that did not answer in time. On a busy
# computer it may still be loading, and is there for the next attempt.
_waiting: dict[str, tuple[str, socket.socket | None, subprocess.Popen[bytes] | None]] = {}
SLACK = ('pressure', 'force', 'torque')  # safe at rest; what has a place holds it


def resource(wiring: Ros2ControlWiring) -> str:
    """Return what a driver of a controller locks, see `DeviceLock`."""
    return f'ros2_control {os.environ.get("ROS_DOMAIN_ID", "0")} {wiring.command_topic}'


def emulated(wiring: Ros2ControlWiring, endpoint: Endpoint) -> Ros2ControlWiring:
    """Return the same with the topics of the emulated controllers."""
    base = '/emulated/' + endpoint.path.name.replace('-', '_')
    return replace(wiring, command_topic=f'{base}/commands', state_topic=f'{base}/joint_states')


class Ros2ControlDevice(dev.Device):
    """Sends set-points to the guard process, which publishes them and watches this one."""

    fault_text: ClassVar[dict[int, str]] = {
        OTHERS: 'another node publishes commands to the controller',
        NOBODY: 'no controller listens to the commands',
    }
    not_ready = 'the commands need one controller that listens, and no other publisher'
    io_timeout = 0.1
    open_timeout = 6.0  # a process that loads ROS

    def __init__(self, wiring: Ros2ControlWiring, actuators: tuple[Actuator, ...]) -> None:
        self.wiring, self._names = wiring, tuple(a.name for a in actuators)
        rows = [(a.rest, a.minimum, a.maximum, a.quantity in SLACK) for a in actuators]
        settings = {'wiring': asdict(wiring), 'limits': list(zip(*rows, strict=True))}
        self._settings = json.dumps(settings)
        self._use = DeviceLock(resource(wiring))
        self._link: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._report: Report | None = None
        self._number, self._armed = 0, False

    @classmethod
    def from_section(
        cls, section: Section, robot: RobotDescription, endpoint: Endpoint | None
    ) -> Ros2ControlDevice:
        """Make the device from ``driver.ros2_control``."""
        wiring = read_wiring(section, robot)
        return cls(emulated(wiring, endpoint) if endpoint else wiring, robot.actuators)

    def terminals(self) -> dict[str, str]:
        """Return joint and place in the command of each actuator."""
        w = self.wiring
        rows = zip(self._names, w.joints, w.places, strict=True)
        return {n: f'{joint}, data[{place}] of {w.command_topic}' for n, joint, place in rows}

    def open(self) -> dev.Identity:
        """Start the guard, wait for joint states, and make the hardware hold."""
        self.close()
        self._use.acquire()
        topic, w = self.wiring.command_topic, self.wiring
        settings, self._link, self._process = _waiting.pop(topic, ('', None, None))
        if self._process is None or settings != self._settings:
            self._start_guard()
        assert self._link is not None and self._process is not None  # noqa: S101 - for mypy
        missing = (
            f'no {w.measured} of {", ".join(w.joints)} on {w.state_topic}: start the '
            'joint_state_broadcaster (`ros2 control list_controllers`)'
        )
        try:
            finite = lambda r: bool(np.isfinite(r.measured).all())  # noqa: E731
            self._await(finite, 0.9 * self.open_timeout, missing)
            self.make_safe()
        except dev.DeviceTimeout as error:
            _waiting[topic] = self._settings, self._link, self._process
            self._link = self._process = None
            raise dev.DeviceLost(str(error)) from None
        return dev.Identity('ros2_control', topic, '', self._process.pid)

    def _start_guard(self) -> None:
        self._end_guard()
        self._link, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._link.setblocking(False)
        # Its own session: Ctrl-C in the driver's terminal must not reach it.
        self._process = subprocess.Popen(
            [sys.executable, '-m', GUARD, str(its.fileno()), self._settings],
            env={**os.environ, 'PYTHONPATH': os.pathsep.join(p for p in sys.path if p)},
            pass_fds=[its.fileno()],
            start_new_session=True,
        )
        its.close()

    def read(self) -> dev.Reading:
        """Return the newest joint states."""
        self._poll()
        r = self._report
        if r is None or r.arrival < 0.0:
            raise dev.DeviceError(f'no measurement on {self.wiring.state_topic} yet')
        faults = (OTHERS if r.publishers > 1 else 0) | (0 if r.listeners else NOBODY)
        flags = np.zeros(len(self._names), np.uint16)
        tripped = self._armed and (r.expired or not r.armed)
        faults = faults if self._armed else 0  # `ready` says it before
        return dev.Reading(r.arrival, r.measured, r.applied, flags, faults, tripped)

    def ready(self) -> bool:
        """Whether a controller listens, to this driver alone."""
        self._poll()  # nobody reads before
        r = self._report
        return r is not None and r.listeners > 0 and r.publishers <= 1

    def arm(self) -> None:
        """Let the guard publish set-points."""
        self._request(Kind.ARM, True)
        self._armed = True

    def write(self, values: dev.Array, ttl: float) -> None:
        """Send set-points [SI]."""
        if not self._armed:
            raise dev.DeviceError('set-points written without arming')
        self._send(Kind.SETPOINTS, ttl, values)

    def make_safe(self) -> None:
        """Have pressures and forces go to rest, everything else held where it is.

        Raises DeviceTimeout where no joint states tell that somebody obeys.
        """
        self._armed = False
        self._request(Kind.SAFE, False)
        r = self._report
        if r is None or time.monotonic() - r.arrival > SILENT:
            raise dev.DeviceTimeout(f'nothing on {self.wiring.state_topic}: is it still obeyed?')

    def reset(self) -> None:
        """Make safe again: the controllers latch nothing."""
        self.make_safe()

    def close(self) -> None:
        """Let the guard go, which makes the hardware safe; never raises."""
        self._armed, self._report = False, None
        self._end_guard()
        self._use.release()

    def _end_guard(self) -> None:
        if self._link is not None and self._process is not None:
            self._link.close()
            with contextlib.suppress(subprocess.TimeoutExpired):  # one that loads ends after that
                self._process.wait(1.0)
        self._link = self._process = None

    def _request(self, kind: Kind, armed: bool) -> None:
        number = self._send(kind)
        self._await(lambda r: r.number == number and r.armed is armed, 0.8 * self.io_timeout)

    def _send(self, kind: Kind, ttl: float = 0.0, values: dev.Array = NOTHING) -> int:
        if self._link is None:
            raise dev.DeviceLost('not connected')
        self._number = (self._number + 1) & 0xFFFFFFFF
        try:
            self._link.send(HEAD.pack(kind, self._number, ttl) + values.astype('<f8').tobytes())
        except BlockingIOError:
            raise dev.DeviceTimeout('the guard process does not read') from None
        except OSError as error:
            raise dev.DeviceLost(f'the guard process has ended: {error}') from None
        return self._number

    def _await(
        self, wanted: Callable[[Report], Any], timeout: float, missing: str = UNANSWERED
    ) -> None:
        end = time.monotonic() + timeout
        while self._report is None or not wanted(self._report):
            left = end - time.monotonic()
            if left <= 0.0:
                raise dev.DeviceTimeout(missing)
            select.select([self._link], [], [], left)
            self._poll()

    def _poll(self) -> None:
        if self._link is None:
            raise dev.DeviceLost('not connected')
        try:
            while data := self._link.recv(65536):
                self._report = Report.unpack(data)
        except BlockingIOError:
            return
        except OSError as error:
            raise dev.DeviceLost(f'the guard process has ended: {error}') from None
        raise dev.DeviceLost('the guard process has ended')
