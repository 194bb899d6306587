# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Which words of the board stop the robot, and which errors of the bus are not worth a wait."""

from __future__ import annotations

from board_on_a_link import wiring
import pytest

from soro_can_driver.board import EmergencyCode
from soro_can_driver.device import CanDevice
from soro_driver.device import DEVICE_FAULT_SHIFT, DeviceError, DeviceLost
from soro_driver.python_can_link import PythonCanLink


@pytest.fixture
def device(board):
    made = CanDevice(wiring())
    made.open()
    yield made
    made.close()


def test_a_flex_sensor_is_named_by_its_flag_and_is_no_fault_of_the_robot(device):
    device.transport.emergencies.update({EmergencyCode.FLEX: 1, EmergencyCode.ENCODER_JUMP: 1})
    faults = device.read().faults >> DEVICE_FAULT_SHIFT
    assert faults == 1 << EmergencyCode.ENCODER_JUMP


def test_an_interface_that_does_not_exist_is_not_waited_for():
    with pytest.raises(DeviceError, match='nknown interface') as refused:
        PythonCanLink(wiring('socketcann'), 0.1)
    assert not isinstance(refused.value, DeviceLost)
