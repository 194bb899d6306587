# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The haptic law in a control loop: measurements in, motor angles out, then the model follows.

Everything here runs in the thread of the loop. Other threads ask through
`ControlLoop.between_ticks`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
import math
import time

import numpy as np

from soro_driver.device import DeviceError, Fault, Reading, SENSOR_FAULT
from soro_driver.loop.law import Command, Law
from soro_driver.safety.not_allowed import NotAllowed
from soro_haptics.motor_motion import LINGER, MotorMotion
from soro_haptics.sensor_guard import SensorGuard
from soro_haptics.stage_times import StageTimes
from soro_haptics.streams import Streams
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.loop import HapticLoop
from soro_mechanics.haptics.rendering import LET_GO
from soro_mechanics.haptics.stable_limits import StableLimits
from soro_mechanics.haptics.virtual_environment import VirtualEnvironment

ENCODERS, STOP = 'encoders', 'stop'
MAX_BEHIND = 50  # solutions of the model that are not of what was measured
FADES = 0.02  # of an unstable one, with each tick of a good one
BEHIND = {
    Code.NOT_CONVERGED: 'the model does not follow what is measured',
    Code.UNSTABLE: 'the model has no stable equilibrium at what was measured',
}
MOTION_OVER = 'motors that follow no target: half a second after the last target_actuation'
RESTART_PERIOD = 1.0  # s between attempts to find a lost model again


@dataclass
class Haptics:
    """What belongs to one calibration of one device: loop and guard, and what it may render.

    `force_deviation` is the relative standard deviation that the material gives to a force.
    """

    loop: HapticLoop
    guard: SensorGuard
    limits: StableLimits
    force_deviation: float


