# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Meshes of a scene: made once, then moved; everything in units of the robot's extent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from soro_visualization.drawing.ellipsoids import quaternions_wxyz
from soro_visualization.drawing.rigid_parts import Primitive
from soro_visualization.drawing.shape import Array
from soro_visualization.drawing.tubes import Cylinders, unit_box, unit_cylinder, unit_sphere

THINNEST = 0.006  # of the extent: radius of the thinnest rod drawn
# The page takes the colours of a batch for linear light, all others for sRGB (IEC 61966-2-1).
_SRGB = np.arange(256) / 255.0
LINEAR = np.where(_SRGB > 0.04045, ((_SRGB + 0.055) / 1.055) ** 2.4, _SRGB / 12.92)
LINEAR = np.round(255.0 * LINEAR).astype(np.uint8)


class SceneMeshes:
    """What is drawn, by name."""

    def __init__(self, scene: Any) -> None:
        self._scene = scene
        self._handles: dict[str, Any] = {}
        self.zoom = 0.0  # scene units per metre; zero until a shape is known

    def _show_tubes(
        self, name: str, tubes: Cylinders, colours: Any, opacity: Any, caps: bool = False
    ) -> None:
        # A rod of a millimetre in a robot of half a metre would be a line of less than a pixel.
        scales = tubes.scales * self.zoom
        scales[:, :2] = np.maximum(scales[:, :2], THINNEST)
        # Rods without caps: the edges of the cuts between the pieces would be seen as seams.
        places = tubes.positions * self.zoom, tubes.quaternions, scales
        self._batch(name, lambda: unit_cylinder(caps=caps), *places, colours, opacity)

    def _batch(
        self,
        name: str,
        mesh: Any,
        positions: Array,
        quaternions: Array,
        scales: Array,
        colours: Any,
        opacity: float | None,
    ) -> None:
        rows = LINEAR[np.asarray(colours, dtype=np.uint8)]
        if rows.ndim == 1:
            rows = np.broadcast_to(rows, (len(positions), 3)).copy()
        handle = self._handles.get(name)
        if handle is None or len(handle.batched_positions) != len(positions):
            vertices, faces = mesh()
            self._handles[name] = self._scene.add_batched_meshes_simple(
                name,
                vertices,
                faces,
                batched_wxyzs=quaternions,
                batched_positions=positions,
                batched_scales=scales,
                batched_colors=rows,
                opacity=opacity,
                lod='off',
                cast_shadow=opacity is None,
                receive_shadow=False,
            )
            return
        handle.batched_positions = positions.astype(np.float32)
        handle.batched_wxyzs = quaternions.astype(np.float32)
        handle.batched_scales = scales.astype(np.float32)
        if not np.array_equal(handle.batched_colors, rows):
            handle.batched_colors = rows
        if not handle.visible:
            handle.visible = True

    def _hide(self, name: str) -> None:
        handle = self._handles.get(name)
        if handle is not None and handle.visible:
            handle.visible = False

    def _frame(self, name: str, pose: Array, length: float) -> None:
        handle = self._handles.get(name)
        if handle is None:
            handle = self._handles[name] = self._scene.add_frame(
                name, axes_length=length, axes_radius=length * 0.04
            )
        self._place([handle], [pose])

    def _place(self, handles: Sequence[Any], poses: Sequence[Array]) -> None:
        """Move things of the scene to poses (4, 4) in metres, all at once."""
        if not handles:
            return
        all_poses = np.stack(poses)
        positions = all_poses[:, :3, 3] * self.zoom
        turns = quaternions_wxyz(all_poses[:, :3, :3])
        for handle, position, turn in zip(handles, positions, turns, strict=True):
            handle.position = position
            handle.wxyz = turn

    def _solid(self, name: str, solid: Primitive) -> Any:
        colour = tuple(round(255 * c) for c in solid.rgba[:3])
        opacity = None if solid.rgba[3] >= 1.0 else solid.rgba[3]
        # Our own meshes: which axis a cylinder of the page has is not ours to know.
        if solid.kind == 'box':
            vertices, faces = unit_box()
            scales = np.array(solid.size)
        elif solid.kind == 'cylinder':
            vertices, faces = unit_cylinder(sides=40)
            scales = np.array([solid.size[0], solid.size[0], solid.size[1]])
        else:
            vertices, faces = unit_sphere()
            scales = np.full(3, solid.size[0])
        return self._scene.add_mesh_simple(
            name,
            vertices * scales * self.zoom,
            faces,
            color=colour,
            opacity=opacity,
            flat_shading=solid.kind == 'box',
            receive_shadow=False,
        )
