# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the trajectory planner calls reached: its parameters, as it has them now."""

from __future__ import annotations

from dataclasses import dataclass
import time
from typing import Any

from rcl_interfaces.srv import GetParameters
from rclpy.client import Client

from soro_visualization.page.controls import TASKS
from soro_visualization.service_calls import OneAtATime

NAMES = ('task', 'position_tolerance', 'orientation_tolerance')
PERIOD = 1.0  # s; whoever sets them anew is noticed after that


@dataclass(frozen=True)
class Reached:
    """When a target counts as reached."""

    task: str = TASKS[0]  #: one of `TASKS`
    position: float = 0.0  #: [m]
    orientation: float = 0.0  #: [rad]; Zero: as the solver has it


class PlannerSettings:
    """The planner's parameters; asked for while targets are sent.

    - `client`: of trajectory_planner/get_parameters.
    """

    def __init__(self, client: Client) -> None:
        self._service = OneAtATime(client)
        self._due = 0.0
        self.reached = Reached()

    def refresh(self) -> None:
        """Ask, unless that was done just now; without a planner the solver's own values hold."""
        now = time.monotonic()
        if not self._service.ready:
            self.reached, self._due = Reached(), 0.0
        elif now >= self._due and self._service.free:
            self._due = now + PERIOD
            self._service.ask(GetParameters.Request(names=list(NAMES)), self._take)

    def _take(self, response: Any) -> None:
        if response is None or len(response.values) != len(NAMES):
            return
        task, position, orientation = response.values
        if task.string_value in TASKS:
            self.reached = Reached(
                task.string_value, position.double_value, orientation.double_value
            )
