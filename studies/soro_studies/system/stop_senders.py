# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Everybody who may send something to a robot, at any rate, and has not noticed a stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
import time
from typing import Any

from geometry_msgs.msg import PoseStamped
import numpy as np
import rclpy
from rclpy.time import Time

from soro_haptics.environment_messages import object_to_message
from soro_mechanics.haptics.virtual_environment import published_environment
from soro_msgs.msg import ActuatorCommand, TipTarget
from soro_msgs.srv import SetVirtualEnvironment, SolveForward
from soro_node.frames import frames_for
from soro_studies.system.launched_robot import LaunchedRobot
from soro_visualization.robot_requests import RobotRequests

RATES = (0.2, 0.5, 1.0, 1.7, 2.5, 10.0, 50.0, 200.0)  # Hz
STEPS = (0.0, 0.15, 0.4, 3600.0)  # s, by which the stamps of a sender step back after a stop
NEAR = 0.04  # of the range: a raw command that is near enough to be obeyed
WAYS = 5  # of a message: as it should be, and four that are refused
TARGET_KINDS = ('target_actuation', 'target_pose', 'tip_target', 'viewer')
RAW, ENVIRONMENT = 'actuator_command', 'set_environment'


@dataclass
class Stream:
    """Messages of one kind that go on, whatever becomes of the robot.

    Attributes
    ----------
    send : callable
        Gets the number of the message, and which of `WAYS` it is.
    rate : float
        [Hz]
    mixed : bool
        Whether refused messages go between the good ones.
    source : str
        As `ActuatorState.command_source` would name it.
    sent : int
    """

    send: Callable[[int, int], None]
    rate: float
    mixed: bool
    source: str = ''
    sent: int = 0
    due: float = 0.0

    def serve(self, now: float) -> None:
        """Send what is due."""
        if now < self.due:
            return
        self.due = max(self.due + 1.0 / self.rate, now)
        number, self.sent = self.sent, self.sent + 1
        if self.mixed and number % 2:
            self.send(number, 1 + number // 2 % (WAYS - 1))
        else:
            self.send(number, 0)


class Senders:
    """Makes streams to one robot, and keeps those that are on going.

    Parameters
    ----------
    robot : LaunchedRobot
    goals : sequence of list
        Actuations that targets alternate between [SI]; the last one is where raw commands lead.

    Attributes
    ----------
    step : float
        Stamps are this much older than the clock [s].
    on : list of Stream
    """

    def __init__(self, robot: LaunchedRobot, goals: list[list[float]], haptic: bool) -> None:
        self._robot, self._goals = robot, goals
        self.step, self.on = 0.0, []  # type: float, list[Stream]
        session, self._space = robot.session, robot.robot.namespace
        self._node = session.node
        self._actuators = robot.robot.description.actuators
        self._range = np.array([a.maximum - a.minimum for a in self._actuators])
        self._raw = self._node.create_publisher(ActuatorCommand, f'{self._space}/{RAW}', 10)
        self._target = self._node.create_publisher(
            ActuatorCommand, f'{self._space}/target_actuation', 1
        )
        self._environment = self._node.create_client(
            SetVirtualEnvironment, f'{self._space}/haptic_renderer/set_environment'
        )
        if haptic:
            return
        self._pose = self._node.create_publisher(PoseStamped, f'{self._space}/target_pose', 1)
        self._tip = self._node.create_publisher(TipTarget, f'{self._space}/tip_target', 1)
        self._poses = [self._pose_of(goal) for goal in goals]
        context = self._node.context
        self._screen = rclpy.create_node(
            'hand_at_a_screen', namespace=self._space, context=context
        )
        session._executor.add_node(self._screen)  # noqa: SLF001 - of this test's own session
        self._viewer = RobotRequests(
            self._screen,
            robot.robot.description,
            frames_for(self._space),
            lambda shape, text, good, arrived: None,
        )

    def _pose_of(self, goal: list[float]) -> Any:
        service = f'{self._space}/kinematics_solver/solve_forward'
        request = SolveForward.Request(actuation=goal)
        return self._robot.session.call(SolveForward, service, request).configuration.tip

    def make(self, kind: str, rate: float, mixed: bool, name: str = '') -> Stream:
        """Return a stream; it is on with `on.append`."""
        source = f'/prover/{name or kind}_{rate:g}{"_mixed" if mixed else ""}'.replace('.', '_')
        sends: dict[str, Callable[[int, int], None]] = {
            'target_actuation': self._send_target,
            'target_pose': self._send_pose,
            'tip_target': self._send_tip,
            'viewer': self._send_viewer,
            ENVIRONMENT: self._send_environment,
            RAW: lambda number, way: self._send_raw(source, number, way),
        }
        if kind != RAW:
            source = f'{self._space}/trajectory_planner'
        return Stream(sends[kind], rate, mixed, source)

    def serve(self) -> None:
        """Send what is due of all streams."""
        now = time.monotonic()
        for stream in self.on:
            stream.serve(now)

    # One message each ---------------------------------------------------------------------------

    def _stamp(self, way: int) -> Any:
        old = self.step + (STEPS[1 + way % (len(STEPS) - 1)] if way == 1 else 0.0)
        now = self._node.get_clock().now().nanoseconds - int(1e9 * old)
        return Time(nanoseconds=max(now, 0)).to_msg()

    def _command(self, values: Any, source: str, way: int) -> ActuatorCommand:
        """Return a command; `way` 1: old stamp, 2: NaN, 3: too few, 4: beyond all limits."""
        values = [float(x) for x in values]
        names = [a.name for a in self._actuators]
        quantities = [a.quantity_code for a in self._actuators]
        if way == 2:
            values[0] = math.nan
        elif way == 3:
            values = values[:-1]
        elif way == 4:
            values[0] = 1e308
        message = ActuatorCommand(source=source, name=names, quantity=quantities, value=values)
        message.header.stamp = self._stamp(way)
        return message

    def _send_raw(self, source: str, number: int, way: int) -> None:
        """Lead from where the robot is, as an own controller that takes over politely.

        Every other command says that its sender knows of the last stop: that clears none.
        """
        state = self._robot.watch.state
        applied, measured = np.array(state.applied), np.array(state.measured)
        here = np.where(np.isfinite(measured), measured, applied)
        here = np.where(np.isfinite(here), here, [a.rest for a in self._actuators])
        reach = NEAR * self._range
        values = here + np.clip(np.array(self._goals[-1]) - here, -reach, reach)
        message = self._command(values, source, way)
        message.stops = int(state.stops) if number % 2 else 0
        self._raw.publish(message)

    def _send_target(self, number: int, way: int) -> None:
        goal = self._goals[number % len(self._goals)]
        self._target.publish(self._command(goal, self._node.get_fully_qualified_name(), way))

    def _send_pose(self, number: int, way: int) -> None:
        message = PoseStamped(pose=self._poses[number % len(self._poses)])
        message.header.stamp = self._stamp(way)
        if way == 2:
            message = PoseStamped()
            message.pose.position.x = math.nan
        elif way == 3:
            message.header.frame_id = 'nowhere'
        elif way == 4:
            message = PoseStamped()
            message.pose.position.z, message.pose.orientation.w = 1e6, 1.0
        self._pose.publish(message)

    def _send_tip(self, number: int, way: int) -> None:
        """Send a target that always knows of the last stop; refused ones carry another count."""
        stops = int(self._robot.watch.state.stops)
        message = TipTarget(source=self._node.get_fully_qualified_name(), stops=stops)
        message.pose = self._poses[number % len(self._poses)]
        message.header.stamp = self._stamp(way)
        if way == 2:
            message.pose = PoseStamped().pose
            message.pose.position.x = math.nan
        elif way == 3:
            message.header.frame_id = 'nowhere'
        elif way:
            message.stops = stops % (2**32 - 1) + way
        self._tip.publish(message)

    def _send_viewer(self, number: int, way: int) -> None:
        """Have the viewer's own code send, slider or tip."""
        if way:
            self._send_target(number, way)
            return
        self._viewer.actuate(np.array(self._goals[number % len(self._goals)]))
        self._viewer.send_waiting()

    def _send_environment(self, number: int, way: int) -> None:
        if not self._environment.service_is_ready():
            return
        kind = ('wall', 'free')[number % 2]
        objects = [object_to_message(o) for o in published_environment(kind, np.eye(4))]
        if way:
            objects[:0] = [object_to_message(published_environment('wall', np.eye(4))[0])]
            objects[0].name = ''
        self._environment.call_async(SetVirtualEnvironment.Request(objects=objects))
