# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Segment robots whose nonlinear models take their increments another way."""

from __future__ import annotations

from dataclasses import replace

from soro_mechanics.models.segments.schema import Compensation
from soro_mechanics.robot_file.reader import RobotDescription


def with_compensation(description: RobotDescription, choice: Compensation) -> RobotDescription:
    """Return a description whose nonlinear models take their increments another way."""
    chain = replace(description.structure['segments'], compensation=choice)
    return replace(description, structure={**description.structure, 'segments': chain})
