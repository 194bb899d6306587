# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A fault that does nothing, or something else than was asked for, is found by its counters."""

from __future__ import annotations

from fault_counts import check_parts, rises
from fault_evidence import safe_after
import numpy as np
import pytest

from soro_emulation.serial_line import counters_of
from soro_stm32_driver.emulator.device import RadioLine

SINCE = 10.0  # s
UNITS = 1000
ASKED = {'loss': 0.1, 'corruption': 0.2, 'repetition': 0.5, 'reordering': 0.1}
PARTS = {'lost': 0.1, 'corrupted': 0.2, 'repeated': 0.5, 'reordered': 0.1}


class Log:
    """A robot of which there is nothing but what its emulator has noted."""

    def __init__(self, *rows: dict[str, int]) -> None:
        times = SINCE - 0.1, SINCE + 1.0
        self.rows = [{'t': t, 'event': 'counters', **r} for t, r in zip(times, rows, strict=True)]

    def events(self, name: str) -> list[dict]:
        return self.rows

    def wait_for(self, condition, timeout, what) -> None:
        assert condition(), what


def carried(**faults: float) -> Log:
    """Return the log of a link that faults were injected into after it had worked before."""
    random = np.random.default_rng(3)
    lines = [RadioLine(115200, random, (0.03, 0.04)) for _ in range(2)]
    rows = []
    for begin, each in ((0, {'loss': 0.5}), (UNITS, faults)):
        for line in lines:
            line.repair()
            line.damage(each)
            for k in range(begin, begin + UNITS):
                line.put(b'\1\2\3\0', 0.1 * k)
                line.leaving(0.1 * k)
        rows.append(counters_of(*lines))
    return Log(*rows)


def test_faults_that_happened_pass_in_every_direction():
    log = carried(**ASKED)
    for lines in ((), ('to_device',), ('to_host',)):
        counts = check_parts(log, SINCE, *lines, **PARTS)
    assert counts['to_host_exposed'] == UNITS  # those of before are none of this fault
    assert counts['to_host_overtaking'] > 0
    assert rises(log, SINCE)['to_host_delayed'] == 0


def test_a_late_link_counts_every_unit():
    assert carried(delay=0.2).rows[1]['to_host_delayed'] == UNITS


@pytest.mark.parametrize('name', PARTS)
def test_a_fault_that_does_nothing_is_found(name):
    with pytest.raises(AssertionError, match='units that a fault can hit'):
        check_parts(carried(), SINCE, **{name: PARTS[name]})
    others = {'loss': 0.3} if name == 'corrupted' else {'corruption': 0.3}
    with pytest.raises(AssertionError, match=f'0 of .* {name}'):
        check_parts(carried(**others), SINCE, **{name: PARTS[name]})


@pytest.mark.parametrize('factor', [0.5, 2.0])
def test_a_fault_of_another_size_is_found(factor):
    with pytest.raises(AssertionError, match='lost'):
        check_parts(carried(loss=0.1 * factor), SINCE, lost=0.1)


def test_a_fault_of_the_supply_is_no_output_of_an_actuator():
    rows = [
        {'event': 'output', 'actuator': 'left', 'pressure': 1e5},
        {'event': 'fault', 'fault': 'supply', 'pressure': 2e4},
        {'event': 'output', 'actuator': 'left', 'pressure': 0.0},
    ]
    assert safe_after([{'t': SINCE + k, **row} for k, row in enumerate(rows)], SINCE) == 2.0