class HapticControl(Law):
    """Decides motor angles by sensing and rendering on the full model.

    `source`: name of the commanding node; `on_sensor_loss`: 'encoders': go on with what is left;
    'stop': latch a fault; `rest_force`: a sensed force below this moves nothing where no object
    moves the handle [N]; moments count with the lever of the rendering problem; `times`: gets the
    stages of the law, of ticks that were in control; `streams`: what other programs give to the
    environment.

    `estimated`: whether the last reading gave an estimate of the hand that does not contradict
    itself; without one `sensing` still holds what an earlier reading gave; `unrendered`: ticks in
    a row whose command was kept, because the law found none; `refusal`: why, in the last of them.
    """

    def __init__(
        self,
        haptics: Haptics,
        source: str,
        motion: MotorMotion,
        on_sensor_loss: str = ENCODERS,
        rest_force: float = 0.0,
        times: StageTimes | None = None,
        streams: Streams | None = None,
    ) -> None:
        self.haptics, self._source, self.motion = haptics, source, motion
        self._on_sensor_loss, self._rest_force = on_sensor_loss, rest_force
        self.times = StageTimes() if times is None else times
        self._streams, self._streaming = streams, False
        self.refusals: Counter[str] = Counter()
        self.estimated = False
        self.unrendered, self.refusal = 0, Code.NONE
        self._ended = True  # whoever was in control has to be armed again
        self._chosen = True  # what the environment is by now was chosen for the next arming
        self._moving = self._started = False
        self._asked, self._paused = -math.inf, False  # last target; a pause in them since armed
        self._broken = ''
        self._behind, self._unstable = 0, 0.0  # solutions in a row; of the last seconds
        self._encoder, self._misled = np.zeros(0), False  # by sensors that were given up
        self._restart_at = -math.inf
        self._computing = math.nan
        self._sampled = math.nan
        self._last_tick = math.nan
        self._last_sensed = math.nan

    # The law -----------------------------------------------------------------------------------

    def command(self, reading: Reading, accepting: bool, now: float) -> Command | None:
        """Sense and render one sample."""
        self._sampled, self._computing, self.estimated = math.nan, math.nan, False
        self.times.period.add(now - self._last_tick)
        self._last_tick = now
        encoder = reading.measured
        if not self._ready(encoder, accepting, now):
            return None
        begin = time.perf_counter()
        loop, guard = self.haptics.loop, self.haptics.guard
        moving = self.motion.active(now)
        if self._moving and not moving:
            loop.law.approach()  # what the environment wants may be far from where they went
        self._moving = moving
        guard.pause(moving)
        lost = self._take_sensors(reading, guard)
        if not accepting:
            loop.law.restart()  # a first command starts where the robot is
        if self._streams is not None and self._streaming:
            self._streams.feed(loop.law.environment.live, loop.law.sensing.pose)
        law, law.careful = loop.law, guard.unchecked
        code = loop.tick(encoder, guard.elongation, self._periods(now))
        sensed = loop.law.sensing.code is Code.NONE
        given_up = guard.after(encoder, law.strips.elongation, law.resting.odd_strip)
        doubtful, lost = given_up or guard.doubtful, lost or given_up
        self._encoder, self._misled = encoder, sensed and given_up
        self.estimated = sensed and not doubtful
        if lost or guard.came:
            law.approach()  # what is sensed without it, or with it, may be far from what was
        self._computing = time.perf_counter() - begin
        if lost and accepting and self._on_sensor_loss == STOP:
            raise DeviceError(guard.reason, Fault.SENSOR)
        if code is not Code.NONE:
            self.refusals[code.name] += 1
        if not sensed or not accepting or self._ended:
            return None  # without an estimate the loop's watchdog stops the device
        self._sampled = reading.sampled
        self.unrendered = 0 if moving or code is Code.NONE else self.unrendered + 1
        self.refusal = code
        command = loop.law.command
        if not moving:
            if law.nothing_to_do(self._rest_force) or doubtful:
                command[:] = self._last_command
                loop.law.environment.forget_sliding()  # or it would jump when a hand comes
        elif loop.law.environment.touched:  # an object is in the way: its turn, slowly
            self.motion.end()
            command[:] = self._last_command
        else:
            command[:] = self.motion.step(self._last_command, now)
        self._last_command = command.copy()
        return Command(self._last_command, self._source, time.time_ns(), now)

    def after_write(self, room: float = math.inf) -> None:
        """Let the model follow, once the set-points are out; `room` [s] is left in this slot."""
        if math.isnan(self._computing):
            return
        if not math.isnan(self._sampled):
            self.times.hand_to_command.add(time.monotonic() - self._sampled)
        begin, loop = time.perf_counter(), self.haptics.loop
        code = loop.advance(room)
        took = time.perf_counter() - begin
        if not math.isnan(self._sampled):
            self.times.tick.add(self._computing)
            self.times.model.add(took if loop.computed else math.nan)
            self.times.compute.add(self._computing + took)
        if code is None:
            pass  # judged when it is complete
        elif code is Code.NONE:
            self._behind, self._unstable = 0, max(0.0, self._unstable - FADES)
        elif code in BEHIND and (self.estimated or self._ended):  # else nothing is believed
            self.refusals['MODEL_BEHIND'] += 1
            self._behind += 1
            self._unstable += code is Code.UNSTABLE
            if max(self._behind, self._unstable) > MAX_BEHIND:
                self._broken = BEHIND[code]
        elif self.estimated:
            self._broken = f'the model has no answer to what was measured: {code.name}'
        if self._misled or code is Code.UNSTABLE:
            # From where it was led to there may be no way back; energy and contacts are kept.
            self._find(self._encoder, anew=False)
        self._computing = self._sampled = math.nan  # of a tick that the next one may not have

    def refused(self, command: Command, error: SoroError) -> None:
        """Begin again where the robot is."""
        self.refusals['NOT_NEAR'] += 1
        self.haptics.loop.law.restart()

    def disengaged(self) -> None:
        """Stay silent until a person arms the device anew."""
        self._ended, self._moving = True, False
        self.unrendered, self._last_tick = 0, math.nan
        self.motion.end()
        self.haptics.loop.law.restart()

    def armed(self) -> None:
        """Begin anew, with every sensor that is calibrated, and in free space.

        An object of before would move the motors without anybody having asked for that since.
        Only the first arming renders what the robot was launched with.
        """
        self._ended = self._streaming = self._paused = False
        self.motion.end()
        loop = self.haptics.loop
        if not self._chosen:
            loop.law.environment = self.haptics.limits.free_space()
        self._chosen = False
        loop.law.restart()
        self.haptics.guard.reset()
        # Where the motors are, not `law.command`: that has a step towards the object of before.
        self._last_command = np.array(loop.law.sensing.angle())

    # Asked between two ticks -------------------------------------------------------------------

    @property
    def environment(self) -> VirtualEnvironment:
        """What the hand can feel."""
        return self.haptics.loop.law.environment

    def replace_environment(
        self, environment: VirtualEnvironment, limits: StableLimits | None = None
    ) -> None:
        """Swap the environment, which is within `limits`.

        Raises NotAllowed: not in control: what is rendered next is chosen after arming, not
        before. Raises InvalidInput: BUSY: the hand leans on the present one, the motors follow a
        target, or a calibration with other limits has come meanwhile.
        """
        self._check_in_control()
        if self._moving or limits not in (None, self.haptics.limits):
            names = [o.name for o in environment.objects]
            expected = MOTION_OVER if self._moving else 'the limits of the last calibration'
            raise InvalidInput('environment', names, expected, Code.BUSY)
        if self._streams is not None:
            self._streams.begin(environment)
        self.haptics.loop.law.replace_environment(environment, self._rest_force)
        self._streaming = True  # from now on: a stream alone moves nothing

    def move_motors(self, target: Array, now: float, knows: bool = False) -> None:
        """Let the motors follow a target for a while instead of the hand.

        NotAllowed: not in control, the hand touches something, or the target is of a stream from
        before the arming that has not paused since, and does not know (`knows`) of the last stop.
        """
        silent, self._asked = now - self._asked, now
        self._check_in_control()
        if not (knows or self._paused or silent >= LINGER):
            raise NotAllowed(f'targets were coming when it was armed: pause for {LINGER:g} s')
        self._paused = True
        if self.environment.touched:
            raise NotAllowed('an object holds the hand; set a free environment', Code.BUSY)
        self.motion.go_to(target, now)

    def replace_haptics(self, haptics: Haptics) -> bool:
        """Take another calibration; InvalidInput (BUSY) while the hand leans on something.

        Returns whether the environment stays: where other limits hold it gives way to free space.
        """
        law = self.haptics.loop.law
        if not self._ended and law.feels_object(self._rest_force):
            raise InvalidInput('calibration', 'new', LET_GO, Code.BUSY)
        same, added = haptics.limits == self.haptics.limits, law.environment.live.added()
        environment = law.environment if same else haptics.limits.free_space()
        haptics.loop.law.environment = environment
        if self._started:
            haptics.loop.start(law.sensing.ports.angle)
        environment.live.go_on(added)  # a stream that presses goes on pressing
        self.haptics = haptics
        return same

    def clear_timing(self) -> None:
        """Begin the statistics of the stages anew."""
        self.times.clear()
        self._last_tick = math.nan

    # --------------------------------------------------------------------------------------------

    def _ready(self, encoder: Array, accepting: bool, now: float) -> bool:
        """Whether there is a model at the present angles; find it where that harms nobody."""
        if self._broken and accepting:
            reason, self._started = self._broken, False
            raise DeviceError(reason, Fault.INTERNAL)
        if self._started and not self._broken:
            return True
        if now < self._restart_at or not np.all(np.isfinite(encoder)):
            return False
        self._restart_at = now + RESTART_PERIOD
        if not self._find(encoder):
            return False
        self._started, self._broken, self._behind, self._unstable = True, '', 0, 0.0
        self.haptics.guard.reset()
        return True

    def _find(self, encoder: Array, anew: bool = True) -> bool:
        """Find the model at measured angles without a hand, some 3 ms; whether there is one."""
        try:
            self.haptics.loop.start(encoder, anew)
        except InvalidInput as error:
            self._broken = str(error)
            return False
        return True

    def _periods(self, now: float) -> int:
        """Count the slots since the loop sensed last: it may have missed some."""
        elapsed, self._last_sensed = now - self._last_sensed, now
        period = self.haptics.loop.law.setup.period
        return max(1, round(elapsed / period)) if math.isfinite(elapsed) else 1

    def _check_in_control(self) -> None:
        if self._ended:
            raise NotAllowed('the renderer is not in control of the motors')

    @staticmethod
    def _take_sensors(reading: Reading, guard: SensorGuard) -> bool:
        sensors = reading.sensors
        if sensors is None:
            return guard.missing()
        pairs = zip(sensors.flags.tolist(), sensors.raw.tolist(), strict=True)
        # Numbers of a wire are finite, of a message perhaps not.
        faulty = [bool(f & SENSOR_FAULT) or not math.isfinite(x) for f, x in pairs]
        return guard.before(sensors.raw, np.array(faulty, bool))
