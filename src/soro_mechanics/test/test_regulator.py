# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Pressure regulators against closed forms and invariants."""

from __future__ import annotations

import numpy as np
import pytest

from soro_mechanics.actuator_models.pneumatics import Valve
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


def valves(count: int = 2, **changes) -> RegulatorBank:
    """Return regulators with valves of 0.2 l/(s bar) and 5 ml behind each."""
    properties = RegulatorProperties(valve=Valve(2e-9), gain_error=0.0, **changes)
    return RegulatorBank(count, properties, np.random.default_rng(1))


def settled(bank: RegulatorBank, setpoint, duration: float = 2.0) -> np.ndarray:
    for _ in range(round(duration / 0.01)):
        bank.advance(np.asarray(setpoint, dtype=float), 0.01)
    return bank.pressure


def test_choked_inflow_fills_a_volume_as_iso_6358_says():
    """Below the critical ratio the mass flow is C rho_0 p_1, whatever is behind it."""
    bank = valves(1)
    bank.advance(np.array([2e5]), 0.002)
    grown = 2e-9 * 1.185 * (4e5 + 101325.0) * 287.05 * 293.15 / 5e-6 * 0.002
    assert bank.pressure[0] == pytest.approx(grown, rel=1e-3)
    assert bank.pressure[0] < 0.3 * (4e5 + 101325.0)  # it was choked all the time


def test_valves_reach_their_set_points_and_open_to_the_air():
    bank = valves()
    bank.advance(np.array([3e4, 2e4]), 2.6e6)  # a month asleep
    np.testing.assert_allclose(bank.pressure, [3e4, 2e4], rtol=1e-6)
    np.testing.assert_allclose(settled(bank, [5e4, 1e5]), [5e4, 1e5], rtol=1e-6)
    bank.supplied = False
    np.testing.assert_allclose(settled(bank, [5e4, 1e5]), 0.0, atol=1.0)


def test_a_blocked_chamber_is_a_gas_spring_and_a_fed_one_is_filled_again():
    bank = valves()
    settled(bank, [5e4, 5e4])
    bank.blocked[0] = True
    bank.fill(np.array([-1e-6, -1e-6]), 0.03)
    for _ in range(3):
        bank.advance(np.array([5e4, 5e4]), 0.01)
    assert bank.pressure[0] + 101325.0 == pytest.approx((5e4 + 101325.0) * 5 / 4)  # Boyle
    assert bank.pressure[1] > 5e4
    kept = bank.pressure[0]
    np.testing.assert_allclose(settled(bank, [5e4, 5e4]), [kept, 5e4], rtol=1e-6)


def test_leaks_stuck_valves_and_repair():
    bank = valves()
    bank.leak[0], bank.stuck_open[1] = 20.0, True
    low, high = settled(bank, [5e4, 5e4])
    assert 0.5 * 5e4 < low < 5e4
    assert high == pytest.approx(bank.supply, rel=1e-3)
    bank.clear_faults()
    np.testing.assert_allclose(settled(bank, [5e4, 5e4]), 5e4, rtol=1e-6)
