# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A target to drag in RViz. It ends as a target, like the one in the browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import Quaternion
from rclpy.node import Node
from visualization_msgs.msg import InteractiveMarker, InteractiveMarkerControl, Marker

from soro_node.conversions import pose_to_message
from soro_visualization.drawing.shape import Array, pose_matrix

NAMESPACE = 'target'  # of the interactive marker server, below the robot's
NAME = 'tip_target'
HALF = 0.5**0.5
# A control acts along its own x; these quaternions (with w = HALF) lay x along each axis.
AXES = (('x', (HALF, 0.0, 0.0)), ('y', (0.0, 0.0, HALF)), ('z', (0.0, HALF, 0.0)))


class InteractiveTarget:
    """The interactive marker; exists where the package interactive_markers does (as RViz).

    - `frame_id`: base_link of the robot, with its prefix.
    - `move_to`: takes the pose (4, 4) in base_link while it is dragged.
    """

    def __init__(self, server: Any, frame_id: str, move_to: Callable[[Array], None]) -> None:
        self._server, self._frame_id, self._move_to = server, frame_id, move_to
        self._touched = self._held = self._refused = self._inserted = False
        self._complaint = ''  # about where it was dragged last
        self._described = ''  # what stands above it

    def follow(self, tip: Array, extent: float) -> None:
        """Stay at the tip until a hand takes it."""
        if not self._inserted or (self._complaint != self._described and not self._held):
            # Not under a hand: a marker that is described anew is let go of by RViz.
            self._described = self._complaint
            self._server.insert(target_marker(self._frame_id, tip, extent, self._described))
            self._server.setCallback(NAME, self._on_feedback)
            self._inserted = True
        elif self._touched:
            return
        else:
            self._server.setPose(NAME, pose_to_message(tip))
        self._server.applyChanges()

    def answered(self, text: str, good: bool) -> None:
        """Say what became of a target: of one that is refused, why; it then returns to the tip."""
        if not self._touched:
            return
        self._complaint = '' if good else f'refused: {text}'
        if not good and not self._held:
            self._touched = False

    def let_go(self) -> None:
        """Return to the tip: the robot was stopped or moved by other means.

        Whoever drags has to take it anew.
        """
        self._touched, self._refused = False, self._held

    def hide(self) -> None:
        """Take the marker away until the next `follow`: nobody knows where the tip is."""
        self.let_go()
        if self._inserted:
            self._inserted = False
            self._server.erase(NAME)
            self._server.applyChanges()

    def close(self) -> None:
        """Take the marker away."""
        self._server.shutdown()

    def _on_feedback(self, feedback: Any) -> None:
        if feedback.event_type == feedback.MOUSE_DOWN:
            self._held, self._refused, self._complaint = True, False, ''
        elif feedback.event_type == feedback.MOUSE_UP:
            self._held = False
            if self._complaint:
                self._touched = False  # the robot stays, and so the target returns to it
        elif feedback.event_type == feedback.POSE_UPDATE and not self._refused:
            self._touched = True
            self._move_to(pose_matrix(feedback.pose))


def interactive_server(node: Node) -> Any:
    """Return a server for interactive markers, or None where the package is not installed."""
    try:
        from interactive_markers import InteractiveMarkerServer
    except ImportError:
        return None
    return InteractiveMarkerServer(node, NAMESPACE)


def target_marker(
    frame_id: str, tip: Array, extent: float, complaint: str = ''
) -> InteractiveMarker:
    """Return a marker with arrows along and rings about the axes of base_link at the tip.

    With a `complaint` its ball is red, and says it.
    """
    text = complaint or 'target of the tip'
    marker = InteractiveMarker(name=NAME, description=text, scale=0.5 * extent)
    marker.header.frame_id = frame_id
    marker.pose = pose_to_message(tip)
    ball = Marker(type=Marker.SPHERE)
    ball.scale.x = ball.scale.y = ball.scale.z = 0.1 * extent
    ball.color.r, ball.color.g, ball.color.b = (0.85, 0.1, 0.1) if complaint else (0.9, 0.6, 0.1)
    ball.color.a = 0.8
    centre = InteractiveMarkerControl(name='ball', always_visible=True, markers=[ball])
    centre.interaction_mode = InteractiveMarkerControl.MOVE_3D
    marker.controls.append(centre)
    for axis, (x, y, z) in AXES:
        for name, mode in (
            (f'move_{axis}', InteractiveMarkerControl.MOVE_AXIS),
            (f'turn_{axis}', InteractiveMarkerControl.ROTATE_AXIS),
        ):
            control = InteractiveMarkerControl(name=name, interaction_mode=mode)
            control.orientation = Quaternion(x=x, y=y, z=z, w=HALF)
            marker.controls.append(control)
    return marker
