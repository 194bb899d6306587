# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the viewer asks of the other nodes: targets as topics, STOP and solvers as services."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import threading
import time
from typing import Any

from geometry_msgs.msg import PoseStamped, Wrench
import numpy as np
from rcl_interfaces.srv import GetParameters
from rclpy.action import ActionClient
from rclpy.client import Client
from rclpy.node import Node
from std_srvs.srv import Trigger

from soro_mechanics.core.status import Code
from soro_mechanics.robot_file.reader import RobotDescription
from soro_msgs.action import AnalyzeWorkspace
from soro_msgs.msg import ActuatorCommand, TipTarget
from soro_msgs.srv import ComputeCompliance, SolveForward, SolveInverse
from soro_node.conversions import command_message, stamped_pose, wrench_to_message
from soro_node.frames import Frames
from soro_node.qos import NEWEST
from soro_visualization.drawing.shape import Array, Shape, shape_from_message
from soro_visualization.page.readout import TASKS
from soro_visualization.reading import read_or_warn
from soro_visualization.service_calls import Buttons, OneAtATime

TARGET_AGE = 1.0  # s; nobody expects a robot to set off towards an older target
REMEDIES = {'driver/stop': 'use the hardware stop'}
PLANNER_NAMES = ('task', 'position_tolerance', 'orientation_tolerance')
PLANNER_PERIOD = 1.0  # s; whoever sets them anew is noticed after that


@dataclass(frozen=True)
class Reached:
    """When a target counts as reached."""

    task: str = TASKS[0]  #: one of `TASKS`
    position: float = 0.0  #: [m]
    orientation: float = 0.0  #: [rad]; Zero: as the solver has it


