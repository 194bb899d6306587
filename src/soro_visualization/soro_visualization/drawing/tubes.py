# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rods as rows of short cylinders: one mesh drawn many times costs far less than new surfaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soro_visualization.drawing.shape import Array, Rod


@dataclass(frozen=True)
class Cylinders:
    """Cylinders of unit radius and unit length along z, centred, each moved and scaled."""

    positions: Array  #: (n, 3) [m]
    quaternions: Array  #: (n, 4); w, x, y, z
    scales: Array  #: (n, 3) [m]; radius, radius, length
    curvature: Array  #: (n,) [1/m]; of the rod there, as it is bent now: zero for a straight piece


def quaternions_along(directions: Array) -> Array:
    """Return unit quaternions w, x, y, z that turn z into unit vectors (n, 3) the short way."""
    x, y, z = directions.T
    q = np.stack([1.0 + z, -y, x, np.zeros_like(x)], axis=1)
    opposite = q[:, 0] < 1e-9  # half a turn: about any horizontal axis
    q[opposite] = 0.0, 1.0, 0.0, 0.0
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def axes_of(quaternions: Array) -> Array:
    """Return where unit quaternions w, x, y, z (n, 4) turn z to, shape (n, 3)."""
    w, x, y, z = quaternions.T
    return np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], axis=1)


def turned(quaternions: Array) -> Array:
    """Return the angle between consecutive unit quaternions (n, 4), shape (n - 1,) [rad]."""
    a, b = quaternions[:-1], quaternions[1:]
    # 2 atan2(|b - a|, |b + a|) keeps its digits where the arc cosine of a product has none.
    sign = np.where(np.einsum('ij,ij->i', a, b) < 0.0, -1.0, 1.0)[:, None]
    apart = np.linalg.norm(sign * b - a, axis=1)
    return 4.0 * np.arctan2(apart, np.linalg.norm(sign * b + a, axis=1))


def cylinders(rods: Sequence[Rod]) -> Cylinders:
    """Return one cylinder for each element of rods, in their order."""
    positions = np.concatenate([rod.positions for rod in rods])
    radii = np.concatenate([rod.radius for rod in rods])
    # All rods as one: what lies between the end of one and the begin of the next is left out.
    within = np.ones(len(positions) - 1, bool)
    within[np.cumsum([len(rod.positions) for rod in rods])[:-1] - 1] = False
    angle = turned(np.concatenate([rod.quaternions for rod in rods]))[within]
    radius = 0.5 * (radii[:-1] + radii[1:])[within]
    return _between(positions[:-1][within], positions[1:][within], radius, angle)


def straight_cylinders(ends: Array, radius: float) -> Cylinders:
    """Return one cylinder [m] between each of the pairs of points `ends`, (n, 2, 3)."""
    straight = np.zeros(len(ends))
    return _between(ends[:, 0], ends[:, 1], straight + radius, straight)


def _between(starts: Array, ends: Array, radius: Array, angle: Array) -> Cylinders:
    """Return cylinders between points (n, 3) of rods that turn by `angle` (n,) on the way."""
    steps = ends - starts
    length = np.sqrt(np.einsum('ij,ij->i', steps, steps))
    safe = np.where(length > 0.0, length, 1.0)
    # On the outer side of a bend two cylinders part by radius times angle: overlap that much.
    scales = np.stack([radius, radius, length + radius * angle], axis=1)
    return Cylinders(
        0.5 * (starts + ends),
        quaternions_along(np.where(length[:, None] > 0.0, steps / safe[:, None], [0.0, 0.0, 1.0])),
        scales,
        np.where(length > 0.0, angle / safe, 0.0),
    )


def unit_cylinder(sides: int = 24, caps: bool = True) -> tuple[Array, Array]:
    """Return vertices (v, 3) and faces (f, 3) of a cylinder of radius 1 and length 1 along z."""
    angle = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    low = np.column_stack([ring, np.full(sides, -0.5)])
    high = np.column_stack([ring, np.full(sides, 0.5)])
    i = np.arange(sides)
    j = (i + 1) % sides
    faces = [np.stack([i, j, sides + j], axis=1), np.stack([i, sides + j, sides + i], axis=1)]
    vertices = [low, high]
    if caps:  # vertices of their own, so that the edge stays sharp in the light
        first = 2 * sides
        vertices += [low, high, np.array([[0.0, 0.0, -0.5], [0.0, 0.0, 0.5]])]
        bottom, top = first + 2 * sides, first + 2 * sides + 1
        faces.append(np.stack([first + j, first + i, np.full(sides, bottom)], axis=1))
        faces.append(np.stack([first + sides + i, first + sides + j, np.full(sides, top)], axis=1))
    return np.concatenate(vertices), np.concatenate(faces)


def unit_sphere(rings: int = 12, sides: int = 20) -> tuple[Array, Array]:
    """Return vertices (v, 3) and faces (f, 3) of a sphere of radius 1."""
    polar = np.linspace(0.0, np.pi, rings + 1)[1:-1]
    angle = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    body = np.stack(
        [
            np.outer(np.sin(polar), np.cos(angle)),
            np.outer(np.sin(polar), np.sin(angle)),
            np.outer(np.cos(polar), np.ones(sides)),
        ],
        axis=-1,
    ).reshape(-1, 3)
    vertices = np.concatenate([body, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]])
    north, south = len(body), len(body) + 1
    faces = []
    for k in range(sides):
        n = (k + 1) % sides
        for row in range(rings - 2):
            a, b = row * sides, (row + 1) * sides
            faces += [(a + k, b + k, b + n), (a + k, b + n, a + n)]
        last = (rings - 2) * sides
        faces += [(north, k, n), (south, last + n, last + k)]
    return vertices, np.array(faces)


def unit_box() -> tuple[Array, Array]:
    """Return vertices (8, 3) and faces (12, 3) of a cube of edge 1, seen from outside."""
    vertices = np.array([(x, y, z) for z in (-0.5, 0.5) for y in (-0.5, 0.5) for x in (-0.5, 0.5)])
    squares = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    faces = [face for a, b, c, d in squares for face in ((a, b, c), (a, c, d))]
    return vertices, np.array(faces)
