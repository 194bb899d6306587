# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The section ``segments`` of a robot file: a chain of soft segments driven by chambers."""

from __future__ import annotations

from dataclasses import dataclass
import math

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.robot_file.record import given, read_record
from soro_mechanics.robot_file.section import Section

RULES = ('converged', 'exact', 'published')
WEIGHT = ('ramped', 'final')


@dataclass(frozen=True)
class Chamber:
    """Chambers that one actuator pressurises, as one eccentric axial force."""

    actuator: int  # index of the actuator
    area: float = given('m^2', positive=True)  # of all chambers of this group together
    offset: float = given('m', minimum=0.0)  # distance of the resultant from the axis
    # of the resultant from local x about local z; the segment bends away from it
    angle: float = given('rad', 0.0)


@dataclass(frozen=True, kw_only=True)
class Segment:
    """One soft segment; stiffness of the undeformed section, of incompressible material."""

    name: str
    length: float = given('m', positive=True)  # effective (chamber) length
    radius: float = given('m', positive=True)  # outer
    axial_stiffness: float = given('N', positive=True)  # EA
    bending_stiffness: float = given('N m^2', positive=True)  # EI
    shear_factor: float = given(positive=True)  # k in GA = k EA / 3
    linear_density: float = given('kg/m', minimum=0.0)  # of unloaded length
    chambers: tuple[Chamber, ...]
    link: float = given('m', 0.0, minimum=0.0)  # rigid piece after the segment
    link_mass: float = given('kg', 0.0, minimum=0.0)


@dataclass(frozen=True)
class Compensation:
    """How the nonlinear models take the actuation in increments."""

    # 'published': with the sections of the increment before (Shi 2023, (24)). 'exact': exact along
    # straight paths of the section wrench, second order in the increments. 'converged': exact,
    # taken with the increments and with twice as many, and extrapolated.
    rule: str = 'converged'
    increments: int = 4  # number of equal increments; 0: as many as `threshold` gives
    # growth of the norm of the pressures per increment [Pa] (Shi 2023, (13), (26))
    threshold: float = 0.0
    # 'ramped': weight comes with the pressure, on sections that stretch
    # meanwhile (Shi 2023, 2.3). 'final': on the sections that the pressure leaves, like every
    # external load, so that a tip mass and the same force as a wrench are one and the same.
    weight: str = 'ramped'


@dataclass(frozen=True)
class SegmentChain:
    """Everything the section ``segments`` says."""

    segments: tuple[Segment, ...]
    tip_mass: float
    elements: int
    compensation: Compensation


def read_segments(root: Section, actuators: tuple[Actuator, ...]) -> SegmentChain:
    """Read the section ``segments`` of a robot file."""
    with root.section('segments') as section:
        elements = section.count('elements', 50, minimum=2)
        compensation = _read_compensation(section)
        tip_mass = section.quantity('tip_mass', 'kg', 0.0, minimum=0.0)
        segments: list[Segment] = []
        for item in section.sections('chain'):
            with item:
                segments.append(_read_segment(item, actuators, [s.name for s in segments]))
        used = {c.actuator for s in segments for c in s.chambers}
        for i, actuator in enumerate(actuators):
            if i not in used:
                remedy = f'no chamber is filled by the drive {actuator.name!r}; add one'
                raise section.error('chain', remedy)
    return SegmentChain(tuple(segments), tip_mass, elements, compensation)


def _read_compensation(section: Section) -> Compensation:
    with section.optional('compensation') as item:
        rule = item.text('rule', Compensation.rule, choices=RULES)
        threshold = item.quantity('threshold', 'Pa', 0.0, positive=True)
        if threshold > 0.0 and 'increments' in item:
            raise item.error('increments', 'give increments or threshold, not both')
        default = 0 if threshold > 0.0 else Compensation.increments
        increments = item.count('increments', default, minimum=0 if threshold > 0.0 else 1)
        weight = item.text('weight', Compensation.weight, choices=WEIGHT)
    return Compensation(rule, increments, threshold, weight)


def _read_segment(item: Section, actuators: tuple[Actuator, ...], taken: list[str]) -> Segment:
    name = item.text('name')
    if not name.isidentifier():
        raise item.error('name', 'write letters, digits and _ only, a letter first')
    if name in taken:
        raise item.error('name', 'two segments have this name')
    chambers = item.each('chambers', lambda part: _read_chamber(part, actuators))
    if not chambers:
        raise item.error('chambers', 'write at least one chamber')
    segment = read_record(item, Segment, name=name, chambers=tuple(chambers))
    radius = segment.radius
    for i, chamber in enumerate(chambers):
        if chamber.offset >= radius:
            raise item.error('chambers', f'chamber {i} lies outside the radius {radius:g} m')
    section, holes = math.pi * radius**2, sum(c.area for c in chambers)
    if holes > section:
        raise item.error(
            'chambers',
            f'their areas add up to {holes:g} m^2, more than the section of the radius has '
            f'({section:g} m^2); write smaller areas, or a larger radius',
        )
    most = segment.axial_stiffness * radius**2
    if segment.bending_stiffness > most:
        raise item.error(
            'bending_stiffness',
            f'no section within the radius {radius:g} m has that; with this axial_stiffness '
            f'at most {most:g} N m^2',
        )
    return segment


def _read_chamber(part: Section, actuators: tuple[Actuator, ...]) -> Chamber:
    names = tuple(a.name for a in actuators)
    index = names.index(part.text('actuator', choices=names))
    if actuators[index].quantity != 'pressure':
        raise part.error('actuator', 'a chamber needs a drive whose quantity is pressure')
    return read_record(part, Chamber, actuator=index)
