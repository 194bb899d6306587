# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Calibration and sensing where the device is not the model: the sections of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soro_mechanics.haptics.flex_calibration import CalibrationReport
from soro_mechanics.haptics.flex_signal import FlexSignal
from soro_mechanics.haptics.virtual_environment import VirtualObject
from soro_mechanics.robot import Robot
from soro_studies.haptics.as_built import PlantErrors
from soro_studies.haptics.sensing_experiments import Motors, sensing_errors, SensingErrors
from soro_studies.haptics.virtual_bench import BenchSetup, calibrated_report, VirtualBench


@dataclass(frozen=True)
class AsBuilt:
    """What calibration and sensing achieve on a device with the errors of a built one."""

    errors: PlantErrors
    report: CalibrationReport
    sensed: list[SensingErrors]


def sense_as_built(robot: Robot, signals: Sequence[FlexSignal], ticks: int = 1500) -> AsBuilt:
    """Calibrate a built device, then move its handle with the motors off, yielding, and held."""
    errors = PlantErrors()
    report = calibrated_report(robot, signals, errors=errors)
    calibration = report.calibration()

    def make(objects: Sequence[VirtualObject], setup: BenchSetup) -> VirtualBench:
        return VirtualBench(robot, calibration, signals, objects, setup)

    setup = BenchSetup(errors=errors)
    return AsBuilt(errors, report, [sensing_errors(make, m, ticks, setup) for m in Motors])


def as_built_text(found: AsBuilt) -> str:
    """Say how the device differs, before the tables."""
    e = found.errors
    return (
        '## A device as built\n\nThe tables above are ideal: the plant has shape and mesh of the '
        'model, strips that end at its nodes and follow it without friction, so that noise alone '
        'is left. Here the plant differs as a built device does, every number drawn once (seed '
        f'{e.seed}), standard deviations: rest curvature of a leg {e.curvature:.0%}, attachments '
        f'at the handle {1e3 * e.attachment:.1f} mm in every direction (2 % of their 40 mm), '
        f'zeros of the motors {np.degrees(e.zero):.1f} deg, both ends of a strip '
        f'{1e3 * e.strip:.0f} mm along the leg and between the nodes of the model, the plant '
        f'meshed with nodes of its own. Strips slide with friction: a dead band of +-'
        f'{1e3 * e.play:.2f} mm of elongation, sized until the six sensors had about the '
        'published error of the calibration on average, 4.6 %, where its fit knows no dead band; '
        'the fit below finds it. All sizes are assumed.'
    )
