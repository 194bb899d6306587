# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Does identification find what is known? One robot with drawn numbers, measured with noise.

A seed draws factors on the robot file's numbers, postures and noise.
`soro_studies.system.identification_study` counts over many seeds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.configuration import Array
from soro_mechanics.identification.defaults import default_parameters
from soro_mechanics.identification.fit import Identification, identify, Observations, predict
from soro_mechanics.identification.parameters import ParameterSpace
from soro_mechanics.numerics.lie import so3_exp
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file

SPREAD = 0.08  # of the drawn factors around 1: larger than what the emulators change
POSITION_NOISE, TURN_NOISE = 0.2e-3, 3e-3  # m, rad: an optical tracker
POSTURES = 30


@dataclass(frozen=True)
class Study:
    """A robot and how far its actuators are driven (share of the range)."""

    robot: str
    model: str
    reach: float


@dataclass(frozen=True)
class Draw:
    """One seed: the truth and what was found."""

    truth: Array
    found: Identification

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Whether each true factor lies in its interval, shape (p,)."""
        return (self.found.low <= self.truth) & (self.truth <= self.found.high)


def space_of(robot: str, model: str) -> ParameterSpace:
    """Return the numbers of a robot of the catalogue that are fitted by default."""
    description = read_robot_file(find_robot_file(robot))
    return ParameterSpace(description, default_parameters(Robot(description, model)))


def draw(study: Study, seed: int, postures: int = POSTURES) -> Draw:
    """Make a robot of known numbers, measure it, identify it."""
    random = np.random.default_rng(seed)
    space = space_of(study.robot, study.model)
    truth = 1.0 + random.uniform(-SPREAD, SPREAD, len(space.names))
    data = measured(space.robot(truth.tolist(), study.model), random, study.reach, postures)
    return Draw(truth, identify(space, study.model, data, seed=seed))


def measured(robot: Robot, random: np.random.Generator, reach: float, count: int) -> Observations:
    """Return noisy postures of a robot without load."""
    low, high = robot.limits.T
    actuation: list[Array] = []
    while len(actuation) < count:
        candidate = low + reach * (high - low) * random.uniform(size=len(low))
        if robot.feasible(candidate):
            actuation.append(candidate)
    clean = Observations(np.array(actuation), np.zeros((count, 4, 4)), np.zeros((count, 6)))
    poses = np.array([q.tip for q in predict(robot, clean)])
    poses[:, :3, 3] += POSITION_NOISE * random.standard_normal((count, 3))
    for pose in poses:
        pose[:3, :3] = pose[:3, :3] @ so3_exp(TURN_NOISE * random.standard_normal(3))
    return Observations(clean.actuation, poses, clean.wrenches)
