# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A robot is disarmed although frames are lost, and given up where nobody confirms it."""

from __future__ import annotations

import time

from board_on_a_link import wiring
import pytest

from soro_can_driver.board import Parameter
from soro_can_driver.device import CanDevice
from soro_driver.device import DeviceTimeout
from soro_rigs.held_up import undisturbed


@pytest.fixture
def device(board):
    made = CanDevice(wiring())
    made.open()
    made.arm()
    board.asked = ()
    yield made
    made.close()


@pytest.mark.parametrize('lost', [0, 1, 2])
def test_a_lost_frame_does_not_give_the_board_up(board, device, lost):
    board.losses = lost
    device.make_safe()
    assert board.asked == (Parameter.DISARM,) * (lost + 1)


@undisturbed
def test_a_board_that_does_not_confirm_is_stopped_in_time(board, device, monkeypatch):
    board.silent, board.asked, stops = True, (), []
    monkeypatch.setattr(device.transport, 'stop_at_once', stops.append)
    began = time.monotonic()
    with pytest.raises(DeviceTimeout, match='did not answer DISARM'):
        device.make_safe()
    assert time.monotonic() - began < 2.0 * device.io_timeout  # of a busy computer
    assert stops == [0]
    assert board.asked.count(Parameter.DISARM) >= 2
