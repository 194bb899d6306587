# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What may move a handle that nobody holds: neither arming, nor a target, nor drifted sensors."""

import numpy as np
import pytest
from recorded_rig import PERIOD, Rig, STILL

from soro_driver.safety.not_allowed import NotAllowed
from soro_haptics.haptic_report import rendering_status, sensor_status
from soro_haptics.motor_motion import LINGER
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.virtual_environment import published_environment, VirtualEnvironment
from soro_node.diagnostics import Level
from soro_studies.haptics.reach import reach

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels

TURNED = np.array([0.3, -0.2, 0.1, 0.3, -0.2, 0.1])


def environment(name):
    return VirtualEnvironment(published_environment(name, np.eye(4)))


def moved_by_hand(rig):
    rig.angle = TURNED.copy()
    rig.plant.restart(rig.angle)
    rig.now += 1.0
    for _ in range(100):
        rig.tick(accepting=False)


def test_arming_again_moves_nothing_whatever_was_rendered_before(plant):
    rig = Rig(plant, rest_force=0.15).armed()
    rig.control.replace_environment(environment('hold'))
    for _ in range(20):
        rig.angle = rig.tick().values
    rig.control.disengaged()  # a fault, a stop, or a deactivation
    moved_by_hand(rig)
    rig.control.armed()
    for _ in range(500):
        rig.angle = rig.tick().values
    np.testing.assert_allclose(rig.angle, TURNED, atol=1e-4)
    assert rig.control.environment.objects == ()
    rig.control.replace_environment(environment('hold'))
    for _ in range(500):
        rig.angle = rig.tick().values
    assert np.abs(rig.angle - TURNED).max() > 0.1, 'what was asked for after that is rendered'


def test_out_of_control_no_environment_is_chosen(plant):
    rig = Rig(plant).armed()
    before = rig.control.environment
    rig.control.disengaged()
    with pytest.raises(NotAllowed, match='not in control'):
        rig.control.replace_environment(environment('hold'))
    assert rig.control.environment is before


@pytest.mark.parametrize('knows', [False, True])
def test_targets_that_were_coming_when_it_was_armed_move_nothing_before_they_pause(plant, knows):
    rig = Rig(plant, rest_force=0.15).armed()
    control = rig.control
    for _ in range(3):
        rig.now += 0.05
        control.move_motors(TURNED, rig.now)
    control.disengaged()  # a stop
    with pytest.raises(NotAllowed, match='not in control'):
        control.move_motors(TURNED, rig.now)
    control.armed()
    at = rig.angle.copy()
    for _ in range(20):
        rig.now += 0.05
        with pytest.raises(NotAllowed, match='pause'):
            control.move_motors(TURNED, rig.now)
        rig.angle = rig.tick().values
    np.testing.assert_allclose(rig.angle, at, atol=1e-4)
    rig.now += 0.05 if knows else LINGER
    control.move_motors(TURNED, rig.now, knows)
    for _ in range(50):
        rig.angle = rig.tick().values
    assert np.abs(rig.angle - at).max() > 0.01


def test_a_target_behind_a_wall_ends_at_the_wall_and_what_follows_is_slow(plant):
    rig = Rig(plant).armed()
    rig.control.replace_environment(environment('wall'))
    rig.tick()
    place = np.eye(4)
    place[0, 3] = -0.018
    behind = reach(plant, place).angle.copy()
    plant.restart(STILL)
    rig.control.move_motors(behind, rig.now)
    deepest, fastest = 0.0, 0.0
    for _ in range(round(2.0 * LINGER / PERIOD)):
        before = rig.angle
        rig.angle = rig.tick().values
        deepest = min(deepest, plant.ports.pose[0, 3])
        fastest = max(fastest, np.abs(rig.angle - before).max() / PERIOD)
    assert -0.012 < deepest < -0.01, 'it came to the wall and not through it'
    assert fastest < 2.1  # rad/s: 1 at first, doubled every second
    assert not rig.control.motion.active(rig.now)


def test_no_environment_is_set_while_the_motors_follow_a_target(plant):
    rig = Rig(plant).armed()
    rig.tick()
    rig.control.move_motors(0.5 * TURNED, rig.now)
    rig.tick()
    with pytest.raises(InvalidInput, match='target_actuation') as refused:
        rig.control.replace_environment(environment('hold'))
    assert refused.value.code is Code.BUSY
    rig.now += 2.0 * LINGER
    for _ in range(2):
        rig.tick()
    rig.control.replace_environment(environment('hold'))


