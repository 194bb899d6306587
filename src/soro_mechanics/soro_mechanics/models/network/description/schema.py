# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Section ``network`` of a robot file: rods, bodies, ends, actuation. See docs/network.md."""

from __future__ import annotations

import math

import numpy as np

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.configuration import Array, Load, LoadAxes
from soro_mechanics.models.network.description import drive_schema
from soro_mechanics.models.network.description.cross_section import (
    CrossSection,
    read_cross_section,
    ShapedSection,
)
from soro_mechanics.models.network.description.spec import (
    BodySpec,
    ENDS,
    EndSpec,
    GROUND,
    JOINTS,
    NetworkSpec,
    RodSpec,
    SensorSpec,
)
from soro_mechanics.robot_file.section import Section

MATERIAL = ('young', 'shear', 'shear_factor', 'density', 'strain_limit')  # of a shaped section

SAME_PLACE = 1e-6  # m, below which two places on a body are one
ALONG = 1.0 - 1e-6  # cosine of two directions that are one

ELEMENTS, FEWEST = 14, 4  # of a rod: default, and where a tolerance chooses them
AnySection = ShapedSection | CrossSection
Sections = dict[str, AnySection]


def read_network(root: Section, actuators: tuple[Actuator, ...]) -> NetworkSpec:
    """Read and check the section ``network`` of a robot file."""
    with root.section('network') as top:
        sections = {}
        with top.section('sections') as table:
            for name in table.keys:
                with table.section(name) as item:
                    sections[name] = read_cross_section(item)
        bodies = _read_bodies(top)
        rods: list[RodSpec] = []
        for item in top.sections('rods'):
            with item:
                rods.append(_read_rod(item, sections, bodies))
                if rods[-1].name in [r.name for r in rods[:-1]] + [b.name for b in bodies]:
                    raise item.error('name', 'this name stands twice')
                _check_apart(item, rods)
        if not rods:
            raise top.error('rods', 'write at least one rod')
        _check_held(top, bodies, rods)
        drives = drive_schema.read_drives(top, rods, actuators)
        bundles = top.each(
            'bundles', lambda item: drive_schema.read_bundle(item, drives, actuators), ()
        )
        with top.section('tip') as item:
            tip_body = item.text('body', choices=[b.name for b in bodies[1:]])
            tip = read_pose(item)
        sensors = top.each('sensors', lambda item: _read_sensor(item, rods), ())
        loads = top.each('loads', lambda item: _read_load(item, rods), ())
    return NetworkSpec(
        tuple(bodies),
        tuple(rods),
        drives,
        tip_body,
        tip,
        tuple(sensors),
        tuple(loads),
        bundles=tuple(bundles),
    )


def read_pose(item: Section) -> Array:
    """Read a placement: position or polar, and rotation or direction (of local z)."""
    pose = np.eye(4)
    pose[:3, 3] = drive_schema.read_place(item, 3, (0.0, 0.0, 0.0))
    if 'direction' in item:
        pose[:3, :3] = shortest_turn(_unit(item, 'direction'))
        if 'rotation' in item:
            raise item.error('rotation', 'write rotation or direction, not both')
    elif 'rotation' in item:
        pose[:3, :3] = rotation_matrix(item.vector('rotation', 'rad', 3))
    return pose


def shortest_turn(z: Array) -> Array:
    """Return the rotation (3, 3) that takes the z axis to the unit vector z the shortest way."""
    axis = np.array([-z[1], z[0], 0.0])
    sine = float(np.linalg.norm(axis))
    if sine == 0.0:
        return np.eye(3) if z[2] > 0.0 else np.diag([1.0, -1.0, -1.0])
    return rotation_matrix(axis / sine * math.atan2(sine, z[2]))


def rotation_matrix(vector: Array) -> Array:
    """Return the rotation (3, 3) of a rotation vector [rad] (a driver reads this: no kernels)."""
    angle = float(np.linalg.norm(vector))
    if angle == 0.0:
        return np.eye(3)
    x, y, z = vector / angle
    w = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * w + (1.0 - math.cos(angle)) * w @ w


