# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The section ``ancf`` of a robot file: soft legs between a base and a platform."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.configuration import Array
from soro_mechanics.numerics.monotone_curve import monotone_slopes
from soro_mechanics.robot_file import quantity
from soro_mechanics.robot_file.record import given, read_record
from soro_mechanics.robot_file.section import MAX_PARTS, Section

PLATFORM = 'platform'  # name of the body that carries the tip


class StretchCurve(NamedTuple):
    """lambda(P) of one actuator: a monotone cubic through points (Fritsch and Carlson)."""

    pressures: Array  # (n,) rising [Pa]
    values: Array  # (n,) stretch ratio, rising
    slopes: Array  # (n,) derivative at the points; the end slopes also continue the curve [1/Pa]


@dataclass(frozen=True, kw_only=True, eq=False)
class SoftLegs:
    """A soft parallel robot (Huang 2022): equal legs, one platform."""

    names: tuple[str, ...]  # of the legs; leg i is moved by actuator i
    angles: Array  # (n,) where the legs stand around the vertical axis [rad]
    base_radius: float  # circle of the leg ends [m]
    platform_radius: float = given('m', positive=True)  # the same at the platform
    length: float  # flexible length L_f of a leg at rest [m]
    radius: float = given('m', key='leg_radius', positive=True)  # outer, of a leg, for drawing
    bending: float = given('N m^2', key='EI', positive=True)
    torsion: float = given('N m^2', key='GI', positive=True)
    tension: float = given('N', key='EA', positive=True)
    penalty: float = given('N', positive=True)  # alpha of eq (27)
    elements: int = given(minimum=2, maximum=MAX_PARTS)  # n_e per leg
    leg_mass: float = given('kg', minimum=0.0)
    platform_mass: float = given('kg', minimum=0.0)
    platform_centre: Array  # (3,) centre of mass of the platform, in its frame [m]
    # (3,) the tip in the platform's frame, whose origin lies in the plane of the leg ends [m]
    tip: Array
    curves: tuple[StretchCurve, ...]  # one per leg
    # poses returned along a leg
    stations_per_element: int = given(default=4, minimum=1, maximum=MAX_PARTS)


def read_ancf(root: Section, actuators: tuple[Actuator, ...]) -> SoftLegs:
    """Read ``ancf``; every leg needs one pressure or stretch actuator."""
    with root.section('ancf') as section:
        kinds = {a.quantity for a in actuators}
        if len(actuators) < 3 or kinds not in ({'pressure'}, {'stretch'}):
            remedy = 'this model needs at least three drives, all pressure or all stretch'
            raise root.error('actuators', remedy)
        if kinds == {'stretch'} and not min(min(a.minimum, a.maximum) for a in actuators) > 0.0:
            raise root.error('actuators', 'a stretch stays above zero: 1 is unstretched')
        names, angles, curves = [], [], []
        for leg in section.sections('legs'):
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
        return read_record(
            section,
            SoftLegs,
            names=tuple(names),
            angles=np.array(angles),
            base_radius=ratio * length / (2.0 * math.sin(math.pi / len(actuators))),
            length=length,
            platform_centre=section.vector('platform_centre', 'm', 3, (0.0, 0.0, 0.0)),
            tip=section.vector('tip', 'm', 3, (0.0, 0.0, 0.0)),
            curves=tuple(curves),
        )


def read_curve(leg: Section) -> StretchCurve:
    """Read ``stretch`` (a list) and ``pressures`` ('0 20 40 kPa') of one leg."""
    raw = leg.raw('stretch')
    if len(raw) < 2:
        raise leg.error('stretch', 'write a list of at least two stretch ratios')
    values = np.array([quantity.parse(v, '1')[0] for v in raw])
    if not np.all(values > 0.0):
        raise leg.error('stretch', 'must be greater than zero: 1 is unstretched')
    pressures = leg.vector('pressures', 'Pa', len(raw))
    if not np.all(np.diff(pressures) > 0.0):
        raise leg.error('pressures', 'must rise from point to point')
    if not np.all(np.diff(values) > 0.0):
        raise leg.error('stretch', 'must rise from point to point')
    return StretchCurve(pressures, values, monotone_slopes(pressures, values))
