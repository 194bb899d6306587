# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the section ``network`` of a robot file says, in SI: rods, bodies, ends, actuation."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from soro_mechanics.core.configuration import Array, Load
from soro_mechanics.models.network.description.cross_section import CrossSection, ShapedSection
from soro_mechanics.numerics.monotone_curve import monotone_slopes

GROUND = 'ground'
ENDS = ('from', 'to')  # of a rod
JOINTS = ('clamped', 'revolute', 'universal', 'spherical')
# What an actuator drives -> quantity of the actuator (checked against the robot's list).
DRIVES = {
    'angle': 'angle',
    'length': 'length',
    'unloaded_length': 'length',
    'stretch': 'stretch',
    'curvature': 'curvature',
    'pressure': 'pressure',
    'tension': 'force',
    'tendon': 'length',
}
# A rod may be fed through its first end, or become longer itself: then it keeps its mass.
LENGTHS = ('length', 'unloaded_length')
STRAINS = ('stretch', 'curvature', 'pressure')  # rest strains; several may add up in one rod
TENDONS = ('tension', 'tendon')  # along a rod, at a constant place in its section


@dataclass(frozen=True, eq=False)
class BodySpec:
    """A rigid body and where it is when the robot is assembled."""

    name: str
    pose: Array | None  # None: where the rods' rest shapes put it
    mass: float
    centre: Array
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))  # about the centre; dynamics


@dataclass(frozen=True, eq=False)
class EndSpec:
    """How one end of a rod is held."""

    body: str
    attach: Array  # (4, 4) motor, or joint where there is no motor, in the body
    motor_axis: Array  # (3,)
    crank: Array  # (4, 4) joint in the motor's output
    joint: str
    axes: Array  # (2, 3)
    motor: bool = False  # without one the end does not turn


@dataclass(frozen=True, eq=False)
class RodSpec:
    """One rod."""

    name: str
    length: float
    section: ShapedSection | CrossSection
    section_end: ShapedSection | None
    curvature: Array  # (k, 4): fraction of the length, rest curvature about x, y, z
    ends: tuple[EndSpec, EndSpec]
    fractions: Array  # boundaries of its elements, 0 ... 1
    tolerance: float | None = None  # wanted error of positions [m]: the mesh is only a start


@dataclass(frozen=True, eq=False)
class DriveSpec:
    """What an actuator does to a rod."""

    actuator: int
    rod: int
    kind: str
    end: int = 0
    shift: Array = field(default_factory=lambda: np.zeros(6))  # rest strain per unit
    offset: float = 0.0
    curve: Array | None = None  # (k, 2): actuator value, driven value; both monotone
    hole: Array = field(default_factory=lambda: np.zeros(2))  # of a tendon: place in the section
    span: tuple[float, float] = (0.0, 1.0)  # of a tendon: fractions of the rod's length
    soft: float = 0.0  # of a tendon whose length is held: its own flexibility [m/N]

    @cached_property
    def cubic(self) -> tuple[Array, Array, Array]:
        """Points (k,), values and slopes of the curve."""
        x, y = np.array(self.curve, float).T.copy()
        return x, y, monotone_slopes(x, y)


@dataclass(frozen=True, eq=False)
class SensorSpec:
    """A flex sensor: how far a rod turns between two places, about an axis of the section."""

    name: str
    rod: int
    start: float  # fraction of the rod's length
    end: float
    axis: Array  # (3,)


@dataclass(frozen=True, eq=False)
class NetworkSpec:
    """Everything that the section ``network`` says, in SI."""

    bodies: tuple[BodySpec, ...]
    rods: tuple[RodSpec, ...]
    drives: tuple[DriveSpec, ...]
    tip_body: str
    tip: Array
    sensors: tuple[SensorSpec, ...] = ()
    loads: tuple[Load, ...] = ()  # always there
    load_panels: int = 8  # of spread loads, per length of a rod
    bundles: tuple[tuple[int, ...], ...] = ()  # actuators whose mean length is free
    incompressible: bool = False  # see `rod_sections.thin`; in motion only, no Jacobian has it
