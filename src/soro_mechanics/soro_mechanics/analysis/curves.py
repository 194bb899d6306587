# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Curves to follow: named ones in a plane, waypoints, and files of points.

A curve is a polyline fine enough that its chords are the curve for every purpose here.
Named curves lie in the xy plane of their own frame, centred at its origin; `placed` puts them
into base_link.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
import csv
from dataclasses import dataclass
import math
import os
from pathlib import Path

import numpy as np

from soro_mechanics.core.array_input import finite_array, pose_array
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.core.status import Code

# Chords of a smooth curve: those of a circle of 4096 are off by 3e-7 of its radius.
CHORDS = 4096
SPIRAL_TURNS = 3
# Inner over outer radius of the five-pointed star whose edges lie on the pentagram's lines.
PENTAGRAM = (3.0 - math.sqrt(5.0)) / 2.0


@dataclass(frozen=True, eq=False)
class Curve:
    """A polyline, its orientation at every vertex, and whether it ends where it begins."""

    poses: Array  # (n, 4, 4) vertices in base_link (in the curve's own frame before `placed`)
    closed: bool  # the last vertex equals the first one

    @property
    def positions(self) -> Array:
        """Vertices, shape (n, 3) [m]."""
        return self.poses[:, :3, 3]


def _line(size: float) -> Array:
    return np.array([[-size, 0.0], [size, 0.0]])


def _circle(size: float) -> Array:
    t = np.linspace(0.0, 2.0 * math.pi, CHORDS + 1)
    return size * np.column_stack([np.cos(t), np.sin(t)])


def _star(size: float) -> Array:
    angle = math.pi / 2.0 + np.arange(11) * math.pi / 5.0
    radius = np.where(np.arange(11) % 2 == 0, size, PENTAGRAM * size)
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def _spiral(size: float) -> Array:
    t = np.linspace(0.0, 1.0, SPIRAL_TURNS * CHORDS + 1)
    angle = 2.0 * math.pi * SPIRAL_TURNS * t
    return size * t[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def _square(size: float) -> Array:
    return size * np.array([[1, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]], dtype=float)


def _cardioid(size: float) -> Array:
    # The envelope form; its half height is 3 sqrt(3) / 2, its width -3 to 3/2, times the scale.
    scale = size / (1.5 * math.sqrt(3.0))
    t = np.linspace(0.0, 2.0 * math.pi, CHORDS + 1)
    x = 2.0 * np.cos(t) - np.cos(2.0 * t) + 0.75
    y = 2.0 * np.sin(t) - np.sin(2.0 * t)
    return scale * np.column_stack([x, y])


# Name -> (points of half width or radius `size`, ends where it begins).
NAMED: dict[str, tuple[Callable[[float], Array], bool]] = {
    'line': (_line, False),
    'circle': (_circle, True),
    'star': (_star, True),
    'spiral': (_spiral, False),
    'square': (_square, True),
    'cardioid': (_cardioid, True),
}


def named_curve(name: str, size: float) -> Curve:
    """Return a named curve in the xy plane, centred at the origin.

    Parameters
    ----------
    name : str
        line (-size to size along x), circle (radius), star (five points on this radius), spiral
        (three turns from the centre to this radius), square (half width), cardioid (half height).
    size : float
        [m]

    Raises
    ------
    UnknownName
        With the names there are.
    InvalidInput
        `size` is not a finite number greater than zero.
    """
    if name not in NAMED:
        raise UnknownName('curve', name, NAMED)
    radius = float(finite_array('size', size, ()))
    if radius <= 0.0:
        raise InvalidInput('size', size, 'a length greater than zero [m]')
    make, closed = NAMED[name]
    points = make(radius)
    poses = np.tile(np.eye(4), (len(points), 1, 1))
    poses[:, :2, 3] = points
    if closed:
        poses[-1] = poses[0]  # cos(2 pi) leaves round-off
    return Curve(poses, closed)


def placed(curve: Curve, pose: Array) -> Curve:
    """Return a curve moved by a pose: its centre and its plane, z the normal."""
    return Curve(pose_array('curve_pose', pose) @ curve.poses, curve.closed)


def curve_from_poses(poses: Array) -> Curve:
    """Return the curve through given poses, shape (n, 4, 4), n >= 1.

    Raises InvalidInput: it is empty, or a pose is not finite or not rigid.
    """
    checked = np.empty((len(poses), 4, 4))
    for i, pose in enumerate(poses):
        checked[i] = pose_array(f'path[{i}]', pose)
    return _through(checked, 'path')


def _through(poses: Array, field: str) -> Curve:
    if len(poses) == 0:
        raise InvalidInput(field, [], 'at least one pose', Code.INVALID_SIZE)
    return Curve(poses, len(poses) > 2 and bool(np.array_equal(poses[0], poses[-1])))


def read_curve(file: str | os.PathLike[str]) -> Curve:
    """Read waypoints from a CSV file.

    Columns ``x, y, z`` [m] in base_link, or ``x, y, z, qx, qy, qz, qw`` with a unit quaternion. A
    first row of column names and lines that begin with # are skipped.

    Raises InvalidInput: with the line and what stands there.
    """
    path = Path(file)
    numbers = array('d')
    # No call is long: other threads of a node, which wait for the interpreter, command a robot.
    try:
        with path.open(encoding='utf-8-sig', newline='') as opened:
            for line, row in enumerate(csv.reader(opened), start=1):
                cells = [cell.strip() for cell in row]
                if not any(cells) or cells[0].startswith('#'):
                    continue
                if numbers or cells[0] not in ('x', 'X'):
                    numbers.extend(_numbers(f'{path.name}, line {line}', cells))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput('path', str(path), f'a readable CSV file ({error})') from None
    table = np.array(numbers).reshape(-1, 7)
    poses = np.tile(np.eye(4), (len(table), 1, 1))
    poses[:, :3, :3] = _rotations(table[:, 3:])
    poses[:, :3, 3] = table[:, :3]
    return _through(poses, str(path))


def _numbers(where: str, cells: list[str]) -> list[float]:
    """Return position and unit quaternion."""
    if len(cells) not in (3, 7):
        raise InvalidInput(where, cells, 'x, y, z or x, y, z, qx, qy, qz, qw', Code.INVALID_SIZE)
    try:
        numbers = [float(cell) for cell in cells]
    except ValueError:
        raise InvalidInput(where, cells, 'numbers, in metres') from None
    if not all(map(math.isfinite, numbers)):
        raise InvalidInput(where, numbers, 'finite numbers', Code.NOT_FINITE)
    quaternion = numbers[3:] or [0.0, 0.0, 0.0, 1.0]
    norm = math.hypot(*quaternion)
    if abs(norm - 1.0) > 1e-3:  # typed by hand, still meant as a unit quaternion
        raise InvalidInput(where, tuple(quaternion), f'a unit quaternion, not norm {norm:.6g}')
    return numbers[:3] + [x / norm for x in quaternion]


def _rotations(quaternions: Array) -> Array:
    cross = np.zeros((len(quaternions), 3, 3))
    x, y, z, w = quaternions.T
    cross[:, (2, 0, 1), (1, 2, 0)] = np.column_stack([x, y, z])
    cross -= np.transpose(cross, (0, 2, 1))
    return np.eye(3) + 2.0 * w[:, None, None] * cross + 2.0 * cross @ cross
