# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What streams, drivers and devices give, or do not give, pushes no hand and hides no sensor."""

from dataclasses import replace

import numpy as np
import pytest
from recorded_rig import haptics, Rig, STILL

from soro_driver.device import DeviceState
from soro_driver.safety.not_allowed import NotAllowed
from soro_haptics.haptic_report import sensor_status
from soro_haptics.topic_device import TopicDevice
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.virtual_environment import published_environment, VirtualEnvironment
from soro_msgs.msg import ActuatorState

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels

BIAS = 2e-5 * np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0])  # m, one deviation of each strip


@pytest.mark.parametrize('part', [0, 3])
def test_a_stream_of_next_to_nothing_lets_no_handle_drift_that_nobody_holds(plant, part):
    moved = {}
    for size in (1e-6, 0.1, 0.4):  # N, times the lever for moments; 0.15 N are rest_force
        rig = Rig(plant, rest_force=0.15).armed()
        wrench = np.zeros(6)
        wrench[part] = size * (0.04 if part else 1.0)
        for _ in range(200):
            rig.control.environment.live.add_wrench(wrench)
            rig.angle = rig.tick(elongation=plant.ports.sensor + BIAS).values
        assert rig.control.environment.live.pushes
        moved[size] = np.abs(rig.angle).max()
    assert moved[1e-6] < 1e-3 and moved[0.1] < 1e-3
    assert moved[0.4] > 0.02, 'what pushes by more than that moves it'


def test_what_a_stream_adds_goes_on_where_another_environment_comes(plant):
    rig, wrench = Rig(plant, rest_force=0.15).armed(), np.array([2.0, 0.0, 0.0, 0.0, 0.02, 0.0])
    for _ in range(100):
        rig.control.environment.live.add_wrench(wrench)
        rig.tick((-2.0, 0.0, 0.0, 0.0, 0.0))
    limit = published_environment('angle', np.eye(4))
    rig.control.replace_environment(VirtualEnvironment(limit))
    np.testing.assert_allclose(rig.control.environment.live.wrench, wrench, atol=1e-3)
    rig.control.armed()
    assert not rig.control.environment.live.wrench.any(), 'after a stop nobody has asked for it'


def test_an_environment_within_the_limits_of_an_earlier_calibration_is_not_rendered(plant):
    rig = Rig(plant).armed()
    control, wall = rig.control, VirtualEnvironment(published_environment('wall', np.eye(4)))
    before = control.haptics.limits
    control.replace_haptics(replace(haptics(), limits=replace(before, resisting=1.0)))
    with pytest.raises(InvalidInput, match='last calibration') as refused:
        control.replace_environment(wall, before)
    assert refused.value.code is Code.BUSY and control.environment is not wall
    control.replace_environment(wall, control.haptics.limits)
    assert control.environment is wall


@pytest.mark.parametrize('value', [np.nan, np.inf])
def test_a_reading_that_is_no_number_is_left_out_as_an_open_sensor_is(plant, value):
    rig = Rig(plant).armed()
    for _ in range(5):
        rig.tick((0.5, 0.0, 0.0, 0.0, 0.0))
    wrong = plant.ports.sensor.copy()
    wrong[2] = value
    assert rig.tick((0.5, 0.0, 0.0, 0.0, 0.0), elongation=wrong) is not None
    guard = rig.control.haptics.guard
    assert guard.ignored == ['flex_3'] and rig.control.estimated
    np.testing.assert_allclose(rig.control.haptics.loop.law.sensing.wrench[0], 0.5, atol=0.1)


def test_a_device_without_readings_is_not_said_to_want_a_calibration(plant):
    rig = Rig(plant, calibrated=False).armed()
    for _ in range(3):
        assert rig.tick(sensors=None) is not None
    said = sensor_status(rig.control).message
    assert 'reads no flex sensors' in said and 'hand not felt' in said
    rig.tick()
    assert 'not calibrated' in sensor_status(rig.control).message


@pytest.mark.parametrize('name', ['/arm/haptic_renderer', '/arm/other'])
def test_a_second_renderer_is_not_armed_while_the_first_commands_the_driver(name):
    device = TopicDevice(('motor',), (), lambda values: None, 1.0, 0.25)

    def hears(source):
        lists = {'measured': [0.0], 'applied': [0.0], 'flags': [0]}
        state = ActuatorState(name=['motor'], device_state=int(DeviceState.ACTIVE), **lists)
        state.command_source = source
        device.take_state(state)

    hears(name)
    with pytest.raises(NotAllowed, match=name) as refused:
        device.arm()
    assert refused.value.code is Code.BUSY, 'tried again: it may be its own of before'
    hears('')
    device.arm()
    hears(name)
    assert not device.read().tripped
    np.testing.assert_array_equal(device.read().measured, STILL[:1])
