# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Tables of a muscle against the differential equation that they were drawn from."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from soro_mechanics.core.errors import InvalidInput
from soro_stm32_driver.muscle_curves import MuscleCurve

SUPPLY, VACUUM, FILL, EMPTY = 100.0, -70.0, 4.0, 2.0  # kPa, s
DEAD = FILL * math.log(170.0 / 150.0)  # s until a vented muscle begins to grow
WHOLE = FILL * math.log(170.0 / 50.0)


def length(pressure):
    return 0.08 + 0.04 * np.clip((pressure + 50.0) / 100.0, 0.0, 1.0)


def drawn(knots: int = 60) -> MuscleCurve:
    """Tables of a muscle whose pressure is known in closed form."""
    up = np.concatenate([[0.0], np.linspace(DEAD, WHOLE, knots)])
    down = np.linspace(0.0, EMPTY * math.log(120.0 / 20.0), knots)
    return MuscleCurve(
        up,
        length(SUPPLY + (VACUUM - SUPPLY) * np.exp(-up / FILL)),
        down,
        length(VACUUM + (50.0 - VACUUM) * np.exp(-down / EMPTY)),
    )


def simulated(steps: list[float]) -> float:
    """Integrate the pressure by small Euler steps: inflate positive, deflate negative times."""
    pressure, h = VACUUM, 1e-4
    for seconds in steps:
        for _ in range(round(abs(seconds) / h)):
            goal, tau = (SUPPLY, FILL) if seconds > 0.0 else (VACUUM, EMPTY)
            pressure += h / tau * (goal - pressure)
    return float(length(pressure))


@pytest.mark.parametrize('steps', [[2.0], [3.0, -0.5], [2.5, -0.3, 0.7], [1.0, -0.1, 1.0, -0.4]])
def test_sequences_are_those_of_the_differential_equation(steps):
    curve, state = drawn(), 0.0
    for seconds in steps:
        state = (
            curve.inflated(state, seconds) if seconds > 0.0 else curve.deflated(state, -seconds)
        )
    assert curve.length(state) == pytest.approx(simulated(steps), abs=5e-5)


@given(st.floats(0.0, WHOLE), st.floats(0.081, 0.1195))
def test_the_time_to_a_length_leads_there(state, goal):
    curve = drawn()
    seconds = curve.time_to(state, goal)
    after = curve.inflated(state, seconds) if seconds >= 0.0 else curve.deflated(state, -seconds)
    assert curve.length(after) == pytest.approx(goal, abs=1e-6)


@pytest.mark.parametrize('emptying', [3.0, 5.0, 8.0])
def test_how_far_a_muscle_was_evacuated_is_not_forgotten(emptying):
    curve = drawn()
    state = curve.deflated(curve.inflated(0.0, 2.5), emptying)
    assert curve.length(state) == curve.shortest
    again = curve.inflated(state, 1.5)
    # How quickly it goes on below the shortest length is guessed from the end of the table.
    assert curve.length(again) == pytest.approx(simulated([2.5, -emptying, 1.5]), abs=1e-4)


def test_an_emptied_muscle_is_evacuated_as_venting_does():
    curve = drawn()
    state = curve.inflated(0.0, 1.0)
    seconds = curve.time_to(state, curve.shortest)
    left = curve.deflated(state, -seconds)
    assert 0.0 < left < 0.11 * DEAD
    assert curve.time_to(left, curve.shortest) == pytest.approx(0.0, abs=1e-9)
    assert curve.time_to(0.0, 0.08) == 0.0
    assert curve.time_to(0.0, 0.0801) > DEAD  # the flat beginning costs time


@pytest.mark.parametrize('seconds', [0.02, -0.02])
def test_a_run_up_leaves_a_way_of_the_wanted_length(seconds):
    curve = drawn()
    there = curve.run_up(0.1, seconds)
    assert (there < 0.1) == (seconds > 0.0)
    assert curve.time_to(curve.state(there), 0.1) == pytest.approx(seconds, abs=1e-9)


def test_targets_beyond_the_stroke_are_its_ends():
    curve = drawn()
    assert curve.time_to(0.0, 1.0) == pytest.approx(WHOLE)
    assert curve.inflated(0.0, 100.0) == pytest.approx(WHOLE)


@pytest.mark.parametrize(
    ('change', 'word'),
    [
        ({'inflate_time': [0.1, 1.0, 2.0]}, 'begin at 0'),
        ({'inflate_time': [0.0, 1.0, 1.0]}, 'growing times'),
        ({'inflate_length': [0.08, 0.1, 0.09]}, 'growing lengths'),
        ({'inflate_length': [0.08, 0.08, 0.08]}, 'growing lengths'),
        ({'deflate_length': [0.12, 0.12, 0.08]}, 'falling lengths'),
        ({'deflate_length': [0.12, 0.1, 0.09]}, 'near the shortest'),
        ({'deflate_length': [0.12, math.nan, 0.08]}, 'finite'),
        ({'inflate_length': [0.08, 0.1]}, 'as many lengths'),
    ],
)
def test_tables_that_are_no_curves_are_refused(change, word):
    good = {
        'inflate_time': [0.0, 1.0, 2.0],
        'inflate_length': [0.08, 0.1, 0.12],
        'deflate_time': [0.0, 1.0, 2.0],
        'deflate_length': [0.12, 0.1, 0.08],
    }
    with pytest.raises(InvalidInput, match=word):
        MuscleCurve(**{k: np.array(v) for k, v in {**good, **change}.items()})


def test_a_table_that_grows_in_its_last_interval_only_is_a_line_there():
    muscle = MuscleCurve(
        np.array([0.0, 1.0, 2.0]),
        np.array([0.080, 0.080, 0.095]),
        np.array([0.0, 1.0, 2.0]),
        np.array([0.095, 0.085, 0.080]),
    )
    assert muscle.length(1.5) == pytest.approx(0.0875)
    assert muscle.time_to(1.0, 0.095) == pytest.approx(1.0)
