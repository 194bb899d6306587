# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The section ``constant_curvature`` of a robot file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.configuration import Array
from soro_mechanics.robot_file.record import given, read_record
from soro_mechanics.robot_file.section import MAX_PARTS, Section


@dataclass(frozen=True)
class PressureMap:
    """Elongation of a free actuator: linear p + quadratic p^2, p = pressure / reference."""

    reference: float = given('Pa', key='reference_pressure', positive=True)
    linear: float = given('m', positive=True)
    quadratic: float = given('m', 0.0)

    def elongation(self, pressure: Array) -> Array:
        """Return the elongation [m] at a pressure [Pa]."""
        p = np.asarray(pressure) / self.reference
        return p * (self.linear + self.quadratic * p)

    def slope(self, pressure: Array) -> Array:
        """Return d elongation / d pressure [m/Pa]."""
        p = np.asarray(pressure) / self.reference
        return (self.linear + 2.0 * self.quadratic * p) / self.reference


@dataclass(frozen=True, kw_only=True, eq=False)
class ConstantCurvatureArm:
    """One arc moved by three parallel actuators (Akbari 2021)."""

    rest_length: float  # length of every actuator at zero pressure [m]
    # distance of the actuators from the backbone
    offset: float = given('m', key='actuator_offset', positive=True)
    angles: Array  # (3,) where the actuators stand around the backbone [rad]
    # outer radius of the arm, for drawing and for the geometric constraints
    radius: float = given('m', positive=True)
    shortest: float  # open interval of actuator lengths, eq (4) [m]
    longest: float  # [m]
    pressure_map: PressureMap | None  # None where the actuators are commanded by length
    # of one actuator about the length its pressure gives; None: purely kinematic
    axial_stiffness: float | None = given('N/m', None, positive=True)
    # spread evenly along the arc; zero as published
    mass: float = given('kg', 0.0, minimum=0.0)
    # poses returned along the backbone
    stations: int = given(default=21, minimum=2, maximum=MAX_PARTS)


def read_constant_curvature(
    root: Section, actuators: tuple[Actuator, ...]
) -> ConstantCurvatureArm:
    """Read ``constant_curvature``; the robot needs three actuators, pressures or lengths."""
    with root.section('constant_curvature') as section:
        kinds = {a.quantity for a in actuators}
        if len(actuators) != 3 or kinds not in ({'pressure'}, {'length'}):
            remedy = 'this model needs three drives, all pressure or all length'
            raise root.error('actuators', remedy)
        rest = section.quantity('rest_length', 'm', positive=True)
        angles = section.vector('actuator_angles', 'rad', 3)
        rows = np.column_stack([-np.cos(angles), -np.sin(angles), np.ones(3)])
        if abs(np.linalg.det(rows)) < 1e-3:  # by which the map lengths -> arc divides
            remedy = 'the three directions must not lie on one line (two equal, or half a turn)'
            raise section.error('actuator_angles', remedy)
        shortest = section.quantity('shortest_length', 'm', 0.5 * rest, positive=True)
        longest = section.quantity('longest_length', 'm', 1.5 * rest)
        if not shortest < rest < longest:
            remedy = f'{rest:g} m, the length at rest, must lie between shortest_length and this'
            raise section.error('longest_length', remedy)
        pressure_map = None
        if 'pressure_map' in section:
            pressure_map = _read_pressure_map(section, actuators)
        if pressure_map is None and kinds == {'pressure'}:
            remedy = 'required: the drives are commanded by pressure'
            raise section.error('pressure_map', remedy)
        arm = read_record(
            section,
            ConstantCurvatureArm,
            rest_length=rest,
            angles=angles,
            shortest=shortest,
            longest=longest,
            pressure_map=pressure_map,
        )
        if arm.mass > 0.0 and arm.axial_stiffness is None:
            raise section.error('mass', 'a weight needs axial_stiffness')
    return arm


def _read_pressure_map(section: Section, actuators: tuple[Actuator, ...]) -> PressureMap:
    with section.section('pressure_map') as table:
        found = read_record(table, PressureMap)
        ends = np.array([[a.minimum, a.maximum] for a in actuators])
        if np.any(found.slope(ends) <= 0.0):
            raise table.error('quadratic', 'elongation must rise over the whole pressure range')
    return found
