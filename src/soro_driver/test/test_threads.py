# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The periodic thread, and the loop running in it."""

from __future__ import annotations

from concurrent.futures import Future
import os
import queue
import threading
import time

import numpy as np
import pytest

from soro_driver.device import DeviceLost, DeviceState
from soro_driver.loop import requests
from soro_driver.loop.periodic import LoopStatistics, PeriodicThread
from soro_driver.safety.not_allowed import NotAllowed


def test_slots_that_passed_are_counted_and_not_made_up():
    seen: list[float] = []
    done = threading.Event()

    def step(lateness: float) -> None:
        seen.append(time.monotonic())
        if len(seen) == 3:
            deadline = time.monotonic() + 0.055
            while time.monotonic() < deadline:
                pass
        if len(seen) == 20:
            done.set()

    errors: list[BaseException] = []
    thread = PeriodicThread('test', 0.01, step, errors.append)
    thread.start()
    assert done.wait(5.0)
    assert thread.stop(1.0)
    assert not errors
    assert thread.statistics.missed >= 4  # 55 ms of work in a 10 ms slot
    gaps = np.diff(seen[3:20])
    assert np.median(gaps) == pytest.approx(0.01, abs=0.005)  # no burst afterwards


def test_an_exception_ends_the_thread_and_is_handed_over():
    errors: list[BaseException] = []
    ended = threading.Event()

    def step(lateness: float) -> None:
        raise ZeroDivisionError

    thread = PeriodicThread('test', 0.01, step, lambda e: (errors.append(e), ended.set()))
    thread.start()
    assert ended.wait(5.0)
    assert thread.stop(1.0)
    assert isinstance(errors[0], ZeroDivisionError)


def test_a_step_that_outlasts_the_stop_is_followed_by_the_end():
    entered, leave, ended = threading.Event(), threading.Event(), threading.Event()

    def step(lateness: float) -> None:
        entered.set()
        assert leave.wait(10.0)

    errors: list[BaseException] = []
    thread = PeriodicThread('test', 0.01, step, errors.append, ended=ended.set)
    thread.start()
    assert entered.wait(5.0)
    assert not thread.stop(0.01)
    assert not ended.is_set()
    leave.set()
    assert thread.stop(5.0)
    assert ended.is_set() and not thread.running and not errors


def test_missing_right_to_real_time_priority_is_said(monkeypatch):
    def refuse(*arguments):
        raise PermissionError(1, 'Operation not permitted')

    monkeypatch.setattr(os, 'sched_setscheduler', refuse)
    ticked = threading.Event()
    thread = PeriodicThread('test', 0.01, lambda x: ticked.set(), lambda e: None, priority=50)
    thread.start()
    assert ticked.wait(5.0)
    assert thread.stop(1.0)
    assert 'no real-time priority' in thread.note


@pytest.mark.parametrize('count', [1, 2, 3, 99, 100])
def test_figures_are_percentiles(count):
    times = np.random.default_rng(count).random(count)
    statistics = LoopStatistics(0.01, window=100)
    for late in times:
        statistics.add(late, 0.0)
    expected = np.percentile(times, (50.0, 99.0, 99.9, 100.0))
    assert statistics.figures().lateness == pytest.approx(expected.tolist(), rel=1e-12)


def test_statistics():
    statistics = LoopStatistics(0.01, window=100)
    for i in range(250):
        statistics.add(i * 1e-6, 2e-3)
    statistics.missed += 10
    figures = statistics.figures()
    assert figures.lateness[3] == pytest.approx(249e-6)  # the window holds the last 100
    assert figures.lateness[0] == pytest.approx(199.5e-6)
    assert figures.work == pytest.approx((2e-3,) * 4)
    assert (figures.ticks, figures.missed) == (250, 10)
    assert figures.missed_part == pytest.approx(10 / 260)
    for ticks, longest in ((99, 2e-3), (101, 1.0)):  # sorted anew once a second, counted always
        while statistics.ticks < 250 + ticks:
            statistics.add(0.0, 1.0)
        figures = statistics.figures()
        assert (figures.ticks, figures.work[3]) == (250 + ticks, longest)


@pytest.fixture
def running(make_rig):
    rig = make_rig()
    rig.loop._clock = rig.device.clock = time.monotonic
    rig.loop.device.clock = type('Clock', (), {'now': property(lambda s: time.monotonic())})()
    yield rig
    assert rig.loop.shutdown()


def test_requests_are_answered_between_ticks(running):
    running.loop.open()
    ticks: list[DeviceState] = []
    ticked = threading.Event()
    running.loop._observer = lambda tick: (ticks.append(tick.state), ticked.set())
    running.loop.start()
    assert ticked.wait(2.0)
    running.loop.arm()
    assert running.loop.safety.state is DeviceState.ACTIVE
    running.press()
    running.loop.between_ticks(lambda: None)
    assert running.loop.safety.state is DeviceState.ESTOP
    assert running.device.calls.count('make_safe') == 1


def inside_a_long_call(running, monkeypatch):
    """Start a loop that is inside `open` of its device until that is let go; who asks gives up."""
    monkeypatch.setattr(requests, 'TIMEOUT', 0.05)
    running.loop.open()
    running.device.fail['read'] = DeviceLost('cable')
    opening = running.device.hold('open')
    running.loop.start()
    assert opening.entered.wait(5.0)
    return opening


