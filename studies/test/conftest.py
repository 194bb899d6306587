# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What tests of studies share; test modules of this folder import each other."""

from pathlib import Path
import sys

import pytest

from soro_mechanics import load_robot
from soro_mechanics.haptics.device import HapticDevice
from soro_studies.haptics import virtual_bench
from soro_studies.haptics.virtual_bench import bench_signals, calibrated_report

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope='module')
def plant(robot):
    return HapticDevice(robot)


@pytest.fixture(scope='session')
def robot():
    return load_robot('haptic_5dof')


@pytest.fixture(scope='session')
def signals():
    return bench_signals(6)


@pytest.fixture
def few_samples(monkeypatch):
    """Take a quarter of the samples for calibrations."""
    monkeypatch.setattr(virtual_bench, 'SAMPLED', 0.2)


@pytest.fixture(scope='session')
def report(robot, signals):
    """Return the calibration of the emulated sensors, with what its fits say."""
    return calibrated_report(robot, signals, 0.3)
