# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The slowest swing of a robot at rest: what bounds a feedback on its tip."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import SoroError
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.closed_loop import ClosedLoop
from soro_mechanics.robot_file.reader import describe_robot, read_yaml, RobotDescription

RETARDATION = 5e-3  # s (assumed) of all rods, as `dynamics.stepper.Options` has it


class Mode(NamedTuple):
    """Of small motions around the rest."""

    frequency: float  # undamped [Hz]
    damping: float  # part of the critical one


def lowest_mode(description: RobotDescription, gravity: Array) -> Mode | None:
    """Return the lowest mode at rest in a gravity (3,) [m/s^2], actuators held; None without any.

    The frequency is that of the body as a network, whatever models the file names; the damping
    the file's ``control.damping``, else that of an assumed retardation of all stiffness.
    """
    try:
        data = read_yaml(Path(description.file))
        data['models'].setdefault('network', {})  # every body has one
        robot = Robot(describe_robot(data, description.file), 'network')
        robot.gravity = gravity
        q = robot.forward([a.rest for a in robot.actuators])
        frequency = float(robot.network.natural_frequencies(q, 1)[0])
    except (SoroError, AttributeError):  # no equilibrium; schema 1, whose models are a list
        return None
    if not math.isfinite(frequency):  # no mass
        return None
    stated: ClosedLoop = description.structure.get('control', ClosedLoop())
    return Mode(frequency, stated.damping or min(1.0, math.pi * frequency * RETARDATION))
