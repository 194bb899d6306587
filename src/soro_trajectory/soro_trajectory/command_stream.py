# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the planner sends, tick by tick: take over, ramp, hold, follow; stop and stay stopped.

Pure: the time and the driver's feedback are arguments. One lock, so that the streaming thread and
those who set targets see one state.

    IDLE --go_to--> TAKEOVER --driver obeys--> RAMP --arrived--> HOLD --follow--> FOLLOW
      ^                |                        |                 |  ^--at its end--+
      +----release, stop, fault, lost state, another source in control--------------+

In TAKEOVER the measured state is sent back until the driver reports it as ours: nothing jumps. It
begins with a pause where something was sent just before: after a stop a driver hears a source only
when that has paused, and a command that comes too soon begins the pause anew. From then on nothing
pauses: what a stop ends that the driver has carried out and nobody has heard of yet stays ended.

A request may take long between its arrival and its motion: it is solved or planned first. Whoever
stops, releases or deactivates in between means that request too. So each of them ends a
*generation*, also when nothing is being sent, and a motion may only start in the generation its
request arrived in.

What has come before a person cleared a stop moves nothing, also where it is solved after that. And
whoever streams targets may go on as if nothing had been: a stop or release ends that stream too,
targets move nothing until none has come for `SILENCE`, or until they carry the new count of stops.

A controller may add a *correction* to what a motion wants, while that very motion is under way: it
moves no robot that does not move or hold by itself, ends with the motion, is moved inside the
limits, and goes no faster than everything else.

