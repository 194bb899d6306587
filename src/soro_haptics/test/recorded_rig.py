# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Readings for the law without a wire: the model itself as the device."""

from __future__ import annotations

from dataclasses import replace
import math
import time

import numpy as np

from soro_driver.device import Flag, Reading, SensorReading
from soro_haptics.haptic_control import HapticControl
from soro_haptics.haptic_parameters import PARAMETERS
from soro_haptics.haptic_setup import make_haptics
from soro_haptics.motor_motion import MotorMotion
from soro_mechanics.haptics.flex_calibration import FlexCalibration, SensorCalibration
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file

PERIOD = 0.002
OFFSET, GAIN = 3500.0, 2.5e-6
STILL = np.zeros(6)
NAMES = tuple(f'flex_{i + 1}' for i in range(6))


def values(**changes):
    return {**{p.name: p.default for p in PARAMETERS}, **changes}


def nominal_calibration(names=NAMES):
    """A calibration that says what the model says: every strip bends between its ends."""
    weights = np.array([-0.003, 0.003])
    sensors = tuple(
        SensorCalibration(name, OFFSET, GAIN, (0, 8), weights, 2e-5, 0.01) for name in names
    )
    return FlexCalibration('haptic_5dof', 'now', sensors)


def haptics(calibration=None, **changes):
    robot = read_robot_file(find_robot_file('haptic_5dof'))
    return make_haptics(robot, calibration, PERIOD, values(**changes))


def counts_of(elongation):
    return OFFSET + np.asarray(elongation) / GAIN


def reading(angle, elongation, time, faulty=()):
    flags = np.array([Flag.SENSOR_FAULT if n in faulty else 0 for n in NAMES], np.uint16)
    sensors = SensorReading(NAMES, counts_of(elongation), flags)
    angle = np.asarray(angle, float)
    return Reading(
        time,
        angle,
        np.full(6, math.nan),
        np.zeros(6, np.uint16),
        sensors=sensors,
        sampled=time - PERIOD,
    )


class Rig:
    """A control, the model as its device, and a clock that the test moves."""

    def __init__(self, plant, calibrated=True, environment='free', **options):
        self.plant = plant
        calibration = nominal_calibration() if calibrated else None
        self.control = HapticControl(
            haptics(calibration, environment=environment),
            '/arm/haptic_renderer',
            MotorMotion(6, 1.0),
            **options,
        )
        self.now = time.monotonic()
        self.angle = STILL.copy()
        plant.restart(STILL)

    def tick(
        self,
        force=(0.0, 0.0, 0.0, 0.0, 0.0),
        accepting=True,
        faulty=(),
        elongation=None,
        **changes,
    ):
        self.now += PERIOD
        self.plant.update(self.angle, np.asarray(force, float))
        seen = self.plant.ports.sensor if elongation is None else elongation
        sample = replace(reading(self.angle, seen, self.now, faulty), **changes)
        command = self.control.command(sample, accepting, self.now)
        self.control.after_write()
        return command

    def armed(self):
        self.tick(accepting=False)
        self.control.armed()
        return self
