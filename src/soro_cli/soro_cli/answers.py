# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What verbs print, wherever it was computed: by the robot's nodes or in this process. SI."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any

Matrix = list[list[float]]


@dataclass(frozen=True)
class Pose:
    """A pose in base_link: position [m] and unit quaternion x y z w."""

    position: list[float]
    quaternion: list[float]

    @property
    def bending(self) -> float:
        """Angle between the local z axis and that of base_link [rad]."""
        x, y, _, _ = self.quaternion
        return 2.0 * math.asin(min(math.hypot(x, y), 1.0))


@dataclass(frozen=True)
class ConfigurationAnswer:
    """A solved configuration."""

    model: str
    actuator_name: list[str]
    actuation: list[float]
    tip: Pose
    backbones: list[dict[str, Any]]
    residual: float
    iterations: int
    solve_time: float
    stability: str
    warnings: list[str]
    message: str
    limit_distance: float
    mesh_error: float

    @property
    def doubt(self) -> str:
        """Why nobody should move there without knowing it; empty where all is well."""
        unstable = self.stability == 'unstable'
        return self.message or 'unstable' if self.warnings or unstable else ''


@dataclass(frozen=True)
class Answer:
    """What every answer begins with; zero and empty: nothing is wrong."""

    error_code: int
    error_message: str


@dataclass(frozen=True)
class ForwardAnswer(Answer):
    """Answer of solve_forward."""

    configuration: ConfigurationAnswer


@dataclass(frozen=True)
class InverseAnswer(Answer):
    """Answer of solve_inverse."""

    actuator_name: list[str]
    actuation: list[float]
    configuration: ConfigurationAnswer
    position_error: float
    orientation_error: float
    at_limit: list[str]


@dataclass(frozen=True)
class JacobianAnswer(Answer):
    """Answer of compute_jacobian: (6, m), linear first, at the tip, axes of base_link."""

    actuator_name: list[str]
    matrix: Matrix


@dataclass(frozen=True)
class CompliancePoint:
    """Compliance at one point, (6, 6), linear first."""

    backbone: str
    arc_length: float
    pose: Pose
    matrix: Matrix
    principal_compliance: list[float]
    principal_axis: Matrix
    eigenstiffness: list[float]
    eigenscrew_pitch: list[float]


@dataclass(frozen=True)
class ComplianceAnswer(Answer):
    """Answer of compute_compliance."""

    model: str
    method: str
    points: list[CompliancePoint]
    configuration: ConfigurationAnswer


@dataclass(frozen=True)
class ComparisonAnswer(Answer):
    """Answer of compare_models."""

    configurations: list[ConfigurationAnswer]
    position_spread: float
    orientation_spread: float
    hint: str


def warning_names(bits: int) -> list[str]:
    """Return the names of a status's warnings, lower case."""
    from soro_mechanics.core.status import Warnings

    return [str(w.name).lower() for w in Warnings if w & bits]
