# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The renderer reports one status at a time, and everything when something has changed."""

from soro_driver.driver_report import Level, Status
from soro_haptics.haptic_report import StatusTurns


def makers(made, names='abcde'):
    def maker(name):
        def make():
            made.append(name)
            return Status(name, Level.OK, '', {})

        return make

    return [maker(name) for name in names]


def test_everything_first_then_one_in_turn():
    made, turns = [], StatusTurns()
    assert [s.name for s in turns.due(makers(made), 'active')] == list('abcde')
    made.clear()
    said = [turns.due(makers(made), 'active') for _ in range(10)]
    assert all(len(statuses) == 1 for statuses in said)
    # Within one round everybody had a turn, and nothing was made that was not said.
    for k in (0, 5):
        assert sorted(s.name for statuses in said[k : k + 5] for s in statuses) == list('abcde')
    assert made == [statuses[0].name for statuses in said]


def test_a_change_is_told_whole_and_at_once():
    turns = StatusTurns()
    turns.due(makers([]), ('active', 0))
    turns.due(makers([]), ('active', 0))
    assert len(turns.due(makers([]), ('fault', 4))) == 5
    assert len(turns.due(makers([]), ('fault', 4))) == 1
    assert len(turns.due(makers([]), ('active', 0))) == 5
