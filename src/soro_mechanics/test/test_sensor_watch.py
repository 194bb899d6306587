# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Sensors that fail are noticed, given up, and the estimate goes on without them."""

import numpy as np
import pytest

from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.sensing import Sensing, sensing_setup
from soro_mechanics.haptics.sensor_watch import SensorWatch, WatchLimits
from soro_studies.mechanics.linear_device import SpringDevice

ENCODER, SENSOR, COUNT = 1.6e-4, 2e-6, 1e-6
NONE = np.zeros(6, bool)


class Rig:
    def __init__(self, prior=np.inf):
        self.device = SpringDevice()
        start = self.device.held(np.zeros(6), np.zeros(5))
        self.sensing = Sensing(start, sensing_setup(start, ENCODER, SENSOR, prior))
        self.watch = SensorWatch(self.sensing, 0.002)
        self.random = np.random.default_rng(0)

    def step(self, tick, change=lambda raw: raw, faulty=NONE):
        """Sense a hand that pushes to and fro; returns the truth and whether a sensor was lost."""
        force = np.array([1.0, -0.5, 0.7, 0.01, 0.02]) * np.sin(0.02 * tick)
        truth = self.device.held(np.full(6, 0.05 * np.sin(0.013 * tick)), force)
        encoder = truth.angle + ENCODER * self.random.normal(size=6)
        noisy = truth.sensor + SENSOR * self.random.normal(size=6)
        raw = change(np.round(noisy / COUNT))
        sensor = raw * COUNT
        assert self.sensing.update(encoder, sensor) is Code.NONE
        return truth, self.watch.update(raw, faulty, sensor)


def test_nothing_is_given_up_while_all_is_well():
    rig = Rig()
    for tick in range(3000):
        _, lost = rig.step(tick)
        assert not lost
        assert rig.watch.consistent
    assert rig.watch.good.all()
    assert 0.5 < rig.watch.misfit < 2.0


def test_resting_device_is_not_stuck():
    """Equal readings alone mean nothing: a device at rest repeats its counts."""
    rig = Rig()
    state = rig.device.held(np.zeros(6), np.zeros(5))
    for _ in range(500):
        rig.sensing.update(state.angle, state.sensor)
        assert not rig.watch.update(np.zeros(6), NONE, state.sensor)


def test_stuck_sensor_is_given_up_and_the_estimate_recovers():
    rig = Rig(prior=np.array([5.0, 5.0, 5.0, 0.3, 0.3]))
    held = None

    def freeze(raw):
        nonlocal held
        held = raw[2] if held is None else held
        raw[2] = held
        return raw

    lost_at = None
    for tick in range(400):
        truth, lost = rig.step(tick, freeze)
        if lost:
            lost_at = tick
    assert lost_at is not None
    assert lost_at < 60
    np.testing.assert_array_equal(rig.watch.good, np.arange(6) != 2)
    error = rig.sensing.wrench[:5] - truth.force
    deviation = np.sqrt(np.diag(rig.sensing.wrench_covariance)[:5])
    assert np.all(np.abs(error) < 5.0 * deviation)


def test_flagged_and_missing_sensors_go_at_once_down_to_encoders_only():
    rig = Rig(prior=np.array([5.0, 5.0, 5.0, 0.3, 0.3]))
    rig.step(0)
    for index in range(6):
        faulty = np.arange(6) == index
        _, lost = rig.step(index + 1, faulty=faulty)
        assert lost
    assert not rig.watch.good.any()
    truth, _ = rig.step(10)
    # Encoders only: the force is unknown, the motors are not.
    np.testing.assert_allclose(rig.sensing.angle(), truth.angle, atol=5 * ENCODER)
    deviation = np.sqrt(np.diag(rig.sensing.wrench_covariance)[:5])
    np.testing.assert_allclose(deviation, [5.0, 5.0, 5.0, 0.3, 0.3], rtol=1e-3)
    rig.watch.reset()
    assert rig.watch.good.all()
    _, lost = rig.step(11)
    assert not lost


def test_drift_shows_as_contradiction():
    rig = Rig()
    for tick in range(2000):
        rig.step(tick, lambda raw, tick=tick: raw + (np.arange(6) == 4) * 0.2 * tick)
        if not rig.watch.consistent:
            break
    assert not rig.watch.consistent
    assert 0.2 * tick * COUNT < 300 * SENSOR


def test_bad_period():
    device = SpringDevice()
    ports = device.held(np.zeros(6), np.zeros(5))
    sensing = Sensing(ports, sensing_setup(ports, ENCODER, SENSOR))
    with pytest.raises(InvalidInput, match='period'):
        SensorWatch(sensing, 0.0, WatchLimits())


def test_a_moment_of_contradiction_is_forgiven_and_a_lasting_one_is_not():
    rig = Rig(prior=np.array([10.0, 10.0, 10.0, 0.5, 0.5]))
    limits = WatchLimits(misfit=2.0, misfit_time=0.2, loudest=2.2)
    rig.watch = SensorWatch(rig.sensing, 0.002, limits)
    for tick in range(200):
        jump = 1000.0 * (100 <= tick < 110) * (np.arange(6) == 4)
        rig.step(tick, lambda raw, jump=jump: raw + jump)
        assert rig.watch.doubtful == (100 <= tick < 110)
        assert rig.watch.consistent
    for tick in range(200, 225):
        rig.step(tick, lambda raw: raw + 1000.0 * (np.arange(6) == 4))
    assert not rig.watch.consistent


@pytest.mark.parametrize(('share', 'lost'), [(0.98, False), (1.02, True)])
def test_a_reading_that_stands_still_is_stuck_once_the_model_has_moved_far(share, lost):
    rig = Rig()
    limits = WatchLimits(stuck_samples=3, stuck_motion=5.0, misfit=1e9)
    rig.watch = SensorWatch(rig.sensing, 0.002, limits)
    here, there = (rig.device.held(np.zeros(6), f) for f in (np.zeros(5), 0.01 * np.ones(5)))
    moves = (there.sensor - here.sensor)[1]
    there = rig.device.held(np.zeros(6), 0.01 * np.ones(5) * share * 5.0 * SENSOR / abs(moves))
    found = []
    for state in [here, *4 * [there]]:
        rig.sensing.update(state.angle, state.sensor)
        raw = np.where(np.arange(6) == 1, 7.0, state.sensor / COUNT + 1e-3 * len(found))
        found.append(rig.watch.update(raw, NONE, state.sensor))
    assert found == [False, False, False, lost, False]
    np.testing.assert_array_equal(rig.watch.good, (np.arange(6) != 1) | (not lost))


def test_an_elongation_that_is_no_number_is_given_up():
    rig = Rig()
    state = rig.device.held(np.zeros(6), np.zeros(5))
    rig.sensing.update(state.angle, state.sensor)
    assert rig.watch.update(np.zeros(6), NONE, np.where(np.arange(6) == 3, np.nan, state.sensor))
    np.testing.assert_array_equal(rig.watch.good, np.arange(6) != 3)


def test_as_many_sensors_as_a_force_has_directions_contradict_nothing():
    rig = Rig(prior=np.array([5.0, 5.0, 5.0, 0.3, 0.3]))
    rig.step(0, faulty=np.arange(6) == 0)
    for tick in range(1, 400):
        rig.step(tick, lambda raw: raw + 1e5 * (np.arange(6) == 2))
        assert not rig.watch.doubtful
    assert rig.watch.misfit == 1.0
