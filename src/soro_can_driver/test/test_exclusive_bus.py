# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A bus has one driver, whatever the interface and however the bus is written."""

from __future__ import annotations

from board_on_a_link import wiring
import pytest

from soro_can_driver.device import CanDevice
from soro_driver.device import DeviceError, DeviceLost, DeviceTimeout

SAME = [
    (wiring(), wiring()),
    (wiring(), wiring('socketcand')),
    (wiring('pcan', 'PCAN_USBBUS1'), wiring('pcan', 'PCAN_USBBUS1')),
    (wiring('socketcand', port=1), wiring('socketcand', host='localhost', port=1)),
    (wiring('socketcand', host='Lab'), wiring('socketcand', host='lab')),
]
OTHERS = [
    (wiring(), wiring(channel='can1')),
    (wiring('pcan'), wiring('kvaser')),
    (wiring('socketcand', port=1), wiring('socketcand', port=2)),
    (wiring('socketcand', host='lab'), wiring('socketcand', host='attic')),
]


@pytest.mark.parametrize(('one', 'other'), SAME)
def test_a_second_driver_is_refused_until_the_first_has_closed(board, one, other):
    first, second = CanDevice(one), CanDevice(other)
    first.open()
    with pytest.raises(DeviceError, match='in use by process'):
        second.open()
    first.read()
    first.close()
    second.open()
    second.close()


@pytest.mark.parametrize(('one', 'other'), OTHERS)
def test_two_buses_have_two_drivers(board, one, other):
    first, second = CanDevice(one), CanDevice(other)
    first.open()
    second.open()
    first.close()
    second.close()


@pytest.mark.parametrize(('wrong', 'kind'), [('absent', DeviceLost), ('silent', DeviceTimeout)])
def test_whoever_could_not_open_keeps_nobody_from_the_bus(board, wrong, kind):
    first, second = CanDevice(wiring()), CanDevice(wiring())
    setattr(board, wrong, True)
    with pytest.raises(kind):
        first.open()
    setattr(board, wrong, False)
    second.open()
    second.close()
