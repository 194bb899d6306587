# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Converters, relay and bench against closed forms and invariants."""

from __future__ import annotations

import numpy as np
import pytest

from soro_emulation.analog_input import AnalogInputs, AnalogProperties
from soro_emulation.event_log import EventLog
from soro_emulation.pneumatic_bench import BenchProperties, PneumaticBench
from soro_emulation.safety_relay import RelayProperties, SafetyRelay
from soro_mechanics.actuator_models.pneumatics import Valve
from soro_mechanics.actuator_models.regulator import RegulatorProperties
from soro_rigs.event_log import read_events

BAR = 1e5
IDEAL = RegulatorProperties(time_constant=0.1, flow_limit=1e9, supply=4 * BAR, gain_error=0.0)


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
    inputs.frozen[0] = True
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


def test_a_push_on_the_body_is_felt_behind_a_blocked_valve():
    regulator = RegulatorProperties(valve=Valve(3e-10), gain_error=0.0)
    properties = BenchProperties(regulator, AnalogProperties(), None)
    bench = PneumaticBench(
        ('a', 'b'), np.full(2, BAR), (BAR, 0.0), properties, 1, EventLog(''), 0.0
    )
    bench.fill(np.array([2e-6, 2e-6]), 0.0)
    for index in range(2):
        bench.command(index, 0.5 * BAR, 0.0)
    assert bench.pressures(2.0) == pytest.approx([0.5 * BAR] * 2, rel=1e-4)
    bench.break_channel('blocked', 0, {})
    bench.fill(np.array([1.5e-6, 1.5e-6]), 0.02)
    squeezed, fed = bench.pressures(4.0)
    ambient = 101325.0
    assert squeezed + ambient == pytest.approx((0.5 * BAR + ambient) * 7.0 / 6.5)
    assert fed == pytest.approx(0.5 * BAR, rel=1e-4)
