# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Pressure regulators against closed forms and invariants."""

from __future__ import annotations

import numpy as np
import pytest

from soro_mechanics.actuator_models.regulator import RegulatorBank, RegulatorProperties

BAR = 1e5
IDEAL = RegulatorProperties(time_constant=0.1, flow_limit=1e9, supply=4 * BAR, gain_error=0.0)


def bank(properties=IDEAL, count=2):
    return RegulatorBank(count, properties, np.random.default_rng(0))


@pytest.mark.parametrize('steps', [1, 7, 300])
def test_step_response_is_exponential_whatever_the_steps(steps):
    regulators = bank()
    for _ in range(steps):
        regulators.advance(np.array([BAR, 0.0]), 0.15 / steps)
    assert regulators.pressure == pytest.approx([BAR * (1 - np.exp(-1.5)), 0.0])


def test_a_month_asleep_is_over_at_once():
    regulators = bank()
    regulators.advance(np.array([BAR, 0.0]), 2.6e6)
    assert regulators.pressure == pytest.approx([BAR, 0.0], abs=1e-5)


def test_flow_limit_bounds_the_rate():
    regulators = bank(
        RegulatorProperties(0.01, flow_limit=5 * BAR, supply=4 * BAR, gain_error=0.0)
    )
    regulators.advance(np.array([BAR, BAR]), 0.1)
    assert regulators.pressure == pytest.approx([0.5 * BAR] * 2, rel=1e-6)


def test_no_more_than_the_supply_and_dump_to_the_air():
    regulators = bank()
    regulators.supply = 0.5 * BAR
    regulators.advance(np.array([BAR, BAR]), 5.0)
    assert regulators.pressure == pytest.approx([0.5 * BAR] * 2)
    regulators.supplied = False
    regulators.advance(np.array([BAR, BAR]), 0.06)
    assert regulators.pressure == pytest.approx([0.5 * BAR / np.e] * 2)


def test_leak_in_equilibrium():
    regulators = bank()
    regulators.leak[0] = 10.0
    regulators.advance(np.array([BAR, BAR]), 5.0)
    # (u - p)/tau = leak p, up to the splitting error of steps of 2 ms
    assert regulators.pressure == pytest.approx([BAR / 2.0, BAR], rel=0.02)


def test_blocked_and_stuck_open():
    regulators = bank()
    regulators.advance(np.array([BAR, 0.0]), 2.0)
    regulators.blocked[0] = True
    regulators.stuck_open[1] = True
    regulators.advance(np.zeros(2), 2.0)
    assert regulators.pressure == pytest.approx([BAR, 4 * BAR], rel=1e-6)
    regulators.clear_faults()
    regulators.advance(np.zeros(2), 5.0)
    assert regulators.pressure == pytest.approx([0.0, 0.0], abs=1.0)
