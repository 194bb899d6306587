# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a command must pass: whole-message refusal, limits, slew."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from soro_driver.device import Flag
from soro_driver.safety.command_gate import CommandGate, NotNear
from soro_mechanics.core.actuators import Actuator, CoupledLimit
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code

BAR = 1e5
PRESSURE, LENGTH = 1, 2
NAMES = ('a', 'b', 'c')
GOOD = [1.0 * BAR, 0.5 * BAR, 0.0]


@pytest.fixture
def gate(actuators, coupled):
    return CommandGate(actuators, coupled)


def test_values_come_back_in_the_order_of_the_robot(gate):
    checked = gate.check(['c', 'a', 'b'], [PRESSURE] * 3, [3e4, 1e4, 2e4])
    assert checked.tolist() == [1e4, 2e4, 3e4]


@pytest.mark.parametrize(
    ('names', 'quantities', 'values', 'code'),
    [
        (NAMES, [PRESSURE] * 3, [1.0, 2.0], Code.INVALID_SIZE),
        (NAMES[:2], [PRESSURE] * 2, [1.0, 2.0], Code.INVALID_SIZE),
        (NAMES, [PRESSURE] * 2, GOOD, Code.INVALID_SIZE),
        ((), (), (), Code.INVALID_SIZE),
        ((*NAMES, 'd'), [PRESSURE] * 4, [*GOOD, 0.0], Code.INVALID_SIZE),
        (('a', 'b', 'x'), [PRESSURE] * 3, GOOD, Code.UNKNOWN_NAME),
        (('a', 'b', 'b'), [PRESSURE] * 3, GOOD, Code.UNKNOWN_NAME),
        (NAMES, [PRESSURE, LENGTH, PRESSURE], GOOD, Code.OUT_OF_RANGE),
        (NAMES, [PRESSURE] * 3, [0.0, float('nan'), 0.0], Code.NOT_FINITE),
        (NAMES, [PRESSURE] * 3, [0.0, float('inf'), 0.0], Code.NOT_FINITE),
        (NAMES, [PRESSURE] * 3, [0.0, float('-inf'), 0.0], Code.NOT_FINITE),
        (NAMES, [PRESSURE] * 3, [0.0, 1e308, 0.0], Code.OUT_OF_RANGE),
        (NAMES, [PRESSURE] * 3, [0.0, -0.2 * BAR, 0.0], Code.OUT_OF_RANGE),
    ],
)
def test_whole_message_refused(gate, names, quantities, values, code):
    with pytest.raises(InvalidInput) as error:
        gate.check(names, quantities, values)
    assert error.value.code is code


def test_noise_below_zero_passes_and_is_clamped(gate):
    checked = gate.check(NAMES, [PRESSURE] * 3, [-0.01 * BAR, 0.0, 0.0])
    applied, flags = gate.shape(checked, np.zeros(3), 0.01)
    assert applied.tolist() == [0.0, 0.0, 0.0]
    assert flags.tolist() == [Flag.AT_LOWER_LIMIT, 0, 0]


def test_range_is_clamped_and_flagged(gate):
    applied, flags = gate.shape(np.array([1.8 * BAR, 0.0, 0.1 * BAR]), np.zeros(3), 10.0)
    assert applied == pytest.approx([1.5 * BAR, 0.0, 0.1 * BAR])
    assert flags.tolist() == [Flag.AT_UPPER_LIMIT, 0, 0]


def test_coupled_limit_keeps_the_direction(gate):
    applied, flags = gate.shape(np.array([1.5 * BAR, 1.0 * BAR, 0.3 * BAR]), np.zeros(3), 10.0)
    assert applied[0] + applied[1] == pytest.approx(2.0 * BAR)
    assert applied / applied[0] == pytest.approx([1.0, 2 / 3, 0.2])
    assert flags.tolist() == [Flag.AT_UPPER_LIMIT, Flag.AT_UPPER_LIMIT, 0]


def test_slew_is_limited_and_everything_arrives_together(gate):
    applied, flags = gate.shape(np.array([1.0 * BAR, 0.5 * BAR, 0.0]), np.zeros(3), 0.01)
    assert applied == pytest.approx([0.02 * BAR, 0.01 * BAR, 0.0])
    assert flags.tolist() == [Flag.RATE_LIMITED, Flag.RATE_LIMITED, 0]


