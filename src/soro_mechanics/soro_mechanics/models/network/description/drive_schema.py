# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Entry ``actuation`` of the section ``network``: what each actuator does to which rods."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np

from soro_mechanics.core.actuators import Actuator, QUANTITIES
from soro_mechanics.core.configuration import Array
from soro_mechanics.models.network.description.spec import (
    DRIVES,
    DriveSpec,
    ENDS,
    LENGTHS,
    RodSpec,
    STRAINS,
    TENDONS,
)
from soro_mechanics.numerics.monotone_curve import curve_at
from soro_mechanics.robot_file.section import Section

MAX_STRAINS = 10  # that the kernels' scratch has room for, per rod
MAX_TENDONS = 16  # the same

Actuators = tuple[Actuator, ...]
Drives = list[DriveSpec]
Rods = list[RodSpec]


def read_drives(top: Section, rods: Rods, actuators: Actuators) -> tuple[DriveSpec, ...]:
    """Read and check what the actuators do."""
    drives: Drives = []
    for item in top.sections('actuation', ()):
        with item:
            fresh = _read_drive(item, rods, actuators)
            _check_free(item, fresh, drives, rods, actuators)
            _check_strains(item, fresh, drives, rods)
            drives += fresh
    _check_driven(top, drives, actuators)
    return tuple(drives)


def read_bundle(
    item: Section, drives: tuple[DriveSpec, ...], actuators: Actuators
) -> tuple[int, ...]:
    """Read which rods of driven length are muscles side by side, whose mean length is free."""
    driven = {actuators[d.actuator].name: d.actuator for d in drives if d.kind in LENGTHS}
    names = item.texts('actuators')
    for name in names:
        if name not in driven:
            raise item.error('actuators', f'{name!r} drives no length')
    return tuple(driven[name] for name in names)


def _read_drive(item: Section, rods: Rods, actuators: Actuators) -> Drives:
    names = [a.name for a in actuators]
    index = names.index(item.text('actuator', choices=names))
    kind = item.text('drives', choices=tuple(DRIVES))
    quantity = actuators[index].quantity
    curve = None
    if 'curve' in item:
        curve = _read_curve(item, actuators[index].unit, QUANTITIES[DRIVES[kind]][1])
    elif quantity != DRIVES[kind]:
        raise item.error('drives', f'{names[index]} is a {quantity}; write a curve to convert it')
    chosen = item.texts('rods')
    known = [r.name for r in rods]
    for name in chosen:
        if name not in known:
            raise item.error('rods', f'{name!r} is not a rod; expected some of {known}')
    if kind in TENDONS:
        return _read_tendon(item, DriveSpec(index, 0, kind, curve=curve), actuators[index], rods)
    end, offset, shift = 0, 0.0, np.zeros(6)
    if kind == 'angle':
        place = item.text('end', 'from', choices=ENDS)
        end = ENDS.index(place)
        for name in chosen:
            if not rods[known.index(name)].ends[end].motor:
                raise item.error(
                    'drives',
                    f'{name} has no motor there; write motor: {{axis: ...}} in its {place}',
                )
        offset = item.quantity('offset', 'rad', 0.0)
    elif kind == 'stretch':
        shift[2] = 1.0
        offset = -1.0  # the actuator gives the ratio of lengths, the strain is one less
    elif kind == 'curvature':
        shift[3:] = item.vector('direction', '1', 3)
    elif kind == 'pressure':
        shift = _pressure_wrench(item)
    if kind in (*LENGTHS, 'stretch'):
        _check_positive(item, actuators[index], kind, curve)
    return [
        DriveSpec(index, known.index(name), kind, end, shift, offset, curve) for name in chosen
    ]


def _read_tendon(item: Section, drive: DriveSpec, actuator: Actuator, rods: Rods) -> Drives:
    """Read where a tendon runs: place in the section, and part of one rod or whole rods."""
    if drive.kind == 'tendon':
        if 'stiffness' in item:
            drive = replace(drive, soft=1.0 / item.quantity('stiffness', 'N/m', positive=True))
    elif _least(actuator, drive.curve) < 0.0:
        remedy = 'lets the tension fall below 0 N; a tendon pulls only, change the limits'
        raise item.error('actuator', f'{actuator.name} {remedy}')
    hole = read_place(item, 2)
    chosen = item.texts('rods')
    names = [r.name for r in rods]
    whole = 'from' not in item and 'to' not in item
    if not whole and len(chosen) != 1:
        raise item.error('from' if 'from' in item else 'to', 'write one rod, or whole rods')
    found = []
    for name in chosen:
        r = names.index(name)
        length = rods[r].length
        start, end = read_part(item, length, 0.0, length)
        found.append(replace(drive, rod=r, hole=hole, span=(start / length, end / length)))
    return found


def read_part(item: Section, length: float, *whole: float) -> tuple[float, float]:
    """Read a part of a rod, `from` and `to` [m]; `whole`: both where they are not written."""
    ends = [
        item.quantity(key, 'm', *whole[i : i + 1], minimum=0.0, maximum=length)
        for i, key in enumerate(ENDS)
    ]
    if not ends[1] > ends[0]:
        raise item.error('to', 'must lie beyond from')
    return ends[0], ends[1]


