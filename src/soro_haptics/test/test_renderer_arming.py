# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The node on a device in memory: what a stop, a fault and a refused request leave behind."""

from device_in_memory import renderer_in_memory
import numpy as np
import pytest
from rclpy.lifecycle import TransitionCallbackReturn
from recorded_rig import nominal_calibration
from std_srvs.srv import Trigger

from soro_driver.device import DeviceState
from soro_driver.safety.not_allowed import NotAllowed
from soro_haptics.environment_messages import object_to_message
from soro_haptics.topic_device import TopicDevice
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.flex_calibration import save_calibration
from soro_mechanics.haptics.virtual_environment import published_environment
from soro_msgs.msg import ActuatorState
from soro_msgs.srv import SetVirtualEnvironment
from soro_rigs.ros_session import wait_until

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels

DONE = TransitionCallbackReturn.SUCCESS


@pytest.fixture
def active(ros, monkeypatch, tmp_path):
    save_calibration(nominal_calibration(), tmp_path / 'calibration.yaml')
    node, device, _ = renderer_in_memory(ros, monkeypatch, tmp_path)
    assert ros.do(node, node.trigger_configure) == DONE
    assert ros.do(node, node.trigger_activate) == DONE
    wait_until(lambda: node._control.estimated)
    return node, device


def feel(ros, name):
    objects = [object_to_message(o) for o in published_environment(name, np.eye(4))]
    request = SetVirtualEnvironment.Request(objects=objects)
    return ros.call(SetVirtualEnvironment, 'haptic_renderer/set_environment', request)


def felt(node):
    return [o.name for o in node._control.environment.objects]


def test_after_a_stop_no_environment_is_taken_and_clearing_renders_none(ros, active):
    node, _ = active
    assert feel(ros, 'wall').error_code == Code.NONE
    assert felt(node) == ['wall']
    assert ros.call(Trigger, 'driver/stop', Trigger.Request()).success
    reply = feel(ros, 'box')
    assert reply.error_code == Code.NOT_ACTIVE and 'driver/clear_fault' in reply.error_message
    assert not node._loop.safety.accepts_commands
    assert ros.call(Trigger, 'driver/clear_fault', Trigger.Request()).success
    assert felt(node) == [] and node._loop.safety.state is DeviceState.ACTIVE
    assert feel(ros, 'box').error_code == Code.NONE and felt(node) == ['box']


def test_over_topics_the_renderer_has_a_way_of_its_own_to_be_cleared(ros, monkeypatch, tmp_path):
    renderer_in_memory(ros, monkeypatch, tmp_path, loop='topics')
    reply = feel(ros, 'wall')
    assert 'haptic_renderer/clear_fault' in reply.error_message
    assert not ros.call(Trigger, 'haptic_renderer/clear_fault', Trigger.Request()).success


@pytest.mark.parametrize('topics', [False, True])
def test_diagnostics_name_all_that_has_to_be_cleared(active, monkeypatch, topics):
    node, _ = active
    node._topics = topics
    node._loop.stop('a test')
    monkeypatch.setattr(node._loop.safety, 'faults', 1)
    (said,) = (s.message for s in node.statuses(node._loop) if s.name == 'device')
    assert 'call driver/clear_fault' in said
    assert ('then /arm/haptic_renderer/clear_fault' in said) == topics


@pytest.mark.parametrize('topics', [False, True])
def test_a_refused_activation_names_all_that_has_to_be_cleared(ros, active, topics):
    node, _ = active
    node._topics = topics
    node._loop.stop('a test')
    ros.do(node, node.trigger_deactivate)
    assert ros.do(node, node.trigger_activate) != DONE
    assert 'call driver/clear_fault' in str(node.refusal)
    assert ('then /arm/haptic_renderer/clear_fault' in str(node.refusal)) == topics


def heard(state, stops=0):
    numbers = {'measured': [0.0], 'applied': [0.0], 'flags': [0]}
    return ActuatorState(name=['motor'], device_state=int(state), stops=stops, **numbers)


def test_a_driver_that_was_stopped_and_cleared_between_two_states_has_to_be_armed_again():
    device = TopicDevice(('motor',), (), lambda values: None, 1.0, 0.25)
    device.take_state(heard(DeviceState.ACTIVE, 7))
    device.arm()
    assert not device.read().tripped
    device.take_state(heard(DeviceState.ACTIVE, 8))
    assert device.read().tripped
    device.make_safe()
    device.arm()
    assert not device.read().tripped


@pytest.mark.parametrize('released', [True, False])
def test_a_driver_in_its_safe_state_is_driven_unless_that_releases_the_motors(released):
    driven = (DeviceState.ACTIVE,) if released else (DeviceState.ACTIVE, DeviceState.SAFE)
    device = TopicDevice(('motor',), (), lambda values: None, 1.0, 0.25, driven)
    assert not device.ready()
    device.take_state(heard(DeviceState.INACTIVE))
    assert not device.ready()
    device.take_state(heard(DeviceState.ACTIVE))
    assert device.ready()
    device.arm()
    device.take_state(heard(DeviceState.SAFE))
    assert device.read().tripped == released
    device.make_safe()
    if released:
        with pytest.raises(
            NotAllowed, match='SAFE: clear it first .driver/clear_fault'
        ) as refused:
            device.arm()
        assert refused.value.code is Code.BUSY, 'whoever clears both, one after the other, waits'
    device.take_state(heard(DeviceState.ACTIVE))
    device.arm()
    assert not device.read().tripped
