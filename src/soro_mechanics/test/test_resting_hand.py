# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Nobody's hand: what strips may read then, and how old what is known of them may be."""

import numpy as np
import pytest
from strip_reference import apart as contradiction

from soro_mechanics import load_robot
from soro_mechanics.core.status import Code
from soro_mechanics.haptics import loop as haptic_loop
from soro_mechanics.haptics import rendering_kernels, watch_kernels
from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.haptics.device_kernels import NO_RESIDUAL
from soro_mechanics.haptics.loop import HapticLoop, PATIENCE, ROOM
from soro_mechanics.haptics.rendering import EnergyMonitor, rendering_setup
from soro_mechanics.haptics.resting_hand import DEVIATIONS, RestingHand
from soro_mechanics.haptics.sensing import Sensing, sensing_setup
from soro_mechanics.haptics.strip_play import StripPlay

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels

FORCE, PERIOD, SENSOR = 0.25, 1e-3, 2e-5  # N, s, m
WEIGHT = np.array([1.0, 1.0, 1.0, 0.04**2, 0.04**2])
FREE = np.zeros(5)


@pytest.fixture(scope='module')
def robot():
    return load_robot('haptic_5dof')


def rule(device):
    sensing = Sensing(device.ports, sensing_setup(device.ports, 2.7e-4, SENSOR, 10.0))
    strips = StripPlay(np.zeros(6), np.full(6, SENSOR))
    return sensing, strips, RestingHand(sensing, strips, WEIGHT, PERIOD)


def sense(device, sensing, strips, sensor):
    assert sensing.update(device.ports.angle, strips.follow(sensor, PERIOD)) is Code.NONE


def test_all_strips_but_one_tell_that_nobody_is_there(robot):
    """Beside distances of Mahalanobis of every five strips, computed without the sixth."""
    device = HapticDevice(robot)
    device.update(np.zeros(6), FREE)
    sensing, strips, resting = rule(device)
    _, change = sensing.without_hand()
    reach = FORCE * np.sqrt(WEIGHT) * change
    spread = (DEVIATIONS * SENSOR) ** 2 * np.eye(6) + reach @ reach.T
    random, found = np.random.default_rng(5), []
    for _ in range(300):
        apart = random.uniform(0.0, 1.5) * np.linalg.cholesky(spread) @ random.normal(size=6)
        apart[random.integers(6)] += random.choice([0.0, 1e-3])
        sense(device, sensing, strips, device.ports.sensor + apart)
        left = [np.delete(np.arange(6), k) for k in range(6)]
        five = [apart[i] @ np.linalg.solve(spread[np.ix_(i, i)], apart[i]) for i in left]
        whole = apart @ np.linalg.solve(spread, apart)
        resting.begin()
        found.append(resting.rests(FORCE))
        assert found[-1] == (min(five) < 1.0)
        assert resting.odd_strip == (int(np.argmin(five)) if min(five) < 1.0 <= whole else -1)
    assert 50 < sum(found) < 250
    assert not resting.rests(0.0)


