# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The tracking error of a motion whose lag is known, and the extent that it is related to."""

import math

import numpy as np
import pytest
from soro_mechanics.status import Code
from soro_mechanics.trajectory import SampledPath, schedule
from soro_trajectory.error_record import ErrorRecord
from soro_trajectory.targets import extent_of_workspace

from soro_mechanics import load_robot

SPEED = 0.02
START = 1_700_000_000_000_000_000  # ns


@pytest.fixture
def line():
    poses = np.tile(np.eye(4), (11, 1, 1))
    poses[:, 0, 3] = np.linspace(0.0, 0.1, 11)
    path = SampledPath(poses, poses[:, 0, 3].copy())
    return schedule(path, np.zeros((11, 1)), SPEED, [1.0])


def follow(record, plan, lag):
    """Feed the positions of a robot that is `lag` seconds behind its commands."""
    for k in range(int((plan.duration + 1.0) * 100)):
        t = k * 0.01
        record.add(START + round(t * 1e9), plan.position_at(t - lag))


def test_a_lag_costs_speed_times_lag(line):
    record = ErrorRecord(line, START, 0.0)
    follow(record, line, 0.1)
    mean, rms, peak = record.summary()
    # at the beginning the robot still rests: less than the lag's worth for the first 0.1 s
    assert peak == pytest.approx(0.1 * SPEED, rel=1e-9)
    assert mean == pytest.approx(0.1 * SPEED, rel=0.02)
    assert mean <= rms <= peak


def test_a_compensated_lag_costs_nothing(line):
    record = ErrorRecord(line, START, 0.1)
    follow(record, line, 0.1)
    assert record.summary()[2] < 1e-9


def test_measurements_outside_the_schedule_do_not_count(line):
    record = ErrorRecord(line, START, 0.0)
    assert all(math.isnan(x) for x in record.summary())
    for seconds in (-0.01, line.duration + 0.01):
        record.add(START + round(seconds * 1e9), np.ones(3))
    assert record.latest is None
    record.add(START + 10**9, np.array([SPEED, 0.003, 0.0]))
    assert record.latest.error == pytest.approx(0.003)
    assert record.latest.time == pytest.approx(1.0)


def test_the_path_that_was_taken_is_thinned(line):
    record = ErrorRecord(line, START, 0.0)
    follow(record, line, 0.0)
    path = record.actual_path(50)
    assert 50 <= len(path) <= 101
    assert path[0] == pytest.approx(line.position_at(0.0))
    assert ErrorRecord(line, START, 0.0).actual_path(50).shape == (0, 3)


def test_the_extent_is_what_the_corners_reach():
    robot = load_robot('spatial_cc')
    low, high = robot.limits.T
    extent = extent_of_workspace(robot)
    rng = np.random.default_rng(0)
    tips = np.array([robot.forward(a).tip[:3, 3] for a in rng.uniform(low, high, (300, 3))])
    inside = max(np.linalg.norm(tips - p, axis=1).max() for p in tips)
    assert inside < 1.2 * extent  # corners are not the whole story, but most of it
    assert extent < 2.0 * np.linalg.norm(tips, axis=1).max()


def test_limits_whose_corners_have_no_shape_are_drawn_in():
    robot = load_robot('pam_continuum')
    low, high = robot.limits.T
    assert robot.forward(np.where(np.arange(30) % 4, low, high)).status.code is not Code.NONE
    # It hangs, 1 m long, and bends to either side.
    assert 1.2 < extent_of_workspace(robot) < 2.0
