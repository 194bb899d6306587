# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Regulators, converters, relay and hysteresis against closed forms and invariants."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from soro_emulation.analog_input import AnalogInputs, AnalogProperties
from soro_emulation.event_log import EventLog, read_events
from soro_emulation.hysteresis import Hysteresis
from soro_emulation.pneumatic_bench import BenchProperties, PneumaticBench
from soro_emulation.regulator import RegulatorBank, RegulatorProperties
from soro_emulation.safety_relay import RelayProperties, SafetyRelay

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


def test_converter_noise_resolution_and_range():
    properties = AnalogProperties(noise=2e-3, range=10.0, bits=12)
    inputs = AnalogInputs(3, properties, np.random.default_rng(1))
    samples = np.array([inputs.convert(np.array([1.0, -5.0, 50.0])) for _ in range(4000)])
    step = 20.0 / 4096
    assert np.allclose(samples / step, np.rint(samples / step))
    assert samples[:, 0].mean() == pytest.approx(1.0, abs=2e-4)
    expected = np.hypot(2e-3, step / np.sqrt(12))  # Sheppard
    assert samples[:, 0].std() == pytest.approx(expected, rel=0.1)
    assert samples[:, 2].max() <= 10.7 + step


def test_converter_faults():
    inputs = AnalogInputs(2, AnalogProperties(), np.random.default_rng(1))
    first = inputs.convert(np.array([1.0, 2.0]))
    inputs.freeze(0)
    inputs.forced[1] = -0.5
    assert inputs.convert(np.array([5.0, 5.0])).tolist() == [first[0], -0.5]
    inputs.clear_faults()
    assert inputs.convert(np.array([5.0, 5.0])) == pytest.approx([5.0, 5.0], abs=0.02)


def test_same_seed_same_numbers():
    def run(seed):
        inputs = AnalogInputs(2, AnalogProperties(), np.random.default_rng(seed))
        return [inputs.convert(np.zeros(2)).tolist() for _ in range(5)]

    assert run(3) == run(3) != run(4)


def test_relay_needs_several_edges_and_drops_out():
    relay = SafetyRelay(RelayProperties(window=0.2, edges=3))
    assert not relay.closed(0.0)
    relay.edge(1.0)
    relay.edge(1.1)
    assert not relay.closed(1.1)
    relay.edge(1.2)
    assert relay.closed(1.4) and not relay.closed(1.401)
    relay.edge(1.5)  # one stray edge after it dropped
    assert not relay.closed(1.5)


def test_largest_opening_of_the_hysteresis_loop():
    loop = Hysteresis(np.array([BAR]), np.zeros(1), 0.03)
    up = [float(loop.apply(np.array([x]))[0]) for x in np.linspace(0.0, BAR, 201)]
    down = [float(loop.apply(np.array([x]))[0]) for x in np.linspace(BAR, 0.0, 201)][::-1]
    assert max(np.array(down) - np.array(up)) == pytest.approx(0.03 * BAR, rel=1e-6)
    again = [float(loop.apply(np.array([x]))[0]) for x in np.linspace(0.0, BAR, 51)]
    assert again[-1] == pytest.approx(up[-1])  # a closed cycle returns


def test_what_rests_is_felt_as_it_is():
    rest = np.array([0.405, -0.1])
    loop = Hysteresis(np.array([0.65, 0.4]), rest, 0.03)
    assert loop.apply(rest) == pytest.approx(rest, abs=1e-15)
    lag = rest + [0.05, -0.05] - loop.apply(rest + [0.05, -0.05])
    assert lag[0] > 0.0 > lag[1]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0.0, BAR), min_size=1, max_size=20), st.integers(1, 5))
def test_hysteresis_does_not_depend_on_speed(path, parts):
    """Rate-independent: more points on the same straight way change nothing."""
    one, many = (Hysteresis(np.array([BAR]), np.zeros(1), 0.05) for _ in range(2))
    before = 0.0
    for x in path:
        a = one.apply(np.array([x]))
        for y in np.linspace(before, x, parts + 1)[1:]:
            b = many.apply(np.array([y]))
        before = x
        assert a == pytest.approx(b)
        assert abs(a[0] - x) <= 0.05 * BAR


def test_bench_drops_the_relay_at_the_right_time_even_when_it_looks_late(tmp_path):
    log = EventLog(str(tmp_path / 'log'))
    properties = BenchProperties(IDEAL, AnalogProperties(), RelayProperties(0.2, 2))
    rig = PneumaticBench(('a',), np.array([BAR]), (3e4, 0.0), properties, 1, log, 10.0)
    for t in (10.0, 10.1, 10.2):
        rig.heartbeat(t)
    rig.command(0, BAR, 10.2)
    assert rig.pressures(10.4)[0] == pytest.approx(BAR * (1 - np.exp(-2.0)), rel=1e-6)
    assert rig.pressures(12.0)[0] < 10.0  # nobody looked for 1.6 s
    relay = read_events(tmp_path / 'log', 'relay')
    assert [(e['t'], e['closed']) for e in relay] == [(10.1, True), (10.4, False)]
    assert [e['pressure'] for e in read_events(tmp_path / 'log', 'output')] == [BAR]
    log.close()


def test_event_log_leaves_out_an_incomplete_line(tmp_path):
    file = tmp_path / 'log'
    file.write_text('{"t": 1, "event": "a"}\n{"t": 2, "ev')
    assert [e['event'] for e in read_events(file)] == ['a']
    assert read_events(tmp_path / 'missing') == []
