# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Which ticks publish: each copy as often as asked, those that have time where there are any."""

from types import SimpleNamespace

import pytest

from soro_haptics.node import HapticRenderer

BUSY = [(10, 2), (10, 1), (5, 0), (5, 2), (5, 1), (8, 2), (4, 0), (4, 1), (2, 0), (2, 1)]


@pytest.mark.parametrize(('every', 'busy_in'), BUSY)
def test_every_copy_is_published_once_in_a_period(every, busy_in):
    node = SimpleNamespace(
        _count=0,
        _every=every,
        _copies=('state', 'command', 'estimate', 'hand'),
        _pending=(),
        _last_state='active',
    )
    tick, published = SimpleNamespace(state='active'), []
    for k in range(20 * every):
        busy = busy_in > 0 and k % busy_in == 0  # of all ticks, of every second, third ...
        due = HapticRenderer._due(node, tick, busy)
        if every >= 2 * len(node._copies) and busy_in > 1 and due:
            assert not busy
        published += due
    for copy in node._copies:
        assert 19 <= published.count(copy) <= 20
    assert HapticRenderer._due(node, SimpleNamespace(state='safe'), True) == node._copies