def read_place(item: Section, size: int, *default: tuple[float, ...]) -> Array:
    """Read a place (2,) or (3,) [m]: position, or polar from local x about local z, and height."""
    if 'polar' not in item:
        return item.vector('position', 'm', size, *default)
    if 'position' in item:
        raise item.error('position', 'write position or polar, not both')
    with item.section('polar') as polar:
        radius = polar.quantity('radius', 'm', minimum=0.0)
        angle = polar.quantity('angle', 'rad')
        height = [polar.quantity('height', 'm', 0.0)] if size == 3 else []
    return np.array([radius * math.cos(angle), radius * math.sin(angle), *height])


def _check_positive(item: Section, actuator: Actuator, kind: str, curve: Array | None) -> None:
    """Refuse a rod of no length: at a limit, as values and curves are monotone."""
    least = _least(actuator, curve)
    if not least > 0.0:
        unit = '' if kind == 'stretch' else ' m'
        raise item.error(
            'actuator',
            f'{actuator.name} brings the {kind} down to {least:g}{unit}; it must stay above zero '
            '(stretch 1 is unstretched): change the limits, or write a curve',
        )


def _least(actuator: Actuator, curve: Array | None) -> float:
    """Return the least value of what an actuator drives."""
    limits = actuator.minimum, actuator.maximum
    return min(limits) if curve is None else float(min(curve_at(curve, np.array(limits))[0]))


def _pressure_wrench(item: Section) -> Array:
    """Return the body wrench per pressure of chambers along the rod (Shi 2023, F_P)."""
    wrench = np.zeros(6)
    chambers = item.sections('chambers')
    if not chambers:
        raise item.error('chambers', 'write at least one, with its area and position')
    for chamber in chambers:
        with chamber:
            area = chamber.quantity('area', 'm^2', positive=True)
            x, y = chamber.vector('position', 'm', 2)
            wrench += area * np.array([0.0, 0.0, 1.0, y, -x, 0.0])
    return wrench


def _check_free(
    item: Section, fresh: Drives, drives: Drives, rods: Rods, actuators: Actuators
) -> None:
    """Refuse a second drive of what has only one value: a length, or a motor's angle."""
    taken = {_place(d): d.actuator for d in drives if d.kind in (*LENGTHS, 'angle')}
    for d in fresh:
        first = taken.get(_place(d))
        if first is not None:
            what = 'length' if d.kind in LENGTHS else f"angle at '{ENDS[d.end]}'"
            raise item.error(
                'rods',
                f'{actuators[first].name} already drives the {what} of {rods[d.rod].name}; '
                'give each its own rod or end',
            )


def _place(d: DriveSpec) -> tuple[int, str, int]:
    """Return what of a rod a drive sets; a rod has one length, whoever makes it longer."""
    return d.rod, 'length' if d.kind in LENGTHS else d.kind, d.end


def _check_strains(item: Section, fresh: Drives, drives: Drives, rods: Rods) -> None:
    """Refuse more tendons and rest strains of one rod than there is room for."""
    for d in fresh:
        rod = rods[d.rod]
        if d.kind in TENDONS:
            count = sum(o.rod == d.rod and o.kind in TENDONS for o in [*drives, *fresh])
            if count > MAX_TENDONS:
                raise item.error('rods', f'{rod.name} has {count} tendons; at most {MAX_TENDONS}')
        if d.kind not in STRAINS:
            continue
        count = sum(o.rod == d.rod and o.kind in STRAINS for o in [*drives, *fresh])
        if count > MAX_STRAINS:
            remedy = f'{rod.name} has {count} of {", ".join(STRAINS)}; at most {MAX_STRAINS}'
            raise item.error('rods', f'{remedy}: let one drive act on several')


def _read_curve(item: Section, unit: str, driven: str) -> Array:
    """Return (k, 2): values of the actuator and of what is driven, both in SI."""
    rows = []
    for part in item.sections('curve'):
        with part:
            rows.append([part.quantity('at', unit), part.quantity('value', driven)])
            if len(rows) > 1 and not rows[-1][0] > rows[-2][0]:
                raise part.error('at', 'must grow from entry to entry')
    if len(rows) < 2:
        raise item.error('curve', 'write at least two points')
    steps = np.diff(np.array(rows)[:, 1])
    if not (np.all(steps > 0.0) or np.all(steps < 0.0)):
        raise item.error('curve', 'the value must grow everywhere, or fall everywhere')
    return np.array(rows)


def _check_driven(top: Section, drives: Drives, actuators: Actuators) -> None:
    tendons = {d.actuator: d for d in drives if d.kind == 'tendon'}
    for d in drives:
        first_part = tendons.get(d.actuator, d)
        if (d.kind, d.soft) != (first_part.kind, first_part.soft):
            name = actuators[d.actuator].name
            remedy = 'pulls one tendon: the same stiffness in all its parts, and nothing else'
            raise top.error('actuation', f'{name} {remedy}')
    curves: dict[int, object] = {}
    for d in drives:
        points = None if d.curve is None else d.curve.tolist()
        if curves.setdefault(d.actuator, points) != points:
            name = actuators[d.actuator].name
            raise top.error('actuation', f'{name} has two curves; give each its own drive')
    idle = {a.name for a in actuators} - {actuators[d.actuator].name for d in drives}
    if idle:
        raise top.error('actuation', f'{sorted(idle)[0]} drives nothing')
