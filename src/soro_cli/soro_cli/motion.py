# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Watches a robot move: what is commanded, what is measured, who is in control, who complains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
import time

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped

from soro_cli.robot_choice import RunningRobot
from soro_msgs.msg import ActuatorState, ControlState
from soro_node.executor.polled_subscriptions import PolledSubscriptions
from soro_node.inputs.driver_constants import STOPPED_BIT
from soro_node.qos import LOSSY

ACTIVE, ESTOP = ActuatorState.ACTIVE, ActuatorState.ESTOP
REFUSAL = 2.0  # s; diagnostics come at 1 Hz
SEEN = 1.0  # s: a measured tip that is older is of a tracker that was lost
STEADY = 0.3  # s within the tolerance before a robot counts as arrived
_STATES = {
    0: 'has no communication with its device',
    1: 'is inactive: `soro stop --clear`; after autostart:=false activate it, see '
    'docs/interfaces.md',
    3: 'was stopped or has lost its commands: look why, then `soro stop --clear`',
    4: 'is in FAULT: find the cause, then `soro stop --clear`',
    5: 'is in ESTOP: `soro estop --release`, then `soro stop --clear`',
}


class MotionWatch:
    """Streams of one robot, from construction to `close`; for its `tips` every state is solved."""

    def __init__(self, robot: RunningRobot, tips: bool = True) -> None:
        self._robot = robot
        self._state: ActuatorState | None = None
        self._tip: list[float] | None = None
        self._turn = [0.0, 0.0, 0.0, 1.0]
        self._measured: tuple[list[float], float] | None = None  # tip, and when it was read
        self._control: ControlState | None = None
        self._complaints: dict[str, str] = {}
        self.cause = ''  # in the driver's words, of the state it is in
        node, space = robot.session.node, robot.prefix
        self._states, self._tips = f'{space}/actuator_state', f'{space}/tip_pose'
        self._inbox = PolledSubscriptions(node)
        self._inbox.open(ActuatorState, self._states, LOSSY)
        self._tracked, self._controls = f'{space}/tip_measured', f'{space}/control_state'
        if tips:
            self._inbox.open(PoseStamped, self._tips, LOSSY)
        self._inbox.open(PoseStamped, self._tracked, LOSSY)
        self._inbox.open(ControlState, self._controls, LOSSY)
        self._diagnostics = node.create_subscription(
            DiagnosticArray, '/diagnostics', self._on_diagnostics, 10
        )

    def close(self) -> None:
        """Stop watching."""
        self._inbox.close_all()
        self._robot.session.node.destroy_subscription(self._diagnostics)

    @property
    def state(self) -> ActuatorState | None:
        """The newest state of the driver."""
        self._state = self._inbox.newest(self._states) or self._state
        return self._state

    @property
    def stopped(self) -> bool:
        """Whether nothing moves the robot before a person has cleared it."""
        return self.state is not None and bool(self.state.faults & STOPPED_BIT)

    @property
    def tip(self) -> list[float] | None:
        """The newest position of the model's tip [m]."""
        message = self._inbox.newest(self._tips)
        if message is not None:
            self._tip = _position(message)
            q = message.pose.orientation
            self._turn = [q.x, q.y, q.z, q.w]
        return self._tip

    @property
    def tip_measured(self) -> list[float] | None:
        """The newest position of the tip that a tracker sees [m]; None where there is none."""
        message, now = self._inbox.newest(self._tracked), time.monotonic()
        if message is not None:
            self._measured = _position(message), now
        known = self._measured is not None and now - self._measured[1] <= SEEN
        return self._measured[0] if known else None

    @property
    def feedback(self) -> bool:
        """Whether the planner corrects the tip by what a tracker sees."""
        self._control = self._inbox.newest(self._controls) or self._control
        return self._control is not None and self._control.control == ControlState.FEEDBACK

    @property
    def measured(self) -> list[float]:
        """Measured actuation in the order of the robot file, the applied one where unmeasured."""
        state = self.state
        values = dict(
            zip(state.name, zip(state.measured, state.applied, strict=True), strict=True)
        )
        pairs = [values[a.name] for a in self._robot.description.actuators]
        return [applied if math.isnan(measured) else measured for measured, applied in pairs]

    @property
    def commanded(self) -> list[float]:
        """Commanded actuation in the order of the robot file; NaN before the first command."""
        state = self.state
        values = dict(zip(state.name, state.commanded, strict=True))
        return [values[a.name] for a in self._robot.description.actuators]

    def ready(self, timeout: float) -> bool:
        """Wait for the first state and tip."""
        return self._robot.session.spin_until(
            lambda: self.state is not None and self.tip is not None, timeout
        )

    def wait(self, near: Callable[[], bool], timeout: float) -> bool:
        """Wait until a condition has held for `STEADY`; whether it has within the time."""
        since: list[float] = []

        def steady() -> bool:
            if not near():
                since.clear()
                return False
            if not since:
                since.append(time.monotonic())
            return time.monotonic() - since[0] >= STEADY

        return self._robot.session.spin_until(steady, timeout)

    @property
    def refusal(self) -> str:
        """What the planner says about the last target, when it refused it."""
        said = self._complaints.get(f'{self._robot.prefix}/trajectory_planner: target', '')
        return self.with_cause(said) if said.startswith('refused') else ''

    def with_cause(self, said: str) -> str:
        """Add to a sentence about the driver what the driver says itself."""
        return f'{said} ({self.cause})' if self.cause and self.cause not in said else said

    def explained(self, said: str) -> str:
        """Wait for what the driver says of its state, and add it."""
        self._robot.session.spin_until(lambda: self.cause, REFUSAL)
        return self.with_cause(said)

    def near_actuation(self, target: Sequence[float], share: float) -> bool:
        """Whether the command has got there and the measurement is within a share of the range."""
        if self.state is None:
            return False
        actuators = self._robot.description.actuators
        both = zip(actuators, target, self.commanded, self.measured, strict=True)
        return all(
            abs(commanded - x) <= 1e-3 * (a.maximum - a.minimum)
            and abs(measured - x) <= share * (a.maximum - a.minimum)
            for a, x, commanded, measured in both
        )

    def distance(self, position: Sequence[float]) -> float:
        """Return how far the tip is from a position [m]: the measured one under feedback."""
        measured = self.tip_measured if self.feedback else None
        tip = measured or self.tip
        return math.inf if tip is None else math.dist(tip, position)

    def turned(self, quaternion: Sequence[float], task: int) -> float:
        """Return how far the tip is turned from a quaternion x y z w [rad].

        Task 0: not at all, as no orientation is asked for; 1: between the z axes; 2: altogether.
        """
        if task == 0:
            return 0.0
        if self.tip is None:
            return math.inf
        if task == 2:
            product = abs(sum(a * b for a, b in zip(self._turn, quaternion, strict=True)))
            return 2.0 * math.acos(min(1.0, product))
        axes = (_z_axis(self._turn), _z_axis(quaternion))
        return math.acos(max(-1.0, min(1.0, sum(a * b for a, b in zip(*axes, strict=True)))))

    def reasons(self) -> list[str]:
        """Say why a robot may not have arrived."""
        state = self.state
        if state is None:
            return ['the driver publishes no actuator_state; is it running?']
        told = 3 if self.stopped and state.device_state in (1, 2) else state.device_state
        found = [f'the driver {_STATES[told]}'] if told in _STATES else []
        source = state.command_source
        planner = f'{self._robot.prefix}/trajectory_planner'
        if source and source != planner:
            found.append(f'{source} is in control')
        return found + [f'{who}: {what}' for who, what in self._complaints.items()]

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if not status.name.startswith(self._robot.prefix + '/'):
                continue
            details = {entry.key: entry.value for entry in status.values}
            reason = details.get('reason', '')
            if status.name.endswith(': device'):
                self.cause = reason
            if status.level[0] > 0:
                self._complaints[status.name] = f'{status.message} {reason}'.rstrip()
            else:
                self._complaints.pop(status.name, None)


def _z_axis(quaternion: Sequence[float]) -> tuple[float, float, float]:
    x, y, z, w = quaternion
    return 2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)


def _position(message: PoseStamped) -> list[float]:
    p = message.pose.position
    return [p.x, p.y, p.z]
