# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Six motors speak version 1.0: every byte of a session as boards in laboratories know it.

The bytes were recorded when 1.0 was the only version. Whoever changes them breaks those boards.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from recording_wire import RecordingWire
from six_motors import six_motors

from soro_can_driver import transport as can_transport
from soro_can_driver.board import EmergencyCode
from soro_can_driver.emulator.motor_board import MotorBoard
from soro_can_driver.transport import CanTransport

SESSION = Path(__file__).with_name('can_session_1_0.txt')
COUNTS = np.array([100.0, 200.0, 300.0, 400.0, 500.0, 600.0])


def test_both_ends_say_what_they_always_said(monkeypatch):
    monkeypatch.setattr(can_transport.secrets, 'randbelow', lambda _: 0x11223343)
    transport = CanTransport(six_motors(step=np.full(6, 0.08)), 1.0, 5.0)
    transport.bus = wire = RecordingWire(MotorBoard(0xABCD, 77, lambda _: COUNTS, 100.0), 100.0)
    target = 0.2 * np.array([0.1, -0.1, 0.05, 0.0, 0.02, 0.03])
    transport.open()
    transport.arm()
    transport.command(target, 0.2)
    transport._heartbeat_at = -1.0
    transport.poll(transport._alive_at)
    transport.command(target, 0.2)
    wire.board.fail(EmergencyCode.TRACKING, 5)
    transport.poll(transport._alive_at)
    transport.disarm()
    assert wire.log == SESSION.read_text(encoding='utf-8').splitlines()[1:]
