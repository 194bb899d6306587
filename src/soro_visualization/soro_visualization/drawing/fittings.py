# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a robot's file says beside its rods: cranks, tendons with discs, chambers, flex sensors.

No message holds them: they follow from the stations of the rods and from the actuation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.models.network.description.spec import NetworkSpec, TENDONS
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.registry import MODELS
from soro_node.display_units import size_of, unit_of
from soro_visualization.drawing.muscles import muscles_of
from soro_visualization.drawing.shape import Array, Rod, Shape
from soro_visualization.drawing.tubes import Cylinders, straight_cylinders, turned

ARMS = ('segments', 'constant_curvature')
CRANK, DISC, SENSOR = (110, 116, 128), (205, 209, 216), (222, 170, 60)
DISC_EVERY = 1.2  # holes' distance from the axis; assumed, no robot file says where discs are
MAX_DISCS = 24
DISC_RADIUS, DISC_THICKNESS = 1.3, 0.15  # in distances of the outermost hole
TENDON_RADIUS = 0.08  # the same; for drawing
CHAMBER = 0.28  # radius of the stripe that stands for a chamber, of its segment's
SLEEVE = 1.35  # of a flex sensor, in radii of its rod


@dataclass(frozen=True)
class Fitting:
    """Cylinders of one kind."""

    name: str
    tubes: Cylinders
    closed: bool  #: whether the ends of every cylinder are seen
    colour: tuple[int, int, int] | None = None  #: None: by `values`
    values: Array | None = None  #: (n,), optional; in the unit of the legend, from `low` to `high`
    low: float = 0.0
    high: float = 1.0
    #: title, unit: of the legend
    title: str = ''
    unit: str = ''


class Fittings:
    """Makes what is fitted to the rods of one robot."""

    def __init__(self, description: RobotDescription) -> None:
        self._description = description
        self._muscles = muscles_of(description)
        self._stroke = 1e-3  # m, of a muscle from rest: only grows, colours do not flicker

    def of(self, shape: Shape) -> list[Fitting]:
        """Return everything for one shape."""
        section = MODELS.get(shape.model, ('',))[0]
        structure = self._description.structure.get(section)
        if structure is None:
            return []
        actuators = self._description.actuators
        rods = {rod.name: rod for rod in shape.rods}
        found: list[Fitting | None] = []
        if section == 'network':
            found = [_cranks(structure, shape, rods)]
            found += _tendons(structure, actuators, shape, rods)
        elif section == 'kirchhoff':
            found = [self._drawn_muscles(shape)]
        elif section in ARMS:
            found = [_links(shape), *_chambers(structure, actuators, shape, rods)]
        found.append(_sensors(structure, self._description.structure.get('haptic'), rods))
        return [one for one in found if one is not None]

    def _drawn_muscles(self, shape: Shape) -> Fitting | None:
        drawn = None if self._muscles is None else self._muscles.of(shape)
        if self._muscles is None or drawn is None:
            return None
        rest = self._muscles.rest
        stroke = float(np.abs(drawn.length - rest).max())
        if stroke > self._stroke:
            self._stroke = stroke * 1.1
        low, high = 1e3 * (rest - self._stroke), 1e3 * (rest + self._stroke)
        tubes = straight_cylinders(drawn.ends, drawn.radius)
        title = 'length of the muscles'
        return Fitting('muscles', tubes, True, None, 1e3 * drawn.length, low, high, title, 'mm')


@dataclass(frozen=True)
class _Stations:
    """Places along a rod: positions (n, 3) [m], and the axes x and y of its sections (n, 3)."""

    positions: Array
    x: Array
    y: Array

    def beside(self, hole: Array) -> Array:
        """Return the places (n, 3) of a point (2,) of the section."""
        return self.positions + hole[0] * self.x + hole[1] * self.y


def _stations(rod: Rod, fractions: Array) -> _Stations:
    """Return places at fractions of the unloaded length, between the stations that there are."""
    at = fractions * rod.arc_length[-1]
    positions = np.stack([np.interp(at, rod.arc_length, p) for p in rod.positions.T], axis=1)
    signs = np.where(np.einsum('ij,ij->i', rod.quaternions[:-1], rod.quaternions[1:]) < 0, -1, 1)
    even = rod.quaternions * np.cumprod(np.concatenate([[1], signs]))[:, None]
    turns = np.stack([np.interp(at, rod.arc_length, q) for q in even.T], axis=1)
    x, y, z, w = (turns / np.linalg.norm(turns, axis=1, keepdims=True)).T
    first = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)], axis=1)
    second = np.stack([2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)], axis=1)
    return _Stations(positions, first, second)


def _within(rod: Rod, start: float, end: float) -> Array:
    """Return the fractions of a rod's stations in a part of it, its two ends included."""
    fractions = rod.arc_length / rod.arc_length[-1]
    return np.concatenate([[start], fractions[(fractions > start) & (fractions < end)], [end]])


def _line(points: Array, radius: float) -> Cylinders:
    """Return cylinders along a line of points (n, 3), long enough to meet where it bends."""
    tubes = straight_cylinders(np.stack([points[:-1], points[1:]], axis=1), radius)
    turns = turned(tubes.quaternions)
    longest = np.maximum(np.append(turns, 0.0), np.append(0.0, turns))
    tubes.scales[:, 2] += radius * longest
    return tubes


def _all(parts: list[Cylinders]) -> Cylinders:
    return Cylinders(*map(np.concatenate, zip(*(vars(p).values() for p in parts), strict=True)))