def test_a_step_of_exactly_the_limit_is_not_flagged(gate):
    applied, flags = gate.shape(np.array([0.02 * BAR, 0.0, 0.0]), np.zeros(3), 0.01)
    assert applied[0] == pytest.approx(0.02 * BAR)
    assert not flags.any()


def test_first_command_must_be_near(gate):
    here = np.array([0.5 * BAR, 0.0, 0.0])
    gate.check_near(np.array([0.6 * BAR, 0.0, 0.0]), here, 0.1)
    with pytest.raises(NotNear, match='b'):
        gate.check_near(np.array([0.5 * BAR, 0.2 * BAR, 0.0]), here, 0.1)


def test_nothing_is_near_an_unknown_state(gate):
    with pytest.raises(NotNear):
        gate.check_near(np.zeros(3), np.array([0.0, np.nan, 0.0]), 0.1)


def test_rest_that_breaks_a_coupled_limit_is_refused():
    actuators = [Actuator('a', 'length', 0.0, 1.0, 1.0, 0.5)]
    with pytest.raises(InvalidInput, match='at rest'):
        CommandGate(actuators, [CoupledLimit('x', np.array([1.0]), 0.2)])


PRESSURES = st.lists(st.floats(-0.01 * BAR, 3.0 * BAR), min_size=3, max_size=3)


@settings(max_examples=200, deadline=None)
@given(PRESSURES, PRESSURES, st.one_of(st.just(0.0), st.floats(1e-4, 1.0)))
def test_invariants_of_shaping(start, target, dt):
    """From a feasible set-point every step is feasible, within the slew, and not past its goal."""
    actuators = tuple(
        Actuator(name, 'pressure', 0.0, 1.5 * BAR, 2 * BAR, 0.0) for name in ('a', 'b', 'c')
    )
    gate = CommandGate(actuators, [CoupledLimit('a + b', np.array([1.0, 1.0, 0.0]), 2.0 * BAR)])
    previous = gate.clamp(np.array(start))
    goal = gate.clamp(np.array(target))
    applied, _ = gate.shape(np.array(target), previous, dt)
    slack = 1e-9 * BAR
    assert np.all(applied >= -slack) and np.all(applied <= 1.5 * BAR + slack)
    assert applied[0] + applied[1] <= 2.0 * BAR + slack
    assert np.all(np.abs(applied - previous) <= 2 * BAR * dt * (1 + 1e-6) + slack)
    assert np.all((applied - previous) * (goal - applied) >= -slack * BAR)


def test_set_points_are_those_of_the_formula(actuators):
    """Range and slew beside arrays, where nothing acts and where something does."""
    gate, random, slewed = CommandGate(actuators), np.random.default_rng(5), 0
    for _ in range(500):
        before = random.uniform(gate.minimum, gate.maximum)
        target = random.uniform(gate.minimum - 0.05 * gate.span, gate.maximum)
        dt, rate = random.choice([0.0, 1e-3, 0.1, 10.0]), random.choice([None, 2.0])
        rate = None if rate is None else rate * gate.rate
        found, flags = gate.shape(target, before, dt, rate)
        inside = np.clip(target, gate.minimum, gate.maximum)
        step = inside - before
        limit = (gate.rate if rate is None else rate) * max(dt, 1e-12)
        excess = (np.abs(step) / limit).max()
        limited = excess > 1.0 + 1e-9
        step = step / excess if limited else step
        assert found.tolist() == (before + step).tolist()
        low = np.where(target < gate.minimum, int(Flag.AT_LOWER_LIMIT), 0)
        turned = np.where(limited & (np.abs(step) > 0.0), int(Flag.RATE_LIMITED), 0)
        assert flags.tolist() == (low | turned).tolist()
        slewed += limited
    assert 100 < slewed < 450


def test_a_clamped_set_point_is_a_copy(actuators):
    gate = CommandGate(actuators)
    given = gate.rest.copy()
    assert gate.clamp(given) is not given