def _read_bodies(top: Section) -> list[BodySpec]:
    bodies = [BodySpec(GROUND, np.eye(4), 0.0, np.zeros(3))]
    with top.section('bodies') as table:
        for name in table.keys:
            if name == GROUND:
                raise table.error(name, 'this name is taken: it means base_link')
            with table.section(name) as item:
                pose = read_pose(item) if 'position' in item or 'polar' in item else None
                mass = item.quantity('mass', 'kg', 0.0, minimum=0.0)
                centre = item.vector('centre', 'm', 3, (0.0, 0.0, 0.0))
                inertia = item.vector('inertia', 'kg m^2', 3, (0.0, 0.0, 0.0))
                if min(inertia) < 0.0 or 2.0 * max(inertia) > sum(inertia):
                    remedy = 'write three moments, none of them above the sum of the others'
                    raise item.error('inertia', remedy)
            bodies.append(BodySpec(name, pose, mass, centre, np.diag(inertia)))
    if len(bodies) == 1:
        raise top.error('bodies', 'write at least one body: rods end on it, the tip is on it')
    return bodies


def _read_rod(item: Section, sections: Sections, bodies: list[BodySpec]) -> RodSpec:
    name = item.text('name')
    section = sections[item.text('section', choices=tuple(sections))]
    end: ShapedSection | None = None
    if 'section_end' in item:
        end = _read_taper(item, section, sections)
    length = item.quantity('length', 'm', positive=True)
    curvature = _read_curvature(item)
    fractions, tolerance = _read_mesh(item)
    ends = []
    for key in ENDS:
        with item.section(key) as part:
            ends.append(_read_end(part, [b.name for b in bodies]))
    if ends[1].body == GROUND and ends[0].body != GROUND:
        raise item.error('from', 'a rod that is held by the ground starts there')
    if ends[1].body == ends[0].body:
        raise item.error('to', f'the rod starts on {ends[0].body}; end it on another body')
    held = (ends[0], ends[1])
    return RodSpec(name, length, section, end, curvature, held, fractions, tolerance)


def _read_taper(item: Section, section: AnySection, sections: Sections) -> ShapedSection:
    other = sections[item.text('section_end', choices=tuple(sections))]
    if not (
        isinstance(section, ShapedSection)
        and isinstance(other, ShapedSection)
        and section.shape == other.shape
    ):
        raise item.error('section_end', 'must be the same shape as section, given by its size')
    for name in MATERIAL:
        values = getattr(section, name), getattr(other, name)
        if not math.isclose(*values, rel_tol=1e-9):
            raise item.error(
                'section_end',
                f'{name} is {values[1]:g} here and {values[0]:g} in section; '
                'a taper is of one material: change sizes only',
            )
    return other


def _check_apart(item: Section, rods: list[RodSpec]) -> None:
    """Refuse a last rod that shares a line with another one.

    Nothing keeps two rods on one line between their ends: concentric tubes would pass through each
    other (40 mm at the tip of two tubes of 120 mm that are turned by 170 degrees).
    """
    *others, last = rods
    for other in others:
        pairs = [
            (i, a, b)
            for i, a in enumerate(last.ends)
            for j, b in enumerate(other.ends)
            if a.body == b.body and np.allclose(_place(a), _place(b), rtol=0.0, atol=SAME_PLACE)
        ]
        clamped = [
            i
            for i, a, b in pairs
            if a.joint == b.joint == 'clamped' and _leaving(last, a) @ _leaving(other, b) > ALONG
        ]
        straight = not last.curvature[:, 1:].any() and not other.curvature[:, 1:].any()
        if clamped or (len(pairs) == 2 and straight):
            raise item.error(
                ENDS[clamped[0] if clamped else 0],
                f'leaves where rod {other.name} does, in the same direction: nothing would keep '
                'two rods on one line (concentric tubes) between their ends; move it aside, or '
                'write one rod with the stiffness of both',
            )


def _place(end: EndSpec) -> Array:
    return (end.attach @ end.crank)[:3, 3]


def _leaving(rod: RodSpec, end: EndSpec) -> Array:
    """Return the direction in which a rod leaves the body at one of its ends."""
    along = (end.attach @ end.crank)[:3, 2]
    return along if end is rod.ends[0] else -along


def _check_held(top: Section, bodies: list[BodySpec], rods: list[RodSpec]) -> None:
    """Refuse bodies that no rods connect to the ground."""
    held = {GROUND}
    for _ in bodies:
        for rod in rods:
            names = {end.body for end in rod.ends}
            held |= names if names & held else set()
    for body in bodies:
        if body.name not in held:
            remedy = 'no rods connect it to the ground; end a rod on it, or remove it'
            raise top.section('bodies').error(body.name, remedy)


