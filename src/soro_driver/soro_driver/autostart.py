# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Brings a driver up by itself: waits for its device, configures, arms once, and then never again.

What may still come is waited for without a limit, and said: a device that is off, an emulator that
loads, an activation that was refused because something was busy. What a person has to decide ends
it: a stop, an e-stop, a latched fault, a transition by hand. What can never succeed ends the
process of a launched driver, and with it the launch.
"""

from __future__ import annotations

from contextlib import suppress
from enum import Enum
import time
from typing import Any

import psutil
from rclpy.lifecycle import TransitionCallbackReturn

from soro_driver.device import DeviceError, DeviceInUse, DeviceLost, DeviceTimeout
from soro_driver.loop.control_loop import ControlLoop
from soro_driver.safety.not_allowed import NotAllowed
from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_node.executor.clock_watch import steady_timer
from soro_node.main import ending
from soro_node.process.parent_death import launcher, launcher_lives

PERIOD, LATER_PERIOD = 0.1, 1.0  # s between two looks; the second where none was found for long
SAY_PERIOD = 5.0  # s between two lines of the log about what is missing
EMULATOR_GONE = 5.0  # s without the emulator's process before a launched driver gives up
CALM_LOOKS = 5  # readings in time, one after the other, before it goes on
CALM_SHARE = 0.25  # of the feedback timeout: a reading in time
EMULATOR = '/soro_emulation/emulator'
SUCCESS = TransitionCallbackReturn.SUCCESS


class Phase(Enum):
    """How far it has come."""

    OFF = 'off'
    CONNECTING = 'waiting for the device'
    ARMING = 'waiting to be armed'


class Autostart:
    """Starts one driver node.

    - `connect_timeout`: from then on it is an error that the device is missing [s].

    Its attributes:
    - `reason`: why the driver is not up, for a person; empty: it is, or nobody wants it to be.
    - `connected`: with a device that has answered, for `configure` to take.
    """

    def __init__(self, node: Any, namespace: str, connect_timeout: float) -> None:
        self._node, self._namespace, self._timeout = node, namespace, connect_timeout
        self.phase = Phase.OFF
        self.reason = ''
        self.connected: ControlLoop | None = None
        self._timer: Any = None
        self._acting = False
        self._arm = True
        self._since = self._began = self._said = self._next = 0.0
        self._emulator_seen = self._answered = 0.0
        self._calm = 0
        self._last_look = 0.0

    @property
    def pending(self) -> bool:
        """Whether it is going on."""
        return self.phase is not Phase.OFF

    @property
    def found(self) -> bool:
        """Whether the device has answered, and only needs its time."""
        return self.pending and self.connected is not None

    @property
    def text(self) -> str:
        """Why the driver is not up, in full; empty: it is, or nobody wants it to be."""
        if not self.reason:
            return ''
        return f'{self.phase.value}: {self.reason}' if self.pending else self.reason

    @property
    def overdue(self) -> bool:
        """Whether the device has been missing for longer than it may."""
        return self.pending and time.monotonic() - self._began > self._timeout

    def begin(self, arm: bool = True) -> bool:
        """Begin, or go on; whether the driver is up now.

        SoroError: only where a launcher started the driver, which can never come up.
        """
        now = time.monotonic()
        if not self.pending:
            self.phase, self.reason, self._calm = Phase.CONNECTING, '', 0
            self._since = self._began = self._emulator_seen = now
            self._said = self._next = -SAY_PERIOD
        self._arm = arm
        if self._timer is None:
            self._timer = steady_timer(self._node, PERIOD, self.look)
        self._timer.reset()
        self.look()
        return not self.pending and not self.reason

    def cancel(self, why: str = '') -> None:
        """Start nothing any more: a person has stopped the robot, or does it by hand."""
        if self.pending and why:
            self._node.get_logger().warning(
                f'not started by itself any more: {why}; soro stop --clear starts it'
            )
            held = self.release()
            if held is not None:
                held.shutdown()
        self.reason = why if self.pending else ''
        self.phase = Phase.OFF
        if self._timer is not None:
            self._timer.cancel()

    def by_hand(self) -> None:
        """Note a transition: one that is not its own ends it."""
        if not self._acting:
            self.cancel()
            self.reason = ''

    def release(self) -> ControlLoop | None:
        """Hand over the device that has answered."""
        connected, self.connected = self.connected, None
        return connected

    def look(self) -> None:
        """Do what can be done now."""
        now = time.monotonic()
        if not self.pending or now < self._next or ending() or not launcher_lives():
            return
        if self.phase is Phase.CONNECTING and (first := self._node.prepare()):
            self.reason, self._began = first, now  # the device has its time after that
        elif self.phase is Phase.CONNECTING and self._found(now):
            self._acting = True
            try:
                if self._node.trigger_configure() is SUCCESS:
                    self.phase = Phase.ARMING
                elif isinstance(self._node.refusal, DeviceError):
                    self._missing(self._node.refusal, now)
                else:
                    self._give_up(self._node.refusal)
            finally:
                self._acting = False
        if self.phase is Phase.ARMING:
            self._try_to_arm(now)
        if self.pending:
            self._say(time.monotonic())

    def _try_to_arm(self, now: float) -> None:
        if not self._arm:
            self.cancel()
            return
        if not self._node.device_answers:
            self.reason = 'the device was lost; reconnecting'
            return
        self._acting = True
        try:
            if self._node.trigger_activate() is SUCCESS:
                self.cancel()
                return
        finally:
            self._acting = False
        refusal = self._node.refusal
        self.reason = f'not armed: {refusal}'
        if not _passes(refusal):
            self.cancel(self.reason)
            self._node.arm_when_cleared()
        self._next = now + LATER_PERIOD

    def _found(self, now: float) -> bool:
        """Whether the device has answered, is ready, and answers in time."""
        node = self._node
        try:
            if self.connected is None:
                self.connected, self._answered = node.connect(), now
            loop = self.connected
            if not loop.ready():
                self.reason, self._answered = loop.device.not_ready, now
            # A computer that is busy for ever would keep the robot from ever being armed.
            elif self._is_calm(loop) or now - self._answered > self._timeout:
                self.reason = ''
                return True
            else:
                self.reason = 'whether it answers in time is being watched'
        except DeviceError as error:
            self._missing(error, now)
        except SoroError as error:
            self._give_up(error)
        return False

    def _missing(self, error: DeviceError, now: float) -> None:
        self.reason, self._calm = str(error), 0
        self._next = now + (LATER_PERIOD if self.overdue else 0.0)
        if self.connected is not None and not isinstance(error, DeviceTimeout):
            self.release().shutdown()
        if isinstance(error, DeviceInUse) and self.overdue:
            self._give_up(error)
        elif (
            isinstance(error, (DeviceLost, DeviceTimeout))
            and self._node.emulated
            and (pid := launcher()) is not None
        ):
            if emulator_runs(pid, self._namespace):
                self._emulator_seen = now
                self.reason = 'the emulator of this launch is still starting'
            elif now - self._emulator_seen > EMULATOR_GONE:
                self._give_up(f'the emulator of this launch does not run, see above: {error}')

    def _give_up(self, error: BaseException | str) -> None:
        if launcher() is not None:
            self.phase = Phase.OFF
            raise SoroError(f'the driver cannot start: {error}', Code.DEVICE_FAULT)
        self.cancel(str(error))

    def _say(self, now: float) -> None:
        if now - self._said < SAY_PERIOD or not self.reason:
            return
        self._said = now
        waited = now - self._since
        say = self._node.get_logger()
        text = f'{self.phase.value} ({waited:.0f} s): {self.reason}'
        if self.overdue:  # two calls: rclpy lets none change its severity
            say.warning(text)
        else:
            say.info(text)

    def _is_calm(self, loop: ControlLoop) -> bool:
        """Whether the device has answered in time for a while.

        The nodes of a robot start together. While they load, a small machine may keep driver and
        device waiting longer than the feedback may be old; a robot armed then would be lost at
        once, and must not come back by itself.
        """
        patience = CALM_SHARE * loop.settings.feedback_timeout
        begin = time.monotonic()
        late = begin - self._last_look > PERIOD + patience
        loop.device.read()
        slow = time.monotonic() - begin > patience
        self._calm = 0 if late or slow else self._calm + 1
        self._last_look = begin
        return self._calm >= CALM_LOOKS


def _passes(refusal: BaseException | None) -> bool:
    """Whether an arming that was refused may be tried again without a person."""
    if isinstance(refusal, NotAllowed):
        return refusal.code is Code.BUSY
    return isinstance(refusal, (DeviceTimeout, DeviceLost))


def emulator_runs(pid: int, namespace: str) -> bool:
    """Whether a launcher has an emulator for a namespace: it may load for a minute."""
    with suppress(psutil.NoSuchProcess):
        for process in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.Error):  # it has just ended
                words = process.cmdline()
                if f'__ns:={namespace}' in words and any(w.endswith(EMULATOR) for w in words):
                    return True
    return False
