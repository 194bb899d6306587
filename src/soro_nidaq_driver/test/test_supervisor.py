# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the supervisor does about a driver that falls silent, and a driver about its supervisor."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from soro_driver.device import DeviceLost
from soro_driver.safety.device_lock import DeviceLock
from soro_nidaq_driver.client import RESET_TIMEOUT
from soro_nidaq_driver.supervisor import (
    ALIVE,
    ANSWER_TIMEOUT,
    CALL_TIMEOUT,
    CardReset,
    GOODBYE,
    IDLE,
    Supervisor,
    watch,
)


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
    heard, answers = os.pipe()
    os.set_blocking(heard, False)
    thread = threading.Thread(target=lambda: codes.append(watch(cards, 0.01, reader, answers)))
    thread.start()
    thread.join(10.0)
    calls = list(cards.calls)
    if thread.is_alive():
        os.write(writer, GOODBYE)
        thread.join()
    assert codes == [0]
    assert os.read(heard, 64).startswith(ALIVE)
    os.close(heard)
    os.close(answers)
    return calls


SCHEDULING = """
import contextlib, json, os, sys, threading
from soro_nidaq_driver import supervisor
def seen():
    return [os.sched_getscheduler(int(t)) for t in os.listdir('/proc/self/task')]
def load(address, cards):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    return seen()
supervisor.CardReset = load
def watch(loading, *_):
    watching = seen()
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(supervisor.PRIORITY))
    print(json.dumps([loading, watching, os.sched_getscheduler(0)]), file=sys.stderr)
    return 0
supervisor.watch = watch
sys.argv = ['', 'local', 'card', '1']
supervisor.main()
"""


def test_it_loads_as_everybody_else_and_watches_before_all_others():
    program = [sys.executable, '-c', SCHEDULING]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60.0, check=True)
    loading, watching, allowed = json.loads(done.stderr)
    assert set(loading) == {os.SCHED_OTHER}
    assert set(watching) == {allowed}


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


def test_a_reset_that_takes_longer_than_a_reading_has_not_failed(card):
    """Opening waits as long for it: it is carried out, and must not be said to have failed."""
    assert CALL_TIMEOUT < 0.35 < RESET_TIMEOUT
    reset = CardReset(f'127.0.0.1:{card.port}', ['Dev1', 'Dev2'])
    card.delays['ResetDevice'] = 0.35
    assert reset() == []
    assert len(card.named('ResetDevice')) == 2
    card.delays['ResetDevice'] = 2.0 * RESET_TIMEOUT
    assert len(reset()) == 2  # one that hangs is given up


# The driver's side, with a process that has no cards -------------------------------------------

NAME = f'test supervisor {os.getpid()}'
NOWHERE = '127.0.0.1:1'  # nobody listens: it tries for its whole time once the driver is gone


@pytest.fixture
def supervisor():
    made = Supervisor(NOWHERE, ['Dev1'], 0.3, [NAME])
    yield made
    made.stop(safe=True)
    made.dismiss()


def until(condition, timeout=30.0):
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end
        threading.Event().wait(0.01)


def started(supervisor):
    until(supervisor.ready)
    return supervisor.pid


def tick(supervisor):
    supervisor.idle()
    return supervisor.trouble()


def test_it_answers_every_byte_and_holds_the_name_of_the_cards(supervisor):
    pid = started(supervisor)
    begin = time.monotonic()
    while time.monotonic() - begin < 1.5 * ANSWER_TIMEOUT:
        assert tick(supervisor) == ''
        threading.Event().wait(0.01)
    assert DeviceLock(NAME).holder() == pid
    supervisor.check_alone()


def test_a_frozen_one_is_noticed_refused_and_replaced(supervisor):
    pid = started(supervisor)
    os.kill(pid, signal.SIGSTOP)
    assert not supervisor.ready()
    until(lambda: tick(supervisor), 10.0)
    assert 'has not answered for 0.5 s' in supervisor.trouble()
    supervisor.replace()
    assert supervisor.trouble() == ''
    assert started(supervisor) != pid
    assert not os.path.exists(f'/proc/{pid}')


def test_answers_that_came_while_the_driver_was_stalled_count(supervisor, monkeypatch):
    started(supervisor)
    supervisor.alive()
    now = time.monotonic()
    monkeypatch.setattr(time, 'monotonic', lambda: now + 60.0)  # a minute without a look
    assert supervisor.trouble() == ''


def test_one_that_has_ended_is_noticed(supervisor):
    os.kill(started(supervisor), signal.SIGKILL)
    until(lambda: supervisor.pid == 0)
    assert 'has ended' in supervisor.trouble()


@pytest.mark.parametrize('loaded', [True, False])
def test_it_does_not_outlive_a_driver_whose_outputs_are_safe(supervisor, loaded):
    pid = started(supervisor) if loaded else supervisor.start() or supervisor.pid
    begin = time.monotonic()
    supervisor.stop(safe=True)
    assert not os.path.exists(f'/proc/{pid}')
    assert time.monotonic() - begin < 1.0
    assert DeviceLock(NAME).holder() is None


def test_nobody_opens_cards_that_the_supervisor_of_another_driver_clears(supervisor):
    pid = started(supervisor)
    supervisor.stop(safe=False)  # as if the driver had been killed: it tries to clear
    supervisor.check_alone()  # its own: it is dismissed once the cards have been reset
    other = Supervisor(NOWHERE, ['Dev1'], 0.3, [NAME])
    with pytest.raises(DeviceLost, match=f'process {pid}.* still clearing the outputs'):
        other.check_alone()
    assert supervisor.dismiss()
    other.check_alone()


def test_frozen_while_the_driver_is_busy_it_resets_nothing_for_a_byte_that_waits(pipe):
    """Its own pause is no silence of the driver."""
    reader, writer = pipe
    cards = Cards(writer, 0, {})
    os.write(writer, ALIVE + IDLE + GOODBYE)
    assert watch(cards, 0.0, reader, writer) == 0
    assert cards.calls == []
