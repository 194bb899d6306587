# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Sensors beside an emulated device: their rate, latency and losses, and a force sensor.

Pure: the clock is an argument.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
import math
from typing import Any

import numpy as np

from soro_emulation.device_emulator import Array
from soro_node.parameters import fixed, Parameter


def sensor_parameters(name: str, rate: float, latency: float, about: str) -> tuple[Parameter, ...]:
    """Return what every sensor has."""
    return (
        fixed(name, False, '', about),
        Parameter(f'{name}_rate', rate, 'Hz', 'at most `rate`', minimum=0.1, maximum=200.0),
        Parameter(f'{name}_latency', latency, 's', 'to a message', minimum=0.0, maximum=5.0),
        Parameter(f'{name}_drop_outs', 0.0, '', 'share that is lost', minimum=0.0, maximum=1.0),
    )


PARAMETERS = (
    *sensor_parameters(
        'force_sensor', 200.0, 0.005,
        'publish external_wrench: `hidden_wrench` as a sensor at the tip feels it',
    ),
    Parameter(
        'force_sensor_noise', [0.01] * 3 + [1e-4] * 3, 'N, N m', 'standard deviation of each axis',
        sizes=(6,), minimum=0.0,
    ),
    Parameter('force_sensor_zero', [0.0] * 6, 'N, N m', 'it reads without a load', sizes=(6,)),
    Parameter(
        'force_sensor_tool', [0.0] * 4, 'kg, m', 'mass and its centre in the sensor: weighs on it',
        sizes=(4,),
    ),
)  # fmt: skip
FRAME = 'force_sensor'  # lies in `tip`


class EmulatedSensor:
    """What comes when; `values`: its parameters, read anew for every measurement."""

    def __init__(self, name: str, values: Mapping[str, Any], seed: int) -> None:
        self._name, self._values = name, values
        self._random = np.random.default_rng(seed)
        self._waiting: deque[Any] = deque()
        self._next = -math.inf

    def _looks(self, now: float, lost: bool = False) -> bool:
        """Whether it is time to measure, and the measurement is not lost."""
        values = self._values
        # Half a period early is on time: what is seen comes with the rate of the body's solves.
        if now < self._next - 0.5 / values['rate']:
            return False
        self._next = max(now, self._next + 1.0 / values[f'{self._name}_rate'])
        return not (lost or self._random.random() < values[f'{self._name}_drop_outs'])

    def due(self, now: float) -> list[Any]:
        """Return what goes out at `now` [s], oldest first."""
        found = []
        while self._waiting and self._waiting[0].due <= now:
            found.append(self._waiting.popleft())
        return found


@dataclass(frozen=True)
class FeltWrench:
    """What goes out as one message."""

    stamp: Any  #: when it was measured, as it came
    wrench: Array  #: (6,) in the axes of the tip [N, N m]
    due: float  #: when it goes out [s, steady clock]


class EmulatedForceSensor(EmulatedSensor):
    """A sensor between the tip and a tool; `gravity` (3,) in base_link [m/s^2]."""

    def __init__(self, values: Mapping[str, Any], gravity: Array, seed: int) -> None:
        super().__init__('force_sensor', values, seed)
        self._gravity = gravity

    def feel(self, load: Array, tip: Array, stamp: Any, measured: float, now: float) -> None:
        """Measure a load (6,) at the tip (4, 4), axes of base_link; times as of a tracker."""
        if not self._looks(now):
            return
        values, turn = self._values, tip[:3, :3].T
        mass, *centre = values['force_sensor_tool']
        weight = turn @ self._gravity * mass
        wrench = np.concatenate([turn @ load[:3] + weight, turn @ load[3:]])
        wrench[3:] += np.cross(centre, weight)
        wrench += values['force_sensor_zero']
        wrench += values['force_sensor_noise'] * self._random.standard_normal(6)
        due = measured + values['force_sensor_latency']
        self._waiting.append(FeltWrench(stamp, wrench, due))
