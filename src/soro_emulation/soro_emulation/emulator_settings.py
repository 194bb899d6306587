# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The section ``emulator`` of a robot file: the body, the device, and where chance begins."""

from __future__ import annotations

from dataclasses import dataclass

from soro_emulation.perturbation import BodyProperties, read_body
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.section import Section


@dataclass(frozen=True)
class EmulatorSettings:
    """What the robot file says about its emulation."""

    seed: int
    body: BodyProperties
    device: Section  #: ``emulator.<device>``, for the device emulator to read


def read_emulator_settings(robot: RobotDescription, device: str) -> EmulatorSettings:
    """Read the section ``emulator``; everything in it is optional."""
    root = robot.foreign_section('emulator') or Section({}, 'emulator', robot.file)
    with root:
        seed = root.integer('seed', 1, minimum=0)
        body = read_body(root)
        section = root.optional(device)
    return EmulatorSettings(seed, body, section)
