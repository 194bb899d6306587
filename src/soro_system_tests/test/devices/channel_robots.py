# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Robot files for benches of any number of channels: one text, `count` drives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from robot_processes import RobotProcesses
import yaml

from soro_driver.device import DeviceState
from soro_mechanics.core.actuators import QUANTITIES
from soro_mechanics.robot_file.reader import read_robot_file

DSPACE = Path(__file__).with_name('dspace_bench.yaml')


def pressure_names(count: int) -> tuple[str, ...]:
    """Return the names of the drives of `pressure_robot`."""
    return tuple(f'chamber_{i}' for i in range(1, count + 1))


def pressure_robot(folder: Path, count: int) -> Path:
    """Write the robot of the serial bench with another number of chambers in its arm.

    The regulators are wired to them in the opposite order.
    """
    data = yaml.safe_load(DSPACE.read_text(encoding='utf-8'))
    names = pressure_names(count)
    segment, drive = data['body']['segments'][0], data['drives'][0]
    segment |= {
        'bending_stiffness': '0.2788 N m^2',
        'shear_factor': 0.85,
        'linear_density': '0.6 kg/m',
    }
    del segment['elongation'], segment['shortest_length'], segment['longest_length']
    segment['chambers'] = [
        {'drive': name, 'area': '250 mm^2', 'offset': '38 mm', 'angle': f'{360 * i / count:g} deg'}
        for i, name in enumerate(names)
    ]
    data['name'], data['models'] = f'dspace_{count}', {'npcc': {}}
    data['drives'] = [{**drive, 'name': name} for name in names]
    data['driver']['dspace']['channels'] = {name: count - i for i, name in enumerate(names)}
    file = folder / f'dspace_{count}.yaml'
    file.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    return file


class ChannelRobot(RobotProcesses):
    """Driver and emulator of a robot with any actuators, as its file says."""

    def __init__(self, folder: Path, robot: Path, tolerance: float) -> None:
        super().__init__(folder, robot, 20.0)
        self.actuators = read_robot_file(robot).actuators
        self.tolerance = tolerance  # SI, of the measurement
        self.rest = np.array([a.rest for a in self.actuators])

    def send(self, values: Any, names: Any = None, quantity: int = 0, source: str = '') -> None:
        """Publish one command for every actuator."""
        names = [a.name for a in self.actuators]
        super().send(values, names, QUANTITIES[self.actuators[0].quantity][0], source)

    def go(self, goal: np.ndarray, timeout: float = 15.0) -> None:
        """Stream a target from where the robot is, and wait until the device is there."""

        def there() -> bool:
            if self.state.command_source != self.source:
                self.resume()
                self.target = self.where()
                return False
            self.target = goal
            return bool(np.all(np.abs(self.where() - goal) < self.tolerance))

        self.wait_for(there, timeout, f'at {goal}')

    def where(self) -> np.ndarray:
        """Return the measurement; where nothing measures, what the device says it applies."""
        measured = np.array(self.state.measured)
        return np.where(np.isnan(measured), self.state.applied, measured)

    def check_stays(self, seconds: float) -> None:
        """Go on commanding a robot that was stopped; nobody obeys."""
        here = self.where()
        self.target = here + 0.2 * np.array([a.maximum - a.minimum for a in self.actuators])
        end = len(self.states)
        self.spin(seconds)
        assert DeviceState.ACTIVE not in {s.device_state for _, s in self.states[end:]}
        self.target = None
