# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Identification from recordings of emulated robots whose numbers are known."""

from __future__ import annotations

import os

from emulated_recording import record
import numpy as np
import pytest
from soro_cli.errors import CliError
from soro_cli.recording.identify_postures import held, postures, SETTLING, WINDOW
from soro_mechanics.catalogue import find_robot_file
from soro_mechanics.identification import identify
from soro_mechanics.identification_offsets import Offsets
from soro_mechanics.identification_parameters import default_parameters, ParameterSpace
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file import read_robot_file

# SORO_IDENTIFY_SEEDS=20: as many per robot; docs/recording.md has the result.
SEEDS = int(os.environ.get('SORO_IDENTIFY_SEEDS', '1'))
SPREAD = 0.08  # of the known factors around one
HYSTERESIS = 0.0  # no robot file has a number for it, so there is none to be found
SPEED = 10e-3  # m/s, what the verb takes
ROBOTS = [
    ('soft_parallel', 'ancf', 0.8), ('spatial_cc', 'constant_curvature', 0.8),
    ('stiff_flop', 'ncm', 0.6),
]  # fmt: skip


def space_of(robot: str, model: str) -> ParameterSpace:
    description = read_robot_file(find_robot_file(robot))
    return ParameterSpace(description, default_parameters(Robot(description, model)))


@pytest.mark.timeout(3600 if SEEDS > 1 else 120)
@pytest.mark.parametrize(('robot', 'model', 'reach'), ROBOTS)
def test_known_numbers_lie_in_their_intervals(robot, model, reach):
    space, inside = space_of(robot, model), []
    for seed in range(SEEDS):
        truth = 1.0 + np.random.default_rng(1000 + seed).uniform(-SPREAD, SPREAD, len(space.names))
        run, tip = record(space, model, truth, seed, reach, hysteresis=HYSTERESIS)
        found = identify(space, model, postures(run, tip, SPEED), seed=seed)
        assert found.better
        inside.append(bool(((found.low <= truth) & (truth <= found.high)).all()))
    assert np.mean(inside) >= 0.95, inside


# Which numbers of the file are fitted beside the offsets; sensors and gains are not both told.
OFFSETS = [
    ('spatial_cc', 'constant_curvature', 0.8, (), True, True),
    ('spatial_cc', 'constant_curvature', 0.8, None, False, True),
    ('soft_parallel', 'ancf', 0.8, (), True, True),
    ('stiff_flop', 'ncm', 0.6, (), True, True),
    ('stiff_flop', 'ncm', 0.6, None, False, True),
]  # fmt: skip


@pytest.mark.timeout(3600 if SEEDS > 1 else 240)
@pytest.mark.parametrize(('robot', 'model', 'reach', 'kept', 'sensors', 'marker'), OFFSETS)
def test_known_offsets_lie_in_their_intervals(robot, model, reach, kept, sensors, marker):
    space, inside = space_of(robot, model), []
    if kept is not None:
        space = ParameterSpace(space.description, [p for p in space.parameters if p.name in kept])
    body = Robot(space.description, model)
    names = [a.name for a in body.actuators] if sensors else []
    offsets = Offsets(body, names, marker)
    for seed in range(SEEDS):
        random = np.random.default_rng(2000 + seed)
        truth = 1.0 + random.uniform(-SPREAD, SPREAD, len(space.names))
        known = offsets.scales * random.uniform(0.2, 0.5, len(offsets))
        run, tip = record(
            space, model, truth, seed, reach, hysteresis=HYSTERESIS,
            zeros=known[: offsets.sensors], marker=known[offsets.sensors :],
        )  # fmt: skip
        found = identify(space, model, postures(run, tip, SPEED), offsets=offsets, seed=seed)
        assert found.better
        right = ((found.low <= truth) & (truth <= found.high)).all()
        right &= all(o.low <= x <= o.high for o, x in zip(found.offsets, known, strict=True))
        inside.append(bool(right))
    assert np.mean(inside) >= 0.95, inside


@pytest.fixture(scope='module')
def moving():
    space = space_of('spatial_cc', 'constant_curvature')
    return record(space, 'constant_curvature', np.ones(len(space.names)), 5, 0.8, count=6)


def test_postures_on_the_way_do_not_count(moving):
    run, tip = moving
    commanded = run.states.commanded
    observations = postures(run, tip, SPEED)
    assert len(observations) == 6
    ends = [np.abs(commanded - a).max(axis=1).min() for a in observations.actuation]
    span = np.array([a.maximum - a.minimum for a in run.actuators])
    # At rest a regulator is as far off as its gain, not as far as its lag: 1 %, four deviations.
    assert max(ends) < 0.04 * span.max()


def test_what_is_held_is_told_from_what_is_commanded(moving):
    run, tip = moving
    span = np.array([a.maximum - a.minimum for a in run.actuators])
    resting = held(run.states, tip.time, span, SETTLING)
    for n in np.flatnonzero(resting):
        here = (tip.time >= tip.time[n] - SETTLING) & (tip.time <= tip.time[n])
        assert np.ptp(run.states.commanded[here], axis=0).max() < 0.01 * span.max()
    # Six rests of 1.5 s; each loses the settling time and half a window at both ends.
    assert 0 < resting.sum() * 0.04 <= 6 * (1.5 - SETTLING) + 0.5
    assert WINDOW < SETTLING


def test_a_robot_that_never_rests_is_refused(moving):
    run, tip = moving
    with pytest.raises(CliError, match='never rested'):
        postures(run, tip, SPEED, settling=5.0)
