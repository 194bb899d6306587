# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Node ``kinematics_solver``: where the robot is, and the services that compute where it would be.

`tip_pose` is what the model says at the measured actuation, `tip_measured` what a tracker sees.

The thread that spins serves the stream (actuator_state to tip_pose, configuration, TF); requests
are solved on a queue of their own, so that a long one does not hold the stream up. The kernels
release the interpreter lock while they compute.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import traceback
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from soro_kinematics import outputs
from soro_kinematics.services import Services
from soro_kinematics.state_stream import StateStream
from soro_kinematics.tracker_input import PARAMETERS as TRACKER_PARAMETERS
from soro_kinematics.tracker_input import TrackerInput
from soro_kinematics.tracking import ConfigurationTracker
from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.robot import Robot
from soro_msgs.msg import Configuration as ConfigurationMessage
from soro_msgs.srv import CompareModels, ComputeJacobian, SolveForward, SolveInverse
from soro_node.conversions import configuration_to_message, finite_or_none
from soro_node.diagnostics import Level
from soro_node.executor.clock_watch import steady_timer
from soro_node.executor.qos_events import look_seldom, SeldomGroup
from soro_node.executor.worker_queue import WorkerQueue
from soro_node.inputs.actuator_feedback import ActuatorFeedback, NANOSECONDS
from soro_node.inputs.wrench_input import WRENCH_TIMEOUT, WrenchInput
from soro_node.lifecycle import autostart_parameter
from soro_node.main import ASIDE, run
from soro_node.parameters import fixed, Parameter
from soro_node.qos import LATCHED
from soro_node.replies import answering
from soro_node.robot_binding import ROBOT_PARAMETERS
from soro_node.robot_node import RobotNode

SERVICES = {
    'solve_forward': SolveForward,
    'solve_inverse': SolveInverse,
    'compute_jacobian': ComputeJacobian,
    'compare_models': CompareModels,
}

PARAMETERS = (
    autostart_parameter(),
    *ROBOT_PARAMETERS,
    Parameter(
        'configuration_rate', 30.0, 'Hz',
        'rate of configuration, commanded_configuration, TF and joint_states',
        minimum=0.1, maximum=200.0, read_only=True,
    ),
    Parameter(
        'tip_rate', 125.0, 'Hz',
        'most rate of tip_pose; where states come more often, the newest are solved',
        minimum=1.0, maximum=1000.0, read_only=True,
    ),
    fixed('state_timeout', 0.5, 's', 'an older actuator_state is not used', minimum=0.01),
    WRENCH_TIMEOUT,
    Parameter(
        'position_tolerance', 1e-5, 'm', 'solve_inverse has reached its target within this',
        minimum=1e-9,
    ),
    Parameter(
        'orientation_tolerance', 1e-4, 'rad', 'solve_inverse has reached its target within this',
        minimum=1e-9,
    ),
    Parameter('world_frame', 'world', '', 'parent of base_link in TF', read_only=True),
    Parameter(
        'base_pose', [0.0] * 6, 'm, rad', 'base_link in world_frame: x, y, z, roll, pitch, yaw',
        sizes=(6,), read_only=True,
    ),
    *TRACKER_PARAMETERS,
)  # fmt: skip


