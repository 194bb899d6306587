# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A computer that stands still is told from one that does not."""

from __future__ import annotations

import sys
import time

import pytest

from soro_rigs.ros_session import wait_until
from soro_studies.system import soak_stalls
from soro_studies.system.soak_stalls import Stalls, stolen


@pytest.fixture
def stalls():
    watch = Stalls()
    yield watch
    watch.end()


def wait_for_rows(watch, more):
    """Wait until the watch has woken up a few times more."""
    wanted = len(watch._rows) + more
    wait_until(lambda: len(watch._rows) >= wanted)


def hold_everything(seconds):
    """Keep every other thread of this process from running."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(10.0 * seconds)
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass
    finally:
        sys.setswitchinterval(interval)


def test_a_stall_is_seen_and_as_long_as_it_was(stalls):
    wait_for_rows(stalls, 5)
    hold_everything(0.4)
    wait_for_rows(stalls, 2)
    late, _ = stalls.lately()
    assert 0.3 < late < 2.0


def test_what_the_host_takes_is_what_the_kernel_counts(stalls, monkeypatch, tmp_path):
    wait_for_rows(stalls, 5)
    before = stolen()
    stat = tmp_path / 'stat'
    stat.write_text(f'cpu  1 2 3 4 5 6 7 {round((before + 1.5) * 100)} 0 0\ncpu0 1\n')
    monkeypatch.setattr(soak_stalls, 'STAT', stat)
    monkeypatch.setattr(soak_stalls.os, 'sysconf', lambda name: 100)
    assert stalls.lately()[1] == pytest.approx(1.5, abs=0.3)


def test_a_watch_that_has_seen_nothing_says_that_it_stood_still(stalls):
    stalls.end()
    stalls._rows.clear()
    assert stalls.lately() == (soak_stalls.LOOK_BACK, 0.0)
