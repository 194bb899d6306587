# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The way on which a bench is calibrated."""

from itertools import product

import numpy as np
import pytest

from soro_mechanics.core.errors import InvalidInput
from soro_studies.haptics.virtual_bench import extreme_trajectory


def test_trajectory_visits_every_extreme_once_within_the_speed():
    low, high = np.full(6, -0.5), np.linspace(0.3, 0.8, 6)
    way = extreme_trajectory(low, high, 1.5, 0.01, np.random.default_rng(0))
    assert np.abs(np.diff(way, axis=0)).max() <= 1.5 * 0.01 * (1.0 + 1e-12)
    assert np.all(way >= low - 1e-12)
    assert np.all(way <= high + 1e-12)
    np.testing.assert_allclose(way[0], 0.5 * (low + high))
    np.testing.assert_allclose(way[-1], way[0])
    for corner in product((0, 1), repeat=6):
        target = np.where(corner, high, low)
        assert np.abs(way - target).max(axis=1).min() < 1e-12
    other = extreme_trajectory(low, high, 1.5, 0.01, np.random.default_rng(1))
    assert other.shape != way.shape or np.abs(other - way).max() > 0.1
    with pytest.raises(InvalidInput, match='maximum'):
        extreme_trajectory(high, low, 1.0, 0.01, np.random.default_rng(0))
