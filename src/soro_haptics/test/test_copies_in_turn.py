# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Which ticks publish: each copy as often as asked, those without a model where there are any."""

from types import SimpleNamespace

import pytest

from soro_haptics.node import HapticRenderer


@pytest.mark.parametrize(('every', 'solves'), [(10, 2), (5, 1), (5, 2), (8, 2), (4, 1), (2, 1)])
def test_every_copy_is_published_once_in_a_period(every, solves):
    loop = SimpleNamespace(rests=False)
    node = SimpleNamespace(
        _count=0,
        _every=every,
        _copies=('state', 'command', 'estimate', 'hand'),
        _pending=(),
        _last_state='active',
        _control=SimpleNamespace(haptics=SimpleNamespace(loop=loop)),
    )
    tick, published = SimpleNamespace(state='active'), []
    for k in range(20 * every):
        loop.rests = solves > 1 and k % solves == 0  # the model was solved in this tick
        due = HapticRenderer._due(node, tick)
        if every >= 2 * len(node._copies) and due:
            assert not loop.rests
        published += due
    for copy in node._copies:
        assert 19 <= published.count(copy) <= 20
    assert HapticRenderer._due(node, SimpleNamespace(state='safe')) == node._copies
