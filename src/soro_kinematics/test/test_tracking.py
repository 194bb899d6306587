# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Following a stream with warm starts, and comparing models."""

from dataclasses import replace
import math

import numpy as np
import pytest

from soro_kinematics.services import compare
from soro_kinematics.tracking import ConfigurationTracker
from soro_mechanics import load_robot
from soro_mechanics.core.configuration import rotation_angle
from soro_mechanics.core.status import Code, SolverStatus
from soro_mechanics.numerics import lie

ZERO = np.zeros(6)


@pytest.fixture(scope='module')
def robot():
    return load_robot('spatial_cc')


class Stubborn:
    """A robot whose warm starts fail, and cold ones too when `dead`."""

    def __init__(self, robot):
        self.robot = robot
        self.dead = False
        self.guesses = []

    def forward(self, actuation, wrench=None, guess=None):
        self.guesses.append(guess)
        q = self.robot.forward(actuation, wrench)
        code = Code.NOT_CONVERGED if guess is not None or self.dead else Code.NONE
        return replace(q, status=SolverStatus(code, solve_time=0.5))


def test_each_solve_starts_from_the_one_before(robot):
    tracker = ConfigurationTracker(robot)
    assert tracker.latest is None
    for k in range(5):
        q = tracker.solve(np.array([1e4 * k, 0.0, 2e4]), ZERO)
        assert tracker.latest is q
        assert q.tip == pytest.approx(robot.forward([1e4 * k, 0.0, 2e4]).tip, abs=1e-9)
    assert tracker.cold_starts == 0


def test_a_failed_warm_start_is_tried_cold(robot):
    stubborn = Stubborn(robot)
    tracker = ConfigurationTracker(stubborn)
    first = tracker.solve(np.zeros(3), ZERO)
    second = tracker.solve(np.full(3, 1e4), ZERO)
    assert second.status.code is Code.NONE
    assert stubborn.guesses == [None, first, None]
    assert tracker.cold_starts == 1
    assert tracker.last_time == 1.0  # both attempts


@pytest.mark.parametrize('from_rest', [Code.NONE, Code.UNSTABLE, Code.NOT_CONVERGED])
def test_a_branch_that_became_unstable_is_left_for_a_stable_one(robot, from_rest):
    class Buckling:
        """A robot that is unstable where it goes on from what it was."""

        def __init__(self):
            self.cold = iter([Code.NONE, from_rest])

        def forward(self, actuation, wrench=None, guess=None):
            code = Code.UNSTABLE if guess is not None else next(self.cold)
            return replace(robot.forward(actuation), status=SolverStatus(code, solve_time=0.5))

    tracker = ConfigurationTracker(Buckling())
    tracker.solve(np.zeros(3), ZERO)
    q = tracker.solve(np.full(3, 1e4), ZERO)
    assert q.status.code is (Code.NONE if from_rest is Code.NONE else Code.UNSTABLE)
    assert tracker.latest is q and tracker.cold_starts == 1 and tracker.last_time == 1.0


def test_what_did_not_converge_is_no_start_for_the_next(robot):
    stubborn = Stubborn(robot)
    tracker = ConfigurationTracker(stubborn)
    first = tracker.solve(np.zeros(3), ZERO)
    stubborn.dead = True
    failed = tracker.solve(np.full(3, 1e4), ZERO)
    assert failed.status.code is Code.NOT_CONVERGED
    assert tracker.latest is first
    assert tracker.last is failed
    stubborn.dead = False
    again = tracker.solve(np.full(3, 1e4), ZERO)
    assert tracker.latest is tracker.last is again


@pytest.mark.parametrize('angle', [0.0, 1e-9, 1e-4, 1.0, math.pi - 1e-7, math.pi])
def test_rotation_angle_is_exact_near_zero_and_pi(angle):
    axis = np.array([1.0, -2.0, 2.0]) / 3.0
    start = lie.so3_exp(np.array([0.3, 0.2, -0.9]))
    # sin of half the angle is flat at pi: half the digits are lost there
    tolerance = 1e-12 if angle < 3.0 else 1e-7
    turned = start @ lie.so3_exp(angle * axis)
    assert rotation_angle(start, turned) == pytest.approx(angle, abs=tolerance)


def moved(q, model, dx, angle=0.0, code=Code.NONE):
    tip = q.tip.copy()
    tip[0, 3] += dx
    tip[:3, :3] = tip[:3, :3] @ lie.so3_exp(np.array([0.0, 0.0, angle]))
    return replace(q, model=model, tip=tip, status=SolverStatus(code))


def test_comparison_names_the_pair_that_is_farthest_apart(robot):
    q = robot.forward([1e4, 0.0, 0.0])
    result = compare([moved(q, 'a', 0.0), moved(q, 'b', 0.001, 0.2), moved(q, 'c', -0.002)])
    assert result.position_spread == pytest.approx(0.003)
    assert result.orientation_spread == pytest.approx(0.2)
    assert result.hint == 'b and c are farthest apart, 3 mm'


def test_models_that_failed_are_named_and_left_out(robot):
    q = robot.forward([1e4, 0.0, 0.0])
    bad = moved(q, 'd', 1.0, code=Code.NOT_CONVERGED)
    result = compare([moved(q, 'a', 0.0), moved(q, 'b', 0.001), bad])
    assert result.position_spread == pytest.approx(0.001)
    assert result.hint.endswith('not converged: d')
    alone = compare([moved(q, 'a', 0.0), bad])
    assert math.isnan(alone.position_spread)
    assert 'fewer than two' in alone.hint
    unstable = compare([moved(q, 'a', 0.0), moved(q, 'b', 0.001, code=Code.UNSTABLE)])
    assert unstable.hint.endswith('unstable: b')
