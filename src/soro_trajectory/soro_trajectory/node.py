# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Node ``trajectory_planner``: the one that commands. Targets in, a stream of set-points out."""

from __future__ import annotations

from collections.abc import Callable
import functools
import time
import traceback
from typing import Any

from geometry_msgs.msg import PoseStamped
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from soro_mechanics.analysis.trajectory import Schedule
from soro_mechanics.core.configuration import Array, Configuration, Task
from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_msgs.action import BenchProtocol, TrackTrajectory
from soro_msgs.msg import ActuatorCommand, TipTarget
from soro_node.conversions import command_message, pose_from_message
from soro_node.diagnostics import Level
from soro_node.executor.any_publisher import AnyPublisherSubscription
from soro_node.executor.clock_watch import steady_timer
from soro_node.executor.worker_queue import WorkerQueue
from soro_node.inputs.estop_input import EstopInput
from soro_node.inputs.external_wrench import settled, WrenchAt
from soro_node.inputs.polled_feedback import PolledFeedback
from soro_node.inputs.wrench_input import WRENCH_TIMEOUT, WrenchInput
from soro_node.lifecycle import autostart_parameter
from soro_node.main import run
from soro_node.parameters import fixed, Parameter
from soro_node.qos import NEWEST
from soro_node.replies import fill_error, internal
from soro_node.robot_binding import ROBOT_PARAMETERS
from soro_node.robot_node import RobotNode
from soro_node.transforms import stamp_of
from soro_trajectory.bench_action import BenchAction
from soro_trajectory.command_stream import CommandStream, pause_of_driver, Phase
from soro_trajectory.follow_joint_trajectory import FollowAction
from soro_trajectory.input_shaping import shaped_motion, slowest_modes
from soro_trajectory.joint_trajectory import goal_of_trajectory
from soro_trajectory.nearest_feasible import nearest_feasible
from soro_trajectory.stream_action import StreamAction
from soro_trajectory.stream_error import EMERGENCY_STOP, StreamError
from soro_trajectory.streaming_thread import StreamingThread
from soro_trajectory.targets import Goal, goal_for_pose, goal_of_command, task_of
from soro_trajectory.tip_control import PARAMETERS as CONTROL_PARAMETERS
from soro_trajectory.tip_control import TipControl
from soro_trajectory.track_action import TrackAction
from soro_trajectory.track_topics import FEEDBACK, TrackTopics

REPORT_PERIOD = 0.1  # s
STOP_TIMEOUT = 0.8  # s
DEAD = 'internal error: nothing is sent; launch again, or deactivate and activate the planner'

PARAMETERS = (
    autostart_parameter(),
    *ROBOT_PARAMETERS,
    fixed('rate', 100.0, 'Hz', 'set-points sent per second', minimum=1.0, maximum=1000.0),
    Parameter(
        'slew', 0.8, '', "share of the actuators' rates that motions use",
        minimum=0.01, maximum=1.0, read_only=True,
    ),
    Parameter(
        'task', 'position', '', 'what of a target_pose must be met',
        choices=('position', 'position_and_axis', 'pose'),
    ),
    Parameter('position_tolerance', 1e-4, 'm', 'a target farther away is refused', minimum=1e-9),
    Parameter(
        'orientation_tolerance', 1e-3, 'rad', 'a target turned by more than this is refused',
        minimum=1e-9,
    ),
    Parameter('speed', 0.02, 'm/s', 'speed along a path whose goal names none', minimum=1e-6),
    Parameter('spacing', 0.001, 'm', 'between solved points of a path', minimum=1e-6),
    Parameter('acceleration', 0.1, 'm/s^2', 'along a path, at its ends', minimum=1e-6),
    Parameter(
        'delay', 0.0, 's',
        'from command to motion: commands of a path are sent this much earlier than their points',
        minimum=0.0, maximum=5.0,
    ),
    Parameter(
        'settle_time', 0.5, 's', 'rest at the first point of a path before it is followed',
        minimum=0.0, maximum=60.0,
    ),
    Parameter(
        'feedback', 'auto', '',
        'topic that errors of a path refer to; auto: tip_measured where live, else tip_pose',
        choices=('auto', *FEEDBACK),
    ),
    *CONTROL_PARAMETERS,
    Parameter(
        'input_shaping', 'none', '', 'of motions to a target; see below',
        choices=('none', 'zv', 'zvd'),
    ),
    fixed('state_timeout', 0.5, 's', 'an older actuator_state stops the stream', minimum=0.01),
    WRENCH_TIMEOUT,
    Parameter(
        'takeover_timeout', 3.0, 's',
        'the driver must obey within this, beyond the time of its safe action',
        minimum=0.1, read_only=True,
    ),
)  # fmt: skip


