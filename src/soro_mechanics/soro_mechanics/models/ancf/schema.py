# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The section ``ancf`` of a robot file: soft legs between a base and a platform."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.robot_file import quantity
from soro_mechanics.robot_file.section import Section

Array = NDArray[np.float64]
PLATFORM = 'platform'  # name of the body that carries the tip


@dataclass(frozen=True)
class StretchCurve:
    """lambda(P) of one actuator: a monotone cubic through points (Fritsch and Carlson).

    Attributes
    ----------
    pressures : ndarray, shape (n,) [Pa]
        Rising.
    values : ndarray, shape (n,)
        Stretch ratio, rising.
    slopes : ndarray, shape (n,) [1/Pa]
        Derivative at the points; the end slopes also continue the curve.
    """

    pressures: Array
    values: Array
    slopes: Array


@dataclass(frozen=True)
class SoftLegs:
    """A soft parallel robot (Huang 2022): equal legs, one platform.

    Attributes
    ----------
    names : tuple of str
        Of the legs; leg i is moved by actuator i.
    angles : ndarray, shape (n,) [rad]
        Where the legs stand around the vertical axis.
    base_radius, platform_radius : float [m]
        Circles of the leg ends.
    length : float [m]
        Flexible length L_f of a leg at rest.
    radius : float [m]
        Outer radius of a leg, for drawing.
    bending, torsion : float [N m^2]
        EI, GI.
    tension : float [N]
        EA.
    penalty : float [N]
        alpha of eq (27).
    elements : int
        n_e per leg.
    leg_mass, platform_mass : float [kg]
    platform_centre : ndarray, shape (3,) [m]
        Centre of mass of the platform, in its frame.
    tip : ndarray, shape (3,) [m]
        The tip in the platform's frame, whose origin lies in the plane of the leg ends.
    curves : tuple of StretchCurve
        One per leg.
    stations_per_element : int
        Poses returned along a leg.
    """

    names: tuple[str, ...]
    angles: Array
    base_radius: float
    platform_radius: float
    length: float
    radius: float
    bending: float
    torsion: float
    tension: float
    penalty: float
    elements: int
    leg_mass: float
    platform_mass: float
    platform_centre: Array
    tip: Array
    curves: tuple[StretchCurve, ...]
    stations_per_element: int


def read_ancf(root: Section, actuators: tuple[Actuator, ...]) -> SoftLegs:
    """Read ``ancf``; every leg needs one pressure or stretch actuator."""
    with root.section('ancf') as section:
        kinds = {a.quantity for a in actuators}
        if len(actuators) < 3 or kinds not in ({'pressure'}, {'stretch'}):
            remedy = 'this model needs at least three drives, all pressure or all stretch'
            raise root.error('actuators', remedy)
        legs = section.sections('legs')
        if len(legs) != len(actuators):
            raise section.error('legs', f'write one leg per drive ({len(actuators)})')
        names, angles, curves = [], [], []
        for leg in legs:
            with leg:
                names.append(leg.text('name'))
                if names[-1] == PLATFORM:
                    raise leg.error('name', 'this name is taken: it means the platform')
                if names[-1] in names[:-1]:
                    raise leg.error('name', 'two legs have this name')
                angles.append(leg.quantity('angle', 'rad'))
                if kinds == {'pressure'}:
                    curves.append(read_curve(leg))
        length = section.quantity('flexible_length', 'm', positive=True)
        # the paper's design parameter: distance of two legs on the base over the flexible length
        ratio = section.number('spacing_ratio', positive=True)
        return SoftLegs(
            names=tuple(names),
            angles=np.array(angles),
            base_radius=ratio * length / (2.0 * math.sin(math.pi / len(actuators))),
            platform_radius=section.quantity('platform_radius', 'm', positive=True),
            length=length,
            radius=section.quantity('leg_radius', 'm', positive=True),
            bending=section.quantity('EI', 'N m^2', positive=True),
            torsion=section.quantity('GI', 'N m^2', positive=True),
            tension=section.quantity('EA', 'N', positive=True),
            penalty=section.quantity('penalty', 'N', positive=True),
            elements=section.count('elements', minimum=2),
            leg_mass=section.quantity('leg_mass', 'kg', minimum=0.0),
            platform_mass=section.quantity('platform_mass', 'kg', minimum=0.0),
            platform_centre=section.vector('platform_centre', 'm', 3, (0.0, 0.0, 0.0)),
            tip=section.vector('tip', 'm', 3, (0.0, 0.0, 0.0)),
            curves=tuple(curves),
            stations_per_element=section.count('stations_per_element', 4),
        )


def read_curve(leg: Section) -> StretchCurve:
    """Read ``stretch`` (a list) and ``pressures`` ('0 20 40 kPa') of one leg."""
    raw = leg.raw('stretch')
    if not isinstance(raw, list) or len(raw) < 2:
        raise leg.error('stretch', 'write a list of at least two stretch ratios')
    try:
        values = np.array([quantity.parse(v, '1')[0] for v in raw])
    except quantity.QuantityError as error:
        raise leg.error('stretch', str(error)) from None
    pressures = leg.vector('pressures', 'Pa', len(raw))
    if not np.all(np.diff(pressures) > 0.0):
        raise leg.error('pressures', 'must rise from point to point')
    if not np.all(np.diff(values) > 0.0):
        raise leg.error('stretch', 'must rise from point to point')
    return StretchCurve(pressures, values, monotone_slopes(pressures, values))


def monotone_slopes(x: Array, y: Array) -> Array:
    """Return slopes of the monotone cubic: weighted harmonic means of the neighbouring chords.

    The end slopes are those of the end chords, so that the straight continuation is increasing.
    """
    width = np.diff(x)
    chord = np.diff(y) / width
    slopes = np.empty(len(x))
    slopes[0], slopes[-1] = chord[0], chord[-1]
    first = 2.0 * width[1:] + width[:-1]
    second = width[1:] + 2.0 * width[:-1]
    slopes[1:-1] = (first + second) / (first / chord[:-1] + second / chord[1:])
    return slopes
