# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Heartbeats lost in a row: a few are ridden out, the robot is not left alone without any.

Driver and board meet in memory and share a clock that only the test moves.
"""

from __future__ import annotations

import tempfile
import time

import numpy as np
import pytest
from six_motors import six_motors

from soro_can_driver.board import BoardState, CanId
from soro_can_driver.device import CanDevice
from soro_can_driver.emulator.motor_board import MotorBoard
from soro_driver import can_bus
from soro_driver.device import DeviceLost

PERIOD = 0.002  # s between ticks


class Link:
    """Carries frames between driver and board at once, but for the next heartbeats."""

    malformed = error_frames = 0

    def __init__(self):
        self.now = time.monotonic()
        self.board = MotorBoard(1, 7, lambda now: np.full(6, 2000.0), self.now)
        self.losses = {CanId.HOST_HEARTBEAT: 0, CanId.BOARD_HEARTBEAT: 0}
        self._arrived = []

    def _lost(self, identifier):
        left = self.losses.get(identifier, 0)
        if left:
            self.losses[identifier] = left - 1
        return left > 0

    def send(self, frames):
        for identifier, data in frames:
            if not self._lost(identifier):
                self._carry(self.board.receive(identifier, data, self.now))

    def _carry(self, frames):
        self._arrived += [f for f in frames if not self._lost(f[0])]

    def receive(self):
        self._carry(self.board.advance(self.now))
        found, self._arrived = self._arrived, []
        return found

    def close(self):
        pass


@pytest.fixture
def link(tmp_path, monkeypatch):
    made = Link()
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    monkeypatch.setattr(can_bus, 'SocketcandLink', lambda *_: made)
    return made


@pytest.fixture
def device(link):
    made = CanDevice(six_motors())
    made.open()
    made.arm()
    link.now = time.monotonic()
    yield made
    made.close()


def drive(link, transport, seconds, armed=True):
    end = link.now + seconds
    while link.now < end:
        link.now += PERIOD
        transport.poll(link.now)
        if armed:
            transport.command(np.zeros(6), 0.2)


@pytest.mark.parametrize('of', [CanId.HOST_HEARTBEAT, CanId.BOARD_HEARTBEAT])
def test_four_heartbeats_lost_in_a_row_are_ridden_out(link, device, of):
    drive(link, device.transport, 1.0)
    assert link.board.state is BoardState.ARMED
    link.losses[of] = 4
    drive(link, device.transport, 1.0)
    assert link.losses[of] == 0
    assert link.board.state is BoardState.ARMED


@pytest.mark.parametrize('mute', [False, True])
def test_a_board_is_lost_without_its_heartbeat_while_it_is_armed(link, device, mute):
    drive(link, device.transport, 1.0)
    device.make_safe()
    link.board.mute, link.losses[CanId.BOARD_HEARTBEAT] = mute, 0 if mute else 1000
    drive(link, device.transport, 0.6, armed=False)  # nothing moves
    device.arm()
    began = link.now = time.monotonic()  # which the driver has looked at
    with pytest.raises(DeviceLost, match='no heartbeat of the board'):
        drive(link, device.transport, 1.0)
    assert 0.2 < link.now - began < 0.31


def test_a_host_without_its_heartbeat_is_disarmed(link, device):
    drive(link, device.transport, 1.0)
    link.losses[CanId.HOST_HEARTBEAT] = 1000
    drive(link, device.transport, 0.31)
    assert link.board.state is BoardState.SAFE


def test_an_armed_board_waits_for_its_first_command(link, device):
    drive(link, device.transport, 0.6, armed=False)
    assert link.board.state is BoardState.ARMED and not device._tripped()
