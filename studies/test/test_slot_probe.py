# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What slots are made of: rows of the probe, and what is said about them."""

import numpy as np

from soro_studies.haptics.slot_probe import (
    COLUMNS,
    SlotProbe,
    slots_by_speed,
    slots_in_words,
    STAGES,
)
from soro_studies.haptics.yardstick import missed_by_speed, SlotGauge


def test_every_slot_gets_a_row_with_the_stages_in_order(tmp_path):
    probe = SlotProbe(tmp_path / 'slots.npy')
    calls = [probe.stamped(lambda: None, stage) for stage in STAGES[1:]]
    step = probe.slot(lambda loop, lateness: [call() for call in calls])
    for _ in range(3):
        step(None, 0.25)
    probe._store()
    table = np.load(tmp_path / 'slots.npy')
    assert table.shape == (3, len(COLUMNS))
    yard = table[:, COLUMNS.index('yard')]
    assert (yard > 0.0).all() and np.allclose(table[:, 0], 0.25 + yard, atol=1e-12)
    assert (np.diff(table[:, 1 : 1 + len(STAGES)], axis=1) >= 0.0).all()
    assert (np.diff(table[:, 1]) > 0.0).all() and (table[:, COLUMNS.index('cpu')] > 0.0).all()


def test_missed_slots_are_counted_and_the_slot_before_them_is_shown():
    period, table = 1e-3, np.zeros((100, len(COLUMNS)))
    table[:, 1] = period * (np.arange(100) + 3 * (np.arange(100) > 50))
    for k in range(1, len(STAGES)):
        table[:, 1 + k] = table[:, 1] + 1e-4 * k
    table[50, len(STAGES)] += 3e-3  # its end
    table[:, COLUMNS.index('yard')] = 5e-6 * np.where(np.arange(100) == 51, 2.0, 1.0)
    words = slots_in_words(table, period)
    assert words.startswith('100 slots, 3 missed (2.913%); 1 longer than the period')
    assert '[0, 3, 0] of [' in words.splitlines()[0]
    assert 'before a miss: 1 slots' in words


def test_a_slot_is_as_slow_as_what_is_near_and_a_missed_one_as_the_ticks_beside_it():
    yard = 4e-6 * np.ones(60)
    yard[30], yard[45] = 8e-6, 4e-5
    place = np.arange(60.0)
    place[10:] += 1  # missed between two ticks of the usual speed
    place[30:] += 2  # before the slow one
    place[46:] += 4  # after the very slow one
    found = missed_by_speed(2e-3 * place + 2e-5 * np.sin(place), yard, 2e-3)
    # Within 5 ms, of 67: the slow one, two after it and the missed ones before; two before the
    # very slow one, and what is missed after it.
    assert found == {'slots': [55, 5, 7], 'missed': [1, 2, 4]}


def test_slots_of_a_time_are_judged_whatever_their_order_in_the_file(tmp_path):
    table = np.zeros((50, len(COLUMNS)))
    table[:, 0] = 1e-4
    table[:, 1] = 1e-3 * np.arange(50) + 1e-4
    table[:, -1] = 5e-6
    np.save(tmp_path / 'slots.npy', np.roll(np.delete(table, (3, 20), 0), 17, axis=0))
    found = slots_by_speed(tmp_path / 'slots.npy', 0.0095, 0.0305, 1e-3)
    assert found == {'slots': [21, 0, 0], 'missed': [1, 0, 0]}


def test_a_gauge_measures_every_slot():
    gauge, begin = SlotGauge(4), 1.0
    assert all(gauge.look(0.0) > 0.0 for _ in range(6))
    found = gauge.since(begin, 10.0)  # four are kept; slots of 10 s: none is missed
    assert sum(found['slots']) == 4 and found['missed'] == [0, 0, 0]
