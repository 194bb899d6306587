# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Thirty muscles speak version 1.0: every byte of a session as boards in laboratories know it.

The bytes were recorded when 1.0 was the only version. Whoever changes them breaks those boards.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from plain_muscles import PLAIN
from recording_link import RecordingLink

from soro_driver.serial import session as serial_session
from soro_driver.settings import read_driver_settings
from soro_emulation.event_log import EventLog
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_stm32_driver.emulator.board import Stm32Board
from soro_stm32_driver.emulator.muscle_bank import MuscleBank
from soro_stm32_driver.emulator.properties import BoardProperties
from soro_stm32_driver.transport import Stm32Transport
from soro_stm32_driver.wiring import read_wiring

RECORDED = Path(__file__).with_name('stm32_session_1_0.txt')
MUSCLES = replace(PLAIN, curvature=0.15)


def test_both_ends_say_what_they_always_said(monkeypatch):
    monkeypatch.setattr(serial_session.secrets, 'randbelow', lambda _: 0x11223343)
    robot = read_robot_file(find_robot_file('pam_continuum'))
    wiring = read_wiring(read_driver_settings(robot).section, robot)
    bank = MuscleBank(np.full(30, 0.1), MUSCLES, np.random.default_rng(1), 100.0)
    board = Stm32Board(BoardProperties(), bank, EventLog(''), 100.0, 0xCAFE0001)
    link = RecordingLink(board, 100.0)
    link.pass_time(0.4)
    transport = Stm32Transport(wiring, 1.0, 5.0, link)
    transport.open()
    while not transport.vented(link.now):
        link.pass_time(0.1)
        transport.poll(link.now)
    said = [line for line in link.log if line.startswith('>')][:4] + link.log[:3]
    link.log.clear()
    transport.arm()
    goal = wiring.rest.copy()
    goal[:3] += 4e-3, -2e-3, -2e-3
    for _ in range(4):
        transport.command(goal, 0.5, link.now)
        link.pass_time(0.1)
        transport.poll(link.now)
    transport.disarm()
    link.pass_time(0.2)
    assert said + link.log == RECORDED.read_text(encoding='utf-8').splitlines()[1:]
