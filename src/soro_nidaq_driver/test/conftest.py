# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a recording card and the wiring of three regulators on two cards."""

from __future__ import annotations

import pytest
from recording_card import GOOD, RecordingServer, Regulated

from soro_mechanics.robot_file.section import Section
from soro_nidaq_driver.wiring import read_wiring


@pytest.fixture
def card():
    server = RecordingServer()
    yield server
    server.stop()


@pytest.fixture
def wiring():
    return read_wiring(Section(GOOD, 'driver.nidaq'), Regulated())
