# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Stands for interactive_markers, which is installed only with RViz."""

from __future__ import annotations

from visualization_msgs.msg import InteractiveMarkerFeedback

from soro_visualization.interactive_target import NAME


class StandIn:
    """Has the methods of interactive_markers.InteractiveMarkerServer that we call."""

    def __init__(self, *arguments):
        self.arguments, self.inserted, self.poses, self.applied = arguments, [], [], 0

    def insert(self, marker):
        self.inserted.append(marker)

    def setCallback(self, name, callback):  # noqa: N802 - their name
        assert name == NAME
        self.callback = callback

    def setPose(self, name, pose):  # noqa: N802
        self.poses.append(pose)

    def erase(self, name):
        assert name == NAME
        self.inserted.pop()

    def applyChanges(self):  # noqa: N802
        self.applied += 1


def feedback(kind):
    message = InteractiveMarkerFeedback(event_type=getattr(InteractiveMarkerFeedback, kind))
    message.pose.orientation.w = 1.0
    return message
