# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The muscle robot's assumptions: published numbers of an airbag, and one point of the circle."""

import numpy as np
import pytest

from soro_studies.emulation.muscle_assumptions import (
    AIRBAG,
    gas_spring,
    Muscles,
    PLANTS,
    play,
    section,
)
from soro_studies.validation.pam_continuum import trajectory

pytestmark = pytest.mark.timeout(900)  # the network in motion is compiled


def test_an_airbag_is_the_published_one():
    assert AIRBAG.capacity == pytest.approx(22.7, rel=0.01)
    assert gas_spring() / 0.1 == pytest.approx(228.0, rel=0.01)


def test_soft_muscles_are_not_where_stiff_ones_are():
    point = trajectory('circle')[:1]
    stiff, soft = (
        play(Muscles(retardation=4.0), point),
        play(Muscles(stretch=gas_spring()), point),
    )
    away = float(np.linalg.norm(point[0] - [0.0, 0.0, 1.0]))
    assert stiff['worst'] < 0.15 * away < 0.9 * away < soft['worst']
    assert stiff['restarts'] == soft['restarts'] == 0
    assert soft['force'] < AIRBAG.capacity < stiff['force']
    page = section({name: stiff for name in PLANTS})
    assert page.count('\n| ') == len(PLANTS) + 1
