# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The counter of cycles, by the event that every Linux has: time on the processor."""

import time

import pytest

from soro_studies.mechanics.cycle_counter import CycleCounter, TASK_CLOCK


def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_counts_what_this_thread_does():
    try:
        counter = CycleCounter(TASK_CLOCK)
    except PermissionError as error:  # a container may forbid the call altogether
        assert 'ermi' in str(error)
        return
    began, spent = counter.read(), time.thread_time()
    work(0.05)
    counted, passed = counter.read() - began, time.thread_time() - spent
    counter.close()
    assert counted * 1e-9 == pytest.approx(passed, rel=0.2)


def test_a_counter_that_does_not_exist_is_said():
    with pytest.raises(OSError, match='.'):
        CycleCounter((1, 10_000))
