# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The 3D half of the browser viewer: tubes, ghost, rigid parts, loads, ellipsoids, clouds, paths.

Everything is drawn in units of the robot's own extent, because light, shadows and gizmo of the
page are made for scenes of about one: robots here are four centimetres or a metre tall.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soro_mechanics.robot_file.reader import RobotDescription
from soro_visualization.drawing.body_hulls import body_hulls, HULL, TIP
from soro_visualization.drawing.colour_scale import (
    BLUE_TO_RED,
    ColourScale,
    PALE_TO_BLUE,
    PLASMA,
    RED_TO_BLUE,
    rounded,
)
from soro_visualization.drawing.ellipsoids import Ellipsoids, quaternions_wxyz
from soro_visualization.drawing.fittings import Fitting, Fittings
from soro_visualization.drawing.rigid_parts import Primitive, RigidParts
from soro_visualization.drawing.scene_meshes import SceneMeshes
from soro_visualization.drawing.shape import Array, rotation_matrix, Shape
from soro_visualization.drawing.tubes import Cylinders, cylinders, quaternions_along, unit_sphere

GHOST = (120, 140, 170)
STALE = (165, 165, 165)
GHOST_AWAY = 0.02  # of the extent: a ghost nearer to the robot only makes it pale
FORCE = (200, 40, 40)
ELLIPSOID = (235, 140, 40)
DESIRED, ACTUAL = (40, 90, 200), (40, 160, 70)
ARROW = 0.35  # length of a load's arrow, of the robot's extent
CAMERA = np.array([1.9, -2.6, 1.0])  # from the point looked at, in extents of the robot
ASIDE = np.array([0.36, 0.27, 0.1])  # that point, from the middle: the panel hides the right
PANEL = 0.6  # of a page that is higher than wide (a phone) is hidden by the panel, from below
WIDE = 1.5
GIZMO = 0.35  # of the robot's extent
FIELD_OF_VIEW = 0.75  # rad


