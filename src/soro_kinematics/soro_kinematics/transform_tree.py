# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What `/tf` and `/tf_static` say of how frames lie to each other: the newest of each.

tf2_ros has more (a history, interpolation), but no wheels; a tracker's frame stands still against
the robot's base, or is refused when nobody says any more where it is.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

from geometry_msgs.msg import Point, Pose, Transform
import numpy as np
from tf2_msgs.msg import TFMessage

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import SoroError
from soro_mechanics.numerics import lie
from soro_node.conversions import pose_from_message

DEEPEST = 64  # frames on the way to the root


@dataclass(frozen=True)
class _Link:
    parent: str
    pose: Array  # of the child in its parent
    until: float  # steady clock [s]


class TransformTree:
    """Frames and their parents.

    `timeout`: a transform that is not static counts for so long [s].
    """

    def __init__(self, timeout: float = 1.0) -> None:
        self._timeout = timeout
        self._links: dict[str, _Link] = {}

    def update(self, message: TFMessage, now: float, static: bool) -> None:
        """Take the transforms of a message; those that are none are left out."""
        until = math.inf if static else now + self._timeout
        for transform in message.transforms:
            child, parent = (
                name.lstrip('/') for name in (transform.child_frame_id, transform.header.frame_id)
            )
            try:
                self._links[child] = _Link(parent, _pose_of(transform.transform), until)
            except SoroError:
                continue

    def lookup(self, target: str, source: str, now: float) -> Array | None:
        """Return the pose (4, 4) of frame `source` in frame `target`; None when not connected."""
        from_target, from_source = self._chain(target, now), self._chain(source, now)
        for frame, pose in from_source.items():
            if frame in from_target:
                found: Array = lie.inverse(from_target[frame]) @ pose
                return found
        return None

    def _chain(self, frame: str, now: float) -> dict[str, Array]:
        """Return the frame and its ancestors, nearest first, with its pose in each."""
        frame = frame.lstrip('/')
        pose, found = np.eye(4), {frame: np.eye(4)}
        for _ in range(DEEPEST):
            link = self._links.get(frame)
            if link is None or link.until < now or link.parent in found:
                break
            frame, pose = link.parent, link.pose @ pose
            found[frame] = pose
        return found


def _pose_of(transform: Transform) -> Array:
    t = transform.translation
    point = Point(x=t.x, y=t.y, z=t.z)
    return pose_from_message(Pose(position=point, orientation=transform.rotation), 'transform')