class TrajectoryPlanner(RobotNode):
    """Solves targets and paths, and streams what it solved until it is told to stop."""

    reported = ('stream', 'target', 'actuator_state', 'external_wrench', 'control')

    def __init__(self, **kwargs: Any) -> None:
        super().__init__('trajectory_planner', PARAMETERS, **kwargs)
        self._source = self.get_fully_qualified_name()
        self._targets = WorkerQueue(self, 'targets')
        # More than one thread, so that a second goal is refused at once.
        self._goals = WorkerQueue(self, 'goals', threads=2)
        self._command = self.create_publisher(ActuatorCommand, 'actuator_command', NEWEST)
        self._topics = TrackTopics(self)
        self.tip_control = TipControl(self)
        self._thread: StreamingThread | None = None
        self._stream: CommandStream | None = None
        self._feedback: PolledFeedback | None = None
        self._actions: dict[Any, StreamAction] = {}  # while active; they share one busy goal
        self._follow: FollowAction | None = None
        self._targets_heard: list[AnyPublisherSubscription] = []
        self._release: Any = None
        self._timer: Any = None
        self._stamp = 0
        self._estop: EstopInput | None = None
        self._failure: Exception | None = None  # that ended the streaming thread
        self._phase = Phase.IDLE
        self._near: Configuration | None = None

    def configure(self) -> None:
        """Load the robot and warm its kernels."""
        self.diagnostics.report('stream', Level.WARN, 'preparing')
        robot, table = self.load_robot(), self.table
        self._actuators = robot.actuators
        self._feedback = PolledFeedback(self, self._binding.description, table.state_timeout)
        self._wrench = WrenchInput(self, table.wrench_timeout, self._binding)
        pause = pause_of_driver(robot.description)
        self._stream = CommandStream(
            robot, self._source, 1.0 / table.rate, table.slew, table.takeover_timeout, pause
        )
        self.make_kernels_ready()
        self.tip_control.configure(self._stream, self._binding, self._feedback)
        # As long as the robot is known: the result of a goal that a deactivation ended has to get
        # through, and who asks an inactive planner gets an answer.
        for kind, name in (TrackTrajectory, TrackAction.name), (BenchProtocol, BenchAction.name):
            execute = functools.partial(self._on_goal, kind)
            self._goals.create_action(kind, f'~/{name}', execute, lambda: (self._stream.ends,))
        self._follow = FollowAction(self, robot, self._stream, self._feedback)
        self._follow.offer(self._goals)
        self.diagnostics.report('stream', Level.OK, 'inactive')

    def activate(self) -> None:
        """Listen to targets; nothing is sent before the first one."""
        self._failure = None
        of, heard = (self._binding, self._stream), (self._feedback, self._wrench)
        track = TrackAction(self, TrackTrajectory, *of, topics=self._topics)
        bench = BenchAction(self, BenchProtocol, *of, track, inputs=heard)
        self._actions = {TrackTrajectory: track, BenchProtocol: bench}
        self._feedback.open()
        self._wrench.open()
        self.transforms.open(moving=True)  # a target comes once: history must be there
        self.tip_control.open()
        for kind, topic, solved in (
            (PoseStamped, 'target_pose', self._goal_of_pose),
            (TipTarget, 'tip_target', self._goal_of_pose),
            (ActuatorCommand, 'target_actuation', self._goal_of_actuation),
            (JointTrajectory, 'joint_trajectory', self._goal_of_trajectory),
        ):
            take = self._newest(topic, solved)
            self._targets_heard.append(AnyPublisherSubscription(self, kind, topic, take, NEWEST))
        self._estop = EstopInput(self, self._on_estop)
        self._release = self.create_service(Trigger, '~/release', self._on_release)
        self._thread = StreamingThread(1.0 / self.table.rate, self._tick, self._thread_failed)
        self._timer = steady_timer(self, REPORT_PERIOD, self._report)
        self.diagnostics.report('target', Level.OK, 'none yet')

    def stop_outputs(self) -> None:
        """Stop streaming and listening; the driver takes its safe action."""
        if self._stream is not None:
            self._stream.stop(Code.NOT_ACTIVE, 'the planner was deactivated')
        thread, self._thread = self._thread, None
        if thread is not None and not thread.stop(STOP_TIMEOUT):
            self.get_logger().error('the command stream did not end')
        if not self.tip_control.close(STOP_TIMEOUT):
            self.get_logger().error('the feedback on the tip did not end')
        actions, self._actions = self._actions, {}
        for action in actions.values():
            action.ending.set()  # of all: they wait for the same goal
        for action in actions.values():
            if not action.end(STOP_TIMEOUT):
                self.get_logger().error(f'{action.name} did not end')
        if self._timer is not None:
            self.destroy_timer(self._timer)
            self.destroy_service(self._release)
            self._timer = None
        for subscription in self._targets_heard:
            subscription.destroy()
        self._targets_heard.clear()
        if self._estop is not None:
            self._estop.close()
        if self._feedback is not None:
            self._feedback.close()
            self._wrench.close()

    def cleanup(self) -> None:
        """Withdraw the action, forget the robot."""
        self.withdraw_actions()
        super().cleanup()
        self._stream = None

    def near(self) -> tuple[Configuration | None, WrenchAt | None]:
        """Return a configuration near the present one, and the external wrench of this moment.

        That of what the body feels of what is sent, or of the present state; None when neither is
        known. The wrench is given for the pose of the tip; None when there is none.
        """
        actuation = self._stream.felt
        if actuation is None:
            feedback = self._feedback.first()
            actuation = feedback.present if feedback is not None and feedback.known else None
        return (None, self._wrench.now()) if actuation is None else self.solved(actuation)

    def solved(self, actuation: Array) -> tuple[Configuration | None, WrenchAt | None]:
        """Return the configuration at an actuation (m,) as `near` does."""
        robot, wrench_at = self._binding.robot, self._wrench.now()
        last = self._near if self._near is not None and self._near.model == robot.model else None
        near = robot.forward(actuation, None, last)
        if wrench_at is not None and near.status.converged:
            unloaded = near
            near = settled(
                lambda wrench: robot.forward(actuation, wrench, unloaded), wrench_at, unloaded.tip
            )
        self._near = near if near.status.code is not Code.NOT_CONVERGED else None
        return self._near, wrench_at

    def go_to(
        self, target: Array, generation: int, keep: bool = False, schedule: Schedule | None = None
    ) -> int:
        """Ramp to an actuation (m,) and hold it; SoroError when that is not possible now.

        `generation` is that of the stream in which the target arrived; `keep` the correction by
        the measured tip; a `schedule` that begins there is followed then. Return the motion.
        """
        if self._failure is not None:
            raise StreamError(Code.UNKNOWN, DEAD)
        feedback = self._feedback.first()
        now = time.monotonic()
        return self._stream.go_to(target, feedback, now, generation, keep, schedule)

    def present(self, keep: bool = False) -> Array | None:
        """Return what the body feels of what is sent (m,), or else where the actuators are.

        `keep`: without the correction, which goes on.
        """
        felt, state = self._stream.felt, self._feedback.first()
        if keep:
            felt = self._stream.uncorrected
        if felt is None and state is not None and state.known:
            return nearest_feasible(self._binding.robot, state.present)
        return felt

    def check_free(self, following: bool = False) -> None:
        """Raise StreamError while a goal is executed; `following`: one of the FollowAction is."""
        if following or not self._actions or any(a.busy for a in self._actions.values()):
            raise StreamError(Code.BUSY, 'a goal is being executed; cancel it first')

    def model_changed(self) -> None:
        """Solve anew what is near."""
        self._near = None

    def _tick(self, now: float) -> None:
        feedback = self._feedback.fresh()
        values = self._stream.tick(feedback, now)
        stops = 0 if feedback is None else feedback.stops
        if values is None and not self._stream.take_leave():
            return
        # None at all end this node's control of the driver.
        command = ((), ()) if values is None else (self._actuators, values)
        message = command_message(self, *command, stops, self._stamp)
        self._stamp = stamp_of(message.header)
        self._command.publish(message)

    def _thread_failed(self, error: Exception) -> None:
        self._failure = error  # first: whatever is accepted before is ended by the stop
        self._stream.stop(Code.UNKNOWN, internal(error))
        self.get_logger().fatal('command stream:\n' + ''.join(traceback.format_exception(error)))

    def _on_estop(self, pressed: bool, sender: str) -> None:
        if pressed:  # the driver keeps it latched, this only ends what is under way
            self._stream.stop(*EMERGENCY_STOP)

    def _newest(self, topic: str, solved: Callable[[Any], Goal]) -> Callable[[Any], None]:
        """Return a callback that queues messages with the generation they arrived in."""
        hand_over = self._targets.newest(
            lambda arrived: self._take_target(topic, solved, *arrived)
        )
        return lambda message: hand_over(
            (message, self._last_arrival(getattr(message, 'stops', 0)))
        )

    def _last_arrival(self, stops: int) -> int:
        return self._stream.note_arrival(time.monotonic(), self._feedback.fresh(), stops)

    def _on_goal(self, kind: Any, handle: Any, ends: int) -> Any:
        action = self._actions.get(kind)
        if action is not None:
            return action.execute(handle, ends)
        result = kind.Result()
        try:
            self.check_active()
            raise StreamError(Code.NOT_ACTIVE, 'the planner is being deactivated')
        except SoroError as error:
            fill_error(result, error)
        handle.abort()
        return result

    def _goal_of_actuation(self, message: ActuatorCommand) -> Goal:
        return goal_of_command(self._binding.robot, message, lambda: self.near()[0])

    def _goal_of_trajectory(self, message: JointTrajectory) -> Goal:
        return goal_of_trajectory(self._binding.robot, message, self._stream.rates)

    def _take_target(
        self, topic: str, solved: Callable[[Any], Goal], message: Any, generation: int
    ) -> None:
        try:
            self.check_free(bool(self._follow.goals))
            goal = solved(message)
            shaping = self._begin(goal, generation)
            doubt = goal.doubt()
        except SoroError as error:
            self.get_logger().warning(f'{topic} refused: {error}', throttle_duration_sec=1.0)
            text, reason = f'refused: {error.code.name}', str(error)
            self.diagnostics.report('target', Level.WARN, text, topic=topic, reason=reason)
        except Exception as error:  # noqa: BLE001 - a fault of ours must not end the stream
            self.get_logger().error(f'{topic}:\n{traceback.format_exc()}')
            reason = internal(error)
            self.diagnostics.report('target', Level.ERROR, 'refused: UNKNOWN', reason=reason)
        else:
            level = Level.WARN if doubt else Level.OK
            text = f'accepted: {doubt}' if doubt else 'accepted'
            self.diagnostics.report('target', level, text, topic=topic, **shaping)

    def _begin(self, goal: Goal, generation: int) -> dict[str, list[float]]:
        """Begin a motion; return what is to be said of its shaping."""
        pose, control = goal.desired, self.tip_control
        feedback = pose is not None and self.tip_control.by_default
        keep = feedback and control.live
        first, schedule, shaped, said = goal.actuation, goal.schedule, None, {}
        kind, robot = self.table.input_shaping, self._binding.robot
        if kind != 'none' and schedule is None and not robot.violations(first):
            found = slowest_modes(robot, first)  # takes its time: the set-point goes on meanwhile
            start = self.present(keep)
            if start is not None:
                shaped = shaped_motion(kind, found, start, first, self._stream.rates)
        if shaped is not None:
            schedule, said = shaped
            first = schedule.actuation[0]
        motion = self.go_to(first, generation, keep, schedule)
        if pose is not None:
            control.aim(motion, lambda stamp: pose, goal.task, feedback)
        return said

    def _goal_of_pose(self, message: PoseStamped | TipTarget) -> Goal:
        stated = isinstance(message, TipTarget)
        task = task_of(message) if stated else Task[self.table.task.upper()]
        topic = 'tip_target' if stated else 'target_pose'
        base = self._binding.frames.base_link
        to_base = self.transforms.awaited(base, message.header, f'{topic}.header')
        oriented = task is not Task.POSITION
        pose = to_base @ pose_from_message(message.pose, f'{topic}.pose', oriented)
        near, wrench_at = self.near()
        tolerances = self.table.position_tolerance, self.table.orientation_tolerance
        return goal_for_pose(self._binding.robot, pose, task, wrench_at, near, tolerances)

    def _on_release(self, request: Trigger.Request, response: Trigger.Response) -> Any:
        self._stream.release()
        response.success, response.message = True, 'nothing is commanded any more'
        return response

    def _report(self) -> None:
        phase, stopped = self._stream.phase, self._stream.stopped
        missed, latest = (0, 0.0) if (t := self._thread) is None else (t.missed, t.latest)
        values = {'missed': missed, 'latest': latest}
        if self._failure is not None:
            level, text, values['reason'] = Level.ERROR, DEAD, repr(self._failure)
        elif stopped is not None:
            level, text = Level.WARN, f'stopped: {stopped}; send a new target to go on'
            if self._phase is not Phase.IDLE:
                self.get_logger().warning(text)
        else:
            level, text = Level.OK, phase.value
        self._phase = phase
        self.diagnostics.report('stream', level, text, **values)
        self._wrench.report()
        self._feedback.report()
        self.tip_control.report()


def main() -> None:
    """Run the node."""
    run(TrajectoryPlanner)
