# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Recorded series at other times, with what is not known left unknown."""

import numpy as np
import pytest

from soro_recording.series import at, broken, clock_fault, near, without_jitter

TIME = np.array([0.0, 0.1, 0.2, 3.0, 3.1])
VALUES = np.array([[0.0], [1.0], [2.0], [50.0], [51.0]])


def test_nothing_is_known_between_samples_that_are_far_apart():
    wanted = np.array([-0.1, 0.0, 0.05, 0.2, 1.0, 2.9, 3.0, 3.05, 3.1, 3.2])
    expected = [np.nan, 0.0, 0.5, 2.0, np.nan, np.nan, 50.0, 50.5, 51.0, np.nan]
    np.testing.assert_allclose(at(TIME, VALUES, wanted)[:, 0], expected)


def test_a_slow_series_is_no_series_of_interruptions():
    time = np.arange(5.0)
    np.testing.assert_allclose(at(time, time[:, None], np.array([1.5]))[:, 0], [1.5])
    assert len(broken(time, time[:, None])[0]) == 5


def test_an_unknown_sample_does_not_hide_its_neighbours():
    values = VALUES.copy()
    values[1] = np.nan
    found = at(TIME, values, np.array([0.0, 0.05, 0.1, 0.15, 0.2]))[:, 0]
    np.testing.assert_allclose(found, [0.0, np.nan, np.nan, np.nan, 2.0])


def test_a_line_ends_where_the_series_is_interrupted():
    time, values = broken(TIME, VALUES)
    np.testing.assert_allclose(time, [0.0, 0.1, 0.2, np.nan, 3.0, 3.1])
    np.testing.assert_allclose(values[:, 0], [0.0, 1.0, 2.0, np.nan, 50.0, 51.0])


def test_the_nearest_sample_counts_while_the_series_goes_on():
    index, there = near(TIME, np.array([-0.2, 0.14, 0.17, 1.5, 2.9, 9.0]))
    assert index.tolist() == [0, 1, 2, 2, 3, 4]
    assert there.tolist() == [True, True, True, False, True, False]


def test_one_sample_is_known_at_its_own_time_only():
    found = at(np.array([1.0]), np.array([[7.0]]), np.array([0.9, 1.0, 1.1]))[:, 0]
    np.testing.assert_allclose(found, [np.nan, 7.0, np.nan])
    assert near(np.array([1.0]), np.array([1.1]))[1].tolist() == [True]


def test_stamps_that_are_no_times_are_told():
    assert clock_fault(np.array([0.0, 0.1, 0.1, 0.2]), -5.0) == ''
    assert clock_fault(np.array([]), -5.0) == ''
    assert 'zero' in clock_fault(np.array([-5.0, 0.1]), -5.0)
    assert 'go back by 3 s at 4.000 s' in clock_fault(np.array([0.0, 4.0, 1.0]), -5.0)


@pytest.mark.parametrize('back', [18e-6, 128e-6])
def test_stamps_that_step_back_by_jitter_count(back):
    sent = np.arange(0.0, 1.0, 0.01)
    late = sent.copy()
    late[50] = sent[49] - back
    assert (np.diff(late) < 0.0).any()
    steady = without_jitter(late)
    assert clock_fault(steady, -5.0) == '' and np.diff(steady).min() >= 0.0
    np.testing.assert_allclose(steady, late, atol=back * 1.001)


def test_stamps_that_step_back_by_a_period_do_not_count():
    sent = np.arange(0.0, 1.0, 0.01)
    sent[50:] -= 0.05
    assert 'go back' in clock_fault(without_jitter(sent), -5.0)
    assert len(without_jitter(np.array([]))) == 0
