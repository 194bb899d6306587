# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The study over the wire: what it filters, the hand it asks for, the bare loop beside it."""

import json
import time

import numpy as np
import pytest

from soro_can_driver.emulator.device import read_hand
from soro_mechanics.haptics.hand_impedance import LIGHT_GRIP
from soro_rigs.held_up import undisturbed
from soro_studies.haptics.bare_loop import bare_loop
from soro_studies.haptics.held import AFTER, CONTACT, LOOK
from soro_studies.haptics.live import _components, hand_fault, LiveCell, write_live_page


def test_fast_components_of_uneven_notes_are_found_and_slow_ones_are_not():
    random, begin = np.random.default_rng(1), 100.0
    times = begin + np.cumsum(random.uniform(0.008, 0.012, 300))
    notes = [
        {
            't': t,
            'place': [0.01 * np.sin(2.0 * t) + 5e-4 * np.sin(63.0 * t), 0.0, 0.0, 0.0, 0.0],
            'wrench': [-2.0 + 0.3 * np.sin(1.0 * t), 0.0, 0.1 * np.sin(63.0 * t), 0.0, 0.0, 0.0],
        }
        for t in times
    ]
    assert times[-1] - begin > CONTACT + AFTER + LOOK
    motion, force, _, pressed = _components(notes, begin)
    assert motion == pytest.approx(5e-4, rel=0.15)
    assert force == pytest.approx(0.1, rel=0.15)
    assert 1.6 < pressed < 2.4


def test_the_hand_is_a_light_grip_that_comes_to_its_place_and_stays():
    reach = np.array([0.01, 0.0, -0.02, 0.1, 0.0])
    fault = hand_fault(reach)
    assert fault.pop('fault') == 'hand'
    hand = read_hand(fault, now=50.0)
    np.testing.assert_array_equal(hand.stiffness, LIGHT_GRIP.stiffness)
    np.testing.assert_array_equal(hand.mass, LIGHT_GRIP.mass)
    np.testing.assert_allclose(hand.at(50.0 + 0.5 * CONTACT).place, 0.5 * reach)
    np.testing.assert_allclose(hand.at(60.0).place, reach)
    assert not hand.at(60.0).speed.any()
    assert set(hand_fault(None)) == {'fault'}


@pytest.mark.parametrize('refused', ['', 'no real-time priority: Operation not permitted'])
def test_the_page_claims_no_priority_that_was_refused(tmp_path, refused):
    cell = vars(LiveCell('free', 1e-5, 0.01, 0.01, 0.1, 1000, 0, 0.5))
    kept = {'date': 'today', 'cores': 2, 'priority': 50, 'scheduling': refused, 'cells': [cell]}
    store, page = tmp_path / 'live.json', tmp_path / 'live.md'
    store.write_text(json.dumps(kept), encoding='utf-8')
    write_live_page('haptic_5dof', store, page)
    said = page.read_text(encoding='utf-8')
    assert '**1 of 1**' in said and 'SCHED_FIFO 50' in said
    assert ('asked for, but: no real-time priority' in said) == bool(refused)


@undisturbed
def test_a_bare_loop_counts_every_slot():
    dues = []

    def step(lateness):
        dues.append(time.monotonic() - lateness)

    found = bare_loop(0.5, 0, rate=200.0, step=step)
    # Of this very loop: when its last slot was due, though a busy computer came late with it.
    slots = 200.0 * (dues[-1] - dues[0])
    assert len(dues) == found['ticks']
    assert abs(found['ticks'] + found['missed'] - 1.0 - slots) < 1.0
    slow = bare_loop(0.5, 0, rate=200.0, work=8e-3)  # five ticks in eight slots
    assert slow['missed'] > 0.35 * (slow['ticks'] + slow['missed'])
    seen = []
    bare_loop(0.1, 0, rate=200.0, step=seen.append)
    assert len(seen) > 1 and min(seen) >= 0.0
