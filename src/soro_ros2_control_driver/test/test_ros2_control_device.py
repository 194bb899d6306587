# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Opening the device while its guard, the joint states or the controller come late."""

import contextlib

import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from soro_driver.device import DeviceError, DeviceLost
from soro_mechanics.core.actuators import Actuator
from soro_rigs.domains import own_domain
from soro_rigs.ros_session import RosSession, wait_until
from soro_ros2_control_driver.device import _waiting, Ros2ControlDevice
from soro_ros2_control_driver.wiring import Ros2ControlWiring

WIRING = Ros2ControlWiring(
    '/late/commands', '/late/states', ('j1',), (0,), 'position', (1.0,), (0.0,)
)
ACTUATORS = (Actuator('winch', 'angle', -1.0, 1.0, 1.0, 0.0),)


def test_it_waits_for_what_comes_late_without_beginning_anew(monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(own_domain()))
    device = Ros2ControlDevice(WIRING, ACTUATORS)
    device.open_timeout = 0.01  # a guard that loads takes longer
    with pytest.raises(DeviceLost, match='/late/states'):
        device.open()
    device.close()
    guard = _waiting['/late/commands'][2].pid
    with RosSession('') as ros:
        states = ros.client.create_publisher(JointState, '/late/states', 1)
        state = JointState(name=['j1'], position=[0.5])

        def opened(device):
            state.header.stamp = ros.client.get_clock().now().to_msg()
            states.publish(state)
            with contextlib.suppress(DeviceError):
                return device.open()

        device = Ros2ControlDevice(WIRING, ACTUATORS)  # as the driver makes one per attempt
        device.open_timeout = 0.1
        assert wait_until(lambda: opened(device)).session == guard
        assert not device.ready()  # no controller
        heard = []
        ros.client.create_subscription(Float64MultiArray, '/late/commands', heard.append, 1)

        def ready():
            state.header.stamp = ros.client.get_clock().now().to_msg()
            states.publish(state)
            return device.ready()  # and nobody reads

        wait_until(ready)
        device.close()