@pytest.mark.parametrize('name', ['line', 'circle', 'hold'])
def test_an_error_of_the_sensors_moves_nothing_along_what_an_object_leaves_free(plant, name):
    rig = Rig(plant, rest_force=0.15).armed()
    chosen = environment(name)
    rig.control.replace_environment(chosen)
    error = (0.05, 0.05, 0.05, 0.001, 0.001)  # taken for a hand by whoever trusts the sensors
    places = []
    for _ in range(1000):
        rig.angle = rig.tick(error).values
        places.append((rig.angle, plant.ports.pose[:3, 3].copy()))
    settled = places[500][0]
    np.testing.assert_allclose(rig.angle, settled, atol=2e-3)
    assert chosen.touched
    assert (chosen.apart < [1e-3, 0.02]).all(), 'and the object holds the handle all the same'
    for _ in range(200):
        rig.angle = rig.tick((-2.0, -2.0, 2.0, 0.0, 0.0)).values
    if name != 'hold':
        assert np.linalg.norm(plant.ports.pose[:3, 3] - places[-1][1]) > 2e-3, 'a hand slides'


def test_what_cannot_be_rendered_is_said(plant, monkeypatch):
    rig = Rig(plant).armed()
    rig.tick()
    assert rendering_status(rig.control).level is Level.OK
    rendering = rig.control.haptics.loop.law.rendering
    with monkeypatch.context() as patch:
        patch.setattr(rendering, 'update', lambda *arguments: Code.AT_LIMIT)
        for _ in range(60):
            assert rig.tick() is not None
        status = rendering_status(rig.control)
        assert status.level is Level.WARN and 'AT_LIMIT' in status.message, status
    rig.tick()
    assert rendering_status(rig.control).level is Level.OK


def test_a_sensor_that_was_lost_stays_named_while_the_motors_follow_a_target(plant):
    rig = Rig(plant).armed()
    rig.tick(faulty=('flex_3',))
    rig.control.move_motors(STILL, rig.now)
    rig.tick(faulty=('flex_3',))
    status = sensor_status(rig.control)
    assert status.level is Level.ERROR
    assert 'flex_3' in status.message and 'paused' in status.message


def test_ticks_without_a_reading_are_not_counted_as_ticks_in_control(plant):
    rig = Rig(plant).armed()
    for _ in range(5):
        rig.tick()
    times = rig.control.times
    counts = times.compute.count, times.hand_to_command.count, times.model.count
    for _ in range(5):  # nothing could be read: the law is not asked
        rig.control.after_write()
    assert (times.compute.count, times.hand_to_command.count, times.model.count) == counts
    rig.control.disengaged()
    rig.now += 10.0
    rig.tick(accepting=False)
    assert times.period.largest < 1.0
    rig.tick(accepting=False)
    rig.control.clear_timing()
    rig.now += 10.0
    rig.tick(accepting=False)
    assert times.period.count == 0


def test_one_strip_that_drifts_moves_nothing_and_is_named(plant):
    rig = Rig(plant, rest_force=0.25).armed()
    drifted = plant.ports.sensor.copy()
    for _ in range(400):
        drifted[1] += 2e-6  # 1 mm/s: a force of 1 N bends the legs by a third of a millimetre
        rig.angle = rig.tick(elongation=drifted).values
    assert np.abs(rig.angle).max() < 1e-3
    guard = rig.control.haptics.guard
    assert guard.ignored == ['flex_2'] and guard.unchecked


def test_beside_a_lost_strip_a_drift_is_believed_little_and_moves_the_motors_slowly(plant):
    """Five readings explain any drift as a force."""
    rig = Rig(plant, rest_force=0.0).armed()
    seen = plant.ports.sensor.copy()
    fastest, law, random = 0.0, rig.control.haptics.loop.law, np.random.default_rng(2)
    for _ in range(150):
        seen[3:5] += 2e-5
        before = rig.angle
        noisy = seen + 1e-5 * random.normal(size=6)
        rig.angle = rig.tick(elongation=noisy, faulty=('flex_2',)).values
        fastest = max(fastest, np.abs(rig.angle - before).max() / PERIOD)
        assert np.abs(law.sensing.force()[:3]).max() < 1.0 + 1e-6
    assert fastest < 1.0 + 1e-6
    assert rig.control.haptics.guard.good.sum() == 5


def test_a_jump_of_a_strip_is_neither_rendered_nor_said_to_be_a_hand(plant):
    rig = Rig(plant, rest_force=0.0).armed()
    jumped = plant.ports.sensor + 1e-3 * (np.arange(6) == 4)
    for _ in range(40):
        rig.angle = rig.tick(elongation=jumped).values
        assert not rig.control.estimated or not rig.control.haptics.guard.good[4]
    assert np.abs(rig.angle).max() < 1.0 * PERIOD, 'no more than a tick of an approach'
    assert not rig.control.haptics.guard.good.any()
