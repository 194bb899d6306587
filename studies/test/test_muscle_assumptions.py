# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The muscle robot's assumptions: published numbers of an airbag, and one point of the circle."""

import numpy as np
import pytest

from soro_mechanics.actuator_models.pneumatics import Chamber
from soro_studies.emulation.gas_muscle import GasMuscle
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


def test_a_sealed_muscle_pulls_what_was_published_and_is_a_gas_spring():
    assert AIRBAG.capacity == pytest.approx(22.7, rel=0.01)  # Chen et al. 2022, fig. 4(a)
    assert AIRBAG.pull(0.1, 0.0) == pytest.approx(AIRBAG.capacity)
    assert AIRBAG.sealed_stiffness(0.1, 0.1) == pytest.approx(228.0, rel=1e-3)
    # against the chamber, whose law was written down another way
    chamber = Chamber(np.array([0.1 * AIRBAG.area]))
    chamber.advance(np.zeros_like, 0.1, np.array([0.13 * AIRBAG.area]))
    pressure = AIRBAG.sealed_pressure(0.13, 0.1)
    assert pressure == pytest.approx(chamber.pressure[0])
    for muscle in (AIRBAG, GasMuscle(AIRBAG.area, 1.4, 50.0, 0.09)):
        assert muscle.pull(0.1, muscle.sealed_pressure(0.1, 0.1)) == pytest.approx(0.0, abs=1e-9)

        def pull(length, muscle=muscle):
            return muscle.pull(length, muscle.sealed_pressure(length, 0.1))

        slope = (pull(0.111) - pull(0.109)) / 2e-3
        assert muscle.sealed_stiffness(0.11, 0.1) == pytest.approx(slope, rel=1e-3)
    # fig. 5(b): the stiffness falls with the pressure
    stiffness = AIRBAG.sealed_stiffness(np.linspace(0.08, 0.3, 20), 0.08)
    assert (np.diff(stiffness) < 0.0).all()


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
