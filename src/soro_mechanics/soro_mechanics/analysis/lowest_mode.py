# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The slowest swing of a robot: what bounds a feedback on its tip."""

from __future__ import annotations

from contextlib import suppress
import math
from typing import NamedTuple

import numpy as np

from soro_mechanics.core.configuration import Configuration
from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.closed_loop import ClosedLoop

RETARDATION = 5e-3  # s (assumed) of all stiffness, as `dynamics.stepper.Options` has it
STEP = 0.1  # m/s^2 of gravity
SLOWEST = 0.25  # (assumed) of the frequency at rest: near buckling a model's has no bound


class Mode(NamedTuple):
    """Of small motions around the rest."""

    frequency: float  # undamped [Hz]
    damping: float  # part of the critical one
    compliance: float = math.inf  # of the tip [m/N], where it is softest
    softening: float = 1.0  # that over the material's alone, as far as `damping` contains it

    def at(self, robot: Robot, q: Configuration) -> Mode:
        """Return the mode at a softer equilibrium of the robot; at a stiffer one the same.

        The mass at the tip stays. What pressure and weight take of the stiffness damps still.
        """
        soft, material = _compliances(robot, q)
        if not soft > self.compliance:
            return self
        soft = min(soft, self.compliance / SLOWEST**2)
        slower, softening = math.sqrt(self.compliance / soft), max(1.0, soft / material)
        damping = self.damping * slower * softening / self.softening
        return Mode(slower * self.frequency, damping, soft, softening)


def lowest_mode(robot: Robot) -> Mode | None:
    """Return the lowest mode at rest, actuators held; None where the model has no weight.

    By how far the tip falls in a gravity, omega^2 = g / delta: right for a mass at the tip, and
    below the mode by a fifth where all mass is spread along a uniform beam (Rayleigh). The damping
    is that of the file's ``control.damping``, else of an assumed retardation.
    """
    weighed = Robot(robot.description, robot.model)
    rest, falls, q = robot.description.rest, [], None
    try:
        for push in STEP * np.concatenate([np.eye(3), -np.eye(3)]):
            weighed.gravity = robot.gravity + push
            q = weighed.forward(rest, guess=q)
            if not q.status.converged:
                return None
            falls.append(q.tip[:3, 3])
        soft, material = _compliances(weighed, weighed.forward(rest, guess=q))
    except SoroError:
        return None
    slope = np.linalg.norm(np.subtract(falls[:3], falls[3:]) / (2.0 * STEP), 2)
    if not slope > 1e-9:  # s^2: 5 kHz
        return None
    frequency = 1.0 / (2.0 * math.pi * math.sqrt(slope))
    stated: ClosedLoop = robot.description.structure.get('control', ClosedLoop())
    if stated.damping:
        return Mode(frequency, stated.damping, soft, max(1.0, soft / material))
    return Mode(frequency, min(1.0, math.pi * frequency * RETARDATION), soft)


def _compliances(robot: Robot, q: Configuration) -> tuple[float, float]:
    """Return the largest of the tip [m/N], and that of the material alone, if the model has it."""
    soft = material = float(np.linalg.norm(robot.compliance(q)[:3, :3], 2))
    with suppress(InvalidInput):
        material = float(np.linalg.norm(robot.compliance(q, method='integral')[:3, :3], 2))
    return soft, material
