# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Node ``compliance``: how soft the robot is, along its backbone and over its workspace."""

from __future__ import annotations

from typing import Any

from sensor_msgs.msg import PointCloud2

from soro_compliance.services import Services
from soro_compliance.workspace_action import WorkspaceAction
from soro_msgs.action import AnalyzeWorkspace
from soro_msgs.srv import ComputeCompliance
from soro_node.diagnostics import Level
from soro_node.executor.clock_watch import steady_timer
from soro_node.executor.worker_queue import WorkerQueue
from soro_node.inputs.polled_feedback import PolledFeedback
from soro_node.inputs.wrench_input import WrenchInput
from soro_node.lifecycle import autostart_parameter
from soro_node.main import ASIDE, run
from soro_node.parameters import Parameter
from soro_node.qos import LATCHED
from soro_node.replies import answering
from soro_node.robot_binding import ROBOT_PARAMETERS
from soro_node.robot_node import RobotNode

STOP_TIMEOUT = 0.8  # s
REPORT_PERIOD = 0.2  # s

PARAMETERS = (
    autostart_parameter(),
    *ROBOT_PARAMETERS,
    Parameter(
        'state_timeout', 0.5, 's',
        'an actuator_state older than this is not used, an external_wrench counts as zero',
        minimum=0.01, read_only=True,
    ),
    Parameter(
        'samples', 5000, '', 'samples of a workspace analysis whose goal names none',
        minimum=1, maximum=1_000_000,
    ),
)  # fmt: skip


class Compliance(RobotNode):
    """Computes compliances and analyses the workspace."""

    reported = ('solver', 'actuator_state', 'external_wrench')

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('compliance', PARAMETERS, **kwargs)
        self._requests = WorkerQueue(self, 'requests')
        # More than one thread, so that a second goal is refused at once.
        self._goals = WorkerQueue(self, 'goals', threads=2)
        self._workspace = self.create_publisher(PointCloud2, 'workspace', LATCHED)
        self._service: Any = None
        self._analysis: WorkspaceAction | None = None
        self._timer: Any = None

    def configure(self) -> None:
        """Load the robot and make its kernels ready."""
        self.diagnostics.report('solver', Level.WARN, 'preparing')
        self.load_robot()
        self._feedback = PolledFeedback(self, self._binding.description, self.table.state_timeout)
        self._wrench = WrenchInput(self, self.table.state_timeout, self._binding)
        self._answers = Services(
            self._binding,
            self._feedback,
            lambda: self.get_clock().now().to_msg(),
            self._wrench.now,
        )
        self.make_kernels_ready()
        self._analysis = WorkspaceAction(
            self, self._binding, lambda: self.table.samples, self._workspace.publish
        )
        # Only now: a client that waits for the service has waited for the kernels too.
        self._service = self._requests.create_service(
            ComputeCompliance, '~/compute_compliance', self._on_request
        )
        self._goals.create_action(AnalyzeWorkspace, '~/analyze_workspace', self._analysis.execute)
        self.diagnostics.report('solver', Level.OK, 'inactive')

    def activate(self) -> None:
        """Listen to the present state."""
        self._feedback.open()
        self._wrench.open()
        self._timer = steady_timer(self, REPORT_PERIOD, self._report)
        self.diagnostics.report('solver', Level.OK, 'ready')

    def stop_outputs(self) -> None:
        """End an analysis that is running, and stop listening."""
        if self._analysis is not None and not self._analysis.end(STOP_TIMEOUT):
            self.get_logger().error('analyze_workspace did not end')
        if self._timer is not None:
            self._feedback.close()
            self._wrench.close()
            self.destroy_timer(self._timer)
            self._timer = None

    def cleanup(self) -> None:
        """Withdraw service and action, forget the robot."""
        if self._service is not None:
            self.destroy_service(self._service)
            self._service = None
        self.withdraw_actions()
        super().cleanup()

    def _report(self) -> None:
        self._wrench.report()
        self._feedback.report()

    @answering
    def _on_request(self, request: Any, response: Any) -> Any:
        self.check_active()
        return self._answers.compute_compliance(request, response)


def main() -> None:
    """Run the node."""
    run(Compliance, niceness=ASIDE)
