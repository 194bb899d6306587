# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One stamp per measurement: whatever lies between measuring and publishing, none steps back."""

import time

import numpy as np
from rclpy.clock import ROSClock

from soro_node.measurement_clock import CLOSE, MeasurementClock, SECOND

WALL = 1_700_000_000 * SECOND
PERIOD = 2_000_000  # ns


class Clocks:
    """Both clocks of a computer, read one after the other and interrupted now and then."""

    ros_time_is_active = False

    def __init__(self, seed=3):
        self.steady, self.ahead, self.held = 0, WALL, 0
        self._random = np.random.default_rng(seed)

    @property
    def nanoseconds(self):
        self._pass()
        return self.steady + self.ahead

    def now(self):
        return self

    def read_steady(self):
        self._pass()
        return self.steady

    def _pass(self):
        long = self._random.random() < 0.1
        self.steady += int(self._random.integers(100, 3_000_000 if long else 2_000))


def nanoseconds(stamp):
    return stamp.sec * SECOND + stamp.nanosec


def test_stamps_of_a_loop_that_is_interrupted_increase_by_its_periods():
    clocks, said = Clocks(), []
    stamps = MeasurementClock(clocks, said.append, clocks.read_steady)
    found, moments = [], []
    for k in range(3000):
        clocks.steady = max(clocks.steady, k * PERIOD)
        moments.append(clocks.steady)
        found.append(nanoseconds(stamps.stamp(clocks.steady / SECOND)))
    steps = np.diff(found) - np.diff(moments)
    assert np.diff(found).min() > 0
    # The first distance may have been read roughly, where nothing better was to be had.
    assert np.abs(steps).max() <= 2 and said == []
    assert abs(found[-1] - moments[-1] - WALL) <= CLOSE


def test_the_same_measurement_has_the_same_stamp():
    clocks = Clocks()
    stamps = MeasurementClock(clocks, print, clocks.read_steady)
    assert len({nanoseconds(stamps.stamp(0.25)) for _ in range(200)}) == 1


def test_moments_out_of_order_do_not_step_back():
    clocks = Clocks()
    stamps = MeasurementClock(clocks, print, clocks.read_steady)
    assert nanoseconds(stamps.stamp(1.0)) == nanoseconds(stamps.stamp(0.999))


def test_a_wall_clock_that_is_set_is_followed_and_said_once():
    for step in (-SECOND, 128_000_000, -2_000_000):
        clocks, said = Clocks(), []
        stamps = MeasurementClock(clocks, said.append, clocks.read_steady)
        before = nanoseconds(stamps.stamp(1.0))
        clocks.ahead += step
        after = [nanoseconds(stamps.stamp(1.0 + 0.002 * k)) for k in range(200)]
        assert len(said) == 1 and f'{step / SECOND:+.3f} s' in said[0]
        assert abs(after[-1] - before - 199 * PERIOD - step) <= 2 * CLOSE


def test_simulated_time_is_of_the_moment():
    clocks = Clocks()
    clocks.ros_time_is_active = True
    stamps = MeasurementClock(clocks, print, clocks.read_steady)
    first = nanoseconds(stamps.stamp(-1e6))
    assert 0 <= nanoseconds(stamps.stamp(-1e6)) - first < SECOND


def test_the_real_clocks_agree():
    stamps, found = MeasurementClock(ROSClock(), print), []
    for _ in range(2000):
        found.append(nanoseconds(stamps.stamp(time.monotonic())))
    assert np.diff(found).min() >= 0
    assert abs(time.time_ns() - found[-1]) < SECOND
