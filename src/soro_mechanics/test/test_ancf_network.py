# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The published ANCF model against the beam network on the same robot file."""

import numpy as np
import pytest

from soro_mechanics import Code, load_robot

PRESSURES = ([0.0, 0.0, 0.0], [180e3, 0.0, 0.0], [180e3, 180e3, 0.0], [30e3, 120e3, 60e3])


@pytest.mark.parametrize('pressures', PRESSURES)
def test_tips_agree_without_weight(pressures):
    """Compare at the points of the curves, where both read the same lambda(P)."""
    published = load_robot('soft_parallel', model='ancf')
    network = published.with_model('network')
    published.gravity = network.gravity = np.zeros(3)
    one, other = published.forward(pressures), network.forward(pressures)
    assert one.status.code is Code.NONE
    assert other.status.code is Code.NONE
    assert np.linalg.norm(one.tip[:3, 3] - other.tip[:3, 3]) < 0.6e-3
    cosine = 0.5 * (np.trace(one.tip[:3, :3].T @ other.tip[:3, :3]) - 1.0)
    assert np.degrees(np.arccos(min(1.0, cosine))) < 0.7
