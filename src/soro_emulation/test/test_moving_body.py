# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The body with inertia: statics and modes as references, and what it says of its time."""

from __future__ import annotations

from dataclasses import replace
from multiprocessing.connection import wait
import time

import numpy as np
import pytest

from soro_emulation.body_process import BodyProcess
from soro_emulation.body_time import BodyClock, BodyTime, SpeedWatch
from soro_emulation.emulator_settings import read_emulator_settings
from soro_emulation.moving_body import MovingBody
from soro_emulation.perturbation import OVERRIDE, perturbed_robot
from soro_mechanics.core.errors import UnknownName
from soro_mechanics.dynamics.modes import modes
from soro_mechanics.dynamics.robot_motion import stepper
from soro_mechanics.dynamics.stepper import Options
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file

MOVING = ['spatial_cc', 'soft_parallel', 'stewart_gough']
STRETCHING = ['stiff_flop', 'stiff_flop_two_segment']
RATE = 30.0  # questions per second


@pytest.fixture(autouse=True)
def as_the_file_says(monkeypatch):
    monkeypatch.delenv(OVERRIDE)


def properties(name):
    description = read_robot_file(find_robot_file(name))
    device = description.foreign.get('driver', {}).get('device', 'simulated')
    return description, read_emulator_settings(description, device).body


def still(name, **motion):
    """Return a body without hysteresis, its rest, and a feasible change of actuation."""
    description, body = properties(name)
    body = replace(body, hysteresis=0.0, motion=replace(body.motion, **motion))
    rest = np.array([a.rest for a in description.actuators])
    high = np.array([a.maximum for a in description.actuators])
    change = 0.2 * (high - rest) * (np.arange(len(rest)) == 0)
    return MovingBody(description, body), rest, change


def run(body, actuation, seconds, begin=0.0):
    """Ask at the usual rate; return the tips."""
    times = begin + np.arange(round(seconds * RATE)) / RATE
    return np.array([body.configuration(actuation(t), t).tip[:3, 3] for t in times])


@pytest.mark.parametrize('name', MOVING)
def test_it_settles_where_statics_say(name):
    body, rest, change = still(name, retardation=0.05)
    tips = run(body, lambda t: rest + min(1.0, t) * change, 6.0)
    assert tips[-1] == pytest.approx(tips[-10], abs=2e-5)
    q = body.robot.forward(rest)
    for part in np.linspace(0.1, 1.0, 10):  # along the way: some have several equilibria
        q = body.robot.forward(rest + part * change, guess=q)
    assert tips[-1] == pytest.approx(q.tip[:3, 3], abs=1e-4)
    assert body.time.restarts == 0


@pytest.mark.parametrize('name', STRETCHING)
def test_chambers_stretch_their_sections_as_the_published_theory_says(name):
    """Without weight, which ncm lets come with the pressure; it shares no code with networks."""
    body, rest, change = still(name, retardation=0.05)
    theory = perturbed_robot(*properties(name))
    theory.gravity = body.robot.gravity = np.zeros(3)
    end = rest + 2.5 * change
    tips = run(body, lambda t: rest + min(1.0, t) * (end - rest), 4.0)
    tip = theory.forward(end).tip[:3, 3]
    assert tips[-1] == pytest.approx(tip, abs=2e-5)
    assert np.linalg.norm(tip - body.robot.forward(end).tip[:3, 3]) > 1e-3  # sections as at rest
    assert body.time.restarts == 0


def test_muscles_swing_where_statics_put_them():
    body, rest, change = still('pam_continuum', retardation=0.1)
    muscles = rest + 0.2 * change - 0.1 * np.roll(change, 1) - 0.1 * np.roll(change, 2)
    tips = run(body, lambda t: rest + min(1.0, 0.3 * t) * (muscles - rest), 9.0)
    assert tips[-1] == pytest.approx(body.robot.forward(muscles).tip[:3, 3], abs=2e-4)
    assert np.linalg.norm(tips[-1] - tips[0]) > 0.01
    assert body.time.restarts == 0


