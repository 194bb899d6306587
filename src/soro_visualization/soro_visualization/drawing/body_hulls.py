# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rigid bodies that no URDF draws: hulls around the places where rods are joined to them.

Every place is a ball a little thicker than its rod, and the body is the convex hull of its balls:
two places give a link, three or more a rounded plate, places not in one plane a solid. A body that
only one rod holds is a plate across its end.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import numpy as np

from soro_mechanics.models.network.description.spec import GROUND, NetworkSpec
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.registry import MODELS
from soro_visualization.drawing.fittings import ARMS
from soro_visualization.drawing.muscles import Muscles
from soro_visualization.drawing.shape import Array, rotation_matrix, Shape
from soro_visualization.drawing.tubes import unit_sphere

AROUND = 1.5  # radius of a ball, in radii of its rod
THINNEST = 0.008  # least radius of a ball, of the robot's extent
TIP = 'tip'
HULL = (150, 158, 172)  # colour
RIM = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
BESIDE = 0.15  # half thickness of the plates at the ends of a soft arm, in its radii


@dataclass(frozen=True)
class Hull:
    """The surface of a body, seen from outside."""

    vertices: Array  #: (v, 3) [m]; in the body's frame
    faces: Array  #: (f, 3)


@dataclass
class _Balls:
    """Centres (n, 3) and radii (n,) [m] that a body is wrapped around."""

    centres: list[Array]
    radii: list[float]

    def add(self, centre: Array, radius: float) -> None:
        self.centres.append(np.asarray(centre, float))
        self.radii.append(radius)

    def add_rim(self, place: Array, radius: float) -> None:
        """Take a plate as wide as the one rod that ends in a place (4, 4)."""
        for angle in RIM:
            across = np.array([np.cos(angle), np.sin(angle), 0.0])
            self.add(place[:3, 3] + radius * place[:3, :3] @ across, BESIDE * radius)


def body_hulls(
    description: RobotDescription, shape: Shape, drawn: Set[str] = frozenset()
) -> dict[str, Hull]:
    """Return the hulls of a robot's bodies, of what stands still (`GROUND`) and of its `TIP`.

    They are made once, from the first shape: in the frames of the bodies nothing moves. Bodies
    that are `drawn` otherwise get none.
    """
    section = MODELS.get(shape.model, ('',))[0]
    made: dict[str, _Balls] = {}
    structure = description.structure.get(section)
    if structure is None or not shape.rods:
        return {}
    if section == 'network':
        _joined(structure, shape, made, drawn)
    elif section == 'kirchhoff':
        for name, points in Muscles(structure, 1.0).on_disks(shape).items():
            for point in points:
                _of(made, name).add(point, 0.5 * structure.muscle_diameter)
    elif section == 'ancf':
        _legs(shape, made)
    elif section in ARMS:
        _arm(shape, made)
    least = THINNEST * shape.extent
    return {name: _wrapped(balls, least) for name, balls in made.items() if name not in drawn}


def _of(made: dict[str, _Balls], name: str) -> _Balls:
    return made.setdefault(name, _Balls([], []))


def _joined(
    structure: NetworkSpec, shape: Shape, made: dict[str, _Balls], drawn: Set[str]
) -> None:
    """Take the ends of a network's rods; of a motor its axis, as the crank turns."""
    rods = {rod.name: rod for rod in shape.rods}
    places: dict[str, list[tuple[Array, float]]] = {}
    for spec in structure.rods:
        rod = rods.get(spec.name)
        for end, at in zip(spec.ends, (0, -1), strict=True):
            if rod is None or (end.body != GROUND and end.body not in shape.bodies):
                continue
            place = end.attach if end.motor else end.attach @ end.crank
            places.setdefault(end.body, []).append((place, float(rod.radius[at])))
    for name, held in places.items():
        for place, radius in held:
            if len(held) == 1:
                _of(made, name).add_rim(place, radius)
            else:
                _of(made, name).add(place[:3, 3], AROUND * radius)
    held = places.get(structure.tip_body, [])
    if len(held) > 1 and structure.tip_body not in drawn and TIP not in shape.bodies:
        # What holds the tip away from the body that carries it: nothing floats.
        radius = AROUND * min(radius for _, radius in held)
        middle = np.mean([place[:3, 3] for place, _ in held], axis=0) - structure.tip[:3, 3]
        if np.linalg.norm(middle) > 2.0 * radius:
            _of(made, TIP).add(np.zeros(3), radius)
            _of(made, TIP).add(structure.tip[:3, :3].T @ middle, radius)


def _legs(shape: Shape, made: dict[str, _Balls]) -> None:
    """Take the lower ends of legs for the ground, the upper ones for the only body."""
    for rod in shape.rods:
        _of(made, GROUND).add(rod.positions[0], AROUND * float(rod.radius[0]))
        for name, pose in shape.bodies.items():
            place = pose[:3, :3].T @ (rod.positions[-1] - pose[:3, 3])
            _of(made, name).add(place, AROUND * float(rod.radius[-1]))


def _arm(shape: Shape, made: dict[str, _Balls]) -> None:
    """Take a rim around the lower end of a soft arm, and one around its tip."""
    first, last = shape.rods[0], shape.rods[-1]
    start = np.eye(4)
    start[:3, :3], start[:3, 3] = rotation_matrix(first.quaternions[0]), first.positions[0]
    _of(made, GROUND).add_rim(start, float(first.radius[0]))
    _of(made, TIP).add_rim(np.eye(4), float(last.radius[-1]))


def _wrapped(balls: _Balls, least: float) -> Hull:
    from scipy.spatial import ConvexHull  # a third of a node's start

    sphere = unit_sphere(rings=6, sides=12)[0]
    points = np.concatenate(
        [c + max(r, least) * sphere for c, r in zip(balls.centres, balls.radii, strict=True)]
    )
    hull = ConvexHull(points)
    faces = hull.simplices
    a, b, c = (points[faces[:, i]] for i in range(3))
    inside = np.einsum('ij,ij->i', np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    faces[inside] = faces[inside][:, ::-1]
    used, renumbered = np.unique(faces, return_inverse=True)
    return Hull(points[used], renumbered.reshape(faces.shape))