Where the robot file knows creep and hysteresis of the drives, targets, schedules and corrections
are what the body shall feel; what is sent undoes the past of what was sent and measured, within
the same limits and rates. A `hold` sends what was sent last and undoes nothing more.
"""

from __future__ import annotations

from enum import Enum
import math
import threading

import numpy as np

from soro_mechanics.actuator_models.history import ActuatorHistory
from soro_mechanics.analysis.trajectory import Schedule
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.reader import RobotDescription
from soro_msgs.msg import ActuatorState
from soro_node.inputs.actuator_feedback import ActuatorFeedback
from soro_node.inputs.driver_constants import COMMAND_TIMEOUT, SIMULATED_COMMAND_TIMEOUT
from soro_trajectory.nearest_feasible import nearest_feasible
from soro_trajectory.stream_error import meaning_of, STOPPED, StreamError

# A stalled loop may catch up by this many periods at once, no further.
MAX_PERIODS = 3.0
ROUNDING = 1e-6  # schedules go at the very rate that is allowed
MIN_TRY = 0.1  # s, before a new target begins the takeover anew
SLACK = 0.25, 0.05  # of the driver's timeout, and s: commands take their time on the way
SILENCE = 0.5  # s, without targets: those of a stream that was ended are over
ENDED = -1  # generation of what belongs to such a stream


class Phase(Enum):
    """What the stream is doing."""

    IDLE = 'idle'
    TAKEOVER = 'taking over'
    RAMP = 'moving'
    HOLD = 'holding'
    FOLLOW = 'tracking'


def pause_of_driver(robot: RobotDescription) -> float:
    """Return the command timeout that the robot file gives the driver, with some slack [s].

    The slack stays below one timeout: for two of them a driver knows whom a stop ends.
    """
    section = robot.foreign_section('driver')
    timeout = SIMULATED_COMMAND_TIMEOUT
    if section is not None:
        timeout = section.quantity('command_timeout', 's', COMMAND_TIMEOUT)
    part, least = SLACK
    return (1.0 + part) * timeout + least


class CommandStream:
    """The set-point that is sent, and the rules by which it moves.

    `source` is the fully qualified name of the node that sends, every `period` [s] nominally.
    `slew`: share of each actuator's rate that ramps use, in (0, 1]. The driver must obey within
    `takeover_timeout` [s], beyond its safe action and the `pause` [s] of silence before it hears a
    stream again that it has ended.

    Its attributes, which only its methods set:
    - `phase`: what it is doing; `started`: since when [s], clock of `tick`.
    - `motion`: the present one, which a correction has to name; another one after its end.
    - `generation`: what a request has to remember when it arrives; see above.
    - `ends`: counts the ends of requests, by stops, releases, trips.
    - `stopped`: why it stopped by itself; None after a release and while it runs.
    """

    def __init__(
        self,
        robot: Robot,
        source: str,
        period: float,
        slew: float,
        takeover_timeout: float,
        pause: float = 0.0,
    ) -> None:
        self.rates = slew * np.array([a.rate for a in robot.actuators])
        self._robot = robot
        self._source = source
        self._period = period
        self._takeover_timeout = takeover_timeout
        self._pause = pause
        low, high = robot.limits.T
        self.longest_ramp = float(np.max((high - low) / self.rates))  # s
        self._lock = threading.RLock()
        self.phase = Phase.IDLE
        self._setpoint: Array | None = None
        self._target: Array | None = None
        self._schedule: Schedule | None = None
        self._correction: Array | None = None
        self._lead = 0.0
        properties = robot.description.structure.get('history')
        rest = robot.description.rest
        self._history = None if properties is None else ActuatorHistory(properties, rest)
        self._felt = rest
        self._undoes = False  # creep goes on while the robot holds
        self.motion = 0
        self.started = 0.0
        self._last = 0.0
        self._spoke = -math.inf  # when something was sent last, or the driver was stopped
        self._silent_until = -math.inf
        self.stopped: StreamError | None = None
        self.generation = self.ends = 0
        self._last_arrival = -math.inf  # when a target came last
        self._leaves = False  # by a release, which the driver has not been told yet
        self._ignoring = False  # to targets that follow each other without a pause
        self._ignoring_since = self._counted = 0  # counts of stops: before that, and known so far
        self._seen: ActuatorFeedback | None = None  # last

    @property
    def setpoint(self) -> Array | None:
        """What was sent last, shape (m,); None while nothing is sent."""
        with self._lock:
            return None if self._setpoint is None else self._setpoint.copy()

    @property
    def felt(self) -> Array | None:
        """What the body feels of it, shape (m,): the same where no past is known."""
        with self._lock:
            sent = self._setpoint is not None and self._history is not None
            return self._felt.copy() if sent else self.setpoint

    @property
    def uncorrected(self) -> Array | None:
        """What it would feel without the correction, shape (m,), within limits."""
        with self._lock:
            felt, more = self.felt, self._correction
            known = felt is not None and more is not None
            return nearest_feasible(self._robot, felt - more) if known else felt

    def feedforward(self, now: float) -> Array | None:
        """Return what the motion wants without a correction (m,); None while nothing may move."""
        with self._lock:
            if self._target is None or self.phase in (Phase.IDLE, Phase.TAKEOVER):
                return None
            if self._schedule is not None and self.phase is Phase.FOLLOW:
                return self._schedule.actuation_at(now - self.started + self._lead)
            return self._target.copy()

    def correct(self, motion: int, correction: Array, lead: float = 0.0) -> None:
        """Add (m,) to what a motion wants, from now to its end; nothing when it has ended.

        `lead`: a schedule is read so much earlier [s].
        """
        with self._lock:
            if motion == self.motion and self.phase not in (Phase.IDLE, Phase.TAKEOVER):
                self._correction, self._lead = correction.copy(), lead

    @property
    def patience(self) -> float:
        """The longest that a takeover may last [s]."""
        return self._takeover_timeout + self.longest_ramp + self._pause

    def note_arrival(
        self, now: float, feedback: ActuatorFeedback | None = None, stops: int = 0
    ) -> int:
        """Note that a target arrived; return its generation, `ENDED` after a stop, see above.

        `stops` is the count that the target carries, zero where it carries none.
        """
        with self._lock:
            self._watch(feedback, now)
            seen = self._seen
            if stops and seen is not None:
                if stops != seen.stops:
                    return ENDED
                self._ignoring = self._ignoring and stops == self._ignoring_since
            if now - self._last_arrival >= SILENCE:
                self._ignoring = False
            self._last_arrival = now
            stopped = seen is not None and seen.stopped
            return ENDED if self._ignoring or stopped else self.generation

    def begin_era(self, ends: int) -> int:
        """End what was requested before and return the new generation.

        StreamError while the driver is stopped, or was since a request came, at `ends`.
        """
        with self._lock:
            if self._seen is not None and self._seen.stopped:
                raise StreamError(*STOPPED)
            if ends != self.ends:
                raise self.stopped or StreamError(Code.CANCELED, 'stopped or released meanwhile')
            self.generation += 1
            return self.generation

    def require(self, generation: int) -> None:
        """Raise StreamError when a generation has ended."""
        with self._lock:
            if generation == ENDED:
                raise StreamError(
                    Code.NOT_ACTIVE,
                    f'stopped or released while targets came; send none for {SILENCE:g} s, look '
                    'why, then send a new one',
                )
            if generation != self.generation:
                raise self.stopped or StreamError(
                    Code.CANCELED,
                    'stopped, released or followed by a path after it was sent; send it again',
                )

    def go_to(
        self,
        target: Array,
        feedback: ActuatorFeedback | None,
        now: float,
        generation: int,
        keep: bool = False,
        schedule: Schedule | None = None,
    ) -> int:
        """Move to a target (m,) at the limited rate and hold it; return the motion.

        `feedback`: the newest, None when it is too old; `now`: steady clock [s]; `generation`:
        that in which the target arrived; `keep`: the present correction goes on; `schedule`:
        followed, instead of holding, from its first point on, which is `target`.
        InvalidInput: OUT_OF_RANGE: the target violates limits; the error names all of them.
        StreamError: nothing may be sent now: no state, fault, another source in control; or the
        robot was stopped after the target had arrived.
        """
        found = self._robot.violations(target)
        if found:
            values = [float(f'{x:.6g}') for x in target]
            expected = f'values within the limits ({"; ".join(found)})'
            raise InvalidInput('actuation', values, expected)
        with self._lock:
            self._watch(feedback, now)
            if self.phase is Phase.IDLE:
                self._check_may_start(feedback)
            self.require(generation)
            if self.phase is Phase.IDLE or self._spoke_in_vain(now):
                self._begin_takeover(now)
            elif self.phase is not Phase.TAKEOVER:
                self._enter(Phase.RAMP, now)
            self._begin_motion(keep)
            self._target = target.copy()
            self._schedule = schedule
            self._undoes = self._history is not None
            self.stopped = None
            return self.motion

    def follow(self, schedule: Schedule, now: float) -> None:
        """Follow a schedule from its first point on, which must be the one that is held.

        StreamError: the stream does not hold the first point.
        """
        with self._lock:
            first = schedule.actuation_at(0.0)
            if self.phase is not Phase.HOLD or not np.array_equal(self._target, first):
                raise self.stopped or StreamError(Code.BUSY, 'the first point is not held')
            self._schedule = schedule
            self._begin_schedule(now)

    def hold(self, now: float) -> None:
        """Stop moving and hold what was sent last."""
        with self._lock:
            moving = self.phase in (Phase.RAMP, Phase.FOLLOW) or self._correction is not None
            holds = self.phase is Phase.HOLD and self._undoes
            if (moving or holds) and self._setpoint is not None:
                self._begin_motion()
                self._target, self._schedule, self._undoes = self.felt, None, False
                self._enter(Phase.HOLD, now)
            elif self.phase is Phase.TAKEOVER:
                self.release()

    def release(self) -> None:
        """Send nothing any more; the driver is told so, and takes its safe action."""
        with self._lock:
            self._end_requests()
            self._leaves = self.phase is not Phase.IDLE and self._setpoint is not None
            self._begin_motion()
            self._enter(Phase.IDLE, self.started)
            self._setpoint = self._target = self._schedule = None
            self.stopped = None

    def stop(self, code: Code, reason: str) -> None:
        """Send nothing any more and keep why; only a new target starts again."""
        with self._lock:
            if self.phase is not Phase.IDLE:
                self.release()
                self._leaves = False  # the driver stops by itself, and is to be cleared then
                self.stopped = StreamError(code, reason)
            else:
                self._end_requests()

    def over(self, generation: int) -> StreamError | None:
        """Return why a motion has ended; None while it is the present one."""
        with self._lock:  # `stop` begins another one before it says why
            if self.generation == generation:
                return None
            text = 'released while moving, or followed by a newer goal'
            return self.stopped or StreamError(Code.CANCELED, text)

    def take_leave(self) -> bool:
        """Whether the driver is to be told that nothing comes any more, once."""
        with self._lock:
            leaves, self._leaves = self._leaves, False
            return leaves

    def tick(self, feedback: ActuatorFeedback | None, now: float) -> Array | None:
        """Return what to send now (steady clock [s]), shape (m,), or None.

        `feedback`: the newest one; None when it is too old.
        """
        with self._lock:
            self._watch(feedback, now)
            sent = None if self.phase is Phase.IDLE else self._tick(feedback, now)
            if self._history is not None and (feedback is not None or sent is not None):
                there = feedback.present if sent is None else sent
                if np.isfinite(there).all():
                    self._felt = self._history.follow(there, now)
            return sent

    def _tick(self, feedback: ActuatorFeedback | None, now: float) -> Array | None:
        fault = self._judge(feedback, now)
        if fault is not None or feedback is None:
            self.stop(*(fault or (Code.NO_STATE, 'no state')))
            return None
        dt = min(max(now - self._last, 0.0), MAX_PERIODS * self._period)
        self._last = now
        if self.phase is Phase.TAKEOVER:
            self._take_over(feedback, now)
        if self.phase is Phase.RAMP:
            self._advance(dt, now)
        elif self.phase is Phase.FOLLOW:
            self._follow(dt, now)
        elif self.phase is Phase.HOLD and self._target is not None:
            if self._correction is not None or self._undoes:
                self._move(self._target, dt)
        if self._setpoint is None:
            return None
        self._spoke = now
        return self._setpoint.copy()

    def _watch(self, feedback: ActuatorFeedback | None, now: float) -> None:
        """End what was asked for where the driver was stopped, or tripped, since."""
        if feedback is None:
            return
        before, self._seen = self._seen, feedback
        if _holds(feedback if before is None else before) and (
            before is None or not _holds(feedback)
        ):
            self.generation += 1  # it was not cleared for what had been asked for before
            self.ends += 1
        if before is None:
            self._counted = feedback.stops
            return
        state = feedback.device_state
        stopped = feedback.stops != before.stops
        left = state not in (ActuatorState.ACTIVE, before.device_state)
        if stopped:
            self._spoke = now  # the driver counts the pause from here on
        if stopped or left:
            self.stop(*(STOPPED if state == ActuatorState.ACTIVE else meaning_of(state)))
        self._counted = feedback.stops

    def _end_requests(self) -> None:
        """End what was requested before, and every stream of targets that is under way."""
        self.generation += 1
        self.ends += 1
        if not self._ignoring:
            self._ignoring, self._ignoring_since = True, self._counted

    def _begin_motion(self, keep: bool = False) -> None:
        self.motion += 1
        self._lead = 0.0
        if not keep:
            self._correction = None

    def _enter(self, phase: Phase, now: float) -> None:
        self.phase, self.started = phase, now

    def _begin_takeover(self, now: float) -> None:
        self._enter(Phase.TAKEOVER, now)
        self._setpoint = self._correction = None
        self._last = now
        self._silent_until = self._spoke + self._pause

    def _spoke_in_vain(self, now: float) -> bool:
        """Whether a takeover was not answered for so long that the driver may have ended it."""
        begun = max(self.started, self._silent_until)
        return self.phase is Phase.TAKEOVER and now - begun > max(self._pause, MIN_TRY)

    def _check_may_start(self, feedback: ActuatorFeedback | None) -> None:
        if feedback is None:
            raise StreamError(Code.NO_STATE, 'no actuator_state: is the driver running?')
        if not feedback.known:
            raise StreamError(Code.NO_STATE, 'the driver does not know where the actuators are')
        if feedback.stopped:
            raise StreamError(*STOPPED)
        if feedback.device_state not in (ActuatorState.ACTIVE, ActuatorState.SAFE):
            raise StreamError(*meaning_of(feedback.device_state))
        if feedback.command_source not in ('', self._source):
            raise StreamError(Code.NOT_IN_CONTROL, f'{feedback.command_source} is in control')

    def _judge(self, feedback: ActuatorFeedback | None, now: float) -> tuple[Code, str] | None:
        """Return why the stream must stop, or None."""
        if feedback is None:
            return Code.NO_STATE, 'actuator_state stopped coming'
        state = feedback.device_state
        if self.phase is not Phase.TAKEOVER:
            if state != ActuatorState.ACTIVE:
                return meaning_of(state)
            if feedback.command_source != self._source:
                owner = feedback.command_source or 'nobody'
                return Code.NOT_IN_CONTROL, f'lost control: {owner} commands the driver'
            return None
        if state not in (ActuatorState.ACTIVE, ActuatorState.SAFE):
            return meaning_of(state)
        return None if self._obeys(feedback) else self._judge_takeover(feedback, now)

    def _judge_takeover(self, feedback: ActuatorFeedback, now: float) -> tuple[Code, str] | None:
        safe = feedback.device_state == ActuatorState.SAFE  # it may still go to rest
        patience = self._takeover_timeout + (self.longest_ramp if safe else 0.0)
        if now - max(self.started, self._silent_until) <= patience:
            return None
        owner = feedback.command_source
        who = f'{owner} is in control' if owner else 'it took no command'
        message = f'the driver did not obey within {patience:.3g} s: {who}'
        return Code.NOT_IN_CONTROL, message

    def _obeys(self, feedback: ActuatorFeedback) -> bool:
        ours = feedback.command_source == self._source
        return ours and feedback.device_state == ActuatorState.ACTIVE

    def _take_over(self, feedback: ActuatorFeedback, now: float) -> None:
        obeys = self._obeys(feedback)
        if obeys and self._setpoint is not None:
            self._enter(Phase.RAMP, now)
        elif feedback.known and (obeys or now > self._silent_until):
            self._setpoint = nearest_feasible(self._robot, feedback.present)

    def _advance(self, dt: float, now: float) -> None:
        assert self._target is not None  # noqa: S101 - for mypy
        if self._move(self._target, dt):
            if self._schedule is not None:
                self._begin_schedule(now)
            else:
                self._enter(Phase.HOLD, now)

    def _begin_schedule(self, now: float) -> None:
        assert self._schedule is not None  # noqa: S101 - for mypy
        self._target = self._schedule.actuation_at(self._schedule.duration)
        self._enter(Phase.FOLLOW, now)

    def _follow(self, dt: float, now: float) -> None:
        """Be where the schedule is; after a stall, catch up as fast as a ramp would."""
        assert self._schedule is not None  # noqa: S101 - for mypy
        time = now - self.started
        there = self._move(self._schedule.actuation_at(time + self._lead), dt)
        if there and time >= self._schedule.duration:
            self._enter(Phase.HOLD, now)

    def _move(self, target: Array, dt: float) -> bool:
        """Go straight to a target and its correction, at the limited rate; whether it is reached.

        Between feasible points every point is feasible.
        """
        assert self._setpoint is not None  # noqa: S101 - for mypy
        if self._correction is not None:
            target = nearest_feasible(self._robot, target + self._correction)
        if self._history is not None:
            target = nearest_feasible(self._robot, self._history.undo(target, self._last))
        step = target - self._setpoint
        time_left = float(np.max(np.abs(step) / self.rates))
        if time_left <= dt * (1.0 + ROUNDING):
            self._setpoint = target.copy()
            return True
        self._setpoint = self._setpoint + step * (dt / time_left)
        return False


def _holds(feedback: ActuatorFeedback) -> bool:
    """Whether nothing moves before a person has cleared or armed the driver."""
    driving = feedback.device_state in (ActuatorState.ACTIVE, ActuatorState.SAFE)
    return feedback.stopped or not driving