def test_it_swings_with_its_inertia_when_a_load_is_gone():
    body, rest, _ = still('spatial_cc', retardation=1e-4)
    body.set_wrench(np.array([0.2, 0.0, 0.0, 0.0, 0.0, 0.0]))
    run(body, lambda t: rest, 3.0)
    loaded = body.configuration(rest).tip[0, 3]
    body.set_wrench(np.zeros(6))
    times = 3.0 + np.arange(400) / 200.0
    x = np.array([body.configuration(rest, t).tip[0, 3] for t in times])
    assert x.min() < -0.3 * loaded < 0.0
    ups = times[1:][(x[:-1] < 0.0) & (x[1:] >= 0.0)]
    # the same network as an eigenvalue problem
    expected = modes(stepper(body.robot, None, Options(elements=8)), 1).frequency[0]
    assert 1.0 / np.diff(ups).mean() == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize('name', ['spatial_cc', 'stiff_flop'])
def test_what_has_no_solution_never_ends_the_body(name):
    body, rest, change = still(name)
    for k, actuation in enumerate((rest, rest + 40.0 * change, rest, rest)):
        q = body.configuration(actuation, 0.1 * k)
        assert np.isfinite(q.tip).all()
    assert q.status.converged


def test_a_slow_computer_loses_time_and_says_so():
    clock, watch, now = BodyClock(0.005), SpeedWatch(), 100.0
    assert clock.due(now) == 0
    remarks = []
    for pause in [0.03] * 200 + [1.0] * 10 + [0.03] * 200:
        now += pause
        clock.due(now)
        if watch.update(clock.time(0)):
            remarks.append((watch.remark, watch.speed))
    total = clock.time(0)
    assert total.wall == pytest.approx(22.0)
    assert total.virtual == pytest.approx(12.0 + 10 * 0.25, abs=0.006)
    (slow, speed), (recovered, _) = remarks
    assert slow and not recovered
    assert 0.2 < speed < 0.98
    assert not watch.update(BodyTime(total.virtual + 3.0, total.wall + 3.0))
    assert watch.speed == pytest.approx(1.0, abs=0.01)
    assert watch.update(BodyTime(total.virtual + 6.0, total.wall + 6.0, restarts=1))
    assert watch.remark


def test_its_process_answers_with_its_time(monkeypatch):
    process = BodyProcess(find_robot_file('spatial_cc'), 'nidaq')
    try:
        seen, end = [], time.monotonic() + 250.0
        while len(seen) < 10 and time.monotonic() < end and not process.error:
            process.ask_shape(np.array([2e4, 0.0, 0.0]), np.zeros(6), len(seen))
            answer = process.shape()
            if answer is not None and answer[2] is not None:  # else it is still compiled
                seen.append(answer)
            wait([process._answers], 0.1)
    finally:
        process.stop()
    assert not process.error
    tips = np.array([q.tip[:3, 3] for _, q, *_ in seen])
    assert np.ptp(tips, axis=0).max() < 1e-5  # it began where it was pressed to
    times = [body.virtual for _, _, body, _ in seen]
    assert times == sorted(times) and times[-1] > 0.0
    assert seen[-1][2].wall >= times[-1] - 1e-9
    assert seen[-1][1].status.converged
    assert seen[-1][3].shape == (3,)


def test_the_environment_decides_for_every_robot(monkeypatch):
    names = [*MOVING, *STRETCHING, 'pam_continuum']
    for plant in ('', 'quasi_static', 'dynamic'):
        monkeypatch.setenv(OVERRIDE, plant)
        assert {properties(name)[1].plant for name in names} == {plant or 'dynamic'}
    monkeypatch.setenv(OVERRIDE, 'fast')
    with pytest.raises(UnknownName):
        properties('spatial_cc')
