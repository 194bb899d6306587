# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a person can ask for in the viewer, and who carries it out."""

from __future__ import annotations

from typing import Protocol

from soro_visualization.drawing.shape import Array

TASKS = ('position', 'position_and_axis', 'pose')  # of trajectory_planner


class Controls(Protocol):
    """Carries out what is asked for; called from the threads of the page."""

    def move_to(self, pose: Array, task: str | None, follow: bool) -> None:
        """Solve for a tip pose (4, 4) in base_link; with `follow` the robot goes there.

        `task` is what must be met, one of `TASKS`; None: what the planner has been told last.
        """

    def actuate(self, actuation: Array) -> None:
        """Send an actuation (m,), SI."""

    def stop(self) -> None:
        """Have the driver take its safe action, now."""

    def clear_fault(self) -> None:
        """Clear what is latched in the driver; moves nothing."""

    def release(self) -> None:
        """Have the planner command nothing any more."""

    def withdraw(self) -> None:
        """Drop what has not gone out yet: the robot was taken away."""

    def watch(self, what: str, on: bool) -> None:
        """Say whether somebody looks at 'ghost' or 'ellipsoids', which cost something."""

    def analyze_workspace(self) -> None:
        """Sample the workspace; the cloud arrives as a topic."""

    def cancel_workspace(self) -> None:
        """End the sampling that goes on."""
