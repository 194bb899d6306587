# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the viewer asks of the other nodes: targets as topics, STOP and solvers as services."""

from __future__ import annotations

from collections.abc import Callable
import threading
import time
from typing import Any

from geometry_msgs.msg import PoseStamped
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.action import ActionClient
from rclpy.client import Client
from rclpy.node import Node
from rclpy.task import Future
from soro_mechanics.robot_file import RobotDescription
from soro_mechanics.status import Code
from soro_node.conversions import pose_to_message
from soro_node.frames import Frames
from soro_node.qos import NEWEST
from std_srvs.srv import Trigger

from soro_msgs.action import AnalyzeWorkspace
from soro_msgs.msg import ActuatorCommand
from soro_msgs.srv import ComputeCompliance, SolveInverse
from soro_visualization.controls import TASKS
from soro_visualization.shape import Array, Shape, shape_from_message

TASK_TIMEOUT = 2.0  # s; a planner that ends while it is asked never answers
ANSWER_TIMEOUT = 10.0  # s; nor does a solver


class OneAtATime:
    """Asks a service one thing at a time; who does not answer in time can be asked again."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._due = 0.0
        self._answer: Future | None = None

    @property
    def free(self) -> bool:
        """Whether nothing is under way."""
        answer = self._answer
        if answer is None or answer.done():
            return True
        if time.monotonic() < self._due:
            return False
        self._client.remove_pending_request(answer)
        self._answer = None
        return True

    def ask(self, request: Any, answered: Callable[[Any], None]) -> bool:
        """Ask, and hand the response over when it comes; whether anybody is there to answer."""
        if not self._client.service_is_ready():
            return False
        self._due = time.monotonic() + ANSWER_TIMEOUT
        self._answer = self._client.call_async(request)
        self._answer.add_done_callback(lambda done: answered(done.result()))
        return True


class RobotRequests:
    """Sends what a person asks for; implements `controls.Controls`.

    Called from the threads of the page. STOP goes out at once; targets wait for `send_waiting`,
    which the node calls at the rate of the display, so that a hand cannot flood the planner.

    Parameters
    ----------
    node : Node
    description : RobotDescription
    frames : Frames
    answered : callable
        ``answered(shape, text, good, arrived)``: the outcome of a target.
    """

    def __init__(
        self, node: Node, description: RobotDescription, frames: Frames,
        answered: Callable[[Shape | None, str, bool, bool], None],
    ) -> None:  # fmt: skip
        self._node, self._actuators, self._frames = node, description.actuators, frames
        self._answered = answered
        self._pose = node.create_publisher(PoseStamped, 'target_pose', NEWEST)
        self._actuation = node.create_publisher(ActuatorCommand, 'target_actuation', NEWEST)
        self._clients = {
            name: node.create_client(kind, name)
            for name, kind in (
                ('driver/stop', Trigger), ('driver/clear_fault', Trigger),
                ('trajectory_planner/release', Trigger),
                ('trajectory_planner/set_parameters', SetParameters),
                ('kinematics_solver/solve_inverse', SolveInverse),
                ('compliance/compute_compliance', ComputeCompliance),
            )
        }  # fmt: skip
        self._workspace = ActionClient(node, AnalyzeWorkspace, 'compliance/analyze_workspace')
        self._lock = threading.Lock()
        self._waiting_pose: tuple[Array, str, bool] | None = None
        self._waiting_actuation: Array | None = None
        self._solver = OneAtATime(self._clients['kinematics_solver/solve_inverse'])
        self._compliance = OneAtATime(self._clients['compliance/compute_compliance'])
        self._order = 0  # of a target on its way; counts on when it must not go out any more
        self._task_due = 0.0  # when the planner must have taken the task; zero: it is not asked
        self.watched: set[str] = {'ghost'}
        self.samples = 0  # of a workspace; 0: as many as the compliance node takes by itself

    @property
    def driven(self) -> bool:
        """Whether there is somebody who can be stopped."""
        return bool(self._clients['driver/stop'].service_is_ready())

    def move_to(self, pose: Array, task: str, follow: bool) -> None:
        """Have a tip pose solved, and sent when the robot is to follow."""
        with self._lock:
            self._waiting_pose, self._waiting_actuation = (pose, task, follow), None

    def actuate(self, actuation: Array) -> None:
        """Have an actuation sent."""
        with self._lock:
            self._withdraw()
            self._waiting_actuation = actuation

    def stop(self) -> None:
        """Have the driver take its safe action; drops what was waiting."""
        with self._lock:
            self._withdraw()
        self._trigger('driver/stop')

    def clear_fault(self) -> None:
        """Clear what is latched in the driver."""
        self._trigger('driver/clear_fault')

    def release(self) -> None:
        """Have the planner command nothing any more; drops what was waiting."""
        with self._lock:
            self._withdraw()
        self._trigger('trajectory_planner/release')

    def watch(self, what: str, on: bool) -> None:
        """Note what somebody looks at."""
        with self._lock:
            self.watched = self.watched | {what} if on else self.watched - {what}

    def analyze_workspace(self) -> None:
        """Ask for a cloud with compliances."""
        if not self._workspace.server_is_ready():
            self._answered(None, 'the compliance node does not answer', False, True)
            return
        goal = AnalyzeWorkspace.Goal(
            method=AnalyzeWorkspace.Goal.RANDOM, with_compliance=True, samples=self.samples
        )
        self._answered(None, 'the workspace is being computed', True, True)
        executor = self._node.executor
        if executor is not None:  # None: the viewer is about to end
            # The thread that spins sends it, not the page's: rclpy forgets the answer of a
            # server that is faster than the thread which sends (ros2/rclpy issue 1123).
            executor.create_task(self._send_goal, goal)

    def send_waiting(self) -> None:
        """Send the newest target; called at the rate of the display."""
        with self._lock:
            late = 0.0 < self._task_due < time.monotonic()
            if late:
                self._order, self._task_due = self._order + 1, 0.0
            actuation, self._waiting_actuation = self._waiting_actuation, None
            pose = self._waiting_pose if self._solver.free and not self._task_due else None
            if pose is not None:
                self._waiting_pose = None
        if late:
            self._not_sent('trajectory_planner does not answer')
        if actuation is not None:
            self._send_actuation(actuation)
        if pose is not None:
            self._send_pose(*pose)

    def ask_compliance(self, take: Callable[[list[Any]], None]) -> None:
        """Ask for the compliance along the backbones, unless an answer is still due."""

        def answered(response: Any) -> None:
            if response is not None and response.error_code == Code.NONE:
                take(list(response.compliance))

        if self._compliance.free:
            self._compliance.ask(ComputeCompliance.Request(along_backbone=True), answered)

    def destroy(self) -> None:
        """Give clients and publishers back."""
        self._workspace.destroy()
        for client in self._clients.values():
            self._node.destroy_client(client)
        for publisher in (self._pose, self._actuation):
            self._node.destroy_publisher(publisher)

    def _trigger(self, name: str) -> None:
        client = self._clients[name]
        if not client.service_is_ready():
            self._answered(None, f'{name} does not answer', False, True)
            return

        def answered(future: Any) -> None:
            response = future.result()
            if response is not None:
                words = response.message or ('done' if response.success else 'refused')
                self._answered(None, f'{name}: {words}', response.success, True)

        client.call_async(Trigger.Request()).add_done_callback(answered)

    def _nobody_moves(self, publisher: Any) -> bool:
        nobody = publisher.get_subscription_count() == 0
        if nobody:
            self._answered(None, 'nobody takes targets: no trajectory_planner here', False, True)
        return nobody

    def _send_actuation(self, actuation: Array) -> None:
        if self._nobody_moves(self._actuation):
            return
        message = ActuatorCommand(
            source=self._node.get_fully_qualified_name(),
            name=[a.name for a in self._actuators],
            quantity=[a.quantity_code for a in self._actuators],
            value=[float(x) for x in actuation],
        )
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._actuation.publish(message)

    def _send_pose(self, pose: Array, task: str, follow: bool) -> None:
        target = PoseStamped(pose=pose_to_message(pose))
        target.header.frame_id = self._frames.base_link
        target.header.stamp = self._node.get_clock().now().to_msg()
        if follow and not self._nobody_moves(self._pose):
            self._send_with_task(target, task)
        else:
            self._solve(target, task, False)

    def _send_with_task(self, target: PoseStamped, task: str) -> None:
        """Send a target once the planner meets that part of it which is shown as solved.

        The planner is asked for it with every target: others may have set it since the last one.
        """
        client = self._clients['trajectory_planner/set_parameters']
        if not client.service_is_ready():
            self._not_sent('trajectory_planner does not answer')
            return
        with self._lock:
            self._order, self._task_due = self._order + 1, time.monotonic() + TASK_TIMEOUT
            order = self._order

        def answered(future: Any) -> None:
            response = future.result()
            results = [] if response is None else response.results
            taken = bool(results) and results[0].successful
            with self._lock:  # a STOP comes before or after the target, never in between
                if order != self._order:
                    return  # withdrawn meanwhile
                self._task_due = 0.0
                if taken:
                    self._pose.publish(target)
            if taken:
                self._solve(target, task, True)
            else:
                reason = results[0].reason if results else 'no answer'
                self._not_sent(f'trajectory_planner refuses the task {task}: {reason}')

        value = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=task)
        client.call_async(
            SetParameters.Request(parameters=[Parameter(name='task', value=value)])
        ).add_done_callback(answered)

    def _withdraw(self) -> None:
        """Drop every target that has not gone out yet; called with the lock."""
        self._waiting_actuation = self._waiting_pose = None
        self._order, self._task_due = self._order + 1, 0.0

    def _not_sent(self, why: str) -> None:
        self._answered(None, f'target not sent: {why}', False, True)

    def _solve(self, target: PoseStamped, task: str, follow: bool) -> None:
        def answered(response: Any) -> None:
            if response is not None:
                self._say_solution(response, follow)

        request = SolveInverse.Request(target=target, task=TASKS.index(task))
        if not self._solver.ask(request, answered):
            self._answered(None, 'kinematics_solver does not answer', False, True)

    def _say_solution(self, response: Any, follow: bool) -> None:
        good = response.error_code == Code.NONE
        if response.error_code in (Code.NONE, Code.UNREACHABLE, Code.AT_LIMIT):
            shape = shape_from_message(response.configuration)
            text = f'residual {1e3 * response.position_error:.3g} mm'
            if response.orientation_error:
                text += f', {57.29578 * response.orientation_error:.3g} deg'
            if good:
                text = f'solved, {text}'
            else:
                stops = f' ({", ".join(response.at_limit)})' if response.at_limit else ''
                text = f'{Code(response.error_code).name}{stops}: nearest shown, {text}'
        else:
            shape, text = None, response.error_message
        self._answered(shape, text, good, good and follow)

    def _send_goal(self, goal: Any) -> None:
        self._workspace.send_goal_async(goal).add_done_callback(self._goal_answered)

    def _goal_answered(self, future: Any) -> None:
        handle = future.result()
        if handle is None or not handle.accepted:
            self._answered(None, 'the workspace is not computed: refused', False, True)
            return
        handle.get_result_async().add_done_callback(self._workspace_done)

    def _workspace_done(self, future: Any) -> None:
        result = future.result().result
        if result.error_code != Code.NONE:
            self._answered(None, f'workspace: {result.error_message}', False, True)
            return
        self._answered(
            None, f'workspace: {result.solved} points, longest extent '
            f'{1e3 * result.longest_extent:.1f} mm, {result.duration:.1f} s', True, True,
        )  # fmt: skip
