# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What may move a handle that nobody holds: neither arming, nor a target, nor drifted sensors."""

import numpy as np
import pytest
from recorded_bench import Bench, PERIOD, STILL

from soro_driver.driver_report import Level
from soro_driver.not_allowed import NotAllowed
from soro_haptics.haptic_report import rendering_status, sensor_status
from soro_haptics.motor_motion import LINGER
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.virtual_environment import published_environment, VirtualEnvironment

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels

TURNED = np.array([0.3, -0.2, 0.1, 0.3, -0.2, 0.1])


def environment(name):
    return VirtualEnvironment(published_environment(name, np.eye(4)))


def moved_by_hand(bench):
    bench.angle = TURNED.copy()
    bench.plant.restart(bench.angle)
    bench.now += 1.0
    for _ in range(100):
        bench.tick(accepting=False)


def test_arming_again_moves_nothing_whatever_was_rendered_before(plant):
    bench = Bench(plant, rest_force=0.15).armed()
    bench.control.replace_environment(environment('hold'))
    for _ in range(20):
        bench.angle = bench.tick().values
    bench.control.disengaged()  # a fault, a stop, or a deactivation
    moved_by_hand(bench)
    bench.control.armed()
    for _ in range(500):
        bench.angle = bench.tick().values
    np.testing.assert_allclose(bench.angle, TURNED, atol=1e-4)
    assert bench.control.environment.objects == ()
    bench.control.replace_environment(environment('hold'))
    for _ in range(500):
        bench.angle = bench.tick().values
    assert np.abs(bench.angle - TURNED).max() > 0.1, 'what was asked for after that is rendered'


def test_out_of_control_no_environment_is_chosen(plant):
    bench = Bench(plant).armed()
    before = bench.control.environment
    bench.control.disengaged()
    with pytest.raises(NotAllowed, match='not in control'):
        bench.control.replace_environment(environment('hold'))
    assert bench.control.environment is before


def test_a_target_behind_a_wall_ends_at_the_wall_and_what_follows_is_slow(plant):
    bench = Bench(plant).armed()
    bench.control.replace_environment(environment('wall'))
    bench.tick()
    place = np.eye(4)
    place[0, 3] = -0.018
    behind = plant.reach(place).angle.copy()
    plant.restart(STILL)
    bench.control.move_motors(behind, bench.now)
    deepest, fastest = 0.0, 0.0
    for _ in range(round(2.0 * LINGER / PERIOD)):
        before = bench.angle
        bench.angle = bench.tick().values
        deepest = min(deepest, plant.ports.pose[0, 3])
        fastest = max(fastest, np.abs(bench.angle - before).max() / PERIOD)
    assert -0.012 < deepest < -0.01, 'it came to the wall and not through it'
    assert fastest < 2.1  # rad/s: 1 at first, doubled every second
    assert not bench.control.motion.active(bench.now)


def test_no_environment_is_set_while_the_motors_follow_a_target(plant):
    bench = Bench(plant).armed()
    bench.tick()
    bench.control.move_motors(0.5 * TURNED, bench.now)
    bench.tick()
    with pytest.raises(InvalidInput, match='target_actuation') as refused:
        bench.control.replace_environment(environment('hold'))
    assert refused.value.code is Code.BUSY
    bench.now += 2.0 * LINGER
    for _ in range(2):
        bench.tick()
    bench.control.replace_environment(environment('hold'))


@pytest.mark.parametrize('name', ['line', 'circle', 'hold'])
def test_an_error_of_the_sensors_moves_nothing_along_what_an_object_leaves_free(plant, name):
    bench = Bench(plant, rest_force=0.15).armed()
    chosen = environment(name)
    bench.control.replace_environment(chosen)
    error = (0.05, 0.05, 0.05, 0.001, 0.001)  # taken for a hand by whoever trusts the sensors
    places = []
    for _ in range(1000):
        bench.angle = bench.tick(error).values
        places.append((bench.angle, plant.ports.pose[:3, 3].copy()))
    settled = places[500][0]
    np.testing.assert_allclose(bench.angle, settled, atol=2e-3)
    assert chosen.touched
    assert (chosen.apart < [1e-3, 0.02]).all(), 'and the object holds the handle all the same'
    for _ in range(200):
        bench.angle = bench.tick((-2.0, -2.0, 2.0, 0.0, 0.0)).values
    if name != 'hold':
        assert np.linalg.norm(plant.ports.pose[:3, 3] - places[-1][1]) > 2e-3, 'a hand slides'


def test_what_cannot_be_rendered_is_said(plant, monkeypatch):
    bench = Bench(plant).armed()
    bench.tick()
    assert rendering_status(bench.control).level is Level.OK
    rendering = bench.control.haptics.loop.law.rendering
    with monkeypatch.context() as patch:
        patch.setattr(rendering, 'update', lambda *arguments: Code.AT_LIMIT)
        for _ in range(60):
            assert bench.tick() is not None
        status = rendering_status(bench.control)
        assert status.level is Level.WARN and 'AT_LIMIT' in status.message, status
    bench.tick()
    assert rendering_status(bench.control).level is Level.OK


def test_a_sensor_that_was_lost_stays_named_while_the_motors_follow_a_target(plant):
    bench = Bench(plant).armed()
    bench.tick(faulty=('flex_3',))
    bench.control.move_motors(STILL, bench.now)
    bench.tick(faulty=('flex_3',))
    status = sensor_status(bench.control)
    assert status.level is Level.ERROR
    assert 'flex_3' in status.message and 'paused' in status.message


def test_ticks_without_a_reading_are_not_counted_as_ticks_in_control(plant):
    bench = Bench(plant).armed()
    for _ in range(5):
        bench.tick()
    times = bench.control.times
    counts = times.compute.count, times.hand_to_command.count, times.model.count
    for _ in range(5):  # nothing could be read: the law is not asked
        bench.control.after_write()
    assert (times.compute.count, times.hand_to_command.count, times.model.count) == counts
    bench.control.disengaged()
    bench.now += 10.0
    bench.tick(accepting=False)
    assert times.period.largest < 1.0
    bench.tick(accepting=False)
    bench.control.clear_timing()
    bench.now += 10.0
    bench.tick(accepting=False)
    assert times.period.count == 0