def test_an_estop_during_a_long_call_of_the_device_is_not_lost(running, monkeypatch):
    opening = inside_a_long_call(running, monkeypatch)
    with pytest.raises(NotAllowed, match='does not answer'):
        running.loop.disarm()
    running.press()
    running.device.fail.clear()
    monkeypatch.undo()
    opening.leave.set()
    with pytest.raises(NotAllowed, match='still pressed'):
        running.loop.clear()
    assert running.loop.safety.state is DeviceState.ESTOP
    with pytest.raises(NotAllowed, match='emergency stop'):
        running.loop.arm()
    assert 'arm' not in running.device.calls
    running.release()
    running.loop.clear()
    assert running.loop.safety.state is DeviceState.INACTIVE


def test_a_stop_during_a_long_call_of_the_device_is_not_lost(running, monkeypatch):
    """An autostart that waits for its device would arm it, and it would obey commands."""
    opening = inside_a_long_call(running, monkeypatch)
    with pytest.raises(NotAllowed, match='does not answer'):
        running.loop.stop('stopped by a person')
    running.device.fail.clear()
    monkeypatch.undo()
    opening.leave.set()
    with pytest.raises(NotAllowed, match='stopped by a person'):
        running.loop.arm()
    assert 'arm' not in running.device.calls
    running.loop.clear()
    running.loop.arm()


def test_what_has_begun_is_waited_for(monkeypatch):
    late = threading.Event()

    class Watched(Future):
        def cancel(self) -> bool:
            requests.TIMEOUT = 10.0
            late.set()
            return super().cancel()

    monkeypatch.setattr(requests, 'Future', Watched)
    monkeypatch.setattr(requests, 'TIMEOUT', 0.05)
    asked, outcome = requests.Requests(), []
    begun, asked._queue = threading.Event(), queue.Queue()
    put = asked._queue.put
    asked._queue.put = lambda item: (put(item), begun.set())
    asking = threading.Thread(target=lambda: outcome.append(asked.ask(lambda: late.wait(10.0))))
    asking.start()
    assert begun.wait(5.0)
    asked.answer()  # the action outlasts the patience of who asked
    asking.join(5.0)
    assert outcome == [True]


def test_an_estop_while_the_device_is_armed_ends_in_safe_outputs(running):
    running.loop.open()
    running.loop.start()
    arming = running.device.hold('arm')
    asking = threading.Thread(target=running.loop.arm)
    asking.start()
    assert arming.entered.wait(5.0)
    running.press()
    running.release()  # nobody holds it for long
    arming.leave.set()
    asking.join(5.0)
    running.loop.between_ticks(lambda: None)
    assert running.loop.safety.state is DeviceState.ESTOP
    assert 'make_safe' in running.device.calls and not running.device.is_armed


@pytest.mark.parametrize('call', ['read', 'open'])
def test_a_device_that_outlasts_the_shutdown_is_made_safe_and_closed(running, call):
    running.loop.open()
    if call == 'open':
        running.device.fail['read'] = DeviceLost('cable')
    held = running.device.hold(call)
    seen: list[object] = []
    running.loop._observer = seen.append
    running.loop.start()
    assert held.entered.wait(5.0)
    before = len(seen)
    closed = threading.Event()
    close = running.device.close
    running.device.close = lambda: (close(), closed.set())
    assert not running.loop.shutdown(0.01)
    running.device.fail.clear()
    assert running.device.is_open == (call == 'read')
    held.leave.set()
    assert closed.wait(5.0)  # nobody asks again
    assert running.device.calls[-2:] == ['make_safe', 'close']
    assert not running.device.is_open
    assert running.loop.shutdown()
    assert running.device.calls.count('close') == (1 if call == 'read' else 2)
    assert len(seen) == before


def test_a_shutdown_waits_until_a_loop_that_failed_has_made_safe(running):
    running.loop.open()
    held = running.device.hold('make_safe')

    def break_(tick: object) -> None:
        raise ZeroDivisionError

    running.loop._observer = break_
    running.loop.start()
    assert held.entered.wait(5.0)
    outcome: list[bool] = []
    asking = threading.Thread(target=lambda: outcome.append(running.loop.shutdown()))
    asking.start()
    asking.join(0.05)
    assert not outcome
    held.leave.set()
    asking.join(5.0)
    assert outcome == [True] and not running.device.is_open


def test_an_error_in_the_observer_vents_and_is_reported(make_rig):
    rig = make_rig()
    rig.loop.device.clock = type('Clock', (), {'now': property(lambda s: time.monotonic())})()
    rig.loop._clock = time.monotonic
    failed = threading.Event()
    rig.loop._report_failure = lambda error: failed.set()
    rig.loop.open()

    def break_(tick: object) -> None:
        raise ZeroDivisionError

    rig.loop._observer = break_
    rig.loop.start()
    assert failed.wait(2.0)
    assert rig.device.calls[-2:] == ['make_safe', 'close']
    assert rig.loop.shutdown()
