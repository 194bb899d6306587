# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Which postures of a run are taken: one of each hold, known all the while, after settling."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soro_node.user_errors import UserError
from soro_recording.identify_postures import postures, SETTLING, WINDOW
from soro_recording.identify_tip import Measured
from soro_recording.run_data import Actuation

RATE, HOLD, HOLDS = 100.0, 4.0, 30  # Hz, s, holds of three pressures
RANGE = 1e5  # Pa
SPEED = 10e-3  # m/s
EACH = int(HOLD * RATE)


@dataclass
class Run:
    """Three actuators from hold to hold, and the tip a tracker saw."""

    actuators: tuple
    actuation: Actuation
    tip: Measured
    goals: np.ndarray

    def shapes(self, topic):
        return None

    def hold_of(self, observations):
        """Return to which hold each posture belongs."""
        apart = np.abs(observations.actuation[:, None] - self.goals).max(axis=2)
        return apart.argmin(axis=1)


def made(noise=0.0, commanded=True, holds=HOLDS) -> Run:
    random = np.random.default_rng(4)
    goals = RANGE * random.uniform(size=(holds, 3))
    wanted = np.repeat(goals, EACH, axis=0)
    measured = wanted + noise * RANGE * random.standard_normal(wanted.shape)
    time = np.arange(len(wanted)) / RATE
    turns = Rotation.from_rotvec([0.3, 0.2, 0.0]) * Rotation.from_rotvec(
        3e-3 * random.standard_normal((len(wanted), 3))
    )
    poses = np.hstack([1e-6 * wanted, turns.as_quat()])
    asked = wanted if commanded else np.full_like(wanted, np.nan)
    actuators = tuple(SimpleNamespace(minimum=0.0, maximum=RANGE) for _ in range(3))
    states = Actuation(('a', 'b', 'c'), time, asked, wanted, measured)
    return Run(actuators, states, Measured('tracker', time, poses), goals)


@pytest.mark.parametrize('noise', [0.0, 0.005, 0.01])
def test_a_hold_gives_one_posture_whatever_its_sensors_noise(noise):
    run = made(noise)
    found = run.hold_of(postures(run, run.tip, SPEED))
    assert sorted(found) == list(range(HOLDS))


@pytest.mark.parametrize('noise', [0.0, 0.0005, 0.001])
def test_no_hold_gives_two_where_nothing_is_commanded(noise):
    run = made(noise, commanded=False)
    found = run.hold_of(postures(run, run.tip, SPEED))
    assert len(found) == len(set(found)) > 0.5 * HOLDS


def test_what_the_tracker_did_not_see_is_left_out_and_nothing_else():
    run = made(holds=6)
    run.tip.poses[2 * EACH : 3 * EACH] = np.nan  # one hold unseen
    run.tip.poses[4 * EACH + EACH // 2] = np.nan  # one sample of another
    observations = postures(run, run.tip, SPEED)
    assert sorted(run.hold_of(observations)) == [0, 1, 3, 4, 5]
    assert np.isfinite(observations.poses).all()


def test_a_silent_sensor_is_not_replaced_by_its_set_point():
    run = made(holds=6)
    run.actuation.measured[: 2 * EACH, 1] = np.nan
    run.actuation.applied[:, 1] = 0.0
    observations = postures(run, run.tip, SPEED)
    assert sorted(run.hold_of(observations)) == [2, 3, 4, 5]


def test_a_silent_moment_does_not_end_what_follows_it():
    # Where nothing is commanded either, what is measured tells the holds.
    run = made(holds=6, commanded=False)
    run.actuation.measured[10] = np.nan
    assert sorted(run.hold_of(postures(run, run.tip, SPEED))) == list(range(6))


def test_an_actuator_without_sensor_is_where_it_was_sent():
    run = made(holds=4)
    run.actuation.measured[:, 2] = np.nan
    assert sorted(run.hold_of(postures(run, run.tip, SPEED))) == list(range(4))
    assert run.actuation.source == 'measured and applied'
    assert run.actuation.unmeasured == {'a': 0.0, 'b': 0.0, 'c': 1.0}


def test_what_was_before_the_recording_does_not_count_as_rest():
    run = made(holds=1)
    late = EACH - int((SETTLING + WINDOW) * RATE) + 5  # too little of the hold is recorded
    states = Actuation(
        ('a', 'b', 'c'),
        *(
            x[late:]
            for x in (
                run.actuation.time,
                run.actuation.commanded,
                run.actuation.applied,
                run.actuation.measured,
            )
        ),
    )
    tip = Measured('tracker', run.tip.time[late:], run.tip.poses[late:])
    run.actuation = states
    with pytest.raises(UserError, match='never rested'):
        postures(run, tip, SPEED)
    assert len(postures(run, tip, SPEED, settling=0.5)) == 1


def test_orientations_are_averaged_as_positions_are():
    run = made(holds=6)
    found = Rotation.from_matrix(postures(run, run.tip, SPEED).poses[:, :3, :3])
    off = (found * Rotation.from_rotvec([0.3, 0.2, 0.0]).inv()).magnitude()
    # One sample is off by 5 mrad (three axes of 3), the mean of thirty by 1 mrad.
    assert off.max() < 2e-3
