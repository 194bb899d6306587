# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The section ``ancf`` of a robot file: soft legs between a base and a platform."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.configuration import Array
from soro_mechanics.numerics.monotone_curve import monotone_slopes
from soro_mechanics.robot_file import quantity
from soro_mechanics.robot_file.section import Section

PLATFORM = 'platform'  # name of the body that carries the tip


@dataclass(frozen=True)
class StretchCurve:
    """lambda(P) of one actuator: a monotone cubic through points (Fritsch and Carlson)."""

    pressures: Array  # (n,) rising [Pa]
    values: Array  # (n,) stretch ratio, rising
    slopes: Array  # (n,) derivative at the points; the end slopes also continue the curve [1/Pa]


@dataclass(frozen=True)
class SoftLegs:
    """A soft parallel robot (Huang 2022): equal legs, one platform."""

    names: tuple[str, ...]  # of the legs; leg i is moved by actuator i
    angles: Array  # (n,) where the legs stand around the vertical axis [rad]
    base_radius: float  # circle of the leg ends [m]
    platform_radius: float  # the same at the platform [m]
    length: float  # flexible length L_f of a leg at rest [m]
    radius: float  # outer radius of a leg, for drawing [m]
    bending: float  # EI [N m^2]
    torsion: float  # GI [N m^2]
    tension: float  # EA [N]
    penalty: float  # alpha of eq (27) [N]
    elements: int  # n_e per leg
    leg_mass: float  # [kg]
    platform_mass: float  # [kg]
    platform_centre: Array  # (3,) centre of mass of the platform, in its frame [m]
    # (3,) the tip in the platform's frame, whose origin lies in the plane of the leg ends [m]
    tip: Array
    curves: tuple[StretchCurve, ...]  # one per leg
    stations_per_element: int  # poses returned along a leg


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
