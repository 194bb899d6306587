# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the supervisor does about a driver that falls silent, without processes and cards."""

from __future__ import annotations

import os
import threading

import pytest
from soro_nidaq_driver.supervisor import ALIVE, GOODBYE, watch


class Cards:
    """Stands for `CardReset`: fails as told, and says goodbye when it has worked.

    Parameters
    ----------
    pipe : int
        End of the pipe that is the driver's.
    wakes : dict
        Number of a failed reset: the bytes that the driver sends right after it.
    failures : int
        How many resets fail.
    """

    def __init__(self, pipe, failures, wakes):
        self.calls = []
        self._pipe, self._failures, self._wakes = pipe, failures, wakes

    def connect(self):
        self.calls.append('connect')

    def __call__(self):
        self.calls.append('reset')
        count = self.calls.count('reset')
        if count <= self._failures:
            os.write(self._pipe, self._wakes.get(count, b''))
            return ['no answer']
        os.write(self._pipe, GOODBYE)
        return []


@pytest.fixture
def pipe():
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def watched(pipe, failures, wakes):
    """Return the calls that the cards got from a driver that froze with an output on."""
    reader, writer = pipe
    cards, codes = Cards(writer, failures, wakes), []
    os.write(writer, ALIVE)
    thread = threading.Thread(target=lambda: codes.append(watch(cards, 0.01, reader)))
    thread.start()
    thread.join(10.0)
    calls = list(cards.calls)
    if thread.is_alive():
        os.write(writer, GOODBYE)
        thread.join()
    assert codes == [0]
    return calls


def test_a_failed_reset_is_tried_again_while_the_driver_is_frozen(pipe, capsys):
    assert watched(pipe, 3, {}) == ['reset', *['connect', 'reset'] * 3]
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert said[0].endswith('the driver is silent: no answer')
    assert 'outputs cleared' in said[1]


def test_a_driver_that_wakes_up_ends_the_attempts(pipe):
    # Armed again, it falls silent once more: that is a new silence, on the connection there is.
    assert watched(pipe, 2, {2: ALIVE}) == ['reset', 'connect', 'reset', 'reset']


def test_a_driver_that_says_goodbye_ends_the_attempts(pipe):
    assert watched(pipe, 9, {2: GOODBYE}) == ['reset', 'connect', 'reset']