def _cranks(structure: NetworkSpec, shape: Shape, rods: dict[str, Rod]) -> Fitting | None:
    """Return the arm of every motor: from its axis to where its rod is joined."""
    parts = []
    for spec in structure.rods:
        rod = rods.get(spec.name)
        for end, at in zip(spec.ends, (0, -1), strict=True):
            arm = float(np.linalg.norm(end.crank[:3, 3]))
            if rod is None or not end.motor or not arm > 0.0:
                continue
            body = shape.bodies.get(end.body, np.eye(4))
            axis = body[:3, :3] @ end.attach[:3, 3] + body[:3, 3]
            radius = max(1.6 * float(rod.radius[at]), 0.06 * arm)
            parts.append(_line(np.stack([axis, rod.positions[at]]), radius))
    return Fitting('cranks', _all(parts), True, CRANK) if parts else None


def _tendons(
    structure: NetworkSpec, actuators: tuple[Actuator, ...], shape: Shape, rods: dict[str, Rod]
) -> list[Fitting]:
    """Return tendons in the colour of what pulls them, and discs that hold them."""
    drives = [d for d in structure.drives if d.kind in TENDONS]
    drives = [d for d in drives if structure.rods[d.rod].name in rods]
    if not drives:
        return []
    reach = max(float(np.linalg.norm(d.hole)) for d in drives)
    lines = []
    for drive in drives:
        rod = rods[structure.rods[drive.rod].name]
        along = _stations(rod, _within(rod, *drive.span))
        radius = TENDON_RADIUS * (reach or float(rod.radius[0]))
        lines.append(_line(along.beside(drive.hole), radius))
    pulling = [actuators[d.actuator] for d in drives]
    title = 'tendons: ' + ('tension' if pulling[0].quantity == 'force' else 'pulled by')
    tendons = _coloured('tendons', lines, pulling, shape, title)
    if not reach > 0.0:
        return [tendons]
    return [
        _discs({rods[structure.rods[d.rod].name].name: d for d in drives}, rods, reach),
        tendons,
    ]


def _discs(held: Iterable[str], rods: dict[str, Rod], reach: float) -> Fitting:
    parts = []
    half = 0.5 * DISC_THICKNESS * reach
    for name in held:
        rod = rods[name]
        length = float(rod.arc_length[-1])
        count = int(np.clip(length / (DISC_EVERY * reach), 2, MAX_DISCS))
        middle = np.linspace(0.0, 1.0, count + 1)[1:]
        middle[-1] -= half / length
        share = half / length
        low, high = _stations(rod, middle - share), _stations(rod, middle + share)
        ends = np.stack([low.positions, high.positions], axis=1)
        parts.append(straight_cylinders(ends, DISC_RADIUS * reach))
    return Fitting('discs', _all(parts), True, DISC)


def _links(shape: Shape) -> Fitting | None:
    """Return the rigid pieces between the segments of an arm, as thick as the segments."""
    parts = []
    for lower, upper in zip(shape.rods[:-1], shape.rods[1:], strict=True):
        ends = np.stack([lower.positions[-1], upper.positions[0]])
        if np.linalg.norm(ends[1] - ends[0]) > 1e-6:
            parts.append(_line(ends, float(lower.radius[-1])))
    return Fitting('links', _all(parts), True, CRANK) if parts else None


def _chambers(
    structure: Any, actuators: tuple[Actuator, ...], shape: Shape, rods: dict[str, Rod]
) -> list[Fitting]:
    """Return a stripe along every chamber, on the surface where it can be seen."""
    places: list[tuple[str, int, float]] = []  # rod, actuator, angle
    if hasattr(structure, 'segments'):
        places = [(s.name, c.actuator, c.angle) for s in structure.segments for c in s.chambers]
    elif hasattr(structure, 'angles'):
        places = [(name, i, angle) for name in rods for i, angle in enumerate(structure.angles)]
    places = [(rod, i, angle) for rod, i, angle in places if rod in rods]
    if not places:
        return []
    lines = []
    for name, _, angle in places:
        rod = rods[name]
        radius = float(rod.radius[0])
        hole = (1.0 - 0.8 * CHAMBER) * radius * np.array([np.cos(angle), np.sin(angle)])
        along = _stations(rod, _within(rod, 0.0, 1.0)).beside(hole)
        lines.append(_line(along, CHAMBER * radius))
    filling = [actuators[i] for _, i, _ in places]
    return [_coloured('chambers', lines, filling, shape, f'chambers: {filling[0].quantity}')]


def _coloured(
    name: str, lines: list[Cylinders], actuators: list[Actuator], shape: Shape, title: str
) -> Fitting:
    """Return lines in the colour of what drives each of them, over the range of all that do."""
    driven = [shape.actuation.get(a.name, np.nan) / size_of(a) for a in actuators]
    values = np.repeat(driven, [len(line.positions) for line in lines])
    low = min(a.minimum / size_of(a) for a in actuators)
    high = max(a.maximum / size_of(a) for a in actuators)
    unit = unit_of(actuators[0])
    return Fitting(name, _all(lines), False, None, values, low, high, title, unit)


def _sensors(structure: Any, haptic: Any, rods: dict[str, Rod]) -> Fitting | None:
    """Return sleeves where flex sensors lie along rods."""
    found = [
        (structure.rods[s.rod].name, s.start, s.end) for s in getattr(structure, 'sensors', ())
    ]
    for strip in () if haptic is None else haptic.strips:
        if strip.rod in rods:
            length = float(rods[strip.rod].arc_length[-1])
            end = min(1.0, (strip.start + strip.length) / length)
            found.append((strip.rod, strip.start / length, end))
    parts = []
    for name, start, end in found:
        if name in rods and end > start:
            rod = rods[name]
            along = _stations(rod, _within(rod, start, end))
            parts.append(_line(along.positions, SLEEVE * float(rod.radius.max())))
    return Fitting('sensors', _all(parts), False, SENSOR) if parts else None
