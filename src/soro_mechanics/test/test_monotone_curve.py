# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Monotone cubics against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator

from soro_mechanics.numerics.monotone_curve import cubic_at, pchip_slopes


@pytest.mark.parametrize('seed', range(8))
@pytest.mark.parametrize('kind', ['rising', 'falling', 'turning'])
def test_it_is_the_curve_of_scipy(seed, kind):
    random = np.random.default_rng(seed)
    x = np.cumsum(random.uniform(0.1, 2.0, 9))
    steps = random.uniform(0.0, 1.0, 9) * (random.uniform(size=9) > 0.2)
    y = {'rising': np.cumsum(steps), 'falling': -np.cumsum(steps), 'turning': steps}[kind]
    at = np.linspace(x[0], x[-1], 200)
    assert cubic_at(x, y, pchip_slopes(x, y), at)[0] == pytest.approx(
        PchipInterpolator(x, y)(at), abs=1e-13
    )


def test_three_points_suffice():
    x, y = np.array([0.0, 1.0, 3.0]), np.array([0.0, 1.0, 1.5])
    at = np.linspace(0.0, 3.0, 50)
    assert cubic_at(x, y, pchip_slopes(x, y), at)[0] == pytest.approx(
        PchipInterpolator(x, y)(at), abs=1e-14
    )
