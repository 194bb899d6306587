# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A package brings a device and its emulator, and the emulator node finds it by entry point."""

from importlib.metadata import entry_points
import subprocess
import sys

import pytest

from soro_driver import devices
from soro_emulation.node import GROUP

DRIVERS = {point.name: point for point in entry_points(group=devices.GROUP)}
EMULATORS = {point.name: point for point in entry_points(group=GROUP)}


def test_every_device_has_an_emulator_in_its_own_package():
    def package(point):
        return point.module.partition('.')[0]

    assert DRIVERS
    assert {n: package(p) for n, p in EMULATORS.items()} == {
        n: package(p) for n, p in DRIVERS.items()
    }


@pytest.mark.parametrize('name', DRIVERS)
def test_a_driver_loads_no_emulation(name):
    code = (
        'import sys\n'
        'from soro_driver import devices\n'
        f'devices.load({name!r})\n'
        'print([m for m in sys.modules if m.startswith("soro_emulation") or ".emulator" in m])\n'
    )
    result = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout.strip() == '[]'


def test_a_package_from_elsewhere_adds_an_emulator(tmp_path, monkeypatch):
    (tmp_path / 'pump_emulator.py').write_text('class Pump:\n    pass\n')
    information = tmp_path / 'pump_driver-1.0.dist-info'
    information.mkdir()
    (information / 'METADATA').write_text('Name: pump_driver\nVersion: 1.0\n')
    (information / 'entry_points.txt').write_text(f'[{GROUP}]\npump = pump_emulator:Pump\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    assert devices.load('pump', GROUP).__name__ == 'Pump'
