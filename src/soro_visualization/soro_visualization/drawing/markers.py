# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A shape as a MarkerArray: tubes, muscles, ghost, load and ellipsoids for RViz."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Vector3
import numpy as np
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from soro_visualization.drawing.ellipsoids import Ellipsoids, quaternions_wxyz
from soro_visualization.drawing.fitting_markers import FittingMarkers, line_list, points_of, solids
from soro_visualization.drawing.muscles import Muscles
from soro_visualization.drawing.shape import Rod, Shape

TUBE = ColorRGBA(r=0.16, g=0.5, b=0.56, a=1.0)
MUSCLE = ColorRGBA(r=0.78, g=0.38, b=0.3, a=1.0)
OLD = ColorRGBA(r=0.55, g=0.55, b=0.55, a=1.0)  # the last shape known, not the present one
GHOST = ColorRGBA(r=0.47, g=0.55, b=0.67, a=0.3)
FORCE = ColorRGBA(r=0.8, g=0.15, b=0.15, a=1.0)
ELLIPSOID = ColorRGBA(r=0.92, g=0.55, b=0.16, a=0.5)
PER_RADIUS = 2.0  # spheres along one radius: the row looks like a tube
MAX_SPHERES = 200  # of one rod; a thinner one is drawn as a line
LOAD_LIFETIME = 1  # s: a force is gone with whoever published it
ARROW = 0.35  # length of the load's arrow, of the robot's extent


class Markers:
    """Makes MarkerArrays and remembers what must be deleted.

    `frame_id`: base_link of the robot, with its prefix; `muscles`: between disks of the backbone;
    `fittings`: bodies that no URDF draws, and what is fitted to the rods.
    """

    def __init__(
        self, frame_id: str, muscles: Muscles | None = None, fittings: FittingMarkers | None = None
    ) -> None:
        self._frame_id, self._muscles, self._fittings = frame_id, muscles, fittings
        self._shown: set[tuple[str, int]] = set()

    def message(
        self,
        stamp: Time,
        shape: Shape,
        ghost: Shape | None = None,
        ellipsoids: Ellipsoids | None = None,
        silent: bool = False,
    ) -> MarkerArray:
        """Return what is to be drawn now, and DELETE for what no longer is.

        `silent`: nobody says any more where the robot is; its last shape stays, in grey.
        """
        colour = OLD if silent else TUBE
        markers = [tube(rod, i, 'backbone', colour) for i, rod in enumerate(shape.rods)]
        drawn = None if self._muscles is None else self._muscles.of(shape)
        if drawn is not None:
            colour = OLD if silent else MUSCLE
            markers.append(line_list('muscles', drawn.ends, drawn.radius, colour))
        if self._fittings is not None:
            markers += self._fittings.of(shape, OLD if silent else None)
        if ghost is not None:
            markers += [tube(rod, i, 'command', GHOST) for i, rod in enumerate(ghost.rods)]
        if shape.loaded and not silent:
            markers += load(shape)
        if ellipsoids is not None and not silent:
            markers += ellipsoid_markers(ellipsoids)
        shown = {(m.ns, m.id) for m in markers}
        for namespace, number in sorted(self._shown - shown):
            markers.append(Marker(ns=namespace, id=number, action=Marker.DELETE))
        self._shown = shown
        for marker in markers:
            marker.header.frame_id = self._frame_id
            marker.header.stamp = stamp
        return MarkerArray(markers=markers)


def tube(rod: Rod, number: int, namespace: str, colour: ColorRGBA) -> Marker:
    """Return a rod as a row of spheres, or as a line where it is long and thin."""
    radius = float(rod.radius.max())
    length = np.concatenate(
        [[0.0], np.cumsum(np.linalg.norm(np.diff(rod.positions, axis=0), axis=1))]
    )
    spheres = float(length[-1]) / radius * PER_RADIUS + 1.0  # infinite for the thinnest
    marker = Marker(ns=namespace, id=number, action=Marker.ADD, color=colour)
    marker.pose.orientation.w = 1.0
    if spheres <= MAX_SPHERES:
        marker.type = Marker.SPHERE_LIST
        marker.scale = Vector3(x=2 * radius, y=2 * radius, z=2 * radius)
        end = min(radius, 0.5 * length[-1])  # the outermost spheres end where the rod does
        at = np.linspace(end, length[-1] - end, int(np.ceil(spheres)))
        points = np.stack([np.interp(at, length, rod.positions[:, i]) for i in range(3)], axis=1)
    else:
        marker.type, points = Marker.LINE_STRIP, rod.positions
        marker.scale.x = 2 * radius
    marker.points = points_of(points)
    return marker


def load(shape: Shape) -> list[Marker]:
    """Return the force at the tip as an arrow that ends there, with its size in words."""
    force = shape.wrench[:3]
    size, extent = float(np.linalg.norm(force)), shape.extent
    end = shape.tip[:3, 3]
    start = end - ARROW * extent * force / size
    arrow = Marker(ns='load', id=0, type=Marker.ARROW, action=Marker.ADD, color=FORCE)
    arrow.pose.orientation.w = 1.0
    arrow.points = points_of(np.array([start, end]))
    arrow.scale = Vector3(x=0.02 * extent, y=0.05 * extent, z=0.08 * extent)
    text = Marker(ns='load', id=1, type=Marker.TEXT_VIEW_FACING, action=Marker.ADD, color=FORCE)
    text.pose.position = arrow.points[0]
    text.pose.orientation.w = 1.0
    text.scale.z = 0.08 * extent
    arrow.lifetime.sec = text.lifetime.sec = LOAD_LIFETIME
    text.text = f'{size:.3g}N'  # RViz draws a blank one metre wide, whatever the text's height
    return [arrow, text]


def ellipsoid_markers(found: Ellipsoids) -> list[Marker]:
    """Return a SPHERE for every ellipsoid; its axes are diameters."""
    turns, axes = quaternions_wxyz(found.rotations), 2.0 * found.half_axes
    return solids('compliance', Marker.SPHERE, found.centres, turns, axes, [ELLIPSOID] * len(axes))