def test_strips_that_slide_or_are_out_of_use_are_weighed_as_by_arrays(robot):
    """Beside `StripPlay.apart` and whole arrays, with a hand that leads the handle."""
    device = HapticDevice(robot)
    device.update(np.zeros(6), FREE)
    play, random, rested = 4.0 * SENSOR, np.random.default_rng(6), 0
    setup = sensing_setup(device.ports, 2.7e-4, SENSOR, 10.0, sensor_play=play)
    sensing, strips = Sensing(device.ports, setup), StripPlay(np.full(6, play), np.full(6, SENSOR))
    resting = RestingHand(sensing, strips, WEIGHT, PERIOD)
    for k in range(200):
        if k % 50 == 0:
            used = np.arange(6) != (k // 50) * 2  # all but the first, .. all
            sensing.use(np.ones(6, bool), used)
        lead = 0.1 * random.normal(size=5) * random.integers(0, 2)
        strips.reset()
        strips.follow(device.ports.sensor + play * random.normal(size=6), PERIOD)
        moved = device.ports.sensor + random.choice([0.2, 1.5]) * play * random.normal(size=6)
        turned = 1e-4 * random.normal(size=6)
        sense(device, sensing, strips, moved + device.ports.se @ lead)
        sensing.update(device.ports.angle + turned, strips.elongation)
        by_turn, change = sensing.without_hand()
        angle = sensing.angle() - device.ports.angle
        expected = device.ports.sensor + by_turn @ angle - change @ device.ports.force
        apart = contradiction(strips, expected)[used]
        reach = (FORCE * np.sqrt(WEIGHT) * change)[used]
        spread = (DEVIATIONS * SENSOR) ** 2 * np.eye(used.sum()) + reach @ reach.T
        pull = np.linalg.solve(spread, apart)
        alone = pull**2 / np.diag(np.linalg.inv(spread))
        distance = apart @ pull
        resting.begin()
        assert resting.rests(FORCE) == (distance < 1.0 or distance - alone.max() < 1.0)
        odd = np.flatnonzero(used)[alone.argmax()]
        assert resting.odd_strip == (odd if distance - alone.max() < 1.0 <= distance else -1)
        rested += distance < 1.0
    assert 20 < rested < 180, rested


def test_a_law_feels_the_hand_as_its_parts_do(robot):
    """One call in every tick, beside strips, sensing and energy one after the other."""
    device = HapticDevice(robot)
    loop = made(device, PERIOD)
    law, random = loop.law, np.random.default_rng(1)
    sensing = Sensing(device.ports, law.sensing.setup)
    strips = StripPlay(law.sensing.setup.sensor_play, law.sensing.setup.sensor_deviation)
    monitor, speed = EnergyMonitor(law.setup), np.zeros(6)
    share = law.setup.share(law.setup.speed_time_constant)
    for periods in random.integers(1, 4, 50):
        reading = device.ports.sensor + 3.0 * SENSOR * random.normal(size=6)
        angle = 1e-3 * random.normal(size=6)
        assert loop.tick(angle, reading, int(periods)) is Code.NONE
        sensing.widen(strips.unseen, law.resting.drift)
        strips.follow(reading, periods * PERIOD)
        sensing.widen(strips.unseen, law.resting.drift)
        assert sensing.update(angle, strips.elongation) is Code.NONE
        monitor.update(sensing.pose, sensing.wrench)
        speed += share * (monitor.moved / (periods * PERIOD) - speed)
        for one, other in (
            (law.sensing.pose, sensing.pose),
            (law.sensing.wrench, sensing.wrench),
            (law.strips.elongation, strips.elongation),
            (law.monitor.received, monitor.received),
            (law.speed, speed),
        ):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)


def test_what_is_known_of_the_strips_may_be_a_hundredth_of_a_second_old(robot):
    """A hand leads the handle by 2 mm meanwhile: a fifth of what is allowed is missed at most."""
    device = HapticDevice(robot)
    force = np.array([1.0, 0.0, 0.5, 0.02, 0.0])
    device.update(np.zeros(6), force)
    sensing, _, _ = rule(device)
    _, old = sensing.without_hand()
    start = device.place()
    device.update(np.zeros(6), 1.5 * force)
    assert np.linalg.norm((device.place() - start)[:3]) > 2e-3
    sensing.linearise(device.ports)
    _, new = sensing.without_hand()
    assert np.abs((new - old) @ device.ports.force).max() < DEVIATIONS * SENSOR / 5.0


