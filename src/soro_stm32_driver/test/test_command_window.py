# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Commands on their way are counted once, whatever the link does to their answers."""

from __future__ import annotations

import numpy as np
import pytest

from soro_stm32_driver.command_window import CommandWindow, MOST, RETRY_AFTER, TRIES
from soro_stm32_driver.protocol import Action, SetTimed, Status, Timed

NOTHING = np.zeros((30, 2))


def command(deadline: int = 1000, muscle: int = 3, duration: int = 100) -> SetTimed:
    return SetTimed(deadline, (Timed(muscle, Action.INFLATE, duration),))


def status(time: int, last: int = 0, done: int = 0) -> Status:
    return Status(time, 1, 2, 0, 0, 0, 0, last, done, 0, 0, 0, 0, 0)


def pending(window: CommandWindow, worked=NOTHING) -> float:
    return float(window.pending(worked)[3, 0])


def test_accepted_work_is_pending_until_it_is_reported():
    window = CommandWindow(30)
    window.add(1, command(), 0.0)
    assert pending(window) == pytest.approx(0.1)
    window.accepted(1)
    assert window.unsettled == 0 and pending(window) == pytest.approx(0.1)
    worked = NOTHING.copy()
    worked[3, 0] = 0.06
    assert pending(window, worked) == pytest.approx(0.04)
    worked[3, 0] = 0.1
    assert pending(window, worked) == 0.0


@pytest.mark.parametrize('stale', [True, False])
def test_refused_work_is_taken_back(stale):
    window = CommandWindow(30)
    window.add(1, command(), 0.0)
    assert window.refused(1, stale)
    assert pending(window) == 0.0 and window.late == int(stale)
    assert not window.refused(1, stale)  # said twice by the link


def test_commands_are_sent_again_with_their_number_and_not_for_ever():
    window = CommandWindow(30)
    window.add(7, command(), 0.0)
    assert window.due(0.5 * RETRY_AFTER) == []
    sent = 1
    for k in range(1, 10):
        again = window.due(k * (RETRY_AFTER + 0.01))
        assert again in ([], [(7, command())])
        sent += len(again)
    assert sent == TRIES and window.repeated == TRIES - 1
    assert pending(window) == pytest.approx(0.1)  # once, however often it was sent


@pytest.mark.parametrize(
    ('report', 'left', 'lost'),
    [
        (status(900), 0.1, 0),  # may still be carried out
        (status(1001), 0.0, 1),  # its deadline has passed and it was not
        (status(1001, last=9, done=0b101), 0.1, 0),  # 7 was carried out: 9 - 2
        (status(1001, last=9, done=0b001), 0.0, 1),
        (status(1001, last=6, done=0b1), 0.0, 1),
    ],
)
def test_status_settles_what_was_never_answered(report, left, lost):
    window = CommandWindow(30)
    window.add(7, command(), 0.0)
    window.status(report)
    assert pending(window) == pytest.approx(left) and window.lost == lost


def test_numbers_and_deadlines_wrap():
    window = CommandWindow(30)
    window.add(65535, command(deadline=100), 0.0)
    window.status(status(2**32 - 50, last=1, done=0b100))  # 1 - 2 is 65535
    assert window.unsettled == 0 and window.lost == 0


def test_only_so_many_are_on_their_way():
    window = CommandWindow(30)
    for seq in range(MOST):
        assert not window.full
        window.add(seq, command(), 0.0)
    assert window.full
