# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The browser viewer: one server, one robot, fed with snapshots by a node or by a recording."""

from __future__ import annotations

import contextlib
import io
import os
import threading
import time
from typing import Any, TYPE_CHECKING
import zlib

import numpy as np

from soro_mechanics.core.missing_package import import_package
from soro_mechanics.robot_file.reader import RobotDescription
from soro_visualization.drawing.ellipsoids import Ellipsoids, quaternions_wxyz
from soro_visualization.drawing.rigid_parts import RigidParts
from soro_visualization.drawing.shape import Array, rotation_matrix, Shape
from soro_visualization.page.origin import only_own_page
from soro_visualization.page.panel import ViewerPanel
from soro_visualization.page.plots import ViewerPlots
from soro_visualization.page.readout import Snapshot, TASKS
from soro_visualization.page.scene import GIZMO, ViewerScene

if TYPE_CHECKING:
    from soro_visualization.robot_requests import RobotRequests

LOOPBACK = '127.0.0.1'
FIRST_PORT, PORTS = 8100, 800
PANEL_PERIOD = 0.25  # s between two updates of text and sliders
PLOT_PERIOD = 0.4  # s


def derived_port(namespace: str) -> int:
    """Return the port of the viewer of a namespace: the same at every start."""
    key = f'{os.getuid()}|{os.environ.get("ROS_DOMAIN_ID", "0")}|{namespace.strip("/")}|viewer'
    return FIRST_PORT + zlib.crc32(key.encode()) % PORTS


