# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Bodies without a URDF and what is fitted to rods, as markers; a namespace for each kind."""

from __future__ import annotations

from geometry_msgs.msg import Point, Quaternion, Vector3
import numpy as np
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from soro_mechanics.models.network.description.spec import GROUND
from soro_mechanics.robot_file.reader import RobotDescription
from soro_node.conversions import pose_to_message
from soro_visualization.drawing.body_hulls import body_hulls, HULL, Hull, TIP
from soro_visualization.drawing.colour_scale import ColourScale, PALE_TO_BLUE
from soro_visualization.drawing.fittings import Fitting, Fittings
from soro_visualization.drawing.rigid_parts import RigidParts
from soro_visualization.drawing.shape import Array, Shape
from soro_visualization.drawing.tubes import axes_of

MUSCLES = 'muscles'  # drawn by `Markers` itself


class FittingMarkers:
    """Makes the markers of one robot.

    - `parts`: what a URDF draws.
    """

    def __init__(self, description: RobotDescription, parts: RigidParts | None) -> None:
        self._description = description
        self._drawn = set() if parts is None else parts.drawn_bodies
        self._fittings = Fittings(description)
        self._scale = ColourScale(PALE_TO_BLUE)
        self._hulls: dict[str, Hull] | None = None

    def of(self, shape: Shape, colour: ColorRGBA | None = None) -> list[Marker]:
        """Return the markers of a shape, all in one colour where that is given."""
        if self._hulls is None:
            self._hulls = body_hulls(self._description, shape, self._drawn)
        poses = {GROUND: np.eye(4), TIP: shape.tip, **shape.bodies}
        found = [
            _surface(hull, i, poses[name], colour or _rgba(HULL))
            for i, (name, hull) in enumerate(self._hulls.items())
            if name in poses
        ]
        for fitting in self._fittings.of(shape):
            if fitting.name != MUSCLES:
                found += self._cylinders(fitting, colour)
        return found

    def _cylinders(self, fitting: Fitting, colour: ColorRGBA | None) -> list[Marker]:
        """Return cylinders one by one where their ends are seen, else as one list of lines."""
        tubes, count = fitting.tubes, len(fitting.tubes.positions)
        colours = [colour or _rgba(fitting.colour or HULL)] * count
        if fitting.values is not None and colour is None:
            rows = self._scale.colours(fitting.values, fitting.low, fitting.high)
            colours = [_rgba(tuple(row)) for row in rows.tolist()]
        if fitting.closed:
            sizes = tubes.scales * [2.0, 2.0, 1.0]
            places = tubes.positions, tubes.quaternions, sizes
            return solids(fitting.name, Marker.CYLINDER, *places, colours)
        half = 0.5 * tubes.scales[:, 2:] * axes_of(tubes.quaternions)
        ends = np.stack([tubes.positions - half, tubes.positions + half], axis=1)
        lines = line_list(fitting.name, ends, float(tubes.scales[:, 0].max()), colours[0])
        lines.colors = [each for each in colours for _ in range(2)]
        return [lines]


def _surface(hull: Hull, number: int, pose: Array, colour: ColorRGBA) -> Marker:
    marker = Marker(ns='bodies', id=number, type=Marker.TRIANGLE_LIST, action=Marker.ADD)
    marker.pose = pose_to_message(pose)
    marker.scale = Vector3(x=1.0, y=1.0, z=1.0)
    marker.color = colour
    marker.points = points_of(hull.vertices[hull.faces].reshape(-1, 3))
    return marker


def solids(
    name: str, kind: int, centres: Array, turns: Array, sizes: Array, colours: list[ColorRGBA]
) -> list[Marker]:
    """Return markers of one kind: centres, sizes (n, 3) [m], turns (n, 4) as w, x, y, z."""
    found, rows = [], zip(points_of(centres), turns.tolist(), sizes.tolist(), colours, strict=True)
    for i, (centre, (w, x, y, z), (a, b, c), colour) in enumerate(rows):
        marker = Marker(ns=name, id=i, type=kind, action=Marker.ADD, color=colour)
        marker.pose.position, marker.scale = centre, Vector3(x=a, y=b, z=c)
        marker.pose.orientation = Quaternion(x=x, y=y, z=z, w=w)
        found.append(marker)
    return found


def _rgba(colour: tuple[int, ...]) -> ColorRGBA:
    r, g, b = (float(c) / 255.0 for c in colour)
    return ColorRGBA(r=r, g=g, b=b, a=1.0)


def line_list(name: str, ends: Array, radius: float, colour: ColorRGBA) -> Marker:
    """Return lines between pairs of points (n, 2, 3) as one marker, as thick as a radius [m]."""
    marker = Marker(ns=name, type=Marker.LINE_LIST, action=Marker.ADD, color=colour)
    marker.pose.orientation.w = 1.0
    marker.scale.x = 2.0 * radius
    marker.points = points_of(ends.reshape(-1, 3))
    return marker


def points_of(rows: Array) -> list[Point]:
    """Return positions (n, 3) as messages."""
    return [Point(x=x, y=y, z=z) for x, y, z in rows.tolist()]
