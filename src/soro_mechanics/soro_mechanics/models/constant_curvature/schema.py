# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The section ``constant_curvature`` of a robot file."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.configuration import Array
from soro_mechanics.robot_file.section import Section


@dataclass(frozen=True)
class PressureMap:
    """Elongation of a free actuator: linear p + quadratic p^2, p = pressure / reference."""

    reference: float  # [Pa]
    linear: float  # [m]
    quadratic: float  # [m]

    def elongation(self, pressure: Array) -> Array:
        """Return the elongation [m] at a pressure [Pa]."""
        p = np.asarray(pressure) / self.reference
        return p * (self.linear + self.quadratic * p)

    def slope(self, pressure: Array) -> Array:
        """Return d elongation / d pressure [m/Pa]."""
        p = np.asarray(pressure) / self.reference
        return (self.linear + 2.0 * self.quadratic * p) / self.reference

    def pressure(self, elongation: Array) -> Array:
        """Return the pressure [Pa] of an elongation [m]; NaN below the vertex of the parabola."""
        e = np.asarray(elongation)
        square = self.linear**2 + 4.0 * self.quadratic * e
        root = np.sqrt(np.where(square >= 0.0, square, math.nan))
        # the form of the quadratic formula that has no cancellation, also for quadratic = 0
        return self.reference * 2.0 * e / (self.linear + root)


@dataclass(frozen=True)
class ConstantCurvatureArm:
    """One arc moved by three parallel actuators (Akbari 2021)."""

    rest_length: float  # length of every actuator at zero pressure [m]
    offset: float  # distance of the actuators from the backbone [m]
    angles: Array  # (3,) where the actuators stand around the backbone [rad]
    radius: float  # outer radius of the arm, for drawing and for the geometric constraints [m]
    shortest: float  # open interval of actuator lengths, eq (4) [m]
    longest: float  # [m]
    pressure_map: PressureMap | None  # None where the actuators are commanded by length
    # of one actuator about the length its pressure gives; None: purely kinematic [N/m]
    axial_stiffness: float | None
    mass: float  # spread evenly along the arc; zero as published [kg]
    stations: int  # poses returned along the backbone


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
        offset = section.quantity('actuator_offset', 'm', positive=True)
        angles = section.vector('actuator_angles', 'rad', 3)
        if abs(_spread(angles)) < 1e-3:
            remedy = 'the three directions must not lie on one line (two equal, or half a turn)'
            raise section.error('actuator_angles', remedy)
        radius = section.quantity('radius', 'm', positive=True)
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
        stiffness = section.quantity('axial_stiffness', 'N/m', None, positive=True)
        mass = section.quantity('mass', 'kg', 0.0, minimum=0.0)
        if mass > 0.0 and stiffness is None:
            raise section.error('mass', 'a weight needs axial_stiffness')
        stations = section.count('stations', 21, minimum=2)
    return ConstantCurvatureArm(
        rest, offset, angles, radius, shortest, longest, pressure_map, stiffness, mass, stations
    )


def _spread(angles: Array) -> float:
    """Return the determinant that the map lengths -> arc divides by."""
    rows = np.column_stack([-np.cos(angles), -np.sin(angles), np.ones(3)])
    return float(np.linalg.det(rows))


def _read_pressure_map(section: Section, actuators: tuple[Actuator, ...]) -> PressureMap:
    with section.section('pressure_map') as table:
        reference = table.quantity('reference_pressure', 'Pa', positive=True)
        linear = table.quantity('linear', 'm', positive=True)
        quadratic = table.quantity('quadratic', 'm', 0.0)
        highest = max(a.maximum for a in actuators) / reference
        lowest = min(a.minimum for a in actuators) / reference
        if min(linear + 2.0 * quadratic * p for p in (lowest, highest)) <= 0.0:
            raise table.error('quadratic', 'elongation must rise over the whole pressure range')
    return PressureMap(reference, linear, quadratic)