class KinematicsSolver(RobotNode):
    """Solves the configuration of the measured actuation and answers kinematic questions."""

    reported = ('solver', 'actuator_state', 'external_wrench', 'tracker')

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('kinematics_solver', PARAMETERS, **kwargs)
        self._requests = WorkerQueue(self, 'requests')
        self._tip = self.create_publisher(PoseStamped, 'tip_pose', 10)
        self._configuration = self.create_publisher(ConfigurationMessage, 'configuration', 5)
        self._ghost = self.create_publisher(ConfigurationMessage, 'commanded_configuration', 5)
        self._tf = self.create_publisher(TFMessage, '/tf', 50)
        self._tf_static = self.create_publisher(TFMessage, '/tf_static', LATCHED)
        self._joints: Any = None  # the topic is there where joints are
        self._tip_tracker = TrackerInput(self)
        self._feedback: StateStream | None = None
        self._offered: list[Any] = []
        self._timer: Any = None
        self._events = SeldomGroup()
        look_seldom(self, self._events)

    def configure(self) -> None:
        """Load the robot and make its kernels ready."""
        self.diagnostics.report('solver', Level.WARN, 'preparing')
        robot, table = self.load_robot(), self.table
        self._wrench = WrenchInput(self, table.wrench_timeout, self._binding)
        self._feedback = StateStream(
            self, self._binding.description, table.state_timeout, table.tip_rate, self._follow
        )
        if self._joints is None and any(a.quantity in outputs.JOINTS for a in robot.actuators):
            self._joints = self.create_publisher(JointState, 'joint_states', 5)
        self._tracker, self._commanded = ConfigurationTracker(robot), ConfigurationTracker(robot)
        self._published: Configuration | None = None
        self._solved: ActuatorFeedback | None = None
        self._unsolvable = ''
        self._stamp = Time()
        self._answers = Services(
            self._binding,
            self._feedback,
            lambda: self._tracker.latest,
            lambda: (table.position_tolerance, table.orientation_tolerance),
            lambda: self.get_clock().now().to_msg(),
            functools.partial(self.transforms.awaited, self._binding.frames.base_link),
            self._wrench.now,
        )
        self.make_kernels_ready()
        self._tip_tracker.configure(self._binding.frames, robot, self._model_tip)
        # Only now: a client that waits for the service has waited for the kernels too.
        for name, kind in SERVICES.items():
            answer = functools.partial(self._answer, name)
            self._offered.append(self._requests.create_service(kind, f'~/{name}', answer))
        self._precompute_seeds(robot)
        self.diagnostics.report('solver', Level.OK, 'inactive')

    def activate(self) -> None:
        """Start the stream."""
        now = self.get_clock().now().to_msg()
        self._tf_static.publish(
            outputs.base_transform_message(
                self.table.world_frame, self._binding.frames, self.table.base_pose, now
            )
        )
        self._feedback.open()
        self._wrench.open()
        self.transforms.open(moving=True)  # a request comes once: history must be there
        self._tip_tracker.open()
        look_seldom(self, self._events)
        self._timer = steady_timer(self, 1.0 / self.table.configuration_rate, self._on_timer)
        self.diagnostics.report('solver', Level.OK, 'ready')

    def stop_outputs(self) -> None:
        """Stop the stream."""
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self._timer = None
            self._feedback.close()
            self._wrench.close()
            self._tip_tracker.close()

    def cleanup(self) -> None:
        """Withdraw the services and forget the robot."""
        for service in self._offered:
            self.destroy_service(service)
        self._offered.clear()
        super().cleanup()

    def model_changed(self) -> None:
        """Track with the new model."""
        robot = self._binding.robot
        self._tracker, self._commanded = ConfigurationTracker(robot), ConfigurationTracker(robot)
        self._precompute_seeds(robot)

    def _precompute_seeds(self, robot: Robot) -> None:
        """Begin what takes seconds for some robots, so that no request has to wait for it."""

        def prepare() -> None:
            try:
                robot.precompute_seeds()
            except Exception:  # noqa: BLE001 - the first request meets it again, and answers it
                self.get_logger().warning(f'postures to search from:\n{traceback.format_exc()}')

        threading.Thread(target=prepare, name='postures', daemon=True).start()

    def _follow(self, feedback: ActuatorFeedback) -> None:
        """Solve the configuration of a state and publish its tip."""
        self._solved = feedback
        if not feedback.known:
            return
        try:
            q = self._solve(self._tracker, feedback.present)
        except SoroError as error:  # numbers that no model can compute with
            self._unsolvable = str(error)
            return
        self._unsolvable = ''
        if q.status.code is Code.NOT_CONVERGED:
            return
        self._stamp = Time()
        self._stamp.sec, self._stamp.nanosec = divmod(feedback.stamp, NANOSECONDS)
        if self._tip.get_subscription_count() > 0:
            self._tip.publish(outputs.tip_pose_message(q, self._binding.frames, self._stamp))

    def _solve(self, tracker: ConfigurationTracker, actuation: Any) -> Configuration:
        tip = tracker.latest.tip if tracker.latest is not None else None
        if tip is None:  # before the first solution only the frames at the tip are exact
            q = tracker.robot.forward(actuation)
            if not q.status.converged:
                return q
            tip = q.tip
        return tracker.solve(actuation, self._wrench.at_tip(tip))

    def _model_tip(self) -> Array | None:
        """Return the model's tip at the measured actuation; None while that is unknown."""
        q = self._tracker.latest
        return None if q is None or self._feedback.fresh() is None else q.tip

    def _on_timer(self) -> None:
        feedback = self._feedback.fresh()
        # Nobody listens to every tip: then the states at this rate are enough.
        self._feedback.attend(self._tip.get_subscription_count() > 0)
        if feedback is not None and feedback is not self._solved:
            self._follow(feedback)
        self._report()
        q = self._tracker.latest
        if feedback is None or q is None or q is self._published:
            return
        self._published = q
        frames, robot = self._binding.frames, self._tracker.robot

        def message(q: Configuration, source: int) -> ConfigurationMessage:
            return configuration_to_message(q, robot, frames.base_link, self._stamp, source)

        if self._configuration.get_subscription_count() > 0:
            self._configuration.publish(message(q, ConfigurationMessage.FROM_MEASUREMENT))
        self._tf.publish(outputs.transforms_message(q, frames, self._stamp))
        joints = outputs.joint_state_message(q, robot, self._stamp)
        if joints is not None:
            self._joints.publish(joints)
        commanded = finite_or_none(feedback.commanded)
        if commanded is not None and self._ghost.get_subscription_count() > 0:
            # What was commanded is within the limits; a state that says otherwise has no ghost.
            with contextlib.suppress(SoroError):
                ghost = self._solve(self._commanded, commanded)
                self._ghost.publish(message(ghost, ConfigurationMessage.FROM_COMMAND))

    def _report(self) -> None:
        report = self.diagnostics.report
        self._wrench.report()
        self._tip_tracker.report()
        self._feedback.report()
        if self._unsolvable:
            report('solver', Level.ERROR, self._unsolvable)
            return
        # Not the latest solution: that one stays while nothing converges.
        q = self._tracker.last
        if q is None:
            return
        values = {
            'model': q.model,
            'residual': q.status.residual,
            'iterations': q.status.iterations,
            'solve_time': self._tracker.last_time,
            'cold_starts': self._tracker.cold_starts,
        }
        if q.status.code is Code.NONE:
            doubt = q.status.doubt
            report('solver', Level.WARN if doubt else Level.OK, doubt or 'solved', **values)
        else:
            report(
                'solver',
                Level.ERROR,
                q.status.message or q.status.code.name,
                code=q.status.code.name,
                **values,
                actuation=q.actuation.tolist(),
                wrench=q.wrench.tolist(),
            )

    @answering
    def _answer(self, name: str, request: Any, response: Any) -> Any:
        self.check_active()
        return getattr(self._answers, name)(request, response)


def main() -> None:
    """Run the node."""
    run(KinematicsSolver, niceness=ASIDE)
