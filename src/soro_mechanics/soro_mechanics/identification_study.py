# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Does identification find what is known? Robots with drawn numbers, noise, many seeds.

    python -m soro_mechanics.identification_study             # 20 seeds of every study
    python -m soro_mechanics.identification_study stiff_flop --seeds 5

A seed draws factors on the robot file's numbers, postures and noise. It counts as recovered when
every true factor lies in its interval.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.catalogue import find_robot_file
from soro_mechanics.configuration import Array
from soro_mechanics.identification import Identification, identify, Observations, predict
from soro_mechanics.identification_parameters import default_parameters, ParameterSpace
from soro_mechanics.lie import so3_exp
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file import read_robot_file

SPREAD = 0.08  # of the drawn factors around 1: larger than what the emulators change
POSITION_NOISE, TURN_NOISE = 0.2e-3, 3e-3  # m, rad: an optical tracker
POSTURES = 30


@dataclass(frozen=True)
class Study:
    """A robot and how far its actuators are driven (share of the range)."""

    robot: str
    model: str
    reach: float


STUDIES = (
    Study('stiff_flop', 'ncm', 0.6),
    Study('soft_parallel', 'ancf', 0.8), Study('spatial_cc', 'constant_curvature', 0.8),
)  # fmt: skip


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


def main() -> int:
    """Run the studies and print how often the truth lay inside; 1 below 19 of 20."""
    parser = argparse.ArgumentParser(description='Identification against known truth.')
    parser.add_argument('robots', nargs='*', help='default: every study')
    parser.add_argument('--seeds', type=int, default=20)
    arguments = parser.parse_args()
    bad = 0
    for study in STUDIES:
        if arguments.robots and study.robot not in arguments.robots:
            continue
        draws = [draw(study, seed) for seed in range(arguments.seeds)]
        good = sum(bool(d.inside.all()) for d in draws)
        bad += good < 0.95 * len(draws)
        first = draws[0].found
        print(f'{study.robot} {study.model}: {good} of {len(draws)} seeds', flush=True)
        for i, name in enumerate(first.names):
            width = np.median([d.found.high[i] - d.found.factors[i] for d in draws])
            off = np.sqrt(np.mean([(d.found.factors[i] - d.truth[i]) ** 2 for d in draws]))
            print(f'  {name:<20} interval +-{width:6.2%}   error (rms) {off:6.2%}', flush=True)
        times = np.median([d.found.time for d in draws])
        print(f'  {times:.2f} s per fit (median)', flush=True)
    return int(bad > 0)


if __name__ == '__main__':
    raise SystemExit(main())
