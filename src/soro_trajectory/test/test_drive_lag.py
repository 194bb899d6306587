# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How late drives follow is found while they move, whatever zeros and noise their sensors have."""

import numpy as np
import pytest

from soro_trajectory.drive_lag import DriveLag

PERIOD = 0.02  # s
RANGES = np.array([2e5, 1e5])


def followed(lag, seconds=8.0, noise=0.0, zero=0.0, speed=1.0):
    """Return what was found of drives of first order that go to and fro, and their last state."""
    found, random = DriveLag(RANGES), np.random.default_rng(3)
    present = 0.4 * RANGES
    for k in range(round(seconds / PERIOD)):
        time = k * PERIOD
        commanded = RANGES * (0.4 + 0.2 * np.sin(speed * np.array([1.3, 2.1]) * time))
        present = present + (1.0 - np.exp(-PERIOD / lag)) * (commanded - present)
        seen = present + RANGES * (zero + noise * random.standard_normal(2))
        found.see(round(1e9 * time) + 10**18, commanded, seen)
    return found, commanded


@pytest.mark.parametrize('lag', [0.08, 0.16, 0.3])
def test_a_lag_is_found_beside_noise_and_a_wrong_zero(lag):
    assert followed(lag)[0].seconds == pytest.approx(lag, abs=0.02)
    assert followed(lag, noise=0.002, zero=0.02)[0].seconds == pytest.approx(lag, rel=0.25)


def test_drives_that_are_not_measured_or_do_not_move_have_none():
    found, commanded = followed(0.001)
    assert found.seconds < 0.01  # what is measured is what was applied
    still, _ = followed(0.2, speed=0.0, noise=0.002, zero=0.05)
    assert still.seconds < 0.05
    before = found.seconds
    for stamp, value in ((10**18, commanded), (2 * 10**18, commanded * np.nan)):
        found.see(stamp, value, value)  # older; nothing was commanded
    assert found.seconds == before
