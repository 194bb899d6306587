# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The slowest swing of a robot at rest: what bounds a feedback on its tip."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from soro_mechanics.core.errors import SoroError
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.closed_loop import ClosedLoop

RETARDATION = 5e-3  # s (assumed) of all stiffness, as `dynamics.stepper.Options` has it
STEP = 0.1  # m/s^2 of gravity


class Mode(NamedTuple):
    """Of small motions around the rest."""

    frequency: float  # undamped [Hz]
    damping: float  # part of the critical one


def lowest_mode(robot: Robot) -> Mode | None:
    """Return the lowest mode at rest, actuators held; None where the model has no weight.

    By how far the tip falls in a gravity, omega^2 = g / delta: right for a mass at the tip, and
    below the mode by a fifth where all mass is spread along a uniform beam (Rayleigh). The damping
    is that of the file's ``control.damping``, else of an assumed retardation.
    """
    weighed = Robot(robot.description, robot.model)
    rest, falls, q = [a.rest for a in robot.actuators], [], None
    try:
        for push in STEP * np.concatenate([np.eye(3), -np.eye(3)]):
            weighed.gravity = robot.gravity + push
            q = weighed.forward(rest, guess=q)
            if not q.status.converged:
                return None
            falls.append(q.tip[:3, 3])
    except SoroError:
        return None
    slope = np.linalg.norm(np.subtract(falls[:3], falls[3:]) / (2.0 * STEP), 2)
    if not slope > 1e-9:  # s^2: 5 kHz
        return None
    frequency = 1.0 / (2.0 * math.pi * math.sqrt(slope))
    stated: ClosedLoop = robot.description.structure.get('control', ClosedLoop())
    return Mode(frequency, stated.damping or min(1.0, math.pi * frequency * RETARDATION))