@pytest.mark.parametrize(('rate', 'every'), [(500.0, 1), (1000.0, 3), (400.0, 1), (2000.0, 4)])
def test_the_model_follows_a_fast_hand_at_500_hz_at_most_and_a_still_one_at_20(robot, rate, every):
    plant, device = HapticDevice(robot), HapticDevice(robot)
    loop = made(device, 1.0 / rate)
    still = device.ports.sensor.copy()
    assert 19 <= count(loop, [still] * round(rate)) <= 21
    led = []
    for _ in range(12):  # by 1 mm and more from tick to tick
        plant.update(np.zeros(6), np.array([0.4 * (len(led) + 1), 0.0, 0.0, 0.0, 0.0]))
        led.append(plant.ports.sensor.copy())
    assert count(loop, led) in (12 // every - 1, 12 // every)


def count(loop, readings, angle=(0.0,) * 6):
    """Return how many solutions were begun; a loop above 500 Hz computes a part in each tick."""
    begun, parts, device = [], [], loop.device
    begin, go_on = device.begin, device.go_on
    device.begin = lambda *asked: begun.append(begin(*asked))
    device.go_on = lambda whole: parts.append(go_on(whole)) or parts[-1]
    for reading in readings:
        parts.clear()
        assert loop.tick(np.array(angle), reading) is Code.NONE
        assert loop.advance() in (Code.NONE, *[None] * loop._in_parts)
        assert loop.computed == bool(parts)
        assert len(parts) <= 1 if loop._in_parts else None not in parts[-1:]
    return len(begun)


def made(device, period):
    setup = rendering_setup(period, device.motor_limits(), 17.0)
    loop = HapticLoop(device, sensing_setup(device.ports, 2.7e-4, SENSOR, 10.0), setup)
    loop.start(np.zeros(6))
    return loop


def test_a_model_that_has_not_converged_is_solved_again_at_once(robot):
    device = HapticDevice(robot)
    loop = made(device, 1e-3)
    device.tolerance = 0.0
    codes = []
    for _ in range(3 * 7):  # step and elimination three times, and the ports
        loop.tick(np.zeros(6), device.ports.sensor.copy())
        codes.append(loop.advance())
        assert loop.computed
    assert codes == 3 * [*[None] * 6, Code.NOT_CONVERGED]


def test_a_solution_waits_while_slots_are_almost_over_but_not_for_ever(robot):
    device = HapticDevice(robot)
    loop, computed = made(device, 1e-3), []
    device.tolerance = 0.0  # there is always something to compute
    for room in [*2 * [0.5 * ROOM] * (PATIENCE + 1), *[2.0 * ROOM] * 3, 0.5 * ROOM]:
        loop.tick(np.zeros(6), device.ports.sensor.copy())
        loop.advance(room)
        computed.append(loop.computed)
    assert computed == [*2 * [*[False] * PATIENCE, True], *[True] * 3, False]


@pytest.mark.parametrize('period', [2e-3, 0.5e-3])
def test_whatever_a_tick_calls_is_called_once_before(robot, monkeypatch, period):
    loop, called = made(HapticDevice(robot), period), set()
    monkeypatch.setattr(rendering_kernels, 'feel', noting(rendering_kernels.feel, called))
    for name in ('watch_sensors', 'watch_ringing', 'rest_distance'):
        monkeypatch.setattr(watch_kernels, name, noting(getattr(watch_kernels, name), called))
    loop.run_once()
    assert len(called) == 4


def noting(kernel, called):
    def noted(*words):
        called.add(kernel)
        return kernel(*words)

    return noted


def test_a_start_in_the_middle_of_a_solution_forgets_it(robot):
    device = HapticDevice(robot)
    loop, angle = made(device, 1e-3), np.full(6, 0.1)
    loop.tick(np.zeros(6), device.ports.sensor.copy())
    assert loop.advance() is None
    loop.start(angle)
    assert count(loop, [device.ports.sensor.copy()], angle) == 1
    np.testing.assert_allclose(device._parts.angle, angle, atol=1e-6)


@pytest.mark.parametrize('residual', [np.nan, NO_RESIDUAL])
def test_a_residual_that_is_no_number_leaves_the_ports_and_is_unstable(robot, residual):
    device = HapticDevice(robot)
    before = device.snapshot()
    device.begin(np.full(6, 1e-3), np.zeros(5))
    assert device.go_on() is None
    device._parts.progress.residual[:] = residual
    assert device.go_on() is Code.UNSTABLE
    assert all(np.array_equal(v, vars(before)[k]) for k, v in vars(device.ports).items())


def test_a_solution_in_parts_is_that_of_one_go_and_the_ports_wait_for_it(robot):
    parts, whole = HapticDevice(robot), HapticDevice(robot)
    force = np.array([0.03, -0.01, 0.005, 2e-4, 4e-4])
    before = parts.snapshot()
    parts.begin(np.full(6, 2e-4), force)
    for _ in range(2):
        assert parts.go_on() is None
        assert all(np.array_equal(v, vars(before)[k]) for k, v in vars(parts.ports).items())
    assert parts.go_on() is whole.update(np.full(6, 2e-4), force) is Code.NONE
    found = vars(whole.ports)
    assert all(np.array_equal(v, found[k]) for k, v in vars(parts.ports).items())


def test_a_model_of_two_milliseconds_senses_as_well_as_one_of_every_tick(robot, monkeypatch):
    """A hand moves the handle to and fro at up to 0.15 m/s; its true force is the plant's."""
    errors = {}
    for period in (1e-3, 2e-3):
        monkeypatch.setattr(haptic_loop, 'MODEL_PERIOD', period)
        plant, device = HapticDevice(robot), HapticDevice(robot)
        loop, worst = made(device, 1e-3), []
        assert loop._every == round(period / 1e-3)
        for k in range(500):
            push = 3.0 * np.sin(2.0 * np.pi * 2.0 * k * 1e-3)
            plant.update(np.zeros(6), np.array([push, 0.3 * push, 0.0, 0.0, 0.0]))
            assert loop.tick(plant.ports.angle.copy(), plant.ports.sensor.copy()) is Code.NONE
            sensing = loop.law.sensing
            worst.append(np.abs(sensing.wrench - plant.ports.axes @ plant.ports.force)[:3].max())
            loop.advance()
        errors[period] = max(worst)
    assert errors[1e-3] < 0.03 and errors[2e-3] < 0.03  # N, of 3; the second in parts
