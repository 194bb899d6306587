# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the demo records, put on one clock: pressures, the model's shape, the plant's shape."""

from __future__ import annotations

import csv
from dataclasses import dataclass
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.qos import QoSProfile, ReliabilityPolicy

from soro_cli.robot_choice import RunningRobot
from soro_msgs.msg import ActuatorState, Configuration

Array = NDArray[np.float64]
RATE = 40.0  # Hz, the rate at which the experiment was recorded (section 5.2)
_STREAM = QoSProfile(depth=50, reliability=ReliabilityPolicy.BEST_EFFORT)


@dataclass(frozen=True)
class Recording:
    """One run on a common clock of `RATE`.

    Attributes
    ----------
    time : ndarray, shape (n,) [s]
        From the first sample.
    commanded, measured : ndarray, shape (n, m) [Pa]
    model, plant : ndarray, shape (n, 5)
        Tip x, y, z [m], bending angle [rad], elongation of the backbone [m].
    """

    names: tuple[str, ...]
    time: Array
    commanded: Array
    measured: Array
    model: Array
    plant: Array

    def part(self, start: float, end: float) -> Recording:
        """Return the samples between two times [s]."""
        keep = (self.time >= start) & (self.time < end)
        return Recording(
            self.names,
            self.time[keep],
            self.commanded[keep],
            self.measured[keep],
            self.model[keep],
            self.plant[keep],
        )

    def write_csv(self, path: Path) -> None:
        """Write every sample, SI units in the column names."""
        shape = ('x_m', 'y_m', 'z_m', 'bending_rad', 'elongation_m')
        header = ['time_s']
        header += [f'{name}_commanded_Pa' for name in self.names]
        header += [f'{name}_measured_Pa' for name in self.names]
        header += [f'model_{name}' for name in shape] + [f'plant_{name}' for name in shape]
        rows = np.column_stack([self.time, self.commanded, self.measured, self.model, self.plant])
        with path.open('w', newline='', encoding='utf-8') as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows([f'{x:.9g}' for x in row] for row in rows)


class Recorder:
    """Collects the streams of a running robot until `finish`."""

    def __init__(self, robot: RunningRobot) -> None:
        self._names = tuple(a.name for a in robot.description.actuators)
        self._pressures: list[tuple[float, ...]] = []
        self._model: list[tuple[float, ...]] = []
        self._plant: list[tuple[float, ...]] = []
        space, node = robot.namespace, robot.session.node
        self._node = node
        self._subscriptions = [
            node.create_subscription(
                ActuatorState, f'{space}/actuator_state', self._on_state, _STREAM
            ),
            node.create_subscription(
                Configuration, f'{space}/configuration', self._on_model, _STREAM
            ),
            node.create_subscription(
                Configuration, f'{space}/emulator/configuration', self._on_plant, _STREAM
            ),
        ]

    @property
    def begun(self) -> bool:
        """Whether every stream has delivered something."""
        return bool(self._pressures and self._model and self._plant)

    def finish(self) -> Recording:
        """Stop and put everything on one clock by linear interpolation."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)
        streams = [np.array(s) for s in (self._pressures, self._model, self._plant)]
        for name, stream in zip(
            ('actuator_state', 'configuration', 'plant'), streams, strict=True
        ):
            if len(stream) < 2:
                raise ValueError(f'nothing was received of {name}')
        start = max(s[0, 0] for s in streams)
        end = min(s[-1, 0] for s in streams)
        clock = np.arange(start, end, 1.0 / RATE)
        pressures, model, plant = (_resample(s, clock) for s in streams)
        m = len(self._names)
        return Recording(
            self._names, clock - start, pressures[:, :m], pressures[:, m:], model, plant
        )

    def _on_state(self, message: ActuatorState) -> None:
        places = [list(message.name).index(name) for name in self._names]
        if any(math.isnan(x) for x in message.measured):
            return  # a tick without a reading; its neighbours stand for it
        commanded = [0.0 if math.isnan(x) else x for x in message.commanded]
        values = [commanded[i] for i in places] + [message.measured[i] for i in places]
        self._pressures.append((_seconds(message.header.stamp), *values))

    def _on_model(self, message: Configuration) -> None:
        self._model.append((_seconds(message.header.stamp), *shape_of(message)))

    def _on_plant(self, message: Configuration) -> None:
        self._plant.append((_seconds(message.header.stamp), *shape_of(message)))


def shape_of(message: Any) -> tuple[float, float, float, float, float]:
    """Return tip x, y, z [m], bending angle [rad], elongation [m] of a Configuration."""
    p, q = message.tip.position, message.tip.orientation
    bending = 2.0 * math.asin(min(1.0, math.hypot(q.x, q.y)))
    return p.x, p.y, p.z, bending, sum(_elongation(b) for b in message.backbones)


def _elongation(backbone: Any) -> float:
    points = np.array([[p.position.x, p.position.y, p.position.z] for p in backbone.poses])
    stretched = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
    return stretched - (backbone.arc_length[-1] - backbone.arc_length[0])


def _resample(stream: Array, clock: Array) -> Array:
    columns = [np.interp(clock, stream[:, 0], column) for column in stream[:, 1:].T]
    return np.column_stack(columns)


def _seconds(stamp: Any) -> float:
    return stamp.sec + stamp.nanosec * 1e-9
