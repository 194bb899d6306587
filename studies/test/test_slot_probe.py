# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What slots are made of: rows of the probe, and what is said about them."""

import numpy as np

from soro_studies.haptics.slot_probe import COLUMNS, SlotProbe, slots_in_words, STAGES


def test_every_slot_gets_a_row_with_the_stages_in_order(tmp_path):
    probe = SlotProbe(tmp_path / 'slots.npy')
    calls = [probe.stamped(lambda: None, stage) for stage in STAGES[1:]]
    step = probe.slot(lambda loop, lateness: [call() for call in calls])
    for _ in range(3):
        step(None, 0.25)
    probe._store()
    table = np.load(tmp_path / 'slots.npy')
    assert table.shape == (3, len(COLUMNS))
    assert (table[:, 0] == 0.25).all()
    assert (np.diff(table[:, 1 : 1 + len(STAGES)], axis=1) >= 0.0).all()
    assert (np.diff(table[:, 1]) > 0.0).all() and (table[:, COLUMNS.index('cpu')] > 0.0).all()


def test_missed_slots_are_counted_and_the_slot_before_them_is_shown():
    period, table = 1e-3, np.zeros((100, len(COLUMNS)))
    table[:, 1] = period * (np.arange(100) + 3 * (np.arange(100) > 50))
    for k in range(1, len(STAGES)):
        table[:, 1 + k] = table[:, 1] + 1e-4 * k
    table[50, len(STAGES)] += 3e-3  # its end
    words = slots_in_words(table, period)
    assert words.startswith('100 slots, 3 missed (2.913%); 1 longer than the period')
    assert 'before a miss: 1 slots' in words