class PlannerSettings:
    """What the planner calls reached, as it has it now; asked for while targets are sent.

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
            self._due = now + PLANNER_PERIOD
            self._service.ask(GetParameters.Request(names=list(PLANNER_NAMES)), self._take)

    def _take(self, response: Any) -> None:
        if response is None or len(response.values) != len(PLANNER_NAMES):
            return
        task, position, orientation = response.values
        if task.string_value in TASKS:
            self.reached = Reached(
                task.string_value, position.double_value, orientation.double_value
            )


class RobotRequests:
    """Sends what a person asks for in the viewer.

    Called from the threads of the page. STOP goes out at once; targets wait for `send_waiting`,
    which the node calls at the rate of the display, so that a hand cannot flood the planner.

    - `answered`: ``answered(shape, text, good, arrived)``: the outcome of a target.

    Its attributes:
    - `wrench` (6,) [N, N m]: at the tip, axes of base_link: the load that the planner reckons with
      as well.
    - `on_end`: called when what was asked for before ends: by STOP, release, a slider, or from
      outside.
    - `samples`: of a workspace; 0: as many as the compliance node takes by itself.
    """

    def __init__(
        self,
        node: Node,
        description: RobotDescription,
        frames: Frames,
        answered: Callable[[Shape | None, str, bool, bool], None],
    ) -> None:
        self._node, self._actuators, self._frames = node, description.actuators, frames
        self._answered = answered
        self._pose = node.create_publisher(PoseStamped, 'target_pose', NEWEST)
        self._tip = node.create_publisher(TipTarget, 'tip_target', NEWEST)
        self._actuation = node.create_publisher(ActuatorCommand, 'target_actuation', NEWEST)
        self._clients = {
            name: node.create_client(kind, name)
            for name, kind in (
                ('driver/stop', Trigger),
                ('driver/clear_fault', Trigger),
                ('haptic_renderer/clear_fault', Trigger),
                ('trajectory_planner/release', Trigger),
                ('trajectory_planner/get_parameters', GetParameters),
                ('kinematics_solver/solve_inverse', SolveInverse),
                ('kinematics_solver/solve_forward', SolveForward),
                ('compliance/compute_compliance', ComputeCompliance),
            )
        }
        self._workspace = ActionClient(node, AnalyzeWorkspace, 'compliance/analyze_workspace')
        self._lock = threading.Lock()
        # What was asked for and has not gone out, each with the time of asking.
        self._waiting_pose: tuple[float, Array, str | None, bool] | None = None
        self._waiting_actuation: tuple[float, Array] | None = None
        self._unsolved: tuple[PoseStamped, str | None, bool, int] | None = None
        self._solver = OneAtATime(self._clients['kinematics_solver/solve_inverse'])
        self._forward = OneAtATime(self._clients['kinematics_solver/solve_forward'])
        self._compliance = OneAtATime(self._clients['compliance/compute_compliance'])
        self._planner = PlannerSettings(self._clients['trajectory_planner/get_parameters'])
        self._buttons = Buttons(
            self._clients, lambda text, good: self._answered(None, text, good, True), REMEDIES
        )
        self._order = 0  # of targets on their way; counts on when they must not go out any more
        self.wrench: Array = np.zeros(6)
        self.stops = 0  # of the newest state: what is shown, and so what a person answers
        self.on_end: Callable[[], None] = lambda: None
        self.watched: set[str] = {'ghost'}
        self.samples = 0
        self.computing: float | None = None  # how much of a workspace, while that goes on
        self._sampling: Any = None  # the goal

    @property
    def driven(self) -> bool:
        """Whether there is somebody who can be stopped."""
        return bool(self._clients['driver/stop'].service_is_ready())

    @property
    def planned(self) -> bool:
        """Whether there is a planner that takes targets."""
        return bool(self._clients['trajectory_planner/release'].service_is_ready())

    def move_to(self, pose: Array, task: str | None, follow: bool) -> None:
        """Have a tip pose (4, 4) in base_link solved; with `follow` sent: the robot goes there.

        `task` is what must be met, one of `TASKS`; None: what the planner has been told last.
        """
        with self._lock:
            self._waiting_pose = time.monotonic(), pose, task, follow
            self._waiting_actuation = None

    def actuate(self, actuation: Array) -> None:
        """Have an actuation (m,), SI, sent."""
        self.withdraw()
        with self._lock:
            self._waiting_actuation = time.monotonic(), actuation

    def stop(self) -> None:
        """Have the driver take its safe action, now; drops what was waiting."""
        self.withdraw()
        self._buttons.press('driver/stop')

    def clear_fault(self) -> None:
        """Clear what is latched in driver and renderer over topics; moves nothing.

        Drops what was waiting.
        """
        self.withdraw()
        self._buttons.press('driver/clear_fault', then='haptic_renderer/clear_fault')

    def release(self) -> None:
        """Have the planner command nothing any more; drops what was waiting."""
        self.withdraw()
        self._buttons.press('trajectory_planner/release')

    def withdraw(self) -> None:
        """Drop every target that has not gone out: the robot was stopped or taken away."""
        with self._lock:
            self._waiting_actuation = self._waiting_pose = self._unsolved = None
            self._order += 1
        self.on_end()

    def watch(self, what: str, on: bool) -> None:
        """Note whether somebody looks at 'ghost' or 'ellipsoids', which cost something."""
        with self._lock:
            self.watched = self.watched | {what} if on else self.watched - {what}

    def analyze_workspace(self) -> None:
        """Sample the workspace, with compliances; the cloud arrives as a topic."""
        if not self._workspace.server_is_ready():
            self._answered(None, 'the compliance node does not answer', False, True)
            return
        if self.computing is not None:
            return
        goal = AnalyzeWorkspace.Goal(
            method=AnalyzeWorkspace.Goal.RANDOM, with_compliance=True, samples=self.samples
        )
        self._answered(None, 'the workspace is being computed', True, True)
        executor = self._node.executor
        if executor is not None:  # None: the viewer is about to end
            self.computing = 0.0
            # The thread that spins sends it, not the page's: rclpy forgets the answer of a
            # server that is faster than the thread which sends (ros2/rclpy issue 1123).
            executor.create_task(self._send_goal, goal)

    def cancel_workspace(self) -> None:
        """End the sampling that goes on; its answer says so."""
        executor, goal = self._node.executor, self._sampling
        if executor is not None and goal is not None:
            executor.create_task(goal.cancel_goal_async)

    def send_waiting(self) -> None:
        """Send the newest target; called at the rate of the display."""
        self._buttons.look()
        with self._lock:
            now = time.monotonic()
            # A target goes out only in the order in which it was taken: STOP may come between.
            order = self._order
            actuation, self._waiting_actuation = self._waiting_actuation, None
            pose, self._waiting_pose = self._waiting_pose, None
        if any(x is not None and now - x[0] > TARGET_AGE for x in (actuation, pose)):
            why = f'target not sent: it has waited for more than {TARGET_AGE:g} s'
            self._answered(None, why, False, True)
            return
        if actuation is not None:
            self._send_actuation(actuation[1], order)
        if pose is not None:
            self._send_pose(*pose[1:], order)
        self._solve_waiting()

    def ask_compliance(self, take: Callable[[list[Any]], None]) -> None:
        """Ask for the compliance along the backbones, unless an answer is still due.

        `take` gets an empty list where there is nobody to ask, or no answer for the present shape.
        """

        def answered(response: Any) -> None:
            good = response is not None and response.error_code == Code.NONE
            take(list(response.compliance) if good else [])

        if not self._compliance.ready:
            take([])
        elif self._compliance.free:
            self._compliance.ask(
                ComputeCompliance.Request(along_backbone=True, wrench=self._load()), answered
            )

    def ask_rest(self, take: Callable[[Any], None]) -> None:
        """Ask for the configuration at rest, unless an answer is still due; `take` gets it."""

        def answered(response: Any) -> None:
            if response is not None and response.error_code == Code.NONE:
                take(response.configuration)

        if self._forward.ready and self._forward.free:
            request = SolveForward.Request(
                actuator_name=[a.name for a in self._actuators],
                actuation=[float(a.rest) for a in self._actuators],
            )
            self._forward.ask(request, answered)

    def destroy(self) -> None:
        """Give clients and publishers back."""
        self._workspace.destroy()
        for client in self._clients.values():
            self._node.destroy_client(client)
        for publisher in (self._pose, self._tip, self._actuation):
            self._node.destroy_publisher(publisher)

    def _nobody_moves(self, publisher: Any) -> bool:
        nobody = publisher.get_subscription_count() == 0
        if nobody:
            self._answered(None, 'nobody takes targets: no trajectory_planner here', False, True)
        return nobody

    def _send_actuation(self, actuation: Array, order: int) -> None:
        if self._nobody_moves(self._actuation):
            return
        message = command_message(self._node, self._actuators, actuation)
        message.stops = self.stops
        self._publish(self._actuation, message, order)

    def _send_pose(self, pose: Array, task: str | None, follow: bool, order: int) -> None:
        now = self._node.get_clock().now().to_msg()
        target = stamped_pose(pose, self._frames.base_link, now)
        self._planner.refresh()
        publisher, message = self._pose, target
        if task is not None:
            publisher = self._tip
            message = TipTarget(
                header=target.header,
                source=self._node.get_fully_qualified_name(),
                task=TASKS.index(task),
                pose=target.pose,
                stops=self.stops,
            )
        if not follow or self._nobody_moves(publisher):
            self._solve(target, task, False, order)
        elif self._publish(publisher, message, order):
            self._solve(target, task, True, order)

    def _publish(self, publisher: Any, message: Any, order: int) -> bool:
        """Send a target that was not withdrawn meanwhile; whether it went out."""
        with self._lock:  # a STOP comes before or after the target, never in between
            if order != self._order:
                return False
            publisher.publish(message)
        return True

    def _solve(self, target: PoseStamped, task: str | None, follow: bool, order: int) -> None:
        """Have the newest target solved for the page; the robot does not wait for the answer."""
        with self._lock:
            if order != self._order:
                return
            self._unsolved = target, task, follow, order
        self._solve_waiting()

    def _solve_waiting(self) -> None:
        with self._lock:
            if self._unsolved is None or not self._solver.free:
                return
            (target, task, follow, order), self._unsolved = self._unsolved, None
        reached = self._planner.reached
        request = SolveInverse.Request(
            target=target,
            task=TASKS.index(task or reached.task),
            wrench=self._load(),
            position_tolerance=reached.position,
            orientation_tolerance=reached.orientation,
        )

        def answered(response: Any) -> None:
            if response is not None and order == self._order:
                self._say_solution(response, follow)

        if not self._solver.ask(request, answered):
            self._answered(None, 'kinematics_solver does not answer', False, True)

    def _load(self) -> Wrench:
        return wrench_to_message(self.wrench)

    def _say_solution(self, response: Any, follow: bool) -> None:
        good = response.error_code == Code.NONE
        if response.error_code in (Code.NONE, Code.UNREACHABLE, Code.AT_LIMIT):
            shape = read_or_warn(
                shape_from_message,
                response.configuration,
                'solve_inverse: configuration',
                lambda text: self._node.get_logger().warning(text, throttle_duration_sec=2.0),
            )
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
        self._workspace.send_goal_async(goal, self._sampled).add_done_callback(self._goal_answered)

    def _sampled(self, message: Any) -> None:
        if self.computing is not None:
            self.computing = float(message.feedback.progress)

    def _goal_answered(self, future: Any) -> None:
        handle = future.result()
        if handle is None or not handle.accepted:
            self.computing = None
            self._answered(None, 'the workspace is not computed: refused', False, True)
            return
        self._sampling = handle
        handle.get_result_async().add_done_callback(self._workspace_done)

    def _workspace_done(self, future: Any) -> None:
        self.computing = self._sampling = None
        result = future.result().result
        if result.error_code != Code.NONE:
            self._answered(None, f'workspace: {result.error_message}', False, True)
            return
        size = f'longest extent {1e3 * result.longest_extent:.1f} mm, {result.duration:.1f} s'
        self._answered(None, f'workspace: {result.solved} points, {size}', True, True)
