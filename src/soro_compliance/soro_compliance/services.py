# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""ComputeCompliance: request in, response out, no node in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from builtin_interfaces.msg import Time

from soro_mechanics.core.configuration import Configuration
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.robot_input import METHODS
from soro_mechanics.core.status import Code
from soro_mechanics.robot import Robot
from soro_msgs.msg import Configuration as ConfigurationMessage
from soro_node.conversions import compliance_to_message, CompliancePoint, configuration_to_message
from soro_node.inputs.actuator_feedback import LatestFeedback
from soro_node.inputs.external_wrench import WrenchAt
from soro_node.replies import fill_status
from soro_node.requests import loaded_state, quick_start_of
from soro_node.robot_binding import RobotBinding


@dataclass(eq=False)
class Services:
    """Answers of the compliance node.

    `feedback`: for requests about the present state; `now`: returns the stamp of a response;
    `external`: returns the external wrench of this moment, for requests about the present state.
    """

    binding: RobotBinding
    feedback: LatestFeedback
    now: Callable[[], Time]
    external: Callable[[], WrenchAt | None] = lambda: None
    _last: Configuration | None = field(default=None, init=False)

    def compute_compliance(self, request: Any, response: Any) -> Any:
        """Fill the compliance at the tip, or at every station of every backbone."""
        if request.method >= len(METHODS):  # the constants of Compliance count in this order
            names = ', '.join(f'{name.upper()} ({n})' for n, name in enumerate(METHODS))
            raise InvalidInput('method', request.method, f'one of {names}')
        state = loaded_state(self.binding, request, self.feedback.actuation, self.external)
        q = state.solve(quick_start_of(state.robot, self._last))
        frames, stamp = self.binding.frames, self.now()
        frequencies = _frequencies(state.robot, q) if request.natural_frequencies else ()
        response.configuration = configuration_to_message(
            q, state.robot, frames.base_link, stamp, ConfigurationMessage.FROM_REQUEST, frequencies
        )
        if q.status.code is Code.NONE:
            self._last = q
        if q.status.converged:  # of no equilibrium there is none
            points = _points(state.robot, q, METHODS[request.method], request.along_backbone)
            response.compliance = [
                compliance_to_message(p, q, request.method, frames.tip_aligned, stamp)
                for p in points
            ]
        fill_status(response, q.status)
        if not q.status.converged:
            response.error_code = response.error_code or int(Code.NOT_CONVERGED)
            reason = response.error_message or 'no equilibrium was found'
            response.error_message = f'{reason}: the compliance there is not known'
        return response


def _frequencies(robot: Robot, q: Configuration) -> Sequence[float]:
    """Return natural frequencies [Hz] around q; none around no equilibrium."""
    if robot.model != 'network':
        expected = "false, or model: 'network' where the robot has it"
        raise InvalidInput('natural_frequencies', True, expected, Code.UNSUPPORTED)
    return robot.network.natural_frequencies(q).tolist() if q.status.converged else ()


def _points(robot: Robot, q: Configuration, method: str, along: bool) -> list[CompliancePoint]:
    if not along:
        arc_length = q.arc_lengths[-1][-1] if q.arc_lengths else 0.0
        return [CompliancePoint(robot.compliance(q, method=method), q.tip, '', arc_length)]
    return [
        CompliancePoint(matrix, pose, name, s)
        for name, stations, poses, matrices in zip(
            q.backbone_names,
            q.arc_lengths,
            q.backbones,
            robot.compliance_along(q, method=method),
            strict=True,
        )
        for s, pose, matrix in zip(stations, poses, matrices, strict=True)
    ]
