# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Who decides where the tip goes: the model alone, or corrected by the measured tip.

A thread looks for a new measured tip, compares it with the pose that is desired at its stamp, and
hands the correction to the `CommandStream`, which keeps limits, rates and ownership as without
it, and takes corrections for the motion alone that is under way. Without a measured tip the last
correction stays until the motion ends: the robot does not go where nobody looks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
import math
import threading
import time
import traceback
from typing import Any

import numpy as np

from soro_mechanics.analysis.lowest_mode import lowest_mode, Mode
from soro_mechanics.core.configuration import Array, Configuration, Task
from soro_mechanics.core.errors import SoroError
from soro_mechanics.identification.offsets import body_length
from soro_mechanics.robot_file.closed_loop import ClosedLoop, MODES
from soro_msgs.msg import ControlState
from soro_node.diagnostics import Level
from soro_node.inputs.actuator_feedback import LatestFeedback, NANOSECONDS
from soro_node.parameters import fixed, Parameter
from soro_node.replies import internal
from soro_node.robot_binding import RobotBinding
from soro_node.transforms import BACK
from soro_trajectory.command_stream import CommandStream, Phase
from soro_trajectory.control_message import control_message
from soro_trajectory.input_shaping import ShapedValue
from soro_trajectory.measured_tip import MeasuredTip, TipSample
from soro_trajectory.nearest_feasible import nearest_feasible
from soro_trajectory.stream_error import NO_TRACKER
from soro_trajectory.streaming_thread import StreamingThread
from soro_trajectory.tip_disturbance import TipDisturbance
from soro_trajectory.tip_feedback import (
    Gains,
    gains_for,
    lowered,
    MAX_STEP,
    path_turn,
    pose_error,
    TipFeedback,
)

PARAMETERS = (
    Parameter(
        'control', 'auto', '',
        'the model alone, or corrected by tip_measured; auto: as the robot file says',
        choices=('auto', *MODES),
    ),
    Parameter(
        'control_gain', 0.0, '1/s',
        "of the integral; 0: the robot file's, else 0.5 / response_time (or latency, if longer), "
        'at most 2/3 zeta omega of the lowest mode, or what a shaper of it allows',
        minimum=0.0, maximum=100.0,
    ),
    Parameter(
        'response_time', 0.1, 's', 'lag of the tip behind its command, for the gains',
        minimum=0.001, maximum=10.0,
    ),
    Parameter(
        'correction_limit', 0.0, 'm',
        'the feedback leads the tip by no more; 0: the length of the body',
        minimum=0.0,
    ),
    fixed('tracker_timeout', 0.5, 's', 'an older tip_measured is not used', minimum=0.01),
)  # fmt: skip

PERIOD = 0.02  # s, between two looks for a new measured tip
DEAD = 0.05  # s (assumed), from arrival to device: this look, the stream, wire and its loop
NEAR = 0.02  # of the ranges: a Jacobian holds for actuations this near
REMEMBERED = 100  # states, for what the body felt when a tip was measured: of 2 s
GIVEN_UP = 'feedback has ended'
LEAD = 0.15  # s (assumed), from a command to the next step of a drive that has steps
NEAR_STEPS, FAR_STEPS = 9.0, 45.0  # (assumed): a drive is where it shall be; it has to go on
ARRIVED, CALM = 1e-3, 0.5  # m, s (assumed): so near for so long the tip is where it shall be
PATIENCE = 5.0  # s, after which a path begins though the tip is still being corrected
SKEW = 0.1  # s (assumed), between the stamps of tip and drives
BLUR = 0.015  # m (assumed): where skew and speed make so much, a measured tip counts half
SHARE = 0.5  # (assumed) of the integral's gain: the rate at which loads are found
AWAY, LASTS = 0.1, 1.0  # (assumed), s: of the body, farther from a target than before, for so long
SWINGS, SEEN = 8.0, 2.0  # s (assumed): a swing by `AWAY` in so long that does not halve for longer

# From the stamp of a measurement [ns] to the desired pose (4, 4) then.
Desired = Callable[[int], Array]


