# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Six motors on an emulated CAN board as processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from robot_processes import RobotProcesses

from soro_mechanics.robot_file.catalogue import find_robot_file

DRIVER = Path(__file__).with_name('can_bench_driver.yaml')
NAMES = tuple(f'motor_{i}' for i in range(1, 7))
ANGLE = 3  # soro_msgs/ActuatorCommand
NEAR = 0.02  # rad


class CanRobot(RobotProcesses):
    """Driver and emulator of six motors."""

    def __init__(self, folder: Path, *changes: tuple[str, str]) -> None:
        motors = find_robot_file('stiff_flop').with_name('examples') / 'crank_platform.yaml'
        bare = motors.read_text(encoding='utf-8').partition('\nemulator:')[0] + '\n'
        text = bare + DRIVER.read_text(encoding='utf-8')
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new, 1)
        file = folder / 'can_bench.yaml'
        file.write_text(text, encoding='utf-8')
        super().__init__(folder, file)

    def send(
        self, values: Any, names: Any = NAMES, quantity: int = ANGLE, source: str = ''
    ) -> None:
        """Publish one command."""
        super().send(values, names, quantity, source)

    def turn(self, angle: float, timeout: float = 8.0) -> None:
        """Stream a target for the first motor, and wait until it is there."""
        goal = np.array([angle, 0.0, 0.0, 0.0, 0.0, 0.0])

        def there() -> bool:
            if self.state.command_source != self.source:
                self.resume()
                self.target = np.nan_to_num(self.state.measured)
                return False
            self.target = goal
            return bool(np.all(np.abs(np.array(self.state.measured) - goal) < NEAR))

        self.wait_for(there, timeout, f'motor 1 at {angle} rad')
