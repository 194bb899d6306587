# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The published experiment that ends a tour of STIFF-FLOP: its pressures, sent and evaluated."""

from __future__ import annotations

from dataclasses import dataclass
import math
import time
from typing import Any

import numpy as np

from soro_cli.demo.journal import Mark, Tour
from soro_cli.demo.pattern import BAR, Stretch, stretches
from soro_cli.demo.recording import RATE, Recording
from soro_cli.robot_choice import RunningRobot
from soro_cli.robot_process import RobotProcess
from soro_msgs.msg import ActuatorCommand
from soro_node.conversions import command_message
from soro_node.user_errors import UserError

LISTENING = 60.0  # s; the planner comes last, and late on a busy computer
REST = 1.5  # s before and after the pressures


@dataclass(frozen=True)
class StretchResult:
    """One row of the summary: maxima and errors of one amplitude."""

    label: str
    bending_model: float
    bending_plant: float
    elongation_model: float
    elongation_plant: float
    position_rmse: float
    pressure_rmse: float


class Player:
    """Publishes targets."""

    def __init__(self, robot: RunningRobot) -> None:
        self._robot = robot
        node = robot.session.node
        self._publisher = node.create_publisher(
            ActuatorCommand, f'{robot.prefix}/target_actuation', 1
        )
        if not robot.session.spin_until(
            lambda: self._publisher.get_subscription_count() > 0, LISTENING
        ):
            raise UserError('the trajectory planner does not listen to target_actuation')

    def send(self, values: Any) -> None:
        """Send one target [SI]."""
        robot = self._robot
        message = command_message(robot.session.node, robot.description.actuators, values)
        self._publisher.publish(message)


def play_experiment(tour: Tour, robot: RunningRobot, process: RobotProcess) -> None:
    """Send the pressures of the experiment and note when each of its stretches was sent."""
    player = Player(robot)
    player.send(np.zeros(3))
    robot.session.spin_until(lambda: False, REST)
    begin, now = time.time(), 0.0
    for stretch in stretches():
        tour.say(f'playing {stretch.label}')
        start = now
        while (now := time.time() - begin) < start + stretch.duration:
            player.send(stretch.pressure(now - start))
            step = math.floor(now * RATE + 1.0) / RATE - now
            robot.session.spin_until(lambda: False, step)
            if not process.running:
                raise UserError(f'the robot ended with {process.process.returncode}')
        tour.marks.append(Mark(stretch, begin + start, begin + now))
    player.send(np.zeros(3))
    robot.session.spin_until(lambda: False, REST)


def evaluate(stretch: Stretch, part: Recording) -> StretchResult:
    """Compare model and plant during one stretch; UserError where the robot did not follow."""
    if not np.isfinite(part.commanded).all():
        raise UserError(f'{stretch.label}: the driver did not follow all the time; see launch.txt')
    follow = float(np.sqrt(np.mean((part.measured - part.commanded) ** 2)))
    if follow > 0.15 * stretch.amplitude * BAR:
        raise UserError(
            f'{stretch.label}: the pressures are {follow / BAR:.2f} bar (RMS) off the command'
        )
    apart = np.linalg.norm(part.model[:, :3] - part.plant[:, :3], axis=1)
    (bending_model, longer_model), (bending_plant, longer_plant) = (
        shape[:, 3:].max(axis=0).tolist() for shape in (part.model, part.plant)
    )
    most = bending_model, bending_plant, longer_model, longer_plant
    return StretchResult(stretch.label, *most, float(np.sqrt(np.mean(apart**2))), follow)