@dataclass(frozen=True)
class Aim:
    """What the motion under way shall do with the tip."""

    motion: int  #: of the stream
    desired: Desired
    task: Task
    feedback: bool  #: whether the measured tip corrects it
    timed: bool  #: whether `desired` goes along with a schedule: errors count on its way


class TipControl:
    """The controller of one planner: `configure`, then from `open` to `close`.

    `node`: its table, clock, diagnostics and `solved`. `lost`: for how long the motion under way
    went without the feedback it should have [s]. `given_up`: why there is none, though a tracker
    is live, until the planner is idle or a motion asks for none.
    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self._publisher = node.create_publisher(ControlState, 'control_state', 5)
        self.measured = MeasuredTip(node, node.table.tracker_timeout)
        self.lost = 0.0
        self._thread: StreamingThread | None = None
        self._lock = threading.Lock()

    def configure(
        self, stream: CommandStream, binding: RobotBinding, feedback: LatestFeedback
    ) -> None:
        """Begin anew, with the stream of a robot whose kernels are ready."""
        robot = binding.robot
        self._stream, self._binding, self._feedback = stream, binding, feedback
        self._felt: deque[tuple[int, Array]] = deque(maxlen=REMEMBERED)
        length = self._length = body_length(robot)
        longest = self._node.table.correction_limit or length
        self._law = TipFeedback(robot.description, length, longest)
        self._defaults = robot.description.structure.get('control', ClosedLoop())
        mode = self._mode = lowest_mode(robot)
        self._softer: list[Mode] = []  # where commands lead, and where the tip was seen
        slowness = 0.5 / math.pi / mode.frequency if mode else 0.0
        self.disturbance = TipDisturbance(robot, longest, slowness)
        self._ranges = robot.limits[:, 1] - robot.limits[:, 0]
        self._forget()
        self._aim: Aim | None = None
        self._used: TipSample | None = None
        self._linear: tuple[Configuration, Array] | None = None  # and the Jacobian there
        self._looked = time.monotonic()
        self._state = ControlState.IDLE, ''
        self._said = -1

    def open(self) -> None:
        """Listen and control."""
        self.measured.open()
        self._thread = StreamingThread(PERIOD, self._step, self._failed, 'tip control')

    def close(self, timeout: float) -> bool:
        """Control nothing any more; whether the thread ended within `timeout` [s]."""
        self._aim = None
        thread, self._thread = self._thread, None
        ended = thread is None or thread.stop(timeout)
        self.measured.close()
        return ended

    @property
    def by_default(self) -> bool:
        """Whether the measured tip corrects motions that do not say it."""
        control = self._node.table.control
        return bool((self._defaults.mode if control == 'auto' else control) == 'feedback')

    @property
    def live(self) -> bool:
        """Whether a tracker is live."""
        return self.measured.fresh() is not None

    @property
    def busy(self) -> bool:
        """Whether the tip is still being corrected, for `PATIENCE` after the drives' target."""
        held = self._looked - self._stream.started
        moving = self._moving or self._looked - self._astray < CALM
        return moving and self._state[0] == ControlState.FEEDBACK and held < PATIENCE

    def aim(
        self, motion: int, desired: Desired, task: Task, feedback: bool, timed: bool = False
    ) -> None:
        """Tell what the motion under way is for; the same motion may get a new aim."""
        with self._lock:
            begun = self._aim is None or self._aim.motion != motion
            if begun and not (feedback and self.live):
                given_up = self.given_up if feedback else ''
                self._forget()
                self.given_up = given_up  # also where the tracker is lost meanwhile
            self._aim = Aim(motion, desired, task, feedback, timed)
            self.lost = 0.0

    def _forget(self) -> None:
        """Begin without a correction."""
        self._law.reset()
        self.disturbance.reset()
        self._shaped = ShapedValue()
        self._answer: Array = np.zeros(len(self._ranges))  # to the unknown load
        self._pending: Array = np.zeros(3)  # m, of the tip: answered, but not seen yet
        self._sent: Array | None = None  # to drives with steps
        self._unexplained: deque[TipSample] = deque(maxlen=REMEMBERED)
        self._explained: tuple[TipSample, Array] | None = None  # and the model's tip then
        self._moving = False  # drives with steps are
        self._astray = -math.inf  # s, when the tip was last
        self._least, self._away = math.inf, 0.0  # m, off a target; s, that it is led away from it
        self._errors: deque[tuple[float, Array]] = deque()  # of the time `SEEN`
        self._swung = self._swing = self._widest = 0.0  # s, that it swings; m, now and at most
        self.given_up = ''  # why

    def report(self) -> None:
        """Say who decides, in diagnostics and on the topic `control_state`."""
        control, reason = self._state
        if self._stream.phase is Phase.IDLE:
            control, reason = ControlState.IDLE, ''
        level = Level.WARN if reason else Level.OK
        name = ('idle', *MODES)[control]
        text = f'{name}: {reason}' if reason else name
        values = {'latency': self.measured.latency, 'lead': self._law.lead, 'lost': self.lost}
        gain = self._gains().integral
        self._node.diagnostics.report('control', level, text, gain=gain, **values)
        if control != ControlState.IDLE or control != self._said:
            self._publisher.publish(self._message(control, reason))
        self._said = control

    def _message(self, control: int, reason: str) -> ControlState:
        aim, sample = self._current(), self.measured.fresh()
        desired = None if aim is None or sample is None else aim.desired(sample.stamp)
        saturated = self._law.saturated if control == ControlState.FEEDBACK else ()
        stamp = self._node.get_clock().now().to_msg()
        base, load = self._binding.frames.base_link, self.disturbance
        return control_message(control, reason, base, stamp, desired, sample, saturated, load)

    def _gains(self) -> Gains:
        table, known = self._node.table, self._defaults
        stated, lag = table.control_gain or known.gain, table.response_time
        dead = self.measured.latency + (LEAD if known.step else DEAD)
        gains = gains_for(dead, lag, stated, self._mode)
        if stated or not self._softer:
            return gains
        both = [lowered(gains, mode, dead, lag) for mode in self._softer]
        return min(both, key=lambda found: found.integral)

    def _current(self) -> Aim | None:
        aim = self._aim
        return aim if aim is not None and aim.motion == self._stream.motion else None

    def _step(self, now: float) -> None:
        seconds, self._looked = min(now - self._looked, 1.0), now
        with self._lock:
            aim = self._current()
            self._remember()
            if self._stream.phase is Phase.IDLE:
                self.given_up = ''
            if aim is None or not aim.feedback:
                self._state = ControlState.FEEDFORWARD, ''
                return
            sample = self.measured.fresh()
            if sample is None or self.given_up:
                self.lost, self._least = self.lost + seconds, math.inf
                last = '; the last correction is kept' if np.any(self._law.offset) else ''
                self._state = ControlState.FEEDFORWARD, self.given_up or f'{NO_TRACKER}{last}'
                return
            self._state = ControlState.FEEDBACK, ''
            if sample is not self._used:
                self._correct(aim, sample, now)

    def _remember(self) -> None:
        """Keep what the body feels, by the stamp at which the driver measured it."""
        state, sent, felt = self._feedback.fresh(), self._stream.setpoint, self._stream.felt
        newest = self._felt[-1][0] if self._felt else 0
        if state is not None and newest - state.stamp > BACK:  # their clock was set
            self._felt.clear()
            self._unexplained.clear()
            newest = 0
        if state is not None and state.known and state.stamp > newest:
            past = 0.0 if sent is None or felt is None else felt - sent
            self._felt.append((state.stamp, state.present + past))

    def _correct(self, aim: Aim, sample: TipSample, now: float) -> None:
        before, self._used = self._used, sample
        feedforward = self._stream.feedforward(now)
        if feedforward is None:
            return
        if self._defaults.step:
            self._correct_steps(aim, sample, feedforward, now)
            return
        gains = self._gains()
        seconds = 0.0 if before is None else self.measured.between(before, sample)
        times, parts = gains.pieces
        dead, lag = self.measured.latency + DEAD, self._node.table.response_time
        acts = dead + lag + times @ parts
        if seconds > 0.0:
            self._pending = self._pending * math.exp(-seconds / acts)
            self._observe(sample, seconds, SHARE * gains.integral)
        linear = self._linearised(feedforward, aim.task)
        if linear is None:
            return

        def at(time: float) -> Array:
            return aim.desired(sample.stamp + round(time * NANOSECONDS))[:3, 3]

        if seconds > 0.0 and self._settled(aim, now):
            oriented = sample.oriented and aim.task is not Task.POSITION
            error = pose_error(aim.desired(sample.stamp), sample.pose, oriented)
            miss = float(np.linalg.norm(error[:3]))
            if miss > ARRIVED:
                self._astray = now
            step = min(seconds, MAX_STEP)
            held = self._stream.phase is Phase.HOLD and bool(self._law.saturated)
            self._least = min(self._least, miss) if held else miss
            leads = miss > self._least + AWAY * self._length
            self._away = max(0.0, self._away + (step if leads else -step))
            swings = self._swings(error[:3], step) and self._stream.phase is Phase.HOLD
            # a second of calm forgets it
            self._swung = max(0.0, self._swung + (step if swings else -SWINGS * step))
            if self._away > LASTS or self._swung > SWINGS:
                self._give_up(aim, miss)
                return
            turns = None
            if self._stream.phase is Phase.FOLLOW:
                turns = path_turn(at, -seconds, 0.0), path_turn(at, 0.0, acts)
                self._law.keep_up(at, error[:3], step, gains, dead, lag)
            error[:3] += self._pending
            self._law.integrate(error, seconds, gains, turns)
        else:
            self._law.rest()
            self._astray, self._least, self._away, self._swung = now, math.inf, 0.0, 0.0
            self._errors.clear()
        q, jacobian = linear
        if self._mode is not None:
            robot, seen = self._binding.robot, self.disturbance.seen
            there = [c for c in (q, seen) if c is not None and c.model == robot.model]
            self._softer = [self._mode.at(robot, c) for c in there]
        more = self._law.correction(jacobian, q.tip, aim.task, feedforward + self._answer)
        whole = self._shaped.add(now, self._answer + more, gains.pieces)
        self._stream.correct(aim.motion, whole, self._law.lead)

    def _swings(self, error: Array, seconds: float) -> bool:
        """Whether the tip swings far, in both halves of the last `SEEN`, and not ever less."""
        self._errors.append((seconds, error.copy()))
        while sum(step for step, _ in self._errors) > SEEN:
            self._errors.popleft()
        halves = np.array_split(np.array([e for _, e in self._errors]), 2)  # a jump is in one
        self._swing = 0.5 * min(np.ptp(h, axis=0).max() if len(h) else 0.0 for h in halves)
        self._widest = max(self._swing, self._widest if self._swung else 0.0)
        return self._swing > max(AWAY * self._length, 0.5 * self._widest)

    def _give_up(self, aim: Aim, miss: float) -> None:
        """Leave it to the model: feedback has led the tip away, or makes it swing."""
        why = f'it led the tip away, from {1e3 * self._least:.3g} to {1e3 * miss:.3g} mm off'
        if self._swung > SWINGS:
            why = f'the tip swung by {1e3 * self._swing:.3g} mm for {SWINGS:g} s'
        limits = ', '.join(self._law.saturated) or 'none'
        self._forget()
        self.given_up = f'{GIVEN_UP}: {why}, limits: {limits}'
        self._stream.correct(aim.motion, np.zeros(len(self._ranges)))

    def _correct_steps(self, aim: Aim, sample: TipSample, planned: Array, now: float) -> None:
        """Correct drives that go by steps: from where they are by now, as few as can be.

        Those near what is planned stand still, but for the ones that move the tip least.
        """
        robot, state, least = self._binding.robot, self._feedback.fresh(), self._defaults.step
        self._explain(sample, sample.oriented and aim.task is not Task.POSITION)
        lacking = self._shaped.add(now, self._law.offset, self._gains().pieces)
        ahead, step = self._stream.feedforward(now + LEAD), least * self._ranges
        last, ramps = self._sent, self._stream.phase is Phase.RAMP
        if ramps or last is None or state is None or ahead is None:
            self._sent, self._moving = planned, True
            return
        sent = np.clip(last, planned - FAR_STEPS * step, planned + FAR_STEPS * step)
        there = np.where(np.abs(state.present - sent) < NEAR_STEPS * step, state.present, sent)
        try:
            wanted = self._node.solved(ahead)[0]
            if wanted is None or wanted.model != robot.model:
                return
            q = self.disturbance.loaded(robot, there, wanted)
            twist = pose_error(wanted.tip, q.tip, True) + lacking
            more = self._law.fine_step(robot.jacobian(q), q.tip, aim.task, twist, there, least)
        except SoroError:
            return
        self._sent = nearest_feasible(robot, there + more)
        self._moving = bool(np.any(np.abs(self._sent - state.present) > 1.5 * step))
        self._stream.correct(aim.motion, self._sent - planned)

    def _explain(self, sample: TipSample, oriented: bool) -> None:
        """Learn what the model lacks of the newest measured tip for which drives are known."""
        self._unexplained.append(sample)
        seen, newest = None, self._felt[-1][0] if self._felt else 0
        while self._unexplained and self._unexplained[0].stamp <= newest:
            seen = self._unexplained.popleft()
        q = None if seen is None else self._model_at(seen)
        if seen is None or q is None:
            return
        before, self._explained = self._explained, (seen, q.tip[:3, 3])
        seconds = 0.0 if before is None else self.measured.between(before[0], seen)
        if before is not None and seconds > 0.0:
            skewed = SKEW * float(np.linalg.norm(q.tip[:3, 3] - before[1])) / seconds
            part = min(1.0, self._gains().integral * seconds) / (1.0 + (skewed / BLUR) ** 2)
            self._law.explain(pose_error(q.tip, seen.pose, oriented), part)

    def _model_at(self, sample: TipSample) -> Configuration | None:
        """Return where the model has the tip of a sample; None: nobody knows what was felt."""
        times = [(stamp - sample.stamp) / NANOSECONDS for stamp, _ in self._felt]
        if not times or times[0] > 0.0:
            return None
        felt = np.array([np.interp(0.0, times, u) for u in np.array([u for _, u in self._felt]).T])
        with suppress(SoroError):
            q, _ = self._node.solved(felt)
            return q if q is not None and q.status.converged else None
        return None

    def _observe(self, sample: TipSample, seconds: float, rate: float) -> None:
        """Explain a measured tip by a load and gains."""
        q = self._model_at(sample)
        with suppress(SoroError):
            if q is not None:
                tip, robot = sample.pose[:3, 3], self._binding.robot
                self._pending += self.disturbance.see(robot, q, tip, seconds, rate)

    def _settled(self, aim: Aim, now: float) -> bool:
        """Whether the error is one of where the tip shall be, not of a motion on its way."""
        phase, since = self._stream.phase, now - self._stream.started
        wait = self.measured.latency + self._node.table.response_time
        return (phase is Phase.FOLLOW and aim.timed) or (phase is Phase.HOLD and since > wait)

    def _linearised(self, feedforward: Array, task: Task) -> tuple[Configuration, Array] | None:
        """Return a configuration near what is wanted, and its Jacobian; None without any.

        That is the feedforward and what answers the unknown load, which takes a Newton step.
        """
        last, robot = self._linear, self._binding.robot
        try:
            q = wanted = self._node.solved(feedforward)[0]
            if wanted is None or wanted.model != robot.model:
                return last
            there = nearest_feasible(robot, feedforward + self._answer)
            if self.disturbance.covariance is not None:
                q = self.disturbance.loaded(robot, there, wanted)
            if (
                last is None
                or last[0].model != robot.model
                or np.any(np.abs(last[0].actuation - q.actuation) > NEAR * self._ranges)
            ):
                last = self._linear = q, robot.jacobian(q) * (1.0 + self.disturbance.gain)
            if q is not wanted:
                step = self._law.step(last[1], q.tip, task, pose_error(wanted.tip, q.tip, True))
                self._answer = nearest_feasible(robot, there + step) - feedforward
        except SoroError:  # where the model has no answer the last one has to do
            return last
        return last

    def _failed(self, error: Exception) -> None:
        self._aim = None
        self._state = ControlState.FEEDFORWARD, internal(error)
        self._node.get_logger().error(
            'feedback on the measured tip:\n' + ''.join(traceback.format_exception(error))
        )