class Viewer:
    """A page with the robot in 3D and a panel.

    - `host`: address to bind to.
    - `port`: where it is taken, the next free one is used; see `address`.
    - `controls`: None: a recording, nothing can be asked for.
    - `history`: length of the plots [s].
    """

    def __init__(
        self,
        description: RobotDescription,
        host: str = LOOPBACK,
        port: int = 0,
        controls: RobotRequests | None = None,
        parts: RigidParts | None = None,
        history: float = 30.0,
    ) -> None:
        viser = import_package('viser', 'viser')

        # Viser prints a banner; the address is ours to say.
        with (
            only_own_page(f'{description.title} - soro'),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            self.server: Any = viser.ViserServer(host, port, label=description.name, verbose=False)
        self.server.gui.configure_theme(
            show_logo=False, show_share_button=False, control_width='large'
        )
        self._controls = controls
        self.scene = ViewerScene(self.server, parts, description)
        self.panel = ViewerPanel(self.server.gui, description, controls, self._show_layer)
        self.plots = ViewerPlots(self.server.gui, description.actuators, history)
        self.panel.on_task = self._on_task
        self.panel.on_end = self._let_go
        self._gizmo: Any = None
        self._dragging: int | None = None  # page whose hand is on the gizmo
        self._touched = False  # it stands where a hand has left it
        self._hand = threading.Lock()
        self._paths: dict[str, Array] = {}
        self._layers = {'ghost': True, 'ellipsoids': False, 'workspace': True, 'paths': True}
        self._panel_due = self._plots_due = 0.0

    @property
    def address(self) -> str:
        """What to open in a browser."""
        host = self.server.get_host()
        shown = 'localhost' if host in ('0.0.0.0', '::') else host
        return f'http://{shown}:{self.server.get_port()}'

    @property
    def watched(self) -> bool:
        """Whether somebody has the page open."""
        return bool(self.server.get_clients())

    def close(self) -> None:
        """Stop the server."""
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()

    def show(self, snapshot: Snapshot) -> None:
        """Show a moment: the scene always, text and plots a few times a second."""
        self.plots.keep(snapshot)
        self.panel.notice(snapshot)
        try:
            with self.server.atomic():
                self._show(snapshot, time.monotonic())
        except RuntimeError as error:
            # Viser wakes its own thread from this one, rarely while that one looks. The next
            # moment is shown again.
            if 'deque mutated' not in str(error):
                raise

    def _show(self, snapshot: Snapshot, now: float) -> None:
        if snapshot.shape is not None:
            self.scene.show(snapshot.shape, snapshot.angles, snapshot.silent)
            self._place_gizmo(snapshot.shape, not snapshot.silent)
        self.scene.show_ghost(snapshot.ghost if self._layers['ghost'] else None)
        if now >= self._panel_due:
            self._panel_due = now + PANEL_PERIOD
            self.panel.show(snapshot, self.scene.legends, now)
        if now >= self._plots_due:
            self._plots_due = now + PLOT_PERIOD
            self.plots.draw(snapshot.time)

    def show_ellipsoids(self, found: Ellipsoids | None) -> None:
        """Show compliance ellipsoids, or nothing."""
        self.scene.show_ellipsoids(found if self._layers['ellipsoids'] else None)

    def show_cloud(self, points: Array, compliance: Array | None) -> None:
        """Show the workspace, see `ViewerScene.show_cloud`."""
        self.scene.show_cloud(points, compliance)
        self._show_layer('workspace', self._layers['workspace'])

    def show_path(self, name: str, positions: Array) -> None:
        """Show 'desired' or 'actual' path (n, 3)."""
        self._paths[name] = positions
        self._draw_path(name)

    def show_solution(self, shape: Shape | None, text: str, good: bool, arrived: bool) -> None:
        """Show the answer of the inverse solver: shape (solution, or the nearest) and words.

        `good`: the target is reachable. `arrived`: the robot goes there, no shape is needed.
        """
        self.panel.say(text, good)
        self.scene.show_solution(None if arrived else shape, good)

    def _place_gizmo(self, shape: Shape, usable: bool) -> None:
        if self._controls is None:
            return
        if self._gizmo is None:
            self._gizmo = self.server.scene.add_transform_controls(
                '/target', scale=GIZMO, disable_rotations=True, depth_test=False, opacity=0.8
            )
            self._gizmo.on_update(self._on_drag)
        if self._gizmo.visible != usable:  # nothing is dragged from where the robot may not be
            self._gizmo.visible = usable
            if not usable:
                self._let_go()
        if self._dragging is None and not self._touched:
            self._gizmo.position = shape.tip[:3, 3] * self.scene.zoom
            self._gizmo.wxyz = quaternions_wxyz(shape.tip[None, :3, :3])[0]

    async def _on_drag(self, event: Any) -> None:
        assert self._controls is not None
        if event.phase == 'start':
            self._dragging = event.client_id
        if self._dragging != event.client_id:
            return  # the drag has ended, though the hand may still be there
        if event.phase == 'end':  # no word of the hand: viser says it for a page that is gone, too
            self._dragging = None
        if event.phase != 'update':
            return
        if self.panel.sliders is not None:
            self.panel.sliders.forget_target()
        w, x, y, z = event.target.wxyz
        turned = 0.0 < np.linalg.norm((w, x, y, z)) < np.inf
        if not (turned and np.isfinite(event.target.position).all()):
            self._let_go()
            self.panel.say('a target that is no pose: not sent', False)
            return
        pose = np.eye(4)
        pose[:3, :3] = rotation_matrix(np.array([x, y, z, w]))
        pose[:3, 3] = np.asarray(event.target.position) / self.scene.zoom
        with self._hand:  # a robot taken away meanwhile gets no target any more
            if self._dragging is None:
                return
            self._touched = True
            self.plots.target(pose[:3, 3])
            self._controls.move_to(pose, self.panel.task, self.panel.follow)

    def _on_task(self, task: str) -> None:
        if self._gizmo is not None:
            self._gizmo.disable_rotations = task == TASKS[0]

    def _let_go(self) -> None:
        """Return the gizmo to the tip; whoever holds it has to take it anew."""
        with self._hand:
            held = self._dragging is not None
            self._dragging, self._touched = None, False
            self.plots.target(None)
        self.scene.show_solution(None)
        if held:
            self.panel.say('the drag was ended: take the arrows anew', False)

    def _show_layer(self, name: str, on: bool) -> None:
        self._layers[name] = on
        if name == 'paths':
            for path in self._paths:
                self._draw_path(path)
        elif name == 'workspace':
            self.scene.visible('/workspace', on)
        elif name == 'ellipsoids' and not on:  # they come back with the next answer
            self.scene.show_ellipsoids(None)

    def _draw_path(self, name: str) -> None:
        shown = self._paths[name] if self._layers['paths'] else np.zeros((0, 3))
        self.scene.show_path(f'/paths/{name}', shown)
