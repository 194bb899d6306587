# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From a robot file, a calibration and parameters to the loop and its guard. Loads the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from soro_haptics.haptic_control import Haptics
from soro_haptics.sensor_guard import SensorGuard
from soro_mechanics.haptics.flex_calibration import FlexCalibration, UNKNOWN_MATERIAL
from soro_mechanics.robot_file.reader import RobotDescription


def make_haptics(
    description: RobotDescription,
    calibration: FlexCalibration | None,
    period: float,
    values: Mapping[str, Any],
) -> Haptics:
    """Build model, law and guard of one device, and run each once: nothing is compiled later.

    `period`: of the loop [s]; `values`: parameters of the node.
    """
    from soro_mechanics.haptics.device import HapticDevice, softened  # scipy, numba: later
    from soro_mechanics.haptics.loop import HapticLoop
    from soro_mechanics.haptics.rendering import rendering_setup
    from soro_mechanics.haptics.sensing import sensing_setup
    from soro_mechanics.haptics.stable_limits import stable_limits
    from soro_mechanics.haptics.virtual_environment import published_environment
    from soro_mechanics.robot import Robot

    robot = Robot(description, 'network')
    if len(values['gravity']):
        robot.gravity = np.array(values['gravity'])
    if calibration is not None and calibration.material != 1.0:
        robot = softened(robot, calibration.material)
    device = HapticDevice(robot, calibration)
    names = tuple(strip.name for strip in device.spec.strips)
    deviation, play = np.full(len(names), device.spec.deviation), 0.0
    if calibration is not None:
        fits = [calibration.sensor(name) for name in names]
        deviation, play = np.array([(f.deviation, f.play) for f in fits]).T
    rate = np.array([a.rate for a in description.actuators])
    chosen = {key: values[key] for key in ('time_constant', 'speed_time_constant', 'energy')}
    rendering = rendering_setup(period, device.motor_limits(), rate, **chosen)
    limits = stable_limits(device, rendering, values['expected_hand'])
    environment, _ = limits.environment(published_environment(values['environment'], np.eye(4)))
    noise, hand = values['encoder_deviation'], values['force_deviation']
    sensing = sensing_setup(device.ports, noise, deviation, hand, sensor_play=play)
    loop = HapticLoop(device, sensing, rendering, environment)
    loop.run_once()
    guard = SensorGuard(loop.law.sensing, names, calibration, period)
    vague = UNKNOWN_MATERIAL if calibration is None else calibration.material_deviation
    return Haptics(loop, guard, limits, vague)
