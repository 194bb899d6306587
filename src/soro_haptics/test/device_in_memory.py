# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A haptic device without a wire, for tests of the node: it measures what the test says."""

from __future__ import annotations

import math
import time

import numpy as np

from soro_driver import devices
from soro_driver.device import Device, Identity, Reading, SensorReading
import soro_haptics.node as renderer
from soro_mechanics.robot_file.catalogue import find_robot_file

NAMES = tuple(f'flex_{i + 1}' for i in range(6))


class DeviceInMemory(Device):
    """Motors that stay at `angle`, sensors that do not move."""

    def __init__(self):
        self.angle = np.zeros(6)

    @classmethod
    def from_section(cls, section, robot, endpoint):
        return cls()

    def open(self):
        return Identity('in memory', '1')

    def read(self):
        sensors = SensorReading(NAMES, np.full(6, 3500.0), np.zeros(6, np.uint16))
        return Reading(
            time.monotonic(),
            self.angle.copy(),
            np.full(6, math.nan),
            np.zeros(6, np.uint16),
            sensors=sensors,
        )

    def write(self, values, ttl):
        pass

    def arm(self):
        pass

    def make_safe(self):
        pass

    def reset(self):
        pass

    def close(self):
        pass


def renderer_in_memory(ros, monkeypatch, folder, **parameters):
    """Return an unconfigured renderer, its device, and the file that says what robot it is."""
    device = DeviceInMemory()
    monkeypatch.setattr(DeviceInMemory, 'from_section', lambda *arguments: device)
    monkeypatch.setattr(devices, 'load', lambda name: DeviceInMemory)
    file = folder / 'haptic_5dof.yaml'
    file.write_text(find_robot_file('haptic_5dof').read_text(encoding='utf-8'), encoding='utf-8')
    node = ros.node(
        renderer.HapticRenderer,
        '/arm',
        robot=str(file),
        autostart=False,
        calibration_file=str(folder / 'calibration.yaml'),
        **parameters,
    )
    return node, device, file
