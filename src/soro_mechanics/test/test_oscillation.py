# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A handle that rings is noticed, a hand that moves is not, and slow motors are stable."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import butter, sosfilt, sosfreqz

from soro_mechanics import load_robot
from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.haptics.hand_impedance import HANDS
from soro_mechanics.haptics.linear_loop import resisting_radius, spectral_radius
from soro_mechanics.haptics.oscillation import (
    _section,
    CORNER,
    LOOK,
    NOISE,
    OscillationWatch,
    PATIENCE,
    SLOW,
)
from soro_mechanics.haptics.rendering import rendering_setup
from soro_mechanics.haptics.stable_limits import DELAY, stable_limits
from soro_mechanics.haptics.watch_kernels import AMPLITUDE

PERIOD, LENGTH = 0.002, 0.04


def watched(place, period=PERIOD, axis=0):
    """Return the watch after a motion, and when it acted first [s]."""
    watch = OscillationWatch(period, LENGTH)
    first = None
    for k, step in enumerate(np.diff(place, prepend=place[0])):
        moved = np.zeros(6)
        moved[axis] = step
        watch.update(moved, period)
        first = k * period if watch.slow and first is None else first
    return watch, first


@pytest.mark.timeout(900)  # the first solve compiles the network's kernels
@pytest.mark.parametrize('hand', HANDS)
def test_slow_motors_are_stable_in_every_hand_at_every_stiffness(hand):
    device = HapticDevice(load_robot('haptic_5dof'))
    setup = rendering_setup(PERIOD, device.motor_limits(), 17.0)
    limits = stable_limits(device, setup, hand)
    for d in limits.translations:
        slow = replace(d, smoothing=SLOW)
        assert resisting_radius(slow, limits.resisting, PERIOD, DELAY) < 1.0 + 1e-9
    softest_of = {limits.translations: limits.softest, limits.turns: limits.rotational_softest}
    for directions, softest in softest_of.items():
        for d in directions:
            slow = replace(d, smoothing=SLOW)
            for delay in (DELAY, 6):  # also 10 ms later than over the wire
                for stiffness in np.geomspace(softest, 1e6, 25):
                    assert spectral_radius(slow, stiffness, PERIOD, delay) < 1.0


@pytest.mark.parametrize('period', [0.001, 0.002, 0.004])
def test_the_filters_are_scipys(period):
    found = [[*_section(CORNER, period, turn, True)] for turn in (0.125, 0.375)]
    found.append([*_section(NOISE, period, 0.25, False)])
    mine = np.array([[b0, b1, b2, 1.0, a1, a2] for b0, b1, b2, a1, a2 in found])
    theirs = np.vstack(
        [
            butter(4, CORNER, 'high', fs=1.0 / period, output='sos'),
            butter(2, NOISE, 'low', fs=1.0 / period, output='sos'),
        ]
    )
    np.testing.assert_allclose(sosfreqz(mine)[1], sosfreqz(theirs)[1], atol=1e-9)


@pytest.mark.parametrize('period', [0.001, 0.002, 0.004])
def test_the_watch_filters_a_motion_as_scipy_does(period):
    every = max(1, round(LOOK / period))  # faster loops are looked at every few samples
    place = np.cumsum(1e-4 * np.random.default_rng(4).normal(size=(600, 6)), axis=0)
    watch, found = OscillationWatch(period, 1.0), []
    for moved in np.diff(place, axis=0, prepend=0.0):
        watch.update(moved, period)
        found.append(watch._watched.memory[-1].copy())
    rate = 1.0 / (every * period)
    sections = [
        butter(4, CORNER, 'high', fs=rate, output='sos'),
        butter(2, NOISE, 'low', fs=rate, output='sos'),
    ]
    expected = sosfilt(np.vstack(sections), place[every - 1 :: every], axis=0)
    np.testing.assert_allclose(found[every - 1 :: every], expected, atol=1e-12)


@pytest.mark.parametrize('period', [0.001, PERIOD])
@pytest.mark.parametrize('axis', [0, 2, 4])
@pytest.mark.parametrize('frequency', [7.0, 12.0, 20.0])
def test_ringing_is_noticed_within_six_periods(frequency, axis, period):
    time = np.arange(0.0, 2.0, period)
    scale = LENGTH if axis > 2 else 1.0
    place = 3.0 * AMPLITUDE / scale * np.sin(2.0 * np.pi * frequency * time)
    watch, first = watched(place, period, axis)
    assert watch.slow and first < 6.0 / frequency and watch.episodes == 1


def test_hands_that_move_do_not_ring():
    time = np.arange(0.0, 4.0, PERIOD)
    tapping = 8e-3 * np.sin(2.0 * np.pi * 2.0 * time)
    half = np.maximum(tapping, 0.0)  # against something stiff
    fading = 10e-3 * np.exp(-4.0 * time) * np.sin(2.0 * np.pi * 12.0 * time)
    noise = 0.3e-3 * np.random.default_rng(1).normal(size=time.size)
    for place in (tapping, half, fading, noise, 0.05 * time):
        watch, _ = watched(place)
        assert watch.episodes == 0


def test_it_waits_twice_as_long_when_the_ringing_comes_back():
    def ringing(seconds):
        return 1e-3 * np.sin(2.0 * np.pi * 12.0 * np.arange(0.0, seconds, PERIOD))

    quiet = np.zeros(round((PATIENCE + 1.0) / PERIOD))
    watch, _ = watched(np.concatenate([ringing(1.0), quiet]))
    assert not watch.slow and watch.patience == 2.0 * PATIENCE
    watch, _ = watched(np.concatenate([ringing(1.0), quiet, ringing(1.0), quiet]))
    assert watch.slow and watch.episodes == 2
    watch.reset()
    assert not watch.slow and watch.patience == PATIENCE


def test_a_watch_that_was_reset_is_as_a_new_one():
    def when(watch):
        place = 1e-3 * np.sin(2.0 * np.pi * 12.0 * np.arange(0.0, 1.0, PERIOD))
        for k, step in enumerate(np.diff(place, prepend=0.0)):
            watch.update(np.array([step, 0.0, 0.0, 0.0, 0.0, 0.0]), PERIOD)
            if watch.slow:
                return k
        return None

    before, new = OscillationWatch(PERIOD, LENGTH), OscillationWatch(PERIOD, LENGTH)
    assert when(before) == when(new) is not None
    before.reset()
    assert when(before) == when(OscillationWatch(PERIOD, LENGTH))