def _read_curvature(item: Section) -> Array:
    if 'rest_curvature' not in item:
        return np.zeros((1, 4))
    if not isinstance(item.raw('rest_curvature'), list):
        return np.concatenate([[0.0], item.vector('rest_curvature', '1/m', 3)])[None]
    rows: list[list[float]] = []
    for part in item.sections('rest_curvature'):
        with part:
            at = part.number('at', minimum=0.0, maximum=1.0)
            if rows and not at > rows[-1][0]:
                raise part.error('at', 'must grow from entry to entry')
            rows.append([at, *part.vector('curvature', '1/m', 3)])
    if not rows:
        raise item.error('rest_curvature', 'write at least one entry')
    return np.array(rows)


def _read_mesh(item: Section) -> tuple[Array, float | None]:
    """Return the boundaries of elements, and the tolerance that shall choose them."""
    raw = item.raw('mesh', ELEMENTS)
    if isinstance(raw, list):
        bounds = item.vector('mesh', '1', len(raw)) if len(raw) > 1 else np.zeros(1)
        if bounds[0] != 0.0 or bounds[-1] != 1.0 or not np.all(np.diff(bounds) > 0.0):
            raise item.error('mesh', 'write a number, or growing fractions from 0 to 1')
        return bounds, None
    if not isinstance(raw, dict):
        pieces = item.count('mesh', raw)
        return np.linspace(0.0, 1.0, pieces + 1), None
    with item.section('mesh') as mesh:
        tolerance = None
        if 'tolerance' in mesh:
            tolerance = mesh.quantity('tolerance', 'm', positive=True)
        pieces = mesh.count('pieces', FEWEST if tolerance is not None else ELEMENTS)
        ratio = mesh.number('grading', 1.0, positive=True)
    return graded(pieces, ratio), tolerance


def graded(pieces: int, ratio: float) -> Array:
    """Return piece boundaries; the pieces in the middle are `ratio` times those at the ends."""
    if pieces < 3:
        return np.linspace(0.0, 1.0, pieces + 1)
    away = np.abs(np.linspace(-1.0, 1.0, pieces))
    least = away.min()
    size = ratio ** ((1.0 - away) / (1.0 - least))
    bounds = np.concatenate([[0.0], np.cumsum(size) / size.sum()])
    bounds[-1] = 1.0
    return bounds


def _read_end(item: Section, bodies: list[str]) -> EndSpec:
    body = item.text('body', choices=bodies)
    attach = read_pose(item)
    axis = np.array([0.0, 0.0, 1.0])
    crank = np.eye(4)
    if 'motor' in item:
        with item.section('motor') as motor:
            axis = _unit(motor, 'axis')
            if 'crank' in motor:
                with motor.section('crank') as part:
                    crank = read_pose(part)
    joint = item.text('joint', 'clamped', choices=JOINTS)
    axes = np.zeros((2, 3))
    if joint in ('revolute', 'universal'):
        axes[0] = _unit(item, 'axis')
    if joint == 'universal':
        axes[1] = _unit(item, 'second_axis')
        if abs(axes[0] @ axes[1]) > 0.99:
            raise item.error('second_axis', 'must not be parallel to axis')
    return EndSpec(body, attach, axis, crank, joint, axes, 'motor' in item)


def _unit(item: Section, key: str) -> Array:
    vector = item.vector(key, '1', 3)
    size = float(np.linalg.norm(vector))
    if not size > 0.0:
        raise item.error(key, 'write a vector that is not zero')
    return vector / size


def _read_sensor(item: Section, rods: list[RodSpec]) -> SensorSpec:
    name = item.text('name')
    names = [r.name for r in rods]
    rod = names.index(item.text('rod', choices=names))
    length = rods[rod].length
    start, end = drive_schema.read_part(item, length)
    return SensorSpec(name, rod, start / length, end / length, _unit(item, 'axis'))


def _read_load(item: Section, rods: list[RodSpec]) -> Load:
    """Read a load that is always there: spread from-to, or at a point of a rod."""
    names = [r.name for r in rods]
    rod = rods[names.index(item.text('rod', choices=names))]
    axes = LoadAxes(('base', 'local').index(item.text('axes', 'base', choices=('base', 'local'))))
    if 'at' in item:
        at = item.quantity('at', 'm', positive=True, maximum=rod.length)
        force = item.vector('force', 'N', 3, (0.0, 0.0, 0.0))
        moment = item.vector('moment', 'N m', 3, (0.0, 0.0, 0.0))
        return Load(np.concatenate([force, moment]), rod.name, at, axes)
    start, end = drive_schema.read_part(item, rod.length, 0.0, rod.length)
    force = item.vector('force', 'N/m', 3)
    return Load(np.concatenate([force, np.zeros(3)]), rod.name, start, axes, end)
