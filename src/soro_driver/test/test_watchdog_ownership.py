# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Arrival times, and who commands."""

from __future__ import annotations

import math

import pytest

from soro_driver.loop.watchdog import Watchdog
from soro_driver.safety.ownership import NotInControl, OutOfOrder, Ownership


def test_watchdog_waits_for_the_first_feed():
    dog = Watchdog(0.2)
    assert not dog.expired(1e9)


def test_watchdog_expires_after_the_timeout_and_not_before():
    dog = Watchdog(0.25)
    dog.feed(1.0)
    assert not dog.expired(1.25)
    assert dog.expired(1.26)
    dog.feed(1.26)
    assert not dog.expired(1.5)


def test_an_older_arrival_does_not_turn_the_watchdog_back():
    dog = Watchdog(0.25)
    dog.feed(2.0)
    dog.feed(1.0)
    assert dog.age(2.1) == pytest.approx(0.1)


def test_an_arrival_without_a_time_is_none():
    dog = Watchdog(0.25)
    dog.feed(float('nan'))
    assert math.isnan(dog.age(1.0))
    dog.feed(2.0)
    dog.feed(float('nan'))
    assert dog.age(2.1) == pytest.approx(0.1) and dog.expired(2.3)


def test_watchdog_cleared():
    dog = Watchdog(0.25)
    dog.feed(1.0)
    dog.clear()
    assert not dog.expired(100.0)


def obey(owner: Ownership, source: str, stamp: int, now: float) -> None:
    owner.check(source, stamp, now)
    owner.claim(source, stamp, now)


def test_second_source_is_refused_while_the_first_speaks():
    owner = Ownership(0.2)
    obey(owner, 'planner', 1, 0.0)
    with pytest.raises(NotInControl, match='script may not command: planner is in control'):
        owner.check('script', 5, 0.1)
    assert owner.owner(0.1) == 'planner'


def test_control_passes_when_the_owner_is_silent():
    owner = Ownership(0.2)
    obey(owner, 'planner', 1, 0.0)
    obey(owner, 'haptics', 1, 0.3)
    assert owner.owner(0.3) == 'haptics'


@pytest.mark.parametrize('stamp', [10, 9, 0])
def test_stamps_must_increase(stamp):
    owner = Ownership(0.2)
    obey(owner, 'planner', 10, 0.0)
    with pytest.raises(OutOfOrder):
        owner.check('planner', stamp, 0.01)


def test_old_commands_stay_old_when_control_was_lost():
    owner = Ownership(0.2)
    obey(owner, 'planner', 10, 0.0)
    owner.release()
    with pytest.raises(OutOfOrder):
        owner.check('planner', 10, 1.0)
    owner.forget_stamps()
    owner.check('planner', 1, 1.0)
