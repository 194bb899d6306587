# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How well the hand is sensed: errors in five directions, and the ellipsoid of force errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from itertools import product

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.robot import Robot
from soro_studies.haptics.reach import reach
from soro_studies.haptics.virtual_bench import BenchSetup, place_of, VirtualBench

DIRECTIONS = ('x', 'y', 'z', 'turn 1', 'turn 2')
REACH = 0.6  # of the workspace, that a hand moves through
# N, N m: moves the handle 15 mm and 0.15 rad where the motors are held.
PUSH = np.array([3.6, 3.6, 2.0, 0.19, 0.19])
ASIDE = np.array([0.015, 0.0, 0.0])  # m, where motors that are held aside hold the handle
STEPS = 4  # from rest to a corner of the motors' travel


class Motors(Enum):
    """What the motors do while the hand is sensed."""

    OFF = 'motors off'  # no torque: free to turn, as in Fig. 8
    FREE_SPACE = 'free space'  # rendered: they give way to the sensed force
    HELD = 'motors held'  # as in Fig. 9
    HELD_ASIDE = 'motors held aside'  # where they hold the handle at an offset, as there


@dataclass(frozen=True)
class SensingErrors:
    """Mean absolute errors, per direction: x, y, z, two rotations.

    Attributes
    ----------
    name : str
        Of what the motors do.
    moved : ndarray, shape (5,) [m, rad]
        How far the handle went, from one end to the other.
    place, force : ndarray, shape (5,) [m, rad], [N, N m]
        Errors.
    place_share : ndarray, shape (5,)
        Of the whole workspace, as published.
    force_share : ndarray, shape (5,)
        Of what is pressed, from one end to the other.
    """

    name: str
    moved: Array
    place: Array
    place_share: Array
    force: Array
    force_share: Array


@lru_cache(maxsize=8)
def workspace(robot: Robot) -> Array:
    """Return how far the handle gets in every direction, from one end to the other.

    All that motors within their travel reach without a hand (Koehler 2023, section V-A); the ends
    are at corners of the travel.

    Returns
    -------
    ndarray, shape (5,) [m, rad]
    """
    device, free = HapticDevice(robot), np.zeros(5)
    places = []
    for corner in product(*robot.limits):
        for step in range(1, STEPS + 1):
            code = device.update(step / STEPS * np.array(corner), free)
        if code is not Code.NONE:
            raise SoroError(f'no pose of the handle with the motors at {corner} rad')
        places.append(place_of(device.ports))
    return np.ptp(places, axis=0)


def sensing_errors(
    make: Callable[..., VirtualBench],
    motors: Motors,
    ticks: int = 1500,
    setup: BenchSetup | None = None,
) -> SensingErrors:
    """Move the hand in all five directions and compare what is sensed with the truth.

    With the motors held the hand presses, otherwise it moves, back and forth in `ticks` for every
    direction.
    """
    held = motors in (Motors.HELD, Motors.HELD_ASIDE)
    setup = BenchSetup() if setup is None else setup
    bench = make((), replace(setup, grip=np.zeros((5, 5))) if held else setup)
    bench.held, bench.off = held, motors is Motors.OFF
    if motors is Motors.HELD_ASIDE:
        _hold_aside(bench)
    whole = workspace(bench.robot)
    rows = []
    for direction in range(5):
        for tick in range(ticks):
            share = np.sin(2.0 * np.pi * tick / ticks)
            unit = np.eye(5)[direction]
            if held:
                bench.step(np.zeros(5), share * PUSH * unit)
            else:
                bench.step(0.5 * share * REACH * whole * unit)
            rows.append(
                [
                    bench.place,
                    bench.plant.ports.force.copy(),
                    bench.sensed_place,
                    bench.sensed_force,
                ]
            )
    place, force, sensed_place, sensed_force = (np.array(part) for part in zip(*rows, strict=True))
    wrong_place = np.abs(sensed_place - place).mean(axis=0)
    wrong_force = np.abs(sensed_force - force).mean(axis=0)
    return SensingErrors(
        motors.value,
        np.ptp(place, axis=0),
        wrong_place,
        wrong_place / whole,
        wrong_force,
        wrong_force / (2.0 * PUSH),
    )


def _hold_aside(bench: VirtualBench, seconds: float = 0.5) -> None:
    """Move the motors to where they hold the handle aside, as the model has it, and wait."""
    pose = np.eye(4)
    pose[:3, 3] = ASIDE
    ports = reach(HapticDevice(bench.robot), pose)
    if ports is None:
        raise SoroError(f'the motors do not hold the handle at {ASIDE} m')
    ticks = round(seconds * bench.setup.rate)
    for tick in range(2 * ticks):
        bench.held_at = min(1.0, (tick + 1) / ticks) * ports.angle
        bench.step(np.zeros(5))


@dataclass(frozen=True)
class ForceEllipsoid:
    """Predicted and measured covariance of the force estimate, three translations.

    Attributes
    ----------
    predicted, measured : ndarray, shape (3, 3) [N^2]
        From the deviations of encoders and converter alone, and of repeated readings.
    predicted_axes, measured_axes : ndarray, shape (3,) [N]
        Standard deviations along the principal axes, descending.
    """

    predicted: Array
    measured: Array

    @property
    def predicted_axes(self) -> Array:
        """Semi-axes of the predicted one-sigma ellipsoid [N], descending."""
        return np.sqrt(np.linalg.eigvalsh(self.predicted)[::-1])

    @property
    def measured_axes(self) -> Array:
        """Semi-axes of the measured one [N], descending."""
        return np.sqrt(np.linalg.eigvalsh(self.measured)[::-1])


def force_ellipsoid(
    make: Callable[..., VirtualBench], samples: int = 4000, seed: int = 11
) -> ForceEllipsoid:
    """Read the sensors of a device at rest many times and compare the scatter with prediction.

    Prediction and measurement take the same noise: encoders with the deviation the renderer
    assumes, sensors with the deviation of their calibration.
    """
    bench = make((), None)
    bench.held = True
    for _ in range(100):
        bench.step(np.zeros(5))
    sensing = bench.loop.law.sensing
    p = sensing.ports
    random = np.random.default_rng(seed)
    wrenches = np.empty((samples, 3))
    for k in range(samples):
        encoder = p.angle + sensing.setup.encoder_deviation * random.normal(size=p.angle.size)
        sensor = p.sensor + sensing.setup.sensor_deviation * random.normal(size=p.sensor.size)
        sensing.update(encoder, sensor)
        wrenches[k] = sensing.wrench[:3]
    return ForceEllipsoid(sensing.wrench_covariance[:3, :3].copy(), np.cov(wrenches.T))
