# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Which measurements are believed, and what is said about the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from soro_driver.device import Fault, Flag, Reading
from soro_driver.safety.plausibility import Plausibility, PlausibilityLimits

BAR = 1e5
PERIOD = 0.01
LIMITS = PlausibilityLimits(
    over_limit_margin=0.1,
    over_limit_for=0.05,
    sensor_for=0.05,
    frozen_for=0.5,
    follow_time_constant=0.1,
    follow_tolerance=0.15,
    follow_for=0.3,
)


class Rig:
    """Feeds readings of regulators with a lag of 80 ms and seeded noise."""

    def __init__(self, actuators, limits=LIMITS):
        self.checks = Plausibility(actuators, limits)
        self.now = 0.0
        self.pressure = np.zeros(3)
        self.noise = np.random.default_rng(3)
        self.flags = np.zeros(3, np.uint16)

    def run(self, applied, duration, measure=None, armed=True, at_rest=False):
        """Return the findings of a stretch of time."""
        found = []
        for _ in range(round(duration / PERIOD)):
            self.now += PERIOD
            goal = np.asarray(applied, float)
            self.pressure += (1 - np.exp(-PERIOD / 0.08)) * (goal - self.pressure)
            measured = self.pressure + 0.005 * BAR * self.noise.standard_normal(3)
            if measure is not None:
                measured = measure(measured)
            reading = Reading(self.now, measured, goal, self.flags.copy())
            found.append(self.checks.check(reading, armed, at_rest))
        return found


@pytest.fixture
def rig(actuators):
    return Rig(actuators)


def faults(found) -> int:
    return int(np.bitwise_or.reduce([f.faults for f in found]))


def flags(found) -> list[int]:
    return np.bitwise_or.reduce([f.flags for f in found]).tolist()


def test_ten_minutes_of_steps_give_no_alarm(rig):
    steps = np.random.default_rng(5).uniform(0.0, 1.5 * BAR, (1200, 3))
    found = [f for step in steps for f in rig.run(step, 0.5)]
    assert faults(found) == 0
    assert len(found) == 60000


def test_pressure_above_the_limit(rig):
    rig.run([BAR, BAR, 0.0], 1.0)
    start = rig.now
    found = rig.run([BAR, BAR, 0.0], 0.1, lambda p: p + [0.0, 0.7 * BAR, 0.0])
    assert faults(found) & Fault.OVER_LIMIT
    assert flags(found)[1] & Flag.OVER_LIMIT
    first = next(i for i, f in enumerate(found) if f.faults & Fault.OVER_LIMIT)
    assert first * PERIOD == pytest.approx(0.05, abs=PERIOD)
    assert 'b (' in found[first].reason and start > 0.0


def test_one_sample_above_the_limit_is_not_a_fault(rig):
    rig.run([0.0, 0.0, 0.0], 0.5)
    assert faults(rig.run([0.0, 0.0, 0.0], PERIOD, lambda p: p + 2 * BAR)) == 0
    assert faults(rig.run([0.0, 0.0, 0.0], 0.5)) == 0


def test_faulty_sensor(rig):
    rig.flags[2] = Flag.SENSOR_FAULT
    found = rig.run([0.0, 0.0, 0.0], 0.1, lambda p: p * [1, 1, np.nan])
    assert faults(found) == Fault.SENSOR
    assert 'c (' in found[-1].reason


def test_frozen_feedback_while_armed_only(rig):
    frozen = np.array([0.1, 0.2, 0.3]) * BAR
    assert faults(rig.run(frozen, 2.0, lambda p: frozen, armed=False)) == 0
    rig.run(frozen, 0.1)
    found = rig.run(frozen, 1.0, lambda p: frozen)
    assert faults(found) & Fault.FROZEN


@pytest.mark.parametrize(
    ('name', 'measure', 'flag'),
    [
        ('burst', lambda b, p: p * [0.0, 1.0, 1.0], Flag.LEAK),
        ('slow leak', lambda b, p: p * [np.exp(-(b.now - 2.0)), 1.0, 1.0], Flag.LEAK),
        ('supply lost', lambda b, p: p * np.exp(-3.0 * (b.now - 2.0)), Flag.LEAK),
    ],
)
def test_pressure_that_sinks_is_a_leak(rig, name, measure, flag):
    assert faults(rig.run([BAR, 0.0, 0.0], 2.0)) == 0
    found = rig.run([BAR, 0.0, 0.0], 1.0, lambda p: measure(rig, p))
    assert faults(found) == Fault.TRACKING
    assert flags(found)[0] == flag


def test_burst_is_found_within_half_a_second(rig):
    rig.run([BAR, 0.0, 0.0], 2.0)
    found = rig.run([BAR, 0.0, 0.0], 0.5, lambda p: p * [0.0, 1.0, 1.0])
    assert faults(found) & Fault.TRACKING


