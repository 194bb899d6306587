# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Strips that slide: their dead band is found, and undone while they move."""

import numpy as np
import pytest
from strip_reference import apart as contradiction

from soro_mechanics.haptics.flex_fit import fit_sensor, slack
from soro_mechanics.haptics.strip_play import StripPlay
from soro_mechanics.haptics.watch_kernels import CATCH_UP, KNOWN, MOVES, RECENT
from soro_mechanics.haptics.watch_kernels import NOISE as NOISE_BAND
from soro_studies.haptics.as_built import Play

HALF, NOISE, PERIOD = 2e-4, 1e-5, 0.002
OFFSET, GAIN, WIDTH = 1850.0, 4e3, 60.0  # counts, counts/rad, counts


def bending(seed=0, samples=2000):
    """Return smooth rotations of six nodes that turn back and forth."""
    random, time = np.random.default_rng(seed), np.linspace(0.0, 60.0, samples)
    waves = np.sin(random.uniform(0.2, 1.0, (3, 1)) * time + random.uniform(0.0, 6.0, (3, 1)))
    return waves.T @ random.uniform(-0.2, 0.2, (3, 6))


def test_a_strip_stays_within_its_dead_band_and_moves_only_at_its_edges():
    leg = np.cumsum(np.random.default_rng(1).normal(size=(500, 2)), axis=0)
    ahead = slack(leg, np.array([3.0, 0.0]))
    assert np.abs(ahead[:, 0]).max() <= 3.0 and not ahead[:, 1].any()
    strip = leg + ahead
    moved = np.abs(np.diff(strip[:, 0])) > 1e-9
    np.testing.assert_allclose(np.abs(ahead[1:, 0][moved]), 3.0)
    # As another formulation of the same operator has it.
    play = Play(3.0)
    np.testing.assert_allclose(strip[:, 0], [play.follow(x) for x in leg[:, 0]])


@pytest.mark.parametrize('width', [0.0, WIDTH])
def test_a_fit_finds_the_dead_band_and_the_nodes_behind_it(width):
    rotations, play = bending(), Play(width)
    leg = OFFSET + GAIN * (rotations[:, 4] - rotations[:, 1])
    noise = 4.0 * np.random.default_rng(2).normal(size=len(leg))
    counts = np.round([play.follow(x) for x in leg] + noise)
    fit = fit_sensor('flex', rotations, counts)
    assert fit.reasons == ()
    assert fit.play == pytest.approx(width, abs=4.0)
    assert fit.nodes == (1, 4)
    np.testing.assert_allclose(fit.coefficients, [-GAIN, GAIN], rtol=0.02)
    assert fit.rms < 6.0
    assert np.sqrt(np.mean((fit.predict(rotations) - counts) ** 2)) < 6.0


def test_a_strip_that_slides_too_far_is_refused():
    rotations, play = bending(), Play(800.0)
    leg = OFFSET + GAIN * (rotations[:, 4] - rotations[:, 1])
    fit = fit_sensor('flex', rotations, np.array([play.follow(x) for x in leg]))
    assert any('slides' in reason for reason in fit.reasons), fit.reasons


def test_moving_strips_tell_where_their_legs_are_and_resting_ones_that_they_do_not():
    """A leg may go back for a tenth of a second before its strip is seen to rest."""
    random = np.random.default_rng(3)
    strips = StripPlay(np.array([HALF, 0.0]), np.full(2, NOISE))
    play, time = Play(HALF), np.arange(0.0, 12.0, PERIOD)
    legs = 1e-3 * np.stack([np.sin(time) + 0.4 * np.sin(2.7 * time), np.cos(time)], axis=1)
    exact = 0  # samples; a strip that has just stopped counts, for RECENT
    for leg in legs:
        true = np.array([play.follow(leg[:1])[0], leg[1]])
        found = strips.follow(true + NOISE * random.normal(size=2), PERIOD)
        error = np.abs(found - leg)
        assert strips.exact[1] and error[1] < 6.0 * NOISE
        assert error[0] < (12.0 * NOISE if strips.exact[0] else 2.0 * HALF + 8.0 * NOISE)
        # The truth is never contradicted.
        assert np.abs(contradiction(strips, leg)).max() < 12.0 * NOISE
        exact += strips.exact[0]
    assert exact > 0.4 * len(legs)


def test_a_leg_that_goes_back_unseen_is_not_excluded():
    strips = StripPlay(np.array([HALF]), np.array([NOISE]))
    for k in range(200):
        strips.follow(np.array([k * 1e-5]), PERIOD)
    top = strips.elongation.copy()
    assert strips.exact[0] and strips.slack[0] == -HALF
    assert contradiction(strips, top - 2.0 * HALF) == pytest.approx(
        2.0 * HALF
    )  # it would have been seen
    for _ in range(round(2.0 * RECENT / PERIOD)):
        strips.follow(np.array([199e-5]), PERIOD)
    np.testing.assert_array_equal(strips.elongation, top)  # what was seen stays ...
    assert contradiction(strips, top - 2.0 * HALF) == pytest.approx(0.0)  # ... and may be over
    assert strips.unseen[0] > HALF
    assert abs(contradiction(strips, top - 3.0 * HALF)[0]) == pytest.approx(HALF)


def test_every_sample_is_that_of_the_same_operators_on_whole_arrays():
    """Written with numpy: clipped anchors, a slack that is caught up, a way that fades."""
    random, half = np.random.default_rng(5), np.array([HALF, 0.5 * HALF, 0.0])
    strips, deviation = StripPlay(half, np.array([1.0, 2.0, 3.0]) * NOISE), NOISE * np.arange(1, 4)
    anchor, slack, way = np.full(3, np.nan), np.zeros(3), np.zeros(3)
    readings = np.cumsum(NOISE * random.normal(scale=4.0, size=(3000, 3)), axis=0)
    readings[random.uniform(size=readings.shape) < 0.05] = np.nan
    readings[0] = 1e-3, np.nan, 2e-3
    for reading in readings:
        seconds = random.choice([PERIOD, 2.0 * PERIOD])
        found = strips.follow(reading, seconds)
        noise = NOISE_BAND * deviation
        now = np.fmin(np.fmax(anchor, reading - noise), reading + noise)
        moved, anchor = np.nan_to_num(now - anchor), now
        slack = np.clip(slack - CATCH_UP * moved, -half, half)
        way = max(0.0, 1.0 - seconds / RECENT) * way + np.abs(moved)
        way = np.minimum(way, KNOWN * deviation)
        exact = ((np.abs(slack) == half) & (way > MOVES * deviation)) | (half == 0.0)
        np.testing.assert_array_equal(strips.exact, exact)
        np.testing.assert_allclose(strips.slack, slack, atol=1e-15)
        np.testing.assert_allclose(found, reading - slack, atol=1e-15)
        np.testing.assert_allclose(strips.unseen, np.where(exact, 0.0, 2.0 / 3**0.5 * half))


@pytest.mark.parametrize('lost', [np.nan, np.inf])
def test_readings_that_are_missing_do_no_harm(lost):
    strips = StripPlay(np.array([HALF]), np.array([NOISE]))
    strips.follow(np.array([1e-3]), PERIOD)
    for _ in range(2):
        assert not np.isfinite(strips.follow(np.array([lost]), PERIOD)).any()
    assert np.isfinite(strips.follow(np.array([1e-3]), PERIOD)).all()
