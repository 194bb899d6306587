# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How a calibration moves the motors from pose to pose, and what ends it early."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
import threading
import time

import numpy as np

from soro_flex_calibration.motor_path import MotorPath
from soro_flex_calibration.recording import NO_PAIRS, Recorder
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_msgs.msg import ActuatorState

SEND_PERIOD = 0.02  # s between targets
TELL_EVERY = 10  # targets
STATE_TIMEOUT = 0.5  # s without a state: nothing is moved any more
START_PATIENCE = 3.0  # s for states to be heard
FOLLOW_PATIENCE = 3.0  # s for motors that have fallen behind
FOLLOWED = 0.1  # rad; farther behind than this the path waits
MOVING = 0.9  # of a calibration; solving and fitting are the rest


class GoalEnd:
    """What ends a goal early: `cancelled`, or `ending`, set when the node is deactivated."""

    def __init__(self, cancelled: Callable[[], bool], ending: threading.Event) -> None:
        self._cancelled, self._ending = cancelled, ending

    def check(self) -> None:
        """Raise SoroError where the goal must not go on."""
        if self._cancelled():
            raise SoroError('cancelled; the motors stay where they are', Code.CANCELED)
        if self._ending.is_set():
            raise SoroError('the node was deactivated', Code.NOT_ACTIVE)

    def wait(self, duration: float) -> None:
        """Wait for a duration [s]; a deactivation ends that."""
        self._ending.wait(duration)


class MotorWatch:
    """The newest state of the motors, and whether a calibration may go on with it."""

    def __init__(self) -> None:
        self._state, self._at = ActuatorState(), -np.inf
        self.stops: int | None = None  # count that the calibration began with

    def begin(self) -> None:
        """Begin a calibration; a stop from now, or from the first state, on ends it."""
        self.stops = None
        if self.fresh:
            self.stops = self._state.stops

    def take(self, state: ActuatorState) -> None:
        """Take a state that has arrived."""
        if self.stops is None:
            self.stops = state.stops
        self._state, self._at = state, time.monotonic()

    @property
    def angles(self) -> Array:
        """As measured, shape (m,) [rad]; NaN where they are not known."""
        return np.array(self._state.measured)

    @property
    def fresh(self) -> bool:
        """Whether a state has arrived just now."""
        return time.monotonic() - self._at <= STATE_TIMEOUT

    def check(self) -> None:
        """Raise SoroError where nothing may be moved any more."""
        if not self.fresh:
            raise SoroError('actuator_state has stopped; is the robot running?', Code.NO_STATE)
        if self._state.device_state != ActuatorState.ACTIVE or self._state.stops != self.stops:
            raise SoroError('not active, or was stopped; see its diagnostics', Code.DEVICE_FAULT)

    def behind(self) -> SoroError:
        """Return the error of motors that do not follow."""
        source = self._state.command_source or 'nobody'
        return SoroError(
            f'the motors do not follow (commanded by {source}); set a free environment '
            '(soro haptics free) and let go of the handle',
            Code.NOT_IN_CONTROL,
        )


@dataclass(frozen=True)
class MotionSettings:
    """How poses are visited."""

    speed: float  #: of the fastest motor [rad/s]
    settle_time: float  #: rest at a pose before its readings [s]
    samples: int  #: readings at each pose
    in_motion: bool  #: readings count between the poses too


@dataclass(eq=False)
class CalibrationMotion:
    """Visits poses and records there, until it is done, cancelled, or the node ends.

    `send` sends motor angles (m,) [rad]; `tell` gets the share of the calibration that is done,
    words, and the index of the pose.
    """

    motors: MotorWatch
    recorder: Recorder
    settings: MotionSettings
    send: Callable[[Array], None]
    end: GoalEnd
    tell: Callable[[float, str, int], None]

    def visit(self, stops: Iterable[Array]) -> None:
        """Go to each pose and record.

        SoroError: the motors do not follow, the device is not active, its states have stopped, or
        the goal must end.
        """
        here, settings = self._wait_for_angles(), self.settings
        stops = list(stops)
        for number, stop in enumerate(stops):
            path = MotorPath(here, stop, settings.speed, settings.settle_time)
            self._follow(path, number, len(stops))
            self._stay(stop)
            here = stop

    def hold(self, seconds: float, words: str) -> None:
        """Hold the motors where they are, for a person to do something."""
        here, end = self._wait_for_angles(), time.monotonic() + seconds
        while time.monotonic() < end:
            self._send_checked(here)
            self.tell(0.0, words, 0)

    def _wait_for_angles(self) -> Array:
        last = time.monotonic() + START_PATIENCE
        while not self.motors.fresh:
            self.end.check()
            if time.monotonic() > last:
                raise SoroError('no actuator_state; is the robot running?', Code.NO_STATE)
            self.end.wait(SEND_PERIOD)
        here = self.motors.angles
        if not np.all(np.isfinite(here)):
            raise SoroError('the motor angles are not known', Code.NO_STATE)
        return here

    def _follow(self, path: MotorPath, number: int, total: int) -> None:
        """Send the path and record in motion; it waits where the motors fall behind."""
        recorder, count, passed = self.recorder, 0, 0.0
        last = followed = time.monotonic()
        while passed < path.duration:
            angle, resting = path.at(passed)
            recorder.record(self.settings.in_motion and not resting)
            self._send_checked(angle)
            now = time.monotonic()
            if np.abs(self.motors.angles - angle).max() < FOLLOWED:
                followed = now
                passed += now - last
            elif now - followed > FOLLOW_PATIENCE:
                raise self.motors.behind()
            last = now
            if count % TELL_EVERY == 0:
                words = f'pose {number + 1} of {total}, {recorder.samples} readings'
                self.tell(MOVING * number / total, words, number)
            count += 1

    def _stay(self, angle: Array) -> None:
        """Record readings at rest."""
        recorder = self.recorder
        recorder.record(True)
        have = recorder.samples
        wanted = have + self.settings.samples
        end = time.monotonic() + FOLLOW_PATIENCE
        while recorder.samples < wanted:
            self._send_checked(angle)
            if recorder.samples > have:
                have, end = recorder.samples, time.monotonic() + FOLLOW_PATIENCE
            elif time.monotonic() > end:
                raise SoroError(f'no {NO_PAIRS}', Code.NO_STATE)

    def _send_checked(self, angle: Array) -> None:
        self.end.check()
        self.motors.check()
        self.send(angle)
        self.end.wait(SEND_PERIOD)