@pytest.mark.parametrize('goal', [[1.2 * BAR, 0.0, 0.0], [0.0, 0.0, 0.0]])
def test_a_line_that_stands_still_is_blocked(rig, goal):
    held = np.array([0.6 * BAR, 0.0, 0.0])
    rig.run(held, 2.0)
    stuck = 0.6 * BAR
    found = rig.run(
        goal, 1.0, lambda p: p * [0, 1, 1] + [stuck + 0.01 * BAR * rig.noise.random(), 0, 0]
    )
    assert faults(found) == Fault.TRACKING
    assert flags(found)[0] == Flag.BLOCKED


def test_following_is_not_judged_without_a_time_constant(actuators):
    rig = Rig(actuators, PlausibilityLimits())
    rig.run([BAR, 0.0, 0.0], 1.0)
    assert faults(rig.run([BAR, 0.0, 0.0], 2.0, lambda p: p * 0.0)) == 0


# Outputs that are safe -------------------------------------------------------------------------


def test_a_pressure_that_somebody_else_drives_is_found_where_the_outputs_are_safe(rig):
    """As of a second driver on the same cards."""
    assert faults(rig.run(np.zeros(3), 60.0, armed=False, at_rest=True)) == 0
    found = rig.run([0.0, 1.2 * BAR, 0.0], 4.0, armed=False, at_rest=True)
    assert faults(found) == Fault.NOT_AT_REST
    first = next(i for i, f in enumerate(found) if f.faults)
    assert 2.0 < PERIOD * first < 2.3
    assert 'stays up although the outputs are safe' in found[first].reason


@pytest.mark.parametrize('full', [3.0, 10.0, 40.0])
def test_what_is_being_vented_is_no_alarm(rig, full):
    """However slowly: in `full` seconds from the top, with the noise of the sensor."""
    rig.run(np.full(3, 1.5 * BAR), 2.0)
    for left in np.arange(1.0, 0.0, -PERIOD / full):
        assert faults(rig.run(np.full(3, 1.5 * BAR * left), PERIOD, None, False, True)) == 0
    assert faults(rig.run(np.zeros(3), 5.0, armed=False, at_rest=True)) == 0


def test_a_pressure_that_is_not_vented_to_the_end_is_found(rig):
    rig.run(np.full(3, 1.5 * BAR), 2.0)
    found = rig.run([0.6 * BAR, 0.0, 0.0], 4.0, armed=False, at_rest=True)
    assert faults(found) == Fault.NOT_AT_REST


def test_pressures_that_are_commanded_are_not_at_rest(rig):
    assert faults(rig.run(np.full(3, 1.2 * BAR), 10.0)) == 0


def test_each_time_of_rest_is_judged_anew(rig):
    for _ in range(5):
        rig.run(np.full(3, 1.4 * BAR), 2.0)
        assert faults(rig.run(np.zeros(3), 1.9, armed=False, at_rest=True)) == 0


def test_lengths_and_angles_stay_where_they_are():
    from soro_mechanics.robot_file.catalogue import find_robot_file
    from soro_mechanics.robot_file.reader import read_robot_file

    for name in ('pam_continuum', 'haptic_5dof'):
        actuators = read_robot_file(find_robot_file(name)).actuators
        checks = Plausibility(actuators, PlausibilityLimits())
        high = np.array([a.maximum for a in actuators])
        none = np.zeros(len(high), np.uint16)
        for tick in range(500):
            reading = Reading(0.01 * tick, high, high, none.copy())
            assert checks.check(reading, False, True).faults == 0


def test_a_reading_without_anything_to_judge_is_judged_as_any_other(actuators):
    """The quick look at a calm reading finds nothing that the whole judgement would."""
    limits = PlausibilityLimits(over_limit_for=0.03, sensor_for=0.03, frozen_for=0.1)
    angles = [replace(a, quantity='angle', minimum=-1.0, maximum=1.0, rest=0.0) for a in actuators]
    quick, whole = Plausibility(angles, limits), Plausibility(angles, limits)
    whole._calm = lambda reading: False
    random, calm, found = np.random.default_rng(8), 0, 0
    measured, flags = np.zeros(3), np.zeros(3, np.uint16)
    for k in range(4000):
        if random.random() < 0.3:
            measured[random.integers(3)] = random.choice([0.5, -0.5, 1.19, 1.21, -1.3, np.nan])
        if random.random() < 0.2:
            flags[random.integers(3)] = random.choice([0, 0, int(Flag.SENSOR_FAULT), 4])
        if random.random() < 0.1:
            measured, flags = np.zeros(3), np.zeros(3, np.uint16)
        reason = 'said' if random.random() < 0.05 else ''
        reading = Reading(k * PERIOD, measured, measured, flags.copy(), 1 if reason else 0)
        reading.reason = reason
        calm += quick._calm(reading)
        told = [c.check(reading, bool(k % 7), bool(k % 2)) for c in (quick, whole)]
        assert told[0].flags.tolist() == told[1].flags.tolist()
        assert (told[0].faults, told[0].reason) == (told[1].faults, told[1].reason)
        found += bool(told[0].faults)
    assert calm > 500 and found > 500
