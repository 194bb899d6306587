# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The tracking error of a motion whose lag is known, and the extent that it is related to."""

from dataclasses import replace
import math
from types import SimpleNamespace

import numpy as np
import pytest

from soro_mechanics import load_robot, Robot
from soro_mechanics.analysis.trajectory import SampledPath, schedule
from soro_mechanics.core.status import Code
from soro_trajectory.error_record import ErrorRecord, unseen
from soro_trajectory.stream_error import StreamError
from soro_trajectory.targets import extent_of_workspace
from soro_trajectory.track_action import TrackAction

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
    record = ErrorRecord(line, lambda: START, 0.0)
    follow(record, line, 0.1)
    mean, rms, peak = record.summary()
    # at the beginning the robot still rests: less than the lag's worth for the first 0.1 s
    assert peak == pytest.approx(0.1 * SPEED, rel=1e-9)
    assert mean == pytest.approx(0.1 * SPEED, rel=0.02)
    assert mean <= rms <= peak


def test_a_compensated_lag_costs_nothing(line):
    record = ErrorRecord(line, lambda: START, 0.1)
    follow(record, line, 0.1)
    assert record.summary()[2] < 1e-9


def test_measurements_outside_the_schedule_do_not_count(line):
    record = ErrorRecord(line, lambda: START, 0.0)
    assert all(math.isnan(x) for x in record.summary())
    for seconds in (-0.01, line.duration + 0.01):
        record.add(START + round(seconds * 1e9), np.ones(3))
    assert record.latest is None
    record.add(START + 10**9, np.array([SPEED, 0.003, 0.0]))
    assert record.latest.error == pytest.approx(0.003)
    assert record.latest.time == pytest.approx(1.0)


def test_silence_is_the_time_without_a_sample_that_counts(line):
    now = [10.0]
    record = ErrorRecord(line, lambda: START, 0.0, clock=lambda: now[0])
    now[0] = 10.5
    assert record.silence(10.0) == pytest.approx(0.5)  # none came
    record.add(START + 500_000_000, np.zeros(3))
    now[0] = 10.7
    assert record.silence(10.0) == pytest.approx(0.2)
    record.add(START - 3_600_000_000_000, np.zeros(3))  # the clock was set back
    assert record.silence(10.0) == pytest.approx(0.2)


class Held:
    def hold(self, now):
        self.since = now


def guard(record, begin, most=0.005):
    """Look at the error once, as an action does; return what held the robot."""
    stream = Held()
    action = SimpleNamespace(_stream=stream)
    try:
        TrackAction._check_error(action, record, most, begin, 'tip_pose')
    except StreamError as error:
        assert error.code is Code.TRACKING_ERROR and stream.since
        return str(error)
    assert not hasattr(stream, 'since')
    return ''


@pytest.mark.parametrize('shift', [None, -3600.0, 3600.0])
def test_a_limit_of_the_error_holds_the_robot_when_the_error_is_unknown(line, shift):
    now = [10.0]
    record = ErrorRecord(line, lambda: START, 0.0, clock=lambda: now[0])
    for k in range(100):  # measured well for a second, then no more, or with another clock
        now[0] = 10.0 + 0.01 * k
        record.add(START + round(k * 1e7), line.position_at(0.01 * k))
        assert not guard(record, 10.0)
    for k in range(100, 190):
        now[0] = 10.0 + 0.01 * k
        if shift is not None:
            record.add(START + round((0.01 * k + shift) * 1e9), np.ones(3))
        assert not guard(record, 10.0)
    now[0] = 12.0
    assert 'no tip_pose of this motion for 1.0 s' in guard(record, 10.0)
    assert not guard(record, 10.0, most=0.0)  # nobody asked for a limit


def test_a_limit_of_the_error_holds_the_robot_when_nothing_was_ever_measured(line):
    now = [10.9]
    record = ErrorRecord(line, lambda: START, 0.0, clock=lambda: now[0])
    assert not guard(record, 10.0)
    now[0] = 11.1
    assert 'the error is unknown; holding' in guard(record, 10.0)


def test_a_schedule_without_duration_has_no_error_to_measure(line):
    point = SampledPath(np.eye(4)[None], np.zeros(1))
    record = ErrorRecord(schedule(point, np.zeros((1, 1)), SPEED, [1.0]), lambda: START, 0.0)
    assert not record.expected
    assert ErrorRecord(line, lambda: START, 0.0).expected


@pytest.mark.parametrize('shift', [None, -3600.0, 3600.0])
def test_a_part_of_the_path_that_was_not_measured_is_said(line, shift):
    record, whole = (ErrorRecord(line, lambda: START, 0.0) for _ in range(2))
    for k in range(round(line.duration * 50)):
        whole.add(START + 20_000_000 * k, line.position_at(0.02 * k))
        hidden = k > 50 and shift is None  # by a hand, or the stamps' clock was set
        set_by = shift if k > 50 and shift is not None else 0.0
        if not hidden:
            record.add(START + 20_000_000 * k + round(set_by * 1e9), line.position_at(0.02 * k))
    assert whole.unseen() == ''
    assert record.unseen() == f'not measured: 1.00 to {line.duration:.2f} of {line.duration:.2f} s'
    action = SimpleNamespace(
        _topics=SimpleNamespace(record=record), _extent=0.1, _binding=SimpleNamespace()
    )
    result = SimpleNamespace(error_message='')
    TrackAction._summarise(action, result, 'tip_pose')
    assert 'tip_pose not measured: 1.00 to ' in result.error_message


def test_gaps_count_from_a_second_on_or_a_quarter_of_a_short_motion():
    assert unseen([0.9, 1.8, 2.5], 3.0).startswith('not measured: 0.00 to 0.90, 0.90 to 1.80 of')
    assert unseen([0.9, 1.8, 2.7, 3.6], 4.5) == ''
    assert unseen([3.6, 0.9, 2.9], 4.5) == 'not measured: 0.90 to 2.90 of 4.50 s'
    assert unseen([], 0.0) == ''


def test_the_path_that_was_taken_is_thinned(line):
    record = ErrorRecord(line, lambda: START, 0.0)
    follow(record, line, 0.0)
    path = record.actual_path(50)
    assert 50 <= len(path) <= 101
    assert path[0] == pytest.approx(line.position_at(0.0))
    assert ErrorRecord(line, lambda: START, 0.0).actual_path(50).shape == (0, 3)


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
    description = load_robot('pam_continuum').description
    # Muscles that do not give way: some corners of their limits no backbone can have.
    backbone = replace(description.structure['kirchhoff'], muscle_stiffness=np.inf)
    robot = Robot(replace(description, structure={'kirchhoff': backbone}), 'kirchhoff')
    low, high = robot.limits.T
    assert robot.forward(np.where(np.arange(30) % 4, low, high)).status.code is not Code.NONE
    # It hangs, 1 m long, and bends to either side.
    assert 1.2 < extent_of_workspace(robot) < 2.0