class ViewerScene(SceneMeshes):
    """What stands in the scene of one server (viser.ViserServer).

    Bodies that are none of `parts` are drawn as hulls around the ends of their rods; `description`
    names what the robot has beside its rods.
    """

    def __init__(
        self,
        server: Any,
        parts: RigidParts | None = None,
        description: RobotDescription | None = None,
    ) -> None:
        super().__init__(server.scene)
        self._server, self._parts = server, parts
        self._description = description
        self._fittings = None if description is None else Fittings(description)
        self._fitted: set[str] = set()
        self._hulls: dict[str, Any] = {}
        self._curvature, self._lengths = ColourScale(BLUE_TO_RED), ColourScale(RED_TO_BLUE)
        self._cloud_scale, self._drives = ColourScale(PLASMA), ColourScale(PALE_TO_BLUE)
        self._solids: dict[str, list[tuple[Any, Primitive]]] = {}
        self._part_poses: dict[str, Array] = {}
        self._ghost: Shape | None = None  # as it is drawn
        self.max_curvature = (
            1.0  # 1/m, end of the colour scale; only grows, colours do not flicker
        )
        self.legends: dict[str, str] = {}

    @property
    def started(self) -> bool:
        """Whether a shape has been shown."""
        return self.zoom > 0.0

    def start(self, shape: Shape) -> None:
        """Set scale, light, ground and camera for a robot, once."""
        self.zoom = 1.0 / shape.extent
        # A robot stands, hangs or sticks out of a wall: up is against gravity, and the ground
        # lies under the lowest thing drawn.
        up = shape.up
        (quaternion,) = quaternions_along(up[None])
        turn = rotation_matrix(np.roll(quaternion, -1))  # of a world with z up
        low = min([0.0, *(float((rod.positions @ up).min()) for rod in shape.rods)])
        if self._parts is not None:
            low = min(low, self._parts.lowest(up))
        self._scene.set_up_direction(up)
        points = np.concatenate([rod.positions for rod in shape.rods]) * self.zoom
        centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
        reach = float(np.linalg.norm(points - centre, axis=1).max())
        away = max(1.0, WIDE * reach)  # a robot around its origin is twice as wide as its extent
        cell = rounded(0.3 * shape.extent)
        self._scene.add_grid(
            '/ground',
            width=12.0 * cell * self.zoom,
            height=12.0 * cell * self.zoom,
            cell_size=cell * self.zoom,
            section_size=4.0 * cell * self.zoom,
            cell_color=(185, 185, 185),
            section_color=(145, 145, 145),
            shadow_opacity=0.15,
            position=tuple((low * self.zoom - 0.02) * up),
            wxyz=quaternion,
        )
        self._scene.add_frame('/base_link', axes_length=0.15, axes_radius=0.004)
        camera = self._server.initial_camera
        camera.look_at = tuple(centre + away * (turn @ ASIDE))
        camera.position = tuple(centre + away * (turn @ (ASIDE + CAMERA)))
        camera.fov, camera.near, camera.far = FIELD_OF_VIEW, 0.01, 100.0
        sight = turn @ CAMERA
        axes = np.stack([np.cross(up, sight), np.cross(sight, np.cross(up, sight)), sight])
        axes /= np.linalg.norm(axes, axis=1)[:, None]
        arrows = shape.tip[:3, 3] * self.zoom + GIZMO * shape.tip[:3, :3].T
        drawn = [arrows, low * self.zoom * up[None]]
        if self._parts is not None:
            drawn.append(self._parts.extremes({**shape.bodies, TIP: shape.tip}, axes) * self.zoom)
        for rod in shape.rods:
            sides = np.kron(rod.radius[:, None], np.concatenate([axes, -axes]))
            drawn.append((np.repeat(rod.positions, 6, axis=0) + sides) * self.zoom)
        places, first = np.concatenate(drawn), camera.position
        self._server.on_client_connect(lambda c: _fit(c.camera, places, axes, first))
        self.legends['grid'] = f'<small>&nbsp; grid: {1e3 * cell:g} mm</small>'

    def show(
        self, shape: Shape, angles: dict[str, float] | None = None, stale: bool = False
    ) -> None:
        """Show the present shape; in grey and without its load where it is the last known."""
        if not self.started:
            self.start(shape)
        tubes = cylinders(shape.rods)
        colours = self._colours(tubes)
        if stale:
            colours = STALE
            self.legends['curvature'] = '<small>&nbsp; grey: the last shape known</small>'
        self._show_tubes('/robot', tubes, colours, opacity=None)
        self._show_ends(shape, tubes, colours)
        self._show_fittings(shape, stale)
        self._frame('/tip', shape.tip, 0.12)
        self._show_parts(shape, angles or {})
        self._show_load(shape if shape.loaded and not stale else None)
        if stale:
            self.show_ellipsoids(None)

    def show_ghost(self, shape: Shape | None) -> None:
        """Show what is commanded, or nothing, also where the robot is already there."""
        if shape is None or not self.started or self._there(shape):
            self._hide('/ghost')
            self._ghost = None
        elif shape is not self._ghost:
            self._ghost = shape
            self._show_tubes('/ghost', cylinders(shape.rods), GHOST, opacity=0.35)

    def _there(self, ghost: Shape) -> bool:
        tip = self._handles['/tip'].position
        away = float(np.linalg.norm(ghost.tip[:3, 3] * self.zoom - tip))
        return away < GHOST_AWAY

    def show_solution(self, shape: Shape | None, good: bool = True) -> None:
        """Show where a target would bring the robot, or nothing."""
        if shape is None:
            self._hide('/solution')
        elif self.started:
            colour = np.array((70, 170, 90) if good else (210, 60, 50), dtype=np.uint8)
            self._show_tubes('/solution', cylinders(shape.rods), colour, opacity=0.3)

    def show_ellipsoids(self, found: Ellipsoids | None) -> None:
        """Show compliance ellipsoids, or nothing."""
        if found is None or not self.started:
            self._hide('/ellipsoids')
            self.legends.pop('ellipsoids', None)
            return
        turned = found.centres * self.zoom, quaternions_wxyz(found.rotations)
        half_axes = found.half_axes * self.zoom
        self._batch('/ellipsoids', unit_sphere, *turned, half_axes, ELLIPSOID, 0.45)
        self.legends['ellipsoids'] = (
            f'<small>&nbsp; ellipsoids: where a point goes under {found.force:g} N<br>&nbsp; '
            f'compliance {1e3 * found.stiffest:.3g} to {1e3 * found.softest:.3g} mm/N</small>'
        )

    def show_cloud(self, points: Array, compliance: Array | None) -> None:
        """Show the workspace: points (n, 3) [m].

        `compliance` (n,) [m/N]: the largest principal one; coloured as the softest stiffness.
        """
        if not self.started:
            return
        colours: Any = (130, 130, 200)
        self.legends['workspace'] = f'<small>&nbsp; workspace: {len(points)} points</small>'
        if compliance is not None and len(points):
            # Stiffness spans decades: equal colour steps are equal ratios.
            stiffness = np.log10(1.0 / compliance)
            low, high = float(stiffness.min()), float(stiffness.max())
            colours = self._cloud_scale.colours(stiffness, low, high)
            self.legends['workspace'] = self._cloud_scale.legend(
                f'workspace, {len(points)} points: stiffness in the softest direction (log)',
                f'{10**low:.3g} N/m',
                f'{10**high:.3g} N/m',
            )
        cloud = '/workspace', np.asarray(points) * self.zoom, colours
        look = {'point_size': 0.007, 'point_shape': 'circle', 'precision': 'float32'}
        self._scene.add_point_cloud(*cloud, **look)

    def show_path(self, name: str, positions: Array) -> None:
        """Show the desired or the actual path; nothing for fewer than two points."""
        if not self.started:
            return
        if len(positions) < 2:
            self._hide(name)
            return
        points = np.asarray(positions) * self.zoom
        colour = DESIRED if 'desired' in name else ACTUAL
        self._handles[name] = self._scene.add_line_segments(
            name,
            np.stack([points[:-1], points[1:]], axis=1),
            colors=colour,
            thickness=2.5,
            thickness_units='screen',
        )

    def visible(self, name: str, on: bool) -> None:
        """Show or hide something that stands in the scene."""
        handle = self._scene.get_handle_by_name(name)
        if handle is not None:
            handle.visible = on

    def _colours(self, tubes: Cylinders) -> Any:
        most = float(tubes.curvature.max(initial=0.0))
        if most > self.max_curvature:
            self.max_curvature = most * 1.1
        self.legends['curvature'] = self._curvature.legend(
            'curvature', '0', f'{self.max_curvature:.3g} 1/m'
        )
        return self._curvature.colours(tubes.curvature, 0.0, self.max_curvature)

    def _show_ends(self, shape: Shape, tubes: Cylinders, colours: Any) -> None:
        """Close both ends of every rod with a thin disc in the colour of the piece there."""
        last = np.cumsum([len(rod.positions) - 1 for rod in shape.rods]) - 1
        pieces = np.stack([np.concatenate([[0], last[:-1] + 1]), last], axis=1).ravel()
        places = np.concatenate([rod.positions[[0, -1]] for rod in shape.rods])
        scales = tubes.scales[pieces].copy()
        scales[:, 2] = 0.02 * scales[:, 0]
        discs = Cylinders(places, tubes.quaternions[pieces], scales, tubes.curvature[pieces])
        rows = np.asarray(colours)
        self._show_tubes(
            '/robot_ends', discs, rows if rows.ndim == 1 else rows[pieces], None, caps=True
        )

    def _show_fittings(self, shape: Shape, stale: bool) -> None:
        fittings = [] if self._fittings is None else self._fittings.of(shape)
        names = {fitting.name for fitting in fittings}
        for name in self._fitted - names:  # another model shows them otherwise
            self._hide(f'/{name}')
            self.legends.pop(name, None)
        self._fitted = names
        for fitting in fittings:
            self._show_fitting(fitting, stale)

    def _show_fitting(self, fitting: Fitting, stale: bool) -> None:
        colours: Any = STALE if stale else fitting.colour
        if fitting.values is not None and not stale:
            scale = self._lengths if fitting.name == 'muscles' else self._drives
            colours = scale.colours(fitting.values, fitting.low, fitting.high)
            low, high = (f'{x:.3g} {fitting.unit}' for x in (fitting.low, fitting.high))
            self.legends[fitting.name] = scale.legend(fitting.title, low, high)
        self._show_tubes(f'/{fitting.name}', fitting.tubes, colours, None, fitting.closed)

    def _show_parts(self, shape: Shape, angles: dict[str, float]) -> None:
        handles: list[Any] = []
        poses: list[Array] = []
        bodies = {**shape.bodies, TIP: shape.tip}
        for link in () if self._parts is None else self._parts.drawn:
            new = link not in self._solids
            if not new and self._parts.fixed(link):
                continue  # placed once
            pose = self._parts.pose(link, bodies, angles)
            if pose is None:
                continue
            if new:
                self._solids[link] = [
                    (self._solid(f'/parts/{link}/{i}', solid), solid)
                    for i, solid in enumerate(self._parts.solids[link])
                ]
            elif np.array_equal(pose, self._part_poses[link]):
                continue
            self._part_poses[link] = pose
            for handle, solid in self._solids[link]:
                handles.append(handle)
                poses.append(pose @ solid.origin)
        self._place(handles, poses)
        self._show_hulls(shape, bodies)

    def _show_hulls(self, shape: Shape, poses: dict[str, Array]) -> None:
        """Show bodies that no URDF draws."""
        if not self._hulls and self._description is not None:
            drawn = set() if self._parts is None else self._parts.drawn_bodies
            for name, hull in body_hulls(self._description, shape, drawn).items():
                mesh = f'/hulls/{name}', hull.vertices * self.zoom, hull.faces
                look = {'color': HULL, 'flat_shading': True, 'receive_shadow': False}
                self._hulls[name] = self._scene.add_mesh_simple(*mesh, **look)
        moving = [name for name in self._hulls if name in poses]
        self._place([self._hulls[n] for n in moving], [poses[n] for n in moving])
        for name, pose in shape.bodies.items():
            if name not in self._solids and name not in self._hulls:
                self._frame(f'/bodies/{name}', pose, 0.08)

    def _show_load(self, shape: Shape | None) -> None:
        if shape is None:
            self._hide('/load')
            self.legends.pop('load', None)
            return
        force = shape.wrench[:3]
        size = float(np.linalg.norm(force))
        end = shape.tip[:3, 3] * self.zoom
        # The arrow ends where the force acts, as engineers draw it.
        points = np.array([[end - ARROW * force / size, end]])
        handle = self._handles.get('/load')
        if handle is None:
            self._handles['/load'] = self._scene.add_arrows(
                '/load', points, FORCE, shaft_radius=0.012, head_radius=0.03, head_length=0.08
            )
        else:
            handle.points = points.astype(np.float32)
            handle.visible = True
        self.legends['load'] = f'<small>&nbsp; load at the tip: {size:.3g} N</small>'


def _fit(camera: Any, points: Array, axes: Array, first: Array) -> None:
    """Have a page higher than wide show points (n, 3) above its panel.

    `axes`: to the right, upwards, to the eye. `first`: where every page's first camera stands,
    which may reach the page after this one.
    """
    if camera.image_width >= camera.image_height:
        return
    seen, slope = points @ axes.T, np.tan(0.5 * FIELD_OF_VIEW)
    middle = 0.5 * (seen.min(axis=0) + seen.max(axis=0))
    x, y, z = (seen - middle).T
    z = z * slope  # what is near looks larger
    sides = np.abs(x) / camera.aspect + z
    ends = np.maximum(y + z, (1.0 - 2.0 * PANEL) * z - y) / (1.0 - PANEL)
    away = 1.04 * np.maximum(sides, ends).max() / slope
    look_at = middle @ axes - PANEL * slope * away * axes[1]

    def stand(now: Any) -> None:
        now.position = look_at + away * axes[2]
        now.look_at = look_at  # second: a new position takes the point looked at along

    stand(camera)
    camera.on_update(lambda now: stand(now) if np.allclose(now.position, first) else None)
