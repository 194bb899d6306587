# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Six emulated drives behind a server of their own."""

from __future__ import annotations

import time

import pytest
import yaml

from soro_cia402_driver.emulator.device import Cia402Emulator
from soro_driver.endpoint import Endpoint
from soro_driver.settings import read_driver_settings
from soro_emulation.device_emulator import EmulatorContext
from soro_emulation.event_log import EventLog
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_mechanics.robot_file.section import Section
from soro_rigs.ros_session import wait_until

TTL = 0.5  # s
EXAMPLE = find_robot_file('stiff_flop').with_name('examples') / 'tendon_arm_drives.yaml'


def pass_time(seconds):
    """Let the drives' clock, which is this computer's, go on."""
    end = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() >= end)


@pytest.fixture(scope='module')
def robot(tmp_path_factory):
    """Read the catalogue's arm; as patient as a driver may be, a busy computer must not decide."""
    data = yaml.safe_load(EXAMPLE.read_text())
    data['driver']['time_to_live'] = f'{TTL} s'
    file = tmp_path_factory.mktemp('arm') / 'tendon_arm_drives.yaml'
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    return read_robot_file(file)


@pytest.fixture
def bench(robot, tmp_path):
    """Start the drives; the emulator, and where it listens."""
    section = read_driver_settings(robot).section
    place = Endpoint(0, tmp_path)
    context = EmulatorContext(robot, section, Section({}, 'e'), place, 1, EventLog(''))
    emulator = Cia402Emulator(context, time.monotonic())
    emulator.start()
    yield emulator, Endpoint(emulator.wire.server.port, tmp_path)
    emulator.stop()
